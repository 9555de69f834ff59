"""The backend of torch.compile: `torch.compile(module, backend="mini_infer")`.

PyTorch finds it by the entry point of its name, and imports it when it is asked for.
"""
