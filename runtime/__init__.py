"""The runtime: compilation to engines, plans, execution contexts, storage and devices."""
