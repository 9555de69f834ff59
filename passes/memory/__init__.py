"""Memory passes: buffer assignment, in-place updates, copy elision and arena layout for `main`."""
