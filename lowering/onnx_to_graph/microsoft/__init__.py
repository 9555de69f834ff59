"""Operators of the domain com.microsoft and related ones, as ONNX Runtime's quantiser and optimiser emit them.

ONNX has no schemas for them: a handler defines the operands and attributes by what it reads, and raises
UnsupportedError for what it doesn't support.
"""
