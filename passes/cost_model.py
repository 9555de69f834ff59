"""A cost model: the time of a kernel on one core, for choosing schedules and numbers of threads.

    seconds = max(instructions / speed, bytes / speed of the cache or the memory that has them)

for cores read ahead while they compute. An estimate from shapes and the speeds that the target states. Its constants
are those of Zen 5 with vectors of 512 bits: there a model's estimates add up to within 15 % of what one thread takes.
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ..dialects.graph.base import GraphOp
from ..dialects.graph.ops.indexing import GatheringOp
from ..dialects.graph.ops.structure import KernelOp
from ..dialects.graph.values import numpy_dtype
from ..dialects.kernel.targets import CpuAttr
from ..dialects.sizes.guards import unguarded
from ..dialects.sizes.sizes import now

STAGE_GRAIN = 500
"""Nanoseconds of a stage that are worth a thread of their own: some times what handing a share to a thread that is
awake is expected to take (a few cache lines between two cores). Chosen, not tuned."""

CHUNK_GRAIN = 5_000
"""Nanoseconds of a share of a stage, where a thread takes several: far above what taking one costs, two atomic
operations and what a kernel computes before its loops, together 0.1 to 0.5 us."""

MOST_CHUNKS = 8
"""Shares of a stage for each thread: what one holds up, when it loses its processor, is the work of one share."""

PIECES = 4
"""Pieces of a share, at least, where it has several for each thread and does something over again for a part of one."""

MODEL_GRAIN = 12_500
"""Nanoseconds of a model that are worth a thread of their own: about what a system takes to wake one that sleeps, so
that below it an inference is over before help has come. Chosen, not tuned."""

_INSTRUCTION = 2  # multiplications and additions that a core could do in the time of any other instruction


def nanoseconds(kernel: KernelOp, target: CpuAttr) -> int:
    """Estimated time of one call of a kernel on one core of the target, independent of its schedule."""
    return round(seconds(kernel, target) * 1e9)


def seconds(kernel: KernelOp, target: CpuAttr, *, wasted: float = 1.0, more: int = 0, vectors: bool = True) -> float:
    """The same with `wasted` times as many multiplications and `more` other operations.

    Without `vectors`, code is scalar.
    """
    multiplied, other = map(now, operations(kernel))
    computing = multiplying_seconds(wasted * multiplied, target) + instruction_seconds(other + more, target)
    if not vectors:
        computing *= target.lanes(32)
    read, written = map(read_bytes, kernel.arguments), map(bytes_of, kernel.terminator.operands)
    return max(computing, sum(moving_seconds(each, target) for each in (*read, *written)))


def seats_of(work: int, threads: int, grain: int = STAGE_GRAIN) -> int:
    """The number of threads for a stage of `work` nanoseconds: one for each `grain`, or all `threads` if that is 0."""
    return max(1, min(threads, work // grain)) if grain else threads


def operations(kernel: KernelOp) -> tuple[int, int]:
    """The number of multiply-adds of a call, and of other instructions."""
    ops = [op for op in kernel.body.block.ops if isinstance(op, GraphOp)]
    with unguarded():  # which operand is the largest may differ at other shapes
        return sum(op.products for op in ops), sum(op.instructions for op in ops)


def multiplying_seconds(products: float, target: CpuAttr) -> float:
    """Time of a core for that many multiply-adds."""
    return 2 * products / target.gflops.data * 1e-9


def instruction_seconds(numbers: float, target: CpuAttr) -> float:
    """Time of a core for one other instruction on each of that many numbers."""
    return _INSTRUCTION * numbers / target.gflops.data * 1e-9


def moving_seconds(nbytes: int, target: CpuAttr, times: int = 1) -> float:
    """Time of a core to read or write `nbytes` bytes `times` times, at the bandwidth of the level that holds them."""
    return times * nbytes / target.moving_speed(nbytes) * 1e-9


def read_bytes(value: SSAValue) -> int:
    """Bytes read of a value: all of it, or for a gathered table what its readers take."""
    readers = [use.operation for use in value.uses]
    if readers and all(isinstance(op, GatheringOp) and op.operands[0] is value for op in readers):
        return min(bytes_of(value), sum(bytes_of(op.results[0]) for op in readers))
    return bytes_of(value)


def bytes_of(value: SSAValue) -> int:
    """Bytes of a tensor at the current sizes."""
    type = cast("TensorType[Attribute]", value.type)
    return now(prod(type.get_shape())) * numpy_dtype(type.element_type).itemsize
