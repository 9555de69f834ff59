"""Symbolic sizes: polynomials of dimension symbols, guards on them, and Python integers that carry them.

A name is imported from the file that defines it.
"""
