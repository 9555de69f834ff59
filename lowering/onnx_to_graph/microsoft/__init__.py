"""Operators of the domain com.microsoft, which ONNX Runtime's quantiser and optimiser write, and their like.

ONNX has no schemas of them: a handler states by what it reads which operands and attributes there are, and raises
UnsupportedError for what it leaves out.
"""
