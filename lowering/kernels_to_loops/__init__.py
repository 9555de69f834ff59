"""Kernels to loops: one file per code family, and what they share.

lower_kernels.py is the pass; builder.py writes loop-level IR; instance.py is what a family is given.
"""
