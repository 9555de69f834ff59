"""Models with seeded weights, to try things out with."""
