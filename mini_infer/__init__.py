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
        DeviceError,
        InvalidInputError,
        InvalidModelError,
        MiniInferError,
        OutOfMemoryError,
        PlanError,
        UnsupportedError,
    )
    from .lowering.onnx_to_graph import import_onnx
    from .passes.memory.report.memory_plan import MemoryPlan
    from .passes.planning import STRATEGIES, Buffer
    from .runtime.building import build
    from .runtime.context import ExecutionContext
    from .runtime.opening import compile, plan_memory
    from .runtime.config import EngineConfig
    from .runtime.engine import Engine
    from .runtime.kept.artifact import load
    from .runtime.plan import InferencePlan
    from .runtime.profile import OptimizationProfile
    from .runtime.steps import Progress
    from .runtime.storage import Storage, Tensor
    from .tools.allocating import allocate
    from .tools.reports import plan_table, pool_table, write_report

__version__ = "0.1.0"

_HOME = {
    "STRATEGIES": "passes.planning",
    "Buffer": "passes.planning",
    "CompileError": "dialects.errors",
    "ConfigError": "dialects.errors",
    "DeviceError": "dialects.errors",
    "Engine": "runtime.engine",
    "EngineConfig": "runtime.config",
    "ExecutionContext": "runtime.context",
    "InferencePlan": "runtime.plan",
    "InvalidInputError": "dialects.errors",
    "InvalidModelError": "dialects.errors",
    "MemoryPlan": "passes.memory.report.memory_plan",
    "MiniInferError": "dialects.errors",
    "OptimizationProfile": "runtime.profile",
    "OutOfMemoryError": "dialects.errors",
    "PlanError": "dialects.errors",
    "Progress": "runtime.steps",
    "Storage": "runtime.storage",
    "Tensor": "runtime.storage",
    "UnsupportedError": "dialects.errors",
    "allocate": "tools.allocating",
    "build": "runtime.building",
    "compile": "runtime.opening",
    "import_onnx": "lowering.onnx_to_graph",
    "load": "runtime.kept.artifact",
    "plan_memory": "runtime.opening",
    "plan_table": "tools.reports",
    "pool_table": "tools.reports",
    "write_report": "tools.reports",
}

__all__ = [
    "STRATEGIES",
    "Buffer",
    "CompileError",
    "ConfigError",
    "DeviceError",
    "Engine",
    "EngineConfig",
    "ExecutionContext",
    "InferencePlan",
    "InvalidInputError",
    "InvalidModelError",
    "MemoryPlan",
    "MiniInferError",
    "OptimizationProfile",
    "OutOfMemoryError",
    "PlanError",
    "Progress",
    "Storage",
    "Tensor",
    "UnsupportedError",
    "allocate",
    "build",
    "compile",
    "import_onnx",
    "load",
    "plan_memory",
    "plan_table",
    "pool_table",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
