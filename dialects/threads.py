"""How many threads there may be: for whoever compiles, and for whoever only runs."""

MOST_THREADS = 256  # of one inference: more than one process's share of any machine it was made for
