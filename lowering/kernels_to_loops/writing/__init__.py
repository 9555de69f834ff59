"""Writing loops: the builder, and arithmetic on indices, numbers and vectors."""
