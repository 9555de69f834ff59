"""Convolutions in ways of their own: Winograd, depthwise, bands of several layers, one element after the other."""
