"""From the launches level to a program for a GPU: CUDA C++ text, and the list of launches."""
