"""Translation of the launches level to a GPU program: CUDA C++ text and the launch list."""
