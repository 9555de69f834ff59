"""Packed weights: how the elements of a weight are laid out for the code that reads it, and what they mean."""
