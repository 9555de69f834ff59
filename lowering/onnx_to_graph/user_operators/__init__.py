"""Users' operators: compositions of graph values, the functions that they are written with, and calls of kernels."""
