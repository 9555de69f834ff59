"""Reductions, pools and resizes that are identities or equivalent to simpler ops."""

from __future__ import annotations

from math import prod

from typing_extensions import override
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.ops.movement import ReshapeOp
from ....dialects.graph.ops.reduction import ReduceMaxOp, ReduceMeanOp, ReduceOp
from ....dialects.graph.ops.resize import ResizeOp
from ....dialects.graph.ops.windows import AvgPoolOp, MaxPoolOp
from ....dialects.graph.values import ints, shape_of
from ....dialects.graph.window_sizes import spatial_axes, spatial_shape
from ..support.pattern_utils import GraphPattern, rewrites


class ReduceOfOnes(GraphPattern):
    """reduction over dims of size 1 -> reshape"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ReduceOp, rewriter: PatternRewriter, /) -> None:
        shape = shape_of(op.x)
        if prod(shape) and all(shape[axis] == 1 for axis in ints(op.axes)):
            rewriter.replace(op, ReshapeOp(op.x, shape_of(op.result), location=op.location))


class DropUnitPool(GraphPattern):
    """max_pool and avg_pool with 1x1 windows at every position -> x"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MaxPoolOp | AvgPoolOp, rewriter: PatternRewriter, /) -> None:
        ones = all(size == 1 for size in (*ints(op.kernel), *ints(op.strides)))
        if ones and not any(ints(op.pads)):
            rewriter.replace(op, [], [op.x])


class PoolOfEverything(GraphPattern):
    """a pool whose single window is the whole image -> reduce_mean, reduce_max over the spatial dims"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MaxPoolOp | AvgPoolOp, rewriter: PatternRewriter, /) -> None:
        shape, layout = shape_of(op.x), op.layout.data
        kernel = ints(op.kernel)
        if kernel != spatial_shape(shape, layout) or any(ints(op.pads)) or op.positions() != (1,) * len(kernel):
            return
        kind = ReduceMeanOp if isinstance(op, AvgPoolOp) else ReduceMaxOp
        rewriter.replace(op, kind(op.x, spatial_axes(layout, len(shape)), True, location=op.location))


class DropFullResize(GraphPattern):
    """resize that leaves every axis unchanged -> x"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ResizeOp, rewriter: PatternRewriter, /) -> None:
        if all(op.is_identity(axis) for axis in range(len(shape_of(op.x)))):
            rewriter.replace(op, [], [op.x])
