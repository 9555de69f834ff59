"""Analyses of the memory passes: steps, places of buffers, liveness and aliasing."""
