"""Transposed convolutions as convolutions: one for each phase of the strides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.ops.contraction import ConvOp, ConvTransposeOp
from ....dialects.graph.ops.movement import ConcatOp, ReshapeOp, SliceOp, TransposeOp
from ....dialects.graph.ops.quantization import DequantizeOp
from ....dialects.graph.values import Array, element_type_of_value, ints, shape_of, tensor
from ....dialects.sizes.sizes import is_fixed, now
from ...geometry.phases import Phase, PhasedAxis, phases_apart, phases_side_by_side
from .pattern_utils import GraphPattern, defining
from .repeated_channels import followed, followers_of, repeated

MOST_PARTS = 16
"""Largest number of convolutions that replace one: each is a kernel."""

# What ways of doing it are compared by, in multiply-adds of a lane: filters are made up to whole registers of LANES;
# putting an element of the result in order takes about ORDERED of them, cutting a border off CUT, if it isn't done by
# the op that reads it; and a kernel takes a microsecond. Expected, from 130 G/s and 10 GB/s of one core.
LANES, ORDERED, CUT, KERNEL = 16, 64, 16, 130_000


class TransposedPattern(GraphPattern):
    """The elements of each phase by a convolution, then interleaved"""

    def split(self, op: ConvTransposeOp, rewriter: PatternRewriter) -> None:
        """Rewrites an op whose weight and bias are known, or dequantised from known numbers."""
        if op.layout.data != "NCHW" or element_type_of_value(op.x) not in (f32, f64):
            return
        ways = _ways(op)
        if not ways:
            return
        axes = min(ways, key=lambda way: _cost(op, way))
        followers = followers_of(op.result, self.constants)
        made: list[Operation] = []
        parts: list[SSAValue] = []
        for phases in product(*(axis.phases for axis in axes)):
            made += self._part(op, axes, phases)
            made += followed(followers, op.result, made[-1].results[0], _together(axes), self.constants)
            parts.append(made[-1].results[0])
        made += _in_order(op, axes, parts)
        replaced = [op, *followers]
        rewriter.replace(replaced.pop(), made)
        for each in reversed(replaced):
            rewriter.erase(each)

    def _part(self, op: ConvTransposeOp, axes: Sequence[PhasedAxis], phases: Sequence[Phase]) -> list[Operation]:
        """The convolution that computes one phase along every axis."""
        made: list[Operation] = []
        x = op.x
        cuts = [(max(0, -low), max(0, -high)) for low, high in (phase.pads for phase in phases)]
        if any(map(any, cuts)):
            batch, channels, *spatial = shape_of(x)
            stops = [size - high for size, (_, high) in zip(spatial, cuts, strict=True)]
            made.append(SliceOp(x, [0, 0, *(low for low, _ in cuts)], [batch, channels, *stops], location=op.location))
            x = made[-1].results[0]
        made += self._weight(op, axes, phases)
        weight = made[-1]
        bias = op.bias
        if bias is not None and _together(axes) > 1:
            made += self._repeated_bias(bias, _together(axes), op)
            bias = made[-1].results[0]
        pads = [max(0, phase.pads[side]) for side in (0, 1) for phase in phases]
        conv = ConvOp(
            x,
            weight,
            bias,
            pads=pads,
            dilations=[phase.dilation for phase in phases],
            groups=op.groups.value.data,
            location=op.location,
        )
        return [*made, conv]

    def _repeated_bias(self, bias: SSAValue, times: int, op: ConvTransposeOp) -> list[Operation]:
        """The bias of filters side by side; a dequantised one stays so."""
        inner = defining(bias, DequantizeOp)
        if inner is None:
            return [repeated(bias, times, 0, self.constants, op.location)]
        return self._dequantised(inner, repeated(inner.x, times, 0, self.constants, op.location), times, 0)

    def _dequantised(self, like: DequantizeOp, numbers: Operation, times: int, axes: int) -> list[Operation]:
        """Numbers dequantised as `like`, whose parameters for each filter are repeated in front of `axes` axes."""
        made: list[Operation] = [numbers]
        for each in like.operands[1:]:
            varies = prod(shape_of(each)) > 1
            made.append(repeated(each, times if varies else 1, axes if varies else 0, self.constants, like.location))
        scale, *zero = (each.results[0] for each in made[1:])
        return [*made, DequantizeOp(made[0], scale, zero[0] if zero else None, location=like.location)]

    def _weight(self, op: ConvTransposeOp, axes: Sequence[PhasedAxis], phases: Sequence[Phase]) -> list[Operation]:
        """The filters [phases side by side * D, C / groups, taps...] of a part."""
        inputs, outputs = shape_of(op.weight)[:2]
        groups, rank = op.groups.value.data, len(axes)
        beside = [axis.stride if axis.side_by_side else 1 for axis in axes]
        taken = [np.add.outer(range(count), phase.taps) for count, phase in zip(beside, phases, strict=True)]
        shape = (prod(beside) * groups * outputs, inputs // groups, *(len(phase.taps) for phase in phases))

        def filters(weight: Array) -> Array:
            picked = weight[np.ix_(range(inputs), range(outputs), *(each.reshape(-1).tolist() for each in taken))]
            split = picked.reshape(groups, inputs // groups, outputs, *(size for each in taken for size in each.shape))
            order = (*range(3, 3 + 2 * rank, 2), 0, 2, 1, *range(4, 4 + 2 * rank, 2))
            return split.transpose(order).reshape(shape)

        how = f"taps {[each.tolist() for each in taken]} of {groups} groups"
        inner = defining(op.weight, DequantizeOp)
        given = op.weight if inner is None else inner.x
        made = self.constants.computed([given], tensor(element_type_of_value(given), shape), how, filters, op.location)
        return [made] if inner is None else self._dequantised(inner, made, prod(beside) * groups, 1 + rank)


def _ways(op: ConvTransposeOp) -> list[list[PhasedAxis]]:
    """The alternatives: all phases separate, or those of the last axis or of all axes as filters."""
    sizes = shape_of(op.x)[2:]
    rank = len(sizes)
    pads = ints(op.pads)
    apart: list[PhasedAxis | None] = []
    beside: list[PhasedAxis | None] = []
    for axis, size in enumerate(sizes):
        kernel, stride, dilation = shape_of(op.weight)[2 + axis], ints(op.strides)[axis], ints(op.dilations)[axis]
        if is_fixed(size) and size == 1 and dilation == 1:  # nothing is a stride apart
            stride = kernel
        given = (kernel, stride, dilation, (pads[axis], pads[rank + axis]), ints(op.output_padding)[axis])
        apart.append(phases_apart(*given))
        beside.append(phases_side_by_side(*given))
    found: list[list[PhasedAxis]] = []
    for way in (apart, [*apart[:-1], beside[-1]], beside):
        axes = [axis for axis in way if axis is not None]
        if len(axes) < rank or prod(len(axis.phases) for axis in axes) > MOST_PARTS:
            continue
        if op.groups.value.data == 1 or _together(axes) == 1:
            found.append(axes)
    return found


def _together(axes: Sequence[PhasedAxis]) -> int:
    """The number of phases that are filters of one convolution."""
    return prod(axis.stride for axis in axes if axis.side_by_side)


def _cost(op: ConvTransposeOp, axes: Sequence[PhasedAxis]) -> int:
    """The cost of an alternative, in multiply-adds of a lane."""
    batch, channels, *sizes = map(now, shape_of(op.x))
    groups, filters = op.groups.value.data, shape_of(op.weight)[1] * _together(axes)
    depthwise = filters == 1 < groups  # lanes are channels
    lanes = -(-(groups if depthwise else filters) // LANES) * LANES * (1 if depthwise else channels)
    pixels = batch * prod(size + axis.longer for size, axis in zip(sizes, axes, strict=True))
    taps = sum(prod(len(phase.taps) for phase in phases) for phases in product(*(axis.phases for axis in axes)))
    parts = prod(len(axis.phases) for axis in axes)
    elements = prod(map(now, shape_of(op.result)))
    moved = any(axis.side_by_side and size > 1 for axis, size in zip(axes[:-1], sizes[:-1], strict=True))
    cut = any(axis.start for axis in axes)
    return pixels * taps * lanes + parts * KERNEL + elements * (ORDERED * moved + CUT * cut)


def _in_order(op: ConvTransposeOp, axes: Sequence[PhasedAxis], parts: Sequence[SSAValue]) -> list[Operation]:
    """The parts interleaved to the result."""
    batch, filters, *wanted = shape_of(op.result)
    sizes = [size + axis.longer for size, axis in zip(shape_of(op.x)[2:], axes, strict=True)]
    beside = [axis.stride for axis in axes if axis.side_by_side]
    made: list[Operation] = []

    def add(each: Operation) -> SSAValue:
        made.append(each)
        return each.results[0]

    # [batch, beside.., filters, and for each axis its size and, where they are apart, its phases]
    shape = [batch, *beside, filters]
    places: list[int] = []  # of the axes' sizes
    for size, axis in zip(sizes, axes, strict=True):
        places.append(len(shape))
        shape += [size] if len(axis.phases) == 1 else [size, 1]
    if shape != list(shape_of(parts[0])):
        parts = [add(ReshapeOp(part, shape, location=op.location)) for part in parts]
    for place, axis in reversed(list(zip(places, axes, strict=True))):
        count = len(axis.phases)
        if count > 1:
            starts = range(0, len(parts), count)
            parts = [add(ConcatOp(parts[at : at + count], place + 1, location=op.location)) for at in starts]
    (whole,) = parts
    if beside:
        order, taken = [0, 1 + len(beside)], iter(range(1, 1 + len(beside)))
        for place, axis in zip(places, axes, strict=True):
            order += [place, next(taken)] if axis.side_by_side else [place, place + 1][: min(2, len(axis.phases))]
        whole = add(TransposeOp(whole, order, location=op.location))
    full = [batch, filters, *(size * axis.stride for size, axis in zip(sizes, axes, strict=True))]
    if list(shape_of(whole)) != full:
        whole = add(ReshapeOp(whole, full, location=op.location))
    starts = [0, 0, *(axis.start for axis in axes)]
    stops = [start + size for start, size in zip(starts, (batch, filters, *wanted), strict=True)]
    if stops != full or any(starts):
        add(SliceOp(whole, starts, stops, location=op.location))
    return made
