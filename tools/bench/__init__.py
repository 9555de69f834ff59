"""Benchmarks: alternating measurement of engines and its report (`mini-infer bench`), and separate programs."""
