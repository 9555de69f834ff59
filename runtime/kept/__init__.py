"""Compiled models in files, with which a process runs a model that another one has compiled.

`records` converts records to JSON values and back, `container` is a file of checked sections, `kept_plans` the parts of
a plan, `keys` computes cache keys, `model_cache` stores such files by key, `artifact` one file for several CPUs.

Nothing here imports onnx, xdsl or LLVM, so that a cached model is ready as soon as it is read.
"""
