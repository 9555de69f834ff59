"""Passes: IR to IR on one level; one pass, one file, one .mlir test of the same name."""
