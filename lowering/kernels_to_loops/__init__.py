"""Kernels to loops: one file per code family, and what they share.

lower_kernels.py is the pass; instance.py is what a family is given. Families write with lanes/ and tiles/, those with
elements/, and all with writing/; none knows of what stands above it.
"""
