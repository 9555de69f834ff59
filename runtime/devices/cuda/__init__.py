"""NVIDIA GPUs as devices: CuPy, NVIDIA's run-time compiler, and sessions as CUDA graphs."""
