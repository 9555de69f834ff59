"""Sizes that are known at run time: polynomials of symbols, what is taken for granted of them, and integers of these.

A name is imported from the file that defines it.
"""
