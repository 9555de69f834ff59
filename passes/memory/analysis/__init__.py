"""What the memory passes ask of a module: calls, buffers, lifetimes, sharing."""
