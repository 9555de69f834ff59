"""Packed weights: memory layouts of weights, with packing and unpacking."""
