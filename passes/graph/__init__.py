"""Graph passes: what is computed, before there are kernels."""
