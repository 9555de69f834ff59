"""What is done along rows: by threads, warps, blocks or columns."""
