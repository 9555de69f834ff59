"""Memory passes: where every value of `main` lies."""
