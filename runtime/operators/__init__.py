"""Users' operators: their registration, their kernels on arrays, and what identifies them in the cache."""
