"""The ops, a file per family: an op is one class with its operands, its type rule and its meaning in numpy."""
