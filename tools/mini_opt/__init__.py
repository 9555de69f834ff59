"""mini-opt: one run over a module, what it may be asked for, the forms that it gives out."""
