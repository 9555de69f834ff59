"""Code families: one file or folder for each schedule that kernels are carried out by."""
