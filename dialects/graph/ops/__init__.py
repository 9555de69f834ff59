"""The graph ops, one file per family: each op is one class with operands, type rule and reference implementation."""
