"""Memory of this process: owned, borrowed, via DLPack, and shared by caches and outputs."""
