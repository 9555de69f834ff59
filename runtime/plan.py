"""InferencePlan: everything that is decided before the first inference, immutable and shared by threads."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from ..passes.memory_report import MemoryPlan
from .storage import Array

if TYPE_CHECKING:
    from .context import ExecutionContext
    from .cpu import LoadedCode


@dataclass(frozen=True)
class TensorSpec:
    """An input or output: name, static shape and element type."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @override
    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class KernelCall:
    """One call in the order of execution: the kernel's function and the ONNX node it began with."""

    kernel: str
    node: str


@dataclass(frozen=True)
class InferencePlan:
    """Code, weights and memory plan of a model for given shapes and options.

    `memory` says where every intermediate lies (`arena_bytes`, `lower_bound_bytes`, `tensors`). Contexts made from a
    plan are independent of each other; the plan itself never changes, so any number of threads may use it.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    memory: MemoryPlan
    alignment: int
    threads: int
    calls: tuple[KernelCall, ...]
    profiled: bool
    weights: Array = field(repr=False)
    code: LoadedCode = field(repr=False)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in the model's order."""
        return tuple(spec.name for spec in self.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in the model's order."""
        return tuple(spec.name for spec in self.outputs)

    @property
    def arena_bytes(self) -> int:
        """Bytes of memory that one context needs."""
        return self.memory.arena_bytes

    def entry(self) -> Any:
        """The native function: (pointers, threads) -> threads it ran on."""
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)
        return prototype(self.code.address("mini_infer_run"))

    def create_execution_context(self, arena: object | None = None) -> ExecutionContext:
        """A context with an arena of its own, or over `arena`: the caller's numpy or DLPack memory.

        Raises InvalidInputError where that memory is smaller than `arena_bytes` or not aligned to `alignment`.
        """
        from .context import ExecutionContext

        return ExecutionContext(self, arena)
