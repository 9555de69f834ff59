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
are the taps of a row of the filter. What the picture is padded with is multiplied by zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.bf16_dot import PAIR
from ...dialects.byte_dot import GROUP
from ...dialects.graph.ops.contraction import ConvOp, is_byte
from ...dialects.graph.ops.movement import PadOp
from ...dialects.graph.values import Array, element_type_of_value, ints, ints_attr, shape_of, tensor
from ...dialects.kernel.targets import CpuAttr, target_of
from .support.pattern_utils import GraphPattern, apply_patterns, rewrites, with_operands

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


class PadFewChannels(GraphPattern):
    """conv(x) of bytes, or bf16, whose few channels are no whole groups -> conv(pad(x)), zeros in the weight"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        filters, channels, *kernel = shape_of(op.weight)
        if not is_byte(element_type_of_value(op.x)) and op.sums is None:
            return
        more = -channels % (GROUP if op.sums is None else PAIR)
        last = op.layout.data == "NHWC" and op.groups.value.data == 1
        if not last or not more or channels > FEW:
            return
        if not self.constants.is_constant(op.weight):
            return
        rank = len(shape_of(op.x))
        padded = PadOp(op.x, [0] * rank, [*[0] * (rank - 1), more], location=op.location)

        def widened(weight: Array) -> Array:
            return np.pad(weight, [(0, 0), (0, more), *[(0, 0)] * len(kernel)])

        type = tensor(element_type_of_value(op.weight), (filters, channels + more, *kernel))
        weight = self.constants.computed([op.weight], type, f"{more} channels more", widened, op.location)
        operands = [padded.result, weight.results[0], *op.operands[2:]]
        rewriter.replace(op, [padded, weight, with_operands(op, operands)])


@dataclass(frozen=True)
class PadConv(ModulePass):
    """Pads the input of convolutions with wide filters, or with few channels of bytes or bf16, by a separate op."""

    name = "pad-conv"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(
            ctx, op, self.name, [PadWideConv, *([PadFewChannels] if isinstance(target_of(op), CpuAttr) else [])]
        )
