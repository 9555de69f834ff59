"""Lowering of kernels to GPU functions and their launches."""
