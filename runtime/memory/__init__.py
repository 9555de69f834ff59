"""Memory of this process: owned, borrowed, over DLPack, and shared by caches and outputs."""
