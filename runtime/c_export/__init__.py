"""Export of models as C files: an object, a header, weights and an example program."""
