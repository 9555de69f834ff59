"""Kernel passes: which ops share a loop nest, how it is carried out, and what it asks of its buffers."""
