"""Arithmetic on shapes: boxes, strided views, permutations."""
