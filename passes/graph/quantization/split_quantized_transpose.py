"""split-quantized-transpose: a transposed convolution with a dequantised weight becomes convolutions with such weights.

before:  %a = graph.dequantize %w, %s, %z    %y = graph.conv_transpose %x, %a {strides = array<i64: 2, 2>, ..}
         %w: [C, D, 4, 4], %s: [1, D, 1, 1]
after:   %0 = graph.dequantize %w0, %t, %v   %1 = graph.conv %x, %0 {..}
         %w0: [D, C, 2, 2], %t: [D, 1, 1, 1]
         ..                                  as split-conv-transpose says

Comes before recompose-quantized, which makes products of integers of them. Only with known numbers and one scale for
all of them or one for each filter.
"""

from __future__ import annotations

from math import prod

from typing_extensions import override
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.ops.contraction import ConvTransposeOp
from ....dialects.graph.ops.quantization import DequantizeOp
from ....dialects.graph.values import shape_of
from ..support.pattern_utils import PatternPass, defining, rewrites
from ..support.transposed_convolutions import TransposedPattern


class DequantisedAsConvs(TransposedPattern):
    """conv_transpose(x, dequantize(w)) -> convolutions of x by dequantised parts of w"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvTransposeOp, rewriter: PatternRewriter, /) -> None:
        weight, known = defining(op.weight, DequantizeOp), self.constants.is_constant
        if weight is None or not all(map(known, weight.operands)):
            return
        if op.bias is not None and not known(op.bias):
            bias = defining(op.bias, DequantizeOp)
            if bias is None or not all(map(known, bias.operands)):
                return
        filters = (1, shape_of(op.weight)[1], *[1] * (len(shape_of(op.weight)) - 2))
        if all(prod(shape_of(each)) == 1 or shape_of(each) == filters for each in weight.operands[1:]):
            self.split(op, rewriter)


class SplitQuantizedTranspose(PatternPass):
    """Rewrites transposed convolutions with dequantised weights as convolutions."""

    name = "split-quantized-transpose"
    patterns = (DequantisedAsConvs,)
    kinds = (ConvTransposeOp,)
