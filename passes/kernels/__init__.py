"""Kernel passes: fusion of ops into kernels, their schedules, and their interfaces to memory."""
