"""Operators: what defines them, and the registry that finds them by domain, name and version. No IR, no onnx."""
