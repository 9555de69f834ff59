"""The limit on the number of threads, for compiler and runtime."""

MOST_THREADS = 256  # threads of one inference: more than one process's share of any machine it was made for
