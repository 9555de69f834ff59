"""group-pixels: a convolution with few filters computes several adjacent pixels at a time, as additional filters.

before:  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, ..}              %x: [N, C, H, W], %w: [3, C, 9, 9]
         %z = graph.tanh %y
after:   %0 = graph.conv %x, %w' {strides = array<i64: 1, 5>, ..}             %w': [5 * 3, C, 9, 13]
         %1 = graph.tanh %0                                                   [N, 5 * 3, H, W / 5]
         %2 = graph.transpose (graph.reshape %1)                              [N, 5, 3, H, W / 5] as [N, 3, H, W / 5, 5]
         %z = graph.slice (graph.reshape %2)                                  as [N, 3, H, W], pixels beyond W cut off

A register has a lane for each filter, so three filters leave most of them idle. Those of several pixels fill it; each
has zeros where only its neighbours have taps. With channels last, pixels so made lie where they belong. Where that is
more than it saves, nothing is done.

A number that is infinite, or none, is multiplied by those zeros too: it makes pixels of its group NaN that would not
read it. Comes before channels-last; only known weights of one group, and for CPUs.
"""

from __future__ import annotations

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.contraction import ConvOp
from ...dialects.graph.ops.movement import ReshapeOp, SliceOp, TransposeOp
from ...dialects.graph.values import Array, element_type_of_value, ints, numpy_dtype, shape_of, tensor
from ...dialects.kernel.targets import CpuAttr, target_of
from ...dialects.sizes.sizes import now
from .support.pattern_utils import GraphPattern, PatternPass, rewrites
from .support.repeated_channels import followed, followers_of, repeated

WORTH = 0.75
"""Largest relative time at which a convolution is rewritten: pixels may have to be cropped, and rows become short."""


class SeveralPixels(GraphPattern):
    """conv(x) with few filters -> conv(x) with filters for several adjacent pixels, then reordered"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        known = all(map(self.constants.is_constant, op.operands[1:]))
        plain = op.layout.data == "NCHW" and op.groups.value.data == 1 and ints(op.dilations)[-1] == 1
        type = element_type_of_value(op.x)
        if not plain or not known or type not in (f32, f64) or 0 in shape_of(op.result):
            return
        module = op.get_toplevel_object()
        target = target_of(module) if isinstance(module, Operation) else None
        if not isinstance(target, CpuAttr):
            return
        count = pixels_together(
            shape_of(op.weight)[0],
            shape_of(op.weight)[-1],
            ints(op.strides)[-1],
            now(shape_of(op.result)[-1]),
            target.lanes(8 * numpy_dtype(type).itemsize),
        )
        if count == 1:
            return
        followers = followers_of(op.result, self.constants)
        made = self._convolution(op, count)
        made += followed(followers, op.result, made[-1].results[0], count, self.constants)
        made += _in_a_row(op, count, made[-1])
        replaced = [op, *followers]
        rewriter.replace(replaced.pop(), made)
        for each in reversed(replaced):
            rewriter.erase(each)

    def _convolution(self, op: ConvOp, count: int) -> list[Operation]:
        """The convolution that computes `count` pixels at a time."""
        *strides, stride = ints(op.strides)
        filters, *others, width = shape_of(op.weight)
        more = (count - 1) * stride
        shape = (count * filters, *others, width + more)

        def shifted(weight: Array) -> Array:
            wide = np.zeros((count, filters, *others, width + more), weight.dtype)
            for pixel in range(count):
                wide[pixel, ..., pixel * stride : pixel * stride + width] = weight
            return wide.reshape(shape)

        type = tensor(element_type_of_value(op.weight), shape)
        weight = self.constants.computed([op.weight], type, f"{count} times, {stride} apart", shifted, op.location)
        made: list[Operation] = [weight]
        bias = op.bias
        if bias is not None:
            made.append(repeated(bias, count, 0, self.constants, op.location))
            bias = made[-1].results[0]
        *pads, last = ints(op.pads)
        conv = ConvOp(
            op.x,
            weight,
            bias,
            strides=[*strides, count * stride],
            pads=[*pads, last + more],
            dilations=ints(op.dilations),
            location=op.location,
        )
        return [*made, conv]


def pixels_together(filters: int, width: int, stride: int, pixels: int, lanes: int) -> int:
    """The best number of `pixels` to compute at a time with filters of this width; 1 if nothing is saved."""

    def time(count: int) -> float:
        """Register multiplications per filter row and output row, relative to one pixel at a time."""
        columns = -(-count * filters // lanes)
        alone = -(-filters // lanes) * width * pixels
        return columns * (width + (count - 1) * stride) * -(-pixels // count) / alone

    most = max(1, min(lanes // filters, pixels))
    best = min(range(1, most + 1), key=time)
    return best if time(best) <= WORTH else 1


def _in_a_row(op: ConvOp, count: int, grouped: Operation) -> list[Operation]:
    """The pixels of all groups in sequence."""
    batch, filters, *rows, pixels = shape_of(op.result)
    groups, rank = shape_of(grouped.results[0])[-1], len(rows)
    split = ReshapeOp(grouped, (batch, count, filters, *rows, groups), location=op.location)
    last = TransposeOp(split, (0, *range(2, 4 + rank), 1), location=op.location)
    whole = ReshapeOp(last, (batch, filters, *rows, groups * count), location=op.location)
    shape = shape_of(whole.result)
    if shape[-1] == pixels:
        return [split, last, whole]
    return [split, last, whole, SliceOp(whole, [0] * len(shape), [*shape[:-1], pixels], location=op.location)]


class GroupPixels(PatternPass):
    """Convolutions with few filters compute several pixels at a time."""

    name = "group-pixels"
    patterns = (SeveralPixels,)
