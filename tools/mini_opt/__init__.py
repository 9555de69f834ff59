"""mini-opt: its options, a run over a module, and forms of output."""
