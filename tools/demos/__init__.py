"""Demo models with seeded random weights."""
