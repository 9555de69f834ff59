"""Kernels to loops on a CPU: one file per code family, and what they share.

lower_kernels.py is the pass; instance.py is what a family is given. Families write with nests.py and tiles/, and all of
them with lowering/kernel_code/; none knows of what stands above it.
"""
