"""Devices: the CPU, NVIDIA GPUs, and emulations of these."""
