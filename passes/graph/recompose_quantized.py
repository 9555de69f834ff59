"""recompose-quantized: products of dequantised numbers become integer products, requantised directly.

before:  %a = graph.dequantize %x, %sx, %zx    %b = graph.dequantize %w, %sw    (w constant, of 8 bits)
         %1 = graph.matmul %a, %b              %2 = graph.relu %1               %3 = graph.quantize %2, %s, %z
after:   %1 = graph.matmul %x, %w : (tensor<..xui8>, tensor<..xi8>) -> tensor<..xi32>
         %2 = graph.sub %1, %c                 c = zx * (sums of w)
         %3 = graph.cast %2 {to = f32}         %4 = graph.mul %3, %m            m = sx * sw / s
         %5 = graph.quantize %4, %one, %z      (relu is the zero point's limit)

What stands behind the product is elementwise, so that it becomes the product's epilogue. The same is done to products
of i32 that were 8 bits wide a moment ago (MatMulInteger, ConvInteger). What only moves numbers moves quantised ones,
and so does a max pool. Sums are exact; one rounding takes the place of several, so that a result of `quantize` may
differ by one from what the floats would have given, where these lie halfway between two numbers.

A convolution in groups whose weights have a zero point that they can't be stored without stays one of floats.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.graph.ops.contraction import ContractionOp
from ...dialects.graph.ops.conversion import CastOp
from ...dialects.graph.ops.quantization import DequantizeOp, QuantizeOp
from ...dialects.modules import classes_in
from .support import integer_products, quantized_moves, quantized_scales
from .support.pattern_utils import GraphPattern, apply_patterns


@dataclass(frozen=True)
class RecomposeQuantized(ModulePass):
    """Recognises products of quantised numbers."""

    name = "recompose-quantized"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kinds = {type(inner) for inner in op.walk()}
        if kinds & {QuantizeOp, DequantizeOp} or (CastOp in kinds and any(issubclass(k, ContractionOp) for k in kinds)):
            for file in (quantized_moves, integer_products, quantized_scales):
                apply_patterns(ctx, op, self.name, classes_in(file, GraphPattern))
