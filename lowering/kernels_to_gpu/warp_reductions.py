"""Reductions over the lanes of a vector, of a warp, and over the warps of a block."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, f32, i32, i64
from xdsl.dialects.vector import ExtractOp
from xdsl.ir import SSAValue

from ...dialects.extensions.arith import ExtUIOp, TruncIOp
from ..kernel_code.arithmetic import Arithmetic, bits_of, is_integer, lanes_of
from ..kernel_code.loop_builder import Index
from ..kernel_code.reductions import Reduction
from .thread_builder import WARP, ThreadBuilder


def from_lane(b: ThreadBuilder, value: SSAValue, offset: int, mode: str = "xor", width: int = WARP) -> SSAValue:
    """ThreadBuilder.from_lane for any width: 64 bits as two halves, narrow values as 32 bits."""
    type = value.type
    if type in (f32, i32):
        return b.from_lane(value, offset, mode, width)
    if not is_integer(type):
        bits = b.insert(arith.BitcastOp(value, i64))
        return b.insert(arith.BitcastOp(from_lane(b, bits, offset, mode, width), type))
    if bits_of(type) < 32:
        wide = b.insert(ExtUIOp(value, i32))
        return b.insert(TruncIOp(b.from_lane(wide, offset, mode, width), type))
    half = b.constant(32, i64)
    high = b.insert(TruncIOp(b.insert(arith.ShRUIOp(value, half)), i32))
    low = b.insert(TruncIOp(value, i32))
    high, low = (b.insert(ExtUIOp(b.from_lane(each, offset, mode, width), i64)) for each in (high, low))
    return b.insert(arith.OrIOp(b.insert(arith.ShLIOp(high, half)), low))


def over_vector(b: ThreadBuilder, reduction: Reduction, value: SSAValue) -> SSAValue:
    """Reduces the lanes of a thread's vector to a scalar."""
    if not isinstance(value.type, VectorType):
        return value
    left = [b.insert(ExtractOp(value, [lane], reduction.element)) for lane in range(lanes_of(value))]
    while len(left) > 1:
        left = [reduction.combine(x, y) for x, y in zip(left[::2], left[1::2], strict=True)]
    return left[0]


def over_lanes(b: ThreadBuilder, reduction: Reduction, value: SSAValue, width: int) -> SSAValue:
    """Reduces over `width` adjacent lanes of a warp; all of them get the result."""
    while width > 1:
        width //= 2
        value = reduction.combine(value, from_lane(b, value, width))
    return value


def up_to_lane(b: ThreadBuilder, reduction: Reduction, value: SSAValue, lane: Index) -> tuple[SSAValue, SSAValue]:
    """The values of a warp combined up to each lane: with its own, and without (of the first lane: nothing)."""
    for step in (1, 2, 4, 8, 16):
        lower_lane = b.compare("uge", lane, step)
        value = b.select(lower_lane, reduction.combine(from_lane(b, value, step, "up"), value), value)
    first = b.compare("eq", lane, 0)
    return value, b.select(first, reduction.start(), from_lane(b, value, 1, "up"))


def over_block(b: ThreadBuilder, reduction: Reduction, value: SSAValue, lane: Index, block: int) -> SSAValue:
    """Reduces over all threads of a block of several warps; all of them get the result."""
    warps = block // WARP
    value = over_lanes(b, reduction, value, WARP)
    partial = b.shared(reduction.element, [warps], "of_warps")
    first = b.compare("eq", b.rem(lane, WARP), 0)
    b.when(first, lambda: b.store(value, partial, [b.div(lane, WARP)]))
    b.barrier()
    return over_lanes(b, reduction, b.load(partial, [b.rem(lane, warps)]), warps)


def add_lanes(b: ThreadBuilder, sums: SSAValue, rows: int, together: int, offsets: Sequence[int], width: int) -> None:
    """Adds up an array of sums over lanes whose numbers differ in the bits of `offsets`; all lanes get the results."""

    def one(i: Index, j: Index) -> None:
        total = b.load(sums, [i, j])
        for offset in offsets:
            total = Arithmetic(b, f32).add(total, b.from_lane(total, offset, width=max(width, 2)))
        b.store(total, sums, [i, j])

    if offsets:
        b.unrolled(rows, lambda i: b.unrolled(together, lambda j: one(i, j)))
