"""From kernels on an arena to launches of GPU functions: the launches level."""
