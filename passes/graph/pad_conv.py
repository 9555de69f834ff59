"""pad-conv: a convolution with wide filters has its borders padded by an op of its own.

before:  %y = graph.conv %x, %w {pads = array<i64: 0, 50, 0, 50>, layout = "NHWC", ..}       %w: [F, C, 1, 101]
after:   %0 = graph.pad %x {low = array<i64: 0, 0, 50, 0>, high = array<i64: 0, 0, 50, 0>, ..}
         %y = graph.conv %0, %w {pads = array<i64: 0, 0, 0, 0>, layout = "NHWC", ..}

Tiles of pixels at the left and right border have code of their own for each set of taps that falls outside, and wide
filters have many of those; beside their work a copy of the picture is nothing. Rows of a filter outside of the
picture are skipped at run time, so pads above and below stay. Only channels-last. Comes after
canonicalize-graph, which would take the pad back into the convolution.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.contraction import ConvOp
from ...dialects.graph.movement import PadOp
from ...dialects.graph.values import ints, ints_attr, shape_of
from .support.pattern_utils import GraphPattern, apply_patterns, rewrites, with_operands

# Columns of a filter. Up to 11 x 11 is usual in models of pictures; with 16 at most 3 tiles of 6 pixels touch a border.
WIDEST = 16


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


@dataclass(frozen=True)
class PadConv(ModulePass):
    """Convolutions with wide filters have their borders padded by an op of their own."""

    name = "pad-conv"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(ctx, op, self.name, [PadWideConv])
