"""The kernel dialect: calls of kernels on buffers, the attributes of a kernel's symbol, and targets."""
