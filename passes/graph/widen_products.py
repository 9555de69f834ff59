"""widen-products: on a CPU, products and convolutions of 16-bit floats are computed in f32.

before:  %y = graph.conv %x, %w, %b {layout = "NHWC", ..} : (tensor<..xf16>, tensor<..xf16>, tensor<..xf16>) -> ..
after:   %0 = graph.cast %x {to = f32}    %1 = graph.cast %w {to = f32}
         %2 = graph.conv %0, %1, %b' {layout = "NHWC", ..} : (tensor<..xf32>, tensor<..xf32>, tensor<..xf32>) -> ..
         %y = graph.cast %2 {to = f16}

This is what they mean: sums are kept in f32 and rounded once. Weights stay as they are in memory: the kernel that reads
one widens it. Where the halves of a product are taken, these are rounded, and not the whole. Comes after constants are
folded into weights, and leaves convolutions alone that are not channels-last.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.contraction import ConvOp, MatmulOp
from ...dialects.graph.conversion import CastOp
from ...dialects.graph.values import element_type_of_value
from ...dialects.targets import CpuAttr, target_of
from ..geometry.halves import halves_of
from .support.pattern_utils import GraphPattern, apply_patterns, rewrites, with_operands


class ComputeInSingle(GraphPattern):
    """f(x, w, b) on 16-bit floats -> cast(f(cast(x), cast(w), cast(b)))"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp | ConvOp, rewriter: PatternRewriter, /) -> None:
        narrow = element_type_of_value(op.results[0])
        if narrow not in (f16, bf16) or (isinstance(op, ConvOp) and op.layout.data != "NHWC"):
            return
        made: list[Operation] = []
        for operand in op.operands[:2]:
            made.append(CastOp(operand, f32, location=op.location))
        if isinstance(op, ConvOp) and op.bias is not None:
            made.append(self._bias(op.bias, op))
        wide = with_operands(op, [each.results[0] for each in made])
        readers = [use.operation for use in op.results[0].uses]
        if len(readers) == len(halves := halves_of(op.results[0], readers)):
            rewriter.insert([*made, wide])
            for half in halves:
                part = with_operands(half, wide.results)
                rewriter.replace(half, [part, CastOp(part, narrow, location=op.location)])
            rewriter.erase(op)
            return
        rewriter.replace(op, [*made, wide, CastOp(wide.results[0], narrow, location=op.location)])

    def _bias(self, bias: SSAValue, op: Operation) -> Operation:
        array = self.constants.array(bias)
        return (
            CastOp(bias, f32, location=op.location)
            if array is None
            else self.constants.make_as(array, f32, op.location)
        )


@dataclass(frozen=True)
class WidenProducts(ModulePass):
    """Products and convolutions of 16-bit floats are computed in f32."""

    name = "widen-products"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if isinstance(target_of(op), CpuAttr):
            apply_patterns(ctx, op, self.name, [ComputeInSingle])
