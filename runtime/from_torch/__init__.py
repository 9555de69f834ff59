"""PyTorch's modules as models: export to ONNX in memory, and engines called as the module is.

Nothing here imports PyTorch before a model of it is there.
"""
