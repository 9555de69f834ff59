"""Vectors of elements: which loops get lanes, and how lanes are read and written."""
