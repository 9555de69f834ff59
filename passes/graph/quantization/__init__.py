"""Weights rounded to integers in blocks, or to floats of 16 bits."""
