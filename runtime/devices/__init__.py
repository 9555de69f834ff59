"""Devices: what one must offer, and the CPU, NVIDIA's GPUs and emulations of these."""
