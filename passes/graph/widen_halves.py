"""widen-halves: attention and recurrent networks on 16-bit floats are computed in f32.

before:  %1 = graph.attention %q, %k, %v {..} : (tensor<..xf16>, ..) -> tensor<..xf16>
after:   %a = graph.cast %q {to = f32}    %b = graph.cast %k {to = f32}    %c = graph.cast %v {to = f32}
         %d = graph.attention %a, %b, %c {..}
         %1 = graph.cast %d {to = f16}

This is what these ops mean: sums are kept in f32, results are rounded once. Constants are made anew in f32, because
a recurrence's weights must be known. Truth values stay. Other ops on 16-bit floats have code of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, bf16, f16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.attention import AttentionOp
from ...dialects.graph.conversion import CastOp
from ...dialects.graph.recurrence import RecurrenceOp
from ...dialects.graph.values import element_type_of_value
from .support.pattern_utils import GraphPattern, apply_patterns, rewrites, with_operands


class ComputeInSingle(GraphPattern):
    """f(x) on 16-bit floats -> cast(f(cast(x)))"""

    @rewrites
    @override
    def match_and_rewrite(self, op: AttentionOp | RecurrenceOp, rewriter: PatternRewriter, /) -> None:
        narrow = element_type_of_value(op.results[0])
        if narrow not in (f16, bf16):
            return
        made: list[Operation] = []
        operands: list[SSAValue] = []
        for operand in op.operands:
            if element_type_of_value(operand) == narrow:
                made.append(self._wide(operand, op.location))
                operands.append(made[-1].results[0])
            else:
                operands.append(operand)
        wide = with_operands(op, operands)
        rounded = [CastOp(result, narrow, location=op.location) for result in wide.results]
        rewriter.replace(op, [*made, wide, *rounded], [cast.result for cast in rounded])

    def _wide(self, value: SSAValue, location: LocationAttr) -> Operation:
        array = self.constants.array(value)
        return CastOp(value, f32, location=location) if array is None else self.constants.make_as(array, f32, location)


@dataclass(frozen=True)
class WidenHalves(ModulePass):
    """Widens what has no code on 16-bit floats."""

    name = "widen-halves"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(isinstance(inner, AttentionOp | RecurrenceOp) for inner in op.walk()):
            apply_patterns(ctx, op, self.name, [ComputeInSingle])
