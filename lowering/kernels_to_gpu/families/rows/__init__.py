"""GPU code of reductions, normalisations and scans along rows: by threads, warps, blocks or columns."""
