"""Convolutions in ways of their own: depthwise."""
