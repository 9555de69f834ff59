"""The kernel dialect: how host code and kernels meet, what is written on a kernel, and what code is made for."""
