"""split-pool: a pool with a large window is done along one axis after the other.

before:  %y = graph.max_pool %x {kernel = array<i64: 5, 5>, pads = array<i64: 2, 2, 2, 2>, ..}
after:   %0 = graph.max_pool %x {kernel = array<i64: 5, 1>, pads = array<i64: 2, 0, 2, 0>, ..}
         %y = graph.max_pool %0 {kernel = array<i64: 1, 5>, pads = array<i64: 0, 2, 0, 2>, ..}

10 elements are read for each result instead of 25. What lies inside of a window is a box, so that its largest element
is the largest of those of its rows, and its mean the mean of theirs, with padding counted or not (means of f16 would be
rounded once more, so these stay). For CPUs, and where that is less work though what is between the two is written and
read.
"""

from __future__ import annotations

from math import prod

from typing_extensions import override
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.ops.windows import AvgPoolOp, MaxPoolOp
from ....dialects.graph.values import element_type_of_value, ints, ints_attr, shape_of
from ....dialects.kernel.targets import CpuAttr
from ....dialects.sizes.sizes import now
from ..support.pattern_utils import GraphPattern, PatternPass, rewrites, with_operands

BETWEEN = 4
"""Elements of windows that take as long as one that is written and read between two pools."""
WORTH = 0.8
"""Largest relative work at which a pool is split."""


class OneAxisAfterTheOther(GraphPattern):
    """pool(x) with a large window -> pool(pool(x)) with windows along one axis each"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MaxPoolOp | AvgPoolOp, rewriter: PatternRewriter, /) -> None:
        kernel, strides = ints(op.kernel), ints(op.strides)
        # What steps farthest comes first: it leaves least to the others.
        axes = sorted(
            (axis for axis, size in enumerate(kernel) if size > 1 or strides[axis] > 1), key=lambda axis: -strides[axis]
        )
        rounds = isinstance(op, AvgPoolOp) and element_type_of_value(op.x) not in (f32, f64)
        if len(axes) < 2 or rounds or 0 in shape_of(op.result):
            return
        parts: list[Operation] = []
        value: SSAValue = op.x
        for axis in axes:
            parts.append(_along(op, value, axis))
            value = parts[-1].results[0]
        counts = [now(prod(shape_of(part.results[0]))) for part in parts]
        work = sum(count * (kernel[axis] + BETWEEN) for count, axis in zip(counts, axes, strict=True))
        if work - BETWEEN * counts[-1] <= WORTH * counts[-1] * prod(kernel):
            rewriter.replace(op, parts)
            return
        for part in reversed(parts):
            part.erase()


def _along(op: MaxPoolOp | AvgPoolOp, x: SSAValue, axis: int) -> MaxPoolOp | AvgPoolOp:
    """The pool's part along one axis."""
    rank = len(ints(op.kernel))

    def only(values: tuple[int, ...], other: int) -> list[int]:
        return [value if index % rank == axis else other for index, value in enumerate(values)]

    return with_operands(
        op,
        [x],
        kernel=ints_attr(only(ints(op.kernel), 1)),
        strides=ints_attr(only(ints(op.strides), 1)),
        pads=ints_attr(only(ints(op.pads), 0)),
        dilations=ints_attr(only(ints(op.dilations), 1)),
    )


class SplitPool(PatternPass):
    """Pools with large windows are done along one axis after the other."""

    name = "split-pool"
    patterns = (OneAxisAfterTheOther,)
    machine = CpuAttr
