"""Emulation of GPU code without a GPU, to check its results and its accesses to memory."""
