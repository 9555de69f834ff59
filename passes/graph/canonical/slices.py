"""Slices, gathers, concatenations and pads."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
from typing_extensions import override
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.ops.contraction import ConvOp, ConvTransposeOp
from ....dialects.graph.ops.indexing import GatherElementsOp, GatherNdOp, GatherOp
from ....dialects.graph.ops.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from ....dialects.graph.values import ints, ints_attr, shape_of
from ....dialects.graph.window_sizes import spatial_axes
from ....dialects.sizes.sizes import is_fixed, surely_below
from ...geometry.shape_maps import inverse, permuted, reshape_groups
from ..support.pattern_utils import GraphPattern, defining, only_use, rewrites, with_operands

MAX_ELEMENTS = 1 << 16  # gathers are checked element by element up to this size


class DropFullSlice(GraphPattern):
    """slice that selects everything in order -> x"""

    @rewrites
    @override
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        if shape_of(op.x) == shape_of(op.result) and all(step > 0 for step in ints(op.steps)):
            rewriter.replace(op, [], [op.x])


class MergeSlices(GraphPattern):
    """slice(slice(x)) -> slice(x), for positive steps"""

    @rewrites
    @override
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        inner = defining(op.x, SliceOp)
        if inner is None or min(*ints(op.steps), *ints(inner.steps)) < 1 or 0 in shape_of(op.result):
            return
        starts: list[int] = []
        stops: list[int] = []
        steps: list[int] = []
        outer_bounds = zip(ints(op.starts), ints(op.steps), op.counts, strict=True)
        for (outer_start, outer_step, count), start, step in zip(
            outer_bounds, ints(inner.starts), ints(inner.steps), strict=True
        ):
            starts.append(start + outer_start * step)
            steps.append(outer_step * step)
            stops.append(starts[-1] + (count - 1) * steps[-1] + 1)
        rewriter.replace(op, SliceOp(inner.x, starts, stops, steps, location=op.location))


class SliceOfConcat(GraphPattern):
    """slice(concat(a, b, ..)) within one operand -> slice of that operand"""

    @rewrites
    @override
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        concat = defining(op.x, ConcatOp)
        if concat is None or 0 in shape_of(op.result):
            return
        axis = concat.axis.value.data
        start, step = ints(op.starts)[axis], ints(op.steps)[axis]
        ends = (start, start + (op.counts[axis] - 1) * step)
        first, last = ends if step > 0 else reversed(ends)
        for operand, (begin, end) in zip(concat.inputs, pairwise(concat.borders), strict=True):
            if surely_below(begin - 1, first) and surely_below(last, end):
                starts, stops = list(ints(op.starts)), list(ints(op.stops))
                starts[axis] -= begin
                stops[axis] -= begin
                rewriter.replace(op, SliceOp(operand, starts, stops, ints(op.steps), location=op.location))
                return


class SliceOfConv(GraphPattern):
    """slice(conv(x)) that crops what only the pads produce, as in causal convolutions -> conv(x) with smaller pads

    For a transposed convolution, whose pads crop its result: with larger ones.
    """

    @rewrites
    @override
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        conv = only_use(op.x, ConvOp) or only_use(op.x, ConvTransposeOp)
        if conv is None or set(ints(op.steps)) != {1} or 0 in shape_of(op.result):
            return
        sizes = shape_of(op.x)
        before = list(ints(op.starts))
        behind = [size - stop for size, stop in zip(sizes, ints(op.stops), strict=True)]
        axes = spatial_axes(conv.layout.data, len(sizes))
        if not is_fixed(*before, *behind) or any(
            before[axis] or behind[axis] for axis in {*range(len(sizes))} - {*axes}
        ):
            return
        steps = [-stride for stride in ints(conv.strides)] if isinstance(conv, ConvOp) else [1] * len(axes)
        cut = [each[axis] * step for each in (before, behind) for axis, step in zip(axes, steps, strict=True)]
        pads = [pad + more for pad, more in zip(ints(conv.pads), cut, strict=True)]
        if min(pads) >= 0:
            rewriter.replace(op, with_operands(conv, conv.operands, pads=ints_attr(pads)))


class SliceBeforeTranspose(GraphPattern):
    """slice(transpose(x)) -> transpose(slice(x)), if the transpose has only slices as users"""

    @rewrites
    @override
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        transpose = defining(op.x, TransposeOp)
        if transpose is None or not all(isinstance(use.operation, SliceOp) for use in op.x.uses):
            return
        permutation = ints(transpose.permutation)
        back = inverse(permutation)
        bounds = (permuted(ints(bound), back) for bound in (op.starts, op.stops, op.steps))
        part = SliceOp(transpose.x, *bounds, location=op.location)
        rewriter.replace(op, [part, TransposeOp(part, permutation, location=transpose.location)])


class SliceBeforeReshape(GraphPattern):
    """slice(reshape(x)) -> reshape(slice(x)), if the sliced dim is a dim of x or the outermost part of one"""

    @rewrites
    @override
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        reshape = defining(op.x, ReshapeOp)
        if reshape is None or 0 in shape_of(op.result):
            return
        old, new = shape_of(reshape.x), shape_of(op.x)
        bounds = list(zip(ints(op.starts), ints(op.stops), ints(op.steps), strict=True))
        cut = {
            dim
            for dim, (_, _, step) in enumerate(bounds)
            if op.counts[dim] != new[dim] or (step != 1 and new[dim] != 1)
        }
        starts, stops, steps = [0] * len(old), list(old), [1] * len(old)
        for group in reshape_groups(old, new) or []:
            here = [dim for dim in group.target if dim in cut]
            if not here:
                continue
            first, rest = group.target[0], prod(new[dim] for dim in group.target[1:])
            (start, stop, step), (source, *others) = bounds[first], group.source
            if here != [first] or others or (rest != 1 and step != 1) or step < 1:
                return
            starts[source], stops[source], steps[source] = start * rest, stop * rest, step
            cut.remove(first)
        if not cut:
            part = SliceOp(reshape.x, starts, stops, steps, location=op.location)
            rewriter.replace(op, [part, ReshapeOp(part, shape_of(op.result), location=op.location)])


class GatherAsSlice(GraphPattern):
    """gather with a single or evenly increasing constant index -> slice"""

    @rewrites
    @override
    def match_and_rewrite(self, op: GatherOp, rewriter: PatternRewriter, /) -> None:
        indices = self.constants.indices(op)
        if indices is None or indices.ndim > 1 or indices.size == 0:
            return
        if (indices < 0).any() and not is_fixed(shape_of(op.x)[op.axis.value.data]):
            return
        shape, axis = shape_of(op.x), op.axis.value.data
        places = np.where(indices < 0, indices + shape[axis], indices).astype(np.int64).reshape(-1)
        step = int(places[1] - places[0]) if places.size > 1 else 1
        if step < 1 or (np.diff(places) != step).any():
            return
        starts, stops, steps = [0] * len(shape), list(shape), [1] * len(shape)
        starts[axis], stops[axis], steps[axis] = int(places[0]), int(places[-1]) + 1, step
        part = SliceOp(op.x, starts, stops, steps, location=op.location)
        rewriter.replace(op, [part, ReshapeOp(part, shape_of(op.result), location=op.location)])


class GatherOfEverything(GraphPattern):
    """gather whose constant indices select all elements in order -> reshape"""

    @rewrites
    @override
    def match_and_rewrite(self, op: GatherOp | GatherElementsOp | GatherNdOp, rewriter: PatternRewriter, /) -> None:
        shape, elements = shape_of(op.x), prod(shape_of(op.result))
        if prod(shape) != elements or not is_fixed(*shape) or elements > MAX_ELEMENTS:
            return
        indices = self.constants.indices(op)
        if indices is None:
            return
        places = op.evaluate(np.arange(elements).reshape(shape), indices)[0].reshape(-1)
        if (places == np.arange(elements)).all():
            rewriter.replace(op, ReshapeOp(op.x, shape_of(op.result), location=op.location))


class SimplifyConcat(GraphPattern):
    """concat of one operand -> the operand; empty operands are removed"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter, /) -> None:
        axis = op.axis.value.data
        kept: list[SSAValue] = [operand for operand in op.inputs if shape_of(operand)[axis] != 0]
        if len(kept) == 1:
            rewriter.replace(op, [], kept)
        elif kept and len(kept) < len(op.inputs):
            rewriter.replace(op, ConcatOp(kept, axis, location=op.location))


class DropEmptyPad(GraphPattern):
    """pad by nothing -> x"""

    @rewrites
    @override
    def match_and_rewrite(self, op: PadOp, rewriter: PatternRewriter, /) -> None:
        if shape_of(op.x) == shape_of(op.result):
            rewriter.replace(op, [], [op.x])
