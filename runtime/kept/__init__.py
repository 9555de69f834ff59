"""Compiled models in files: what a process needs to run a model that another one has compiled.

`records` writes and reads plain records, `container` a file of sections that is checked before use, `kept_plans` what a
compiled model is made of, `keys` what decides it, `model_cache` keeps such files by their keys, `artifact` in one for
several CPUs.

Nothing here imports onnx, xdsl or LLVM, so that a model that was kept is there as soon as it is read.
"""
