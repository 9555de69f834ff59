"""NVIDIA GPUs as devices: CuPy, NVIDIA's run-time compiler, sessions as CUDA graphs."""
