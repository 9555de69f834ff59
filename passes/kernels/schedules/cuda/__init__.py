"""Schedules for NVIDIA's GPUs, one file each, and the rules of fusion.

A schedule's file says what its code needs before there is any code; the file of the same name in
lowering/kernels_to_gpu/families/ carries it out.
"""
