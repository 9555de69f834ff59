"""Writing loops: the builder, arithmetic on indices, numbers and vectors, and how vectors are read and written."""
