"""pad-conv: pads the input of convolutions with wide filters, or with few channels of bytes or bf16, by a separate op.

before:  %y = graph.conv %x, %w {pads = array<i64: 0, 50, 0, 50>, layout = "NHWC", ..}       %w: [F, C, 1, 101]
after:   %0 = graph.pad %x {low = array<i64: 0, 0, 50, 0>, high = array<i64: 0, 0, 50, 0>, ..}
         %y = graph.conv %0, %w {pads = array<i64: 0, 0, 0, 0>, layout = "NHWC", ..}

Tiles of pixels at the left and right border have code of their own for each set of taps that falls outside, and wide
filters have many of those; beside their work a copy of the picture is nothing. Rows of a filter outside of the
picture are skipped at run time, so pads above and below stay. Only channels-last. Comes after
canonicalize-graph, which would take the pad back into the convolution.

before:  %y = graph.conv %x, %w {layout = "NHWC", ..} : (tensor<1x224x224x3xui8>, tensor<64x3x7x7xi8>) -> ..
after:   %0 = graph.pad %x {high = array<i64: 0, 0, 0, 1>, ..}
         %y = graph.conv %0, %w' {layout = "NHWC", ..} : (tensor<1x224x224x4xui8>, tensor<64x4x7x7xi8>) -> ..

CPUs multiply bytes in groups of four, and bf16 in pairs, which are then those of a pixel: neighbours in memory, and so
are the taps of a row of the filter. What the picture is padded with is multiplied by zeros. Where the channels were
just put last, planes are added before that: a block of memory, instead of a byte for each pixel.

before:  %y = graph.conv %x, %w {strides = array<i64: 16, 16>, layout = "NHWC", ..} : (tensor<1x224x224x3xui8>, ..
after:   %0 = graph.reshape %x                                       tensor<1x224x14x48xui8>
         %y = graph.conv %0, %w' {strides = array<i64: 16, 1>, ..}   %w: [64, 3, 16, 16], %w': [64, 48, 16, 1]

Filters that don't overlap along a row, as those of patches, have the columns that they read as channels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.bf16_dot import PAIR
from ...dialects.byte_dot import GROUP
from ...dialects.graph.ops.contraction import ConvOp, is_byte
from ...dialects.graph.ops.movement import PadOp, ReshapeOp, TransposeOp
from ...dialects.graph.values import Array, element_type_of_value, ints, ints_attr, shape_of, tensor
from ...dialects.kernel.targets import CpuAttr, target_of
from ...dialects.sizes.sizes import is_fixed
from .support.pattern_utils import GraphPattern, apply_patterns, only_use, rewrites, with_operands

# Columns of a filter. Up to 11 x 11 is usual in models of pictures; with 16 at most 3 tiles of 6 pixels touch a border.
WIDEST = 16
# Channels of bytes or bf16; with more of them what is left of a group costs little.
FEW = 32


class PadWideConv(GraphPattern):
    """conv(x) with pads to the left and right of a wide filter -> conv(pad(x))"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        pads = list(ints(op.pads))
        rank = len(pads) // 2
        if op.layout.data != "NHWC" or shape_of(op.weight)[-1] <= WIDEST or not (pads[rank - 1] or pads[-1]):
            return
        low, high = ([*[0] * rank, pad, 0] for pad in (pads[rank - 1], pads[-1]))
        pads[rank - 1] = pads[-1] = 0
        padded = PadOp(op.x, low, high, value=op.padding, location=op.location)
        operands = [padded.result, *op.operands[1:]]
        rewriter.replace(op, [padded, with_operands(op, operands, pads=ints_attr(pads))])


class ColumnsAsChannels(GraphPattern):
    """conv(x) with few channels whose filters don't overlap along a row -> conv(reshape(x)), columns as channels"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        filters, channels, *rows, columns = shape_of(op.weight)
        strides, pads = ints(op.strides), ints(op.pads)
        *before, width, _ = shape_of(op.x)
        if not _missing_channels(op) or not self.constants.is_constant(op.weight) or not is_fixed(width):
            return
        apart = columns == strides[-1] and ints(op.dilations)[-1] == 1 and width % columns == 0
        if columns == 1 or not apart or pads[len(strides) - 1] or pads[-1]:
            return
        merged = ReshapeOp(op.x, (*before, width // columns, columns * channels), location=op.location)
        shape = (filters, columns * channels, *rows, 1)

        def moved(weight: Array) -> Array:
            return np.moveaxis(weight, -1, 1).reshape(shape)

        type = tensor(element_type_of_value(op.weight), shape)
        weight = self.constants.computed([op.weight], type, "columns as channels", moved, op.location)
        operands = [merged.result, weight.results[0], *op.operands[2:]]
        rewriter.replace(op, [merged, weight, with_operands(op, operands, strides=ints_attr([*strides[:-1], 1]))])


class PadFewChannels(GraphPattern):
    """conv(x) of bytes, or bf16, whose few channels are no whole groups -> conv(pad(x)), zeros in the weight"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        filters, channels, *kernel = shape_of(op.weight)
        more, moved = _missing_channels(op), only_use(op.x, TransposeOp)
        if not more or not self.constants.is_constant(op.weight):
            return
        if moved is None:
            made = [_padded(op, op.x, -1, more)]
        else:
            order = ints(moved.permutation)
            made = [_padded(op, moved.operands[0], order[-1], more)]
            made.append(TransposeOp(made[0], order, location=moved.location))

        def widened(weight: Array) -> Array:
            return np.pad(weight, [(0, 0), (0, more), *[(0, 0)] * len(kernel)])

        type = tensor(element_type_of_value(op.weight), (filters, channels + more, *kernel))
        weight = self.constants.computed([op.weight], type, f"{more} channels more", widened, op.location)
        operands = [made[-1].results[0], weight.results[0], *op.operands[2:]]
        rewriter.replace(op, [*made, weight, with_operands(op, operands)])


def _missing_channels(op: ConvOp) -> int:
    """Channels that a convolution lacks to whole groups of bytes, or pairs of bf16; 0 if it has many, or for others."""
    channels = shape_of(op.weight)[1]
    last = op.layout.data == "NHWC" and op.groups.value.data == 1
    if not last or channels > FEW or (not is_byte(element_type_of_value(op.x)) and op.sums is None):
        return 0
    return -channels % (GROUP if op.sums is None else PAIR)


def _padded(op: ConvOp, x: SSAValue, axis: int, more: int) -> Operation:
    """x with zeros at the end of an axis."""
    high = [0] * len(shape_of(x))
    high[axis] = more
    return PadOp(x, [0] * len(high), high, location=op.location)


@dataclass(frozen=True)
class PadConv(ModulePass):
    """Pads the input of convolutions with wide filters, or with few channels of bytes or bf16, by a separate op."""

    name = "pad-conv"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(
            ctx,
            op,
            self.name,
            [PadWideConv, *([ColumnsAsChannels, PadFewChannels] if isinstance(target_of(op), CpuAttr) else [])],
        )
