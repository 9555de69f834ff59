"""mini_infer: compiles an ONNX model into one native function over one planned memory arena.

    import mini_infer as mi

    model = mi.compile("resnet50.onnx")
    y = model(x)

The names below are imported when they are first used, so that `import mini_infer` and the tools start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dialects.errors import (
        CompileError,
        ConfigError,
        InvalidInputError,
        InvalidModelError,
        MiniInferError,
        PlanError,
        UnsupportedError,
    )
    from .lowering.onnx_to_graph import import_onnx
    from .runtime.context import ExecutionContext
    from .runtime.engine import Engine, EngineConfig, compile
    from .runtime.plan import InferencePlan
    from .runtime.storage import Storage, Tensor

__version__ = "0.1.0"

_HOME = {
    "CompileError": "dialects.errors",
    "ConfigError": "dialects.errors",
    "Engine": "runtime.engine",
    "EngineConfig": "runtime.engine",
    "ExecutionContext": "runtime.context",
    "InferencePlan": "runtime.plan",
    "InvalidInputError": "dialects.errors",
    "InvalidModelError": "dialects.errors",
    "MiniInferError": "dialects.errors",
    "PlanError": "dialects.errors",
    "Storage": "runtime.storage",
    "Tensor": "runtime.storage",
    "UnsupportedError": "dialects.errors",
    "compile": "runtime.engine",
    "import_onnx": "lowering.onnx_to_graph",
}

__all__ = [
    "CompileError",
    "ConfigError",
    "Engine",
    "EngineConfig",
    "ExecutionContext",
    "InferencePlan",
    "InvalidInputError",
    "InvalidModelError",
    "MiniInferError",
    "PlanError",
    "Storage",
    "Tensor",
    "UnsupportedError",
    "compile",
    "import_onnx",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
