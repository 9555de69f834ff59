"""Access to PyTorch, which is optional: imported when something of it is used, and typed as Any."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from ...dialects.errors import ConfigError

OLDEST = (2, 9)  # version of PyTorch


def torch_module(name: str) -> Any:
    """A module of PyTorch. Raises ConfigError if PyTorch is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(f"{name} can't be imported ({error}): pip install 'mini-infer[torch]'") from None


def exporting_torch() -> Any:
    """PyTorch with its exporter to ONNX. Raises ConfigError if one of them is missing or too old."""
    torch = torch_module("torch")
    torch_module("onnxscript")
    version = tuple(int(part) for part in str(torch.__version__).partition("+")[0].split(".")[:2])
    if version < OLDEST:  # whose exporter fixes what a call decides, where all else fails
        raise ConfigError(f"PyTorch {torch.__version__} is too old; {OLDEST[0]}.{OLDEST[1]} is needed")
    return torch


def is_torch_model(kind: type) -> bool:
    """Whether it is a class of nn.Modules, or that of ExportedPrograms or ONNXPrograms.

    Where nobody has imported PyTorch there are no such objects, and it isn't imported.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "nn"):
        return False
    exported: Any = sys.modules.get("torch.export")
    if issubclass(kind, torch.nn.Module) or (exported is not None and issubclass(kind, exported.ExportedProgram)):
        return True
    return is_onnx_program(kind)


def is_onnx_program(kind: type) -> bool:
    """Whether it is the class of torch.onnx.export's results."""
    exporter: Any = sys.modules.get("torch.onnx")
    program = getattr(exporter, "ONNXProgram", None)
    return program is not None and issubclass(kind, program)
