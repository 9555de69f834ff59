"""How long a launch takes on a GPU: the longest of its arithmetic, its bytes and its waves of blocks, and a start.

A prediction from shapes and the limits that the target states. It ranks candidates, and says what a kernel could take
at best; it has not been compared with times on hardware.
"""

from __future__ import annotations

from math import ceil

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.targets import GpuAttr
from ....work import bytes_of as bytes_of_value
from ....work import operations, read_bytes

LAUNCH = 2e-6
"""Seconds between the launches of one CUDA graph: about what is told of kernels in a row; not measured."""

THREADS = 2048
"""Threads that a multiprocessor holds: of architectures 8.0, 9.0 and 10.0 (CUDA programming guide, table of compute
capabilities); 12 more have fewer."""

LATENCY = 600e-9
"""Seconds until what is read from memory is there: some 600 to 800 cycles, as microbenchmarks of A100 and H100 tell."""

PORT = 64
"""Bytes per nanosecond that one multiprocessor reads at most: 64 a cycle, rounded down. So a third of them can keep the
memory busy, if each has enough on its way."""

NEAR = 128
"""Bytes per nanosecond that a multiprocessor reads from its first-level cache: a vector for each of 8 threads a cycle,
rounded down."""

ACCESS = 16  # bytes that a thread reads at once, at most

TENSOR_SPEED = {"tf32": 1.0, "3xtf32": 1 / 3, "fp16": 2.0, "bf16": 2.0}
"""How fast tensor units are at a precision, against tf32."""

RESIDENT = 32  # blocks that a multiprocessor holds at most


def memory_seconds(nbytes: float, target: GpuAttr) -> float:
    """How long so many bytes take between the device and its memory."""
    return nbytes / target.gbytes.data * 1e-9


def resident_blocks(block: int) -> int:
    """How many blocks of so many threads a multiprocessor holds, as far as their threads tell."""
    return max(1, min(RESIDENT, THREADS // block))


def stream_seconds(nbytes: float, read: float, blocks: int, block: int, in_flight: int, target: GpuAttr) -> float:
    """How long so many bytes take, of which `read` are waited for by `blocks` x `block` threads, `in_flight` at a time.

    The memory, the multiprocessors that have blocks, and the latency over what is on its way bound the rate. The last
    wave of blocks may be a small one.
    """
    machine, resident = target.multiprocessors.data, resident_blocks(block)
    waves = occupied(blocks, resident, target) if blocks > resident * machine else 1
    moving = nbytes / min(target.gbytes.data, max(1, min(blocks, machine)) * PORT) * 1e-9 / waves
    asked = max(1, min(blocks, resident * machine) * block * in_flight)
    return max(moving, LATENCY * max(1, read / asked))


def occupied(blocks: int, resident: int, target: GpuAttr) -> float:
    """Which part of the multiprocessors works on average, where each holds `resident` blocks at a time."""
    wave = target.multiprocessors.data * max(1, resident)
    if blocks >= wave:
        return blocks / (ceil(blocks / wave) * wave)
    return min(1.0, blocks / target.multiprocessors.data)


def arithmetic_seconds(kernel: KernelOp, target: GpuAttr, share: float = 1.0) -> float:
    """How long the operations of a kernel take where `share` of the device's units for 32 bits work."""
    products, others = operations(kernel)
    return (2 * products + others) / (target.gflops.data * share) * 1e-9


def bytes_of(kernel: KernelOp) -> int:
    """What a kernel reads and writes at least: of a table that rows are gathered from, as much as is gathered."""
    return sum(map(bytes_of_value, kernel.terminator.operands)) + sum(map(read_bytes, kernel.arguments))


def limit_seconds(kernel: KernelOp, target: GpuAttr) -> float:
    """The least that a kernel could take: its products at the precision's full speed, or its bytes."""
    products, others = operations(kernel)
    work = 2 * products / product_gflops(target) + others / target.gflops.data
    return max(work * 1e-9, memory_seconds(bytes_of(kernel), target))


def product_gflops(target: GpuAttr) -> float:
    """Multiplications and additions per nanosecond of products at the target's precision."""
    speed = TENSOR_SPEED.get(target.precision.data)
    return target.gflops.data if speed is None else target.tensor_gflops.data * speed
