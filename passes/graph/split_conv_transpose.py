"""split-conv-transpose: a transposed convolution becomes convolutions, one for each phase of its strides.

before:  %y = graph.conv_transpose %x, %w {strides = array<i64: 2, 2>, ..}     %x: [N, C, H, W], %w: [C, D, 4, 4]
         %z = graph.relu %y
after:   %0 = graph.conv %x, %w0 {pads = array<i64: 1, 1, 0, 0>, ..}           %w0: [D, C, 2, 2], taps 3 and 1 each way
         %1 = graph.relu %0                                                    [N, D, H, W]: every other element of %z
         ..                                                                    three more of these
         %z = graph.reshape (graph.concat ..)                                  as [N, D, 2 * H, 2 * W]

Every element of the result has the taps that meet an element of x, and those a stride apart have the same ones: no
product is one with a zero. Elementwise ops that follow are done on the parts, so that elide-copies can have each part
written to where it belongs.

before:  %y = graph.conv_transpose %x, %w {strides = array<i64: 1, 2>, ..}     %x: [N, C, 1, W], %w: [C, D, 1, 2]
after:   %0 = graph.conv %x, %w'                                               %w': [2 * D, C, 1, 1]
         %1 = graph.transpose (graph.reshape %0)                               [N, 2, D, 1, W] as [N, D, 1, W, 2]
         %y = graph.reshape %1                                                 as [N, D, 1, 2 * W]

Where all phases of an axis have equally many taps, and the kernel is a multiple of the stride, they may be filters of
one convolution. With channels last that is as good along the last axis; along the others its result has to be put in
order, which pays where there are fewer filters than a register has lanes.

Comes before channels-last. Only with constant weights; split-quantized-transpose is for dequantised ones. What stays:
where there are more than MOST_PARTS convolutions, where some elements of the result have no taps, and what is neither
f32 nor f64.
"""

from __future__ import annotations

from typing_extensions import override
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.contraction import ConvTransposeOp
from .support.pattern_utils import PatternPass, rewrites
from .support.transposed_convolutions import TransposedPattern


class ConvTransposeAsConvs(TransposedPattern):
    """conv_transpose(x, w) -> convolutions of x by parts of w"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvTransposeOp, rewriter: PatternRewriter, /) -> None:
        if all(map(self.constants.is_constant, op.operands[1:])):
            self.split(op, rewriter)


class SplitConvTranspose(PatternPass):
    """Rewrites transposed convolutions as convolutions."""

    name = "split-conv-transpose"
    patterns = (ConvTransposeAsConvs,)
