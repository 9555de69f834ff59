"""Graph passes: simplification, fusion of patterns and layout, before kernels are formed."""
