"""C++ for clusters of blocks, by functions of cluster.cuh, and for barriers of all blocks, by grid_barrier.cuh."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from ...dialects.gpu.cluster import ClusterLoadOp
from ...dialects.gpu.grid_barrier import GridBarrierOp
from .expressions import Expression, Lanes, literal
from .kernel_text import SHARED, Handler, KernelText
from .memref_ops import indices_of
from .names import cluster_prelude, grid_barrier_prelude
from .types import lanes_of


def prelude_for(functions: Iterable[Operation]) -> str:
    """What is needed beside the prelude: "" without such operations."""
    used = {op.name for function in functions for op in function.walk()}
    cluster = cluster_prelude() if used & {"nvgpu.cluster_barrier", "nvgpu.cluster_load"} else ""
    return cluster + (grid_barrier_prelude() if "nvgpu.grid_barrier" in used else "")


def _barrier(kernel: KernelText, op: Operation) -> None:
    kernel.changed()
    kernel.line("cluster_barrier();", op)


def _load(kernel: KernelText, op: ClusterLoadOp) -> None:
    address = kernel.place(op.source).address(indices_of(kernel, op.indices))
    lanes = lanes_of(op.result.type)
    text = f"cluster_load<{lanes or 1}>({address}, {kernel.scalar(op.rank).text})"
    depends = frozenset((SHARED,))
    if lanes is None:
        kernel.define(op.result, Expression(f"{text}[0]", depends=depends), op)
    else:
        kernel.define(op.result, Lanes(whole=Expression(text, depends=depends)), op)


def _grid_barrier(kernel: KernelText, op: GridBarrierOp) -> None:
    kernel.changed()
    kernel.line(f"grid_barrier({kernel.place(op.counter).address([literal(0)])});", op)


HANDLERS: dict[str, Handler] = {
    "nvgpu.cluster_barrier": _barrier,
    "nvgpu.cluster_load": _load,
    "nvgpu.grid_barrier": _grid_barrier,
}
