"""Vectors of elements: which loops get lanes, and where."""
