"""Operators of the domain ai.onnx.ml: decision trees, linear models, support vectors, and the steps in front of them.

Where ONNX leaves open what an operator gives, it is what ONNX Runtime gives.
"""
