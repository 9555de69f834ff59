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
        BusyError,
        CompileError,
        ConfigError,
        DeviceError,
        InvalidInputError,
        InvalidModelError,
        KernelError,
        MiniInferError,
        NonFiniteError,
        OpenDimensionsError,
        OperatorError,
        OutOfMemoryError,
        PlanError,
        RunCancelledError,
        TimeLimitError,
        UnknownValueError,
        UnsupportedError,
    )
    from .dialects.operators.tensor_type import TensorType
    from .lowering.onnx_to_graph import import_onnx
    from .lowering.onnx_to_graph.user_operators import graph_functions as ops
    from .lowering.onnx_to_graph.user_operators.graph_value import GraphValue
    from .passes.memory.report.interference import Clique, InterferenceGraph
    from .passes.memory.report.memory_plan import MemoryPlan
    from .passes.memory.report.memory_records import (
        BufferRecord,
        CacheRecord,
        Explanation,
        RemovedRecord,
        StepRecord,
        TensorRecord,
    )
    from .passes.planning import STRATEGIES, Buffer, Plan
    from .runtime import cluster as on_ray
    from .runtime.asynchronous.batch_statistics import QueueStatistics
    from .runtime.asynchronous.batching import BatchingQueue
    from .runtime.asynchronous.run_handle import RunHandle
    from .runtime.backend import MiniInferBackend
    from .runtime.c_export.emit_c import CFiles, emit_c
    from .runtime.compile.entry import compile, intermediates, memory_frontier, plan_memory
    from .runtime.compile.memory_frontier import MemoryFrontier, MemoryPoint
    from .runtime.compile.several_cpus import build
    from .runtime.config import CompileOptions, EngineConfig
    from .runtime.engine import Engine
    from .runtime.generation.generator import Generator
    from .runtime.hooks.hook_points import KernelRun
    from .runtime.kept.artifact import load
    from .runtime.profiling.kernel_records import KernelTime, KernelTurn
    from .runtime.memory.allocators import register_allocator
    from .runtime.memory.storage import Storage
    from .runtime.memory.tensor import Tensor
    from .runtime.operators.operator_declaration import UserOperator, operator
    from .runtime.plan import ExecutionContext, InferencePlan
    from .runtime.profile import OptimizationProfile
    from .runtime.progress import Progress
    from .runtime.specs import SymbolicSpec, TensorSpec
    from .tools.explorer.collect import explore
    from .tools.explorer.compile_record import CompileRecord
    from .tools.memory.allocation import allocate
    from .tools.pictures import draw
    from .tools.reports import plan_table, pool_table, write_report

__version__ = "0.1.0"

_HOME = {
    "BatchingQueue": "runtime.asynchronous.batching",
    "Buffer": "passes.planning",
    "BufferRecord": "passes.memory.report.memory_records",
    "BusyError": "dialects.errors",
    "CFiles": "runtime.c_export.emit_c",
    "CacheRecord": "passes.memory.report.memory_records",
    "Clique": "passes.memory.report.interference",
    "CompileError": "dialects.errors",
    "CompileRecord": "tools.explorer.compile_record",
    "CompileOptions": "runtime.config",
    "ConfigError": "dialects.errors",
    "DeviceError": "dialects.errors",
    "Engine": "runtime.engine",
    "EngineConfig": "runtime.config",
    "ExecutionContext": "runtime.plan",
    "Explanation": "passes.memory.report.memory_records",
    "Generator": "runtime.generation.generator",
    "GraphValue": "lowering.onnx_to_graph.user_operators.graph_value",
    "InferencePlan": "runtime.plan",
    "InterferenceGraph": "passes.memory.report.interference",
    "InvalidInputError": "dialects.errors",
    "InvalidModelError": "dialects.errors",
    "KernelError": "dialects.errors",
    "KernelRun": "runtime.hooks.hook_points",
    "KernelTime": "runtime.profiling.kernel_records",
    "KernelTurn": "runtime.profiling.kernel_records",
    "MemoryFrontier": "runtime.compile.memory_frontier",
    "MemoryPlan": "passes.memory.report.memory_plan",
    "MemoryPoint": "runtime.compile.memory_frontier",
    "MiniInferBackend": "runtime.backend",
    "MiniInferError": "dialects.errors",
    "NonFiniteError": "dialects.errors",
    "OpenDimensionsError": "dialects.errors",
    "OperatorError": "dialects.errors",
    "OptimizationProfile": "runtime.profile",
    "OutOfMemoryError": "dialects.errors",
    "Plan": "passes.planning",
    "PlanError": "dialects.errors",
    "Progress": "runtime.progress",
    "QueueStatistics": "runtime.asynchronous.batch_statistics",
    "RemovedRecord": "passes.memory.report.memory_records",
    "RunCancelledError": "dialects.errors",
    "RunHandle": "runtime.asynchronous.run_handle",
    "STRATEGIES": "passes.planning",
    "StepRecord": "passes.memory.report.memory_records",
    "Storage": "runtime.memory.storage",
    "SymbolicSpec": "runtime.specs",
    "Tensor": "runtime.memory.tensor",
    "TensorRecord": "passes.memory.report.memory_records",
    "TensorSpec": "runtime.specs",
    "TensorType": "dialects.operators.tensor_type",
    "TimeLimitError": "dialects.errors",
    "UnknownValueError": "dialects.errors",
    "UnsupportedError": "dialects.errors",
    "UserOperator": "runtime.operators.operator_declaration",
    "allocate": "tools.memory.allocation",
    "build": "runtime.compile.several_cpus",
    "compile": "runtime.compile.entry",
    "draw": "tools.pictures",
    "emit_c": "runtime.c_export.emit_c",
    "explore": "tools.explorer.collect",
    "import_onnx": "lowering.onnx_to_graph",
    "intermediates": "runtime.compile.entry",
    "load": "runtime.kept.artifact",
    "memory_frontier": "runtime.compile.entry",
    "operator": "runtime.operators.operator_declaration",
    "plan_memory": "runtime.compile.entry",
    "plan_table": "tools.reports",
    "pool_table": "tools.reports",
    "register_allocator": "runtime.memory.allocators",
    "write_report": "tools.reports",
}

__all__ = [
    "STRATEGIES",
    "BatchingQueue",
    "Buffer",
    "BufferRecord",
    "BusyError",
    "CFiles",
    "CacheRecord",
    "Clique",
    "CompileError",
    "CompileOptions",
    "CompileRecord",
    "ConfigError",
    "DeviceError",
    "Engine",
    "EngineConfig",
    "ExecutionContext",
    "Explanation",
    "Generator",
    "GraphValue",
    "InferencePlan",
    "InterferenceGraph",
    "InvalidInputError",
    "InvalidModelError",
    "KernelError",
    "KernelRun",
    "KernelTime",
    "KernelTurn",
    "MemoryFrontier",
    "MemoryPlan",
    "MemoryPoint",
    "MiniInferBackend",
    "MiniInferError",
    "NonFiniteError",
    "OpenDimensionsError",
    "OperatorError",
    "OptimizationProfile",
    "OutOfMemoryError",
    "Plan",
    "PlanError",
    "Progress",
    "QueueStatistics",
    "RemovedRecord",
    "RunCancelledError",
    "RunHandle",
    "StepRecord",
    "Storage",
    "SymbolicSpec",
    "Tensor",
    "TensorRecord",
    "TensorSpec",
    "TensorType",
    "TimeLimitError",
    "UnknownValueError",
    "UnsupportedError",
    "UserOperator",
    "allocate",
    "build",
    "compile",
    "draw",
    "emit_c",
    "explore",
    "import_onnx",
    "intermediates",
    "load",
    "memory_frontier",
    "on_ray",
    "operator",
    "ops",
    "plan_memory",
    "plan_table",
    "pool_table",
    "register_allocator",
    "write_report",
]


if not TYPE_CHECKING:  # for whom any name would be there

    def __getattr__(name: str) -> object:
        if name == "on_ray":
            return import_module(".runtime.cluster", __name__)
        if name == "ops":
            return import_module(".lowering.onnx_to_graph.user_operators.graph_functions", __name__)
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
