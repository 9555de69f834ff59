"""Lowering of kernels to loops on a CPU: one file for each kind of schedule, and shared code.

lower_kernels.py is the pass; kernel_instance.py defines the KernelInstance that a family lowers. Families use nests.py,
tiles/ and lowering/kernel_code/; none of these depends on a family.
"""
