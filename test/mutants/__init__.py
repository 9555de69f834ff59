"""Faults sown into the compiler's own code, and whether `make test` finds them."""
