"""Models as C files: an object, a header, weights and an example."""
