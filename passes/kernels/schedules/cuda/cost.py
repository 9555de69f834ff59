"""The cost model of GPU launches: the maximum of arithmetic, bytes and waves of blocks, plus the launch.

A prediction from shapes, the limits that the target states, and the constants of tuning.py, which were measured on an
H100 where they say so. It ranks candidates, and says what a kernel could take at best.
"""

from __future__ import annotations

from math import ceil

from .....dialects.graph.base import ContractionOp
from .....dialects.graph.ops.contraction import is_byte
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.values import element_type_of_value
from .....dialects.kernel.targets import GpuAttr
from ....cost_model import bytes_of as bytes_of_value
from ....cost_model import operations, read_bytes
from .tuning import LATENCY, PORT

TENSOR_SPEED = {"tf32": 1.0, "3xtf32": 1 / 3, "fp16": 2.0, "bf16": 2.0, "bytes": 4.0}
"""How fast tensor units are at a precision, or with bytes, against tf32."""


def memory_seconds(nbytes: float, target: GpuAttr) -> float:
    """Time of that many bytes between the device and its memory."""
    return nbytes / target.gbytes.data * 1e-9


def cached_seconds(read: float, nbytes: float, target: GpuAttr) -> float:
    """Time of `read` bytes of an array of `nbytes` that is read again and again.

    As much of it as the second-level cache holds comes from there, at about twice the rate of memory.
    """
    held = min(1.0, target.l2.data / nbytes) if nbytes else 1.0
    return memory_seconds(read, target) * (1 - held / 2)


def resident_blocks(block: int) -> int:
    """Blocks of `block` threads that are resident on a multiprocessor, as limited by threads."""
    return max(1, min(GpuAttr.RESIDENT, GpuAttr.THREADS // block))


def stream_seconds(nbytes: float, read: float, blocks: int, block: int, in_flight: int, target: GpuAttr) -> float:
    """Time of `nbytes`, of which `read` are loads by `blocks` x `block` threads with `in_flight` outstanding each.

    The rate is bound by memory, by the number of multiprocessors with blocks, and by latency over the bytes in flight.
    The last wave of blocks may be incomplete.
    """
    machine, resident = target.multiprocessors.data, resident_blocks(block)
    waves = occupied(blocks, resident, target) if blocks > resident * machine else 1
    moving = nbytes / min(target.gbytes.data, max(1, min(blocks, machine)) * PORT) * 1e-9 / waves
    asked = max(1, min(blocks, resident * machine) * block * in_flight)
    return max(moving, LATENCY * max(1, read / asked))


def occupied(blocks: int, resident: int, target: GpuAttr) -> float:
    """The average fraction of busy multiprocessors, with `resident` blocks on each."""
    wave = target.multiprocessors.data * max(1, resident)
    if blocks >= wave:
        return blocks / (ceil(blocks / wave) * wave)
    return min(1.0, blocks / target.multiprocessors.data)


def arithmetic_seconds(kernel: KernelOp, target: GpuAttr, share: float = 1.0) -> float:
    """Time of a kernel's operations if `share` of the device's 32-bit units work."""
    products, others = operations(kernel)
    return (2 * products + others) / (target.gflops.data * share) * 1e-9


def bytes_of(kernel: KernelOp) -> int:
    """Bytes that a kernel must read and write: of a gathered table only what is gathered."""
    return sum(map(bytes_of_value, kernel.terminator.operands)) + sum(map(read_bytes, kernel.arguments))


def limit_seconds(kernel: KernelOp, target: GpuAttr) -> float:
    """A lower bound of a kernel's time: its products at full speed, or its bytes."""
    products, others = operations(kernel)
    contractions = [op for op in kernel.body.block.ops if isinstance(op, ContractionOp)]
    of_bytes = bool(contractions) and all(is_byte(element_type_of_value(op.operands[0])) for op in contractions)
    work = 2 * products / product_gflops(target, "bytes" if of_bytes else None)
    return max((work + others / target.gflops.data) * 1e-9, memory_seconds(bytes_of(kernel), target))


def product_gflops(target: GpuAttr, kind: str | None = None) -> float:
    """Operations per nanosecond of products at a precision, by default the target's, or of "bytes"."""
    speed = TENSOR_SPEED.get(kind or target.precision.data)
    return target.gflops.data if speed is None else target.tensor_gflops.data * speed
