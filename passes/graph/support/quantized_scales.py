"""The scale of a result is divided out of what is summed up, once, instead of every result by it."""

from __future__ import annotations

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.conversion import CastOp
from ....dialects.graph.elementwise import AddOp, DivOp, MulOp
from ....dialects.graph.quantization import DequantizeOp, QuantizeOp
from ....dialects.graph.unary import ReluOp
from ....dialects.graph.values import element_type_of_value, shape_of
from .pattern_utils import GraphPattern, defining, rewrites, with_operands
from .quantized import Writer, is_positive

_DEEPEST = 8  # ops between a product and the quantize behind it


class ScaleIntoProduct(GraphPattern):
    """quantize(cast(sums of integers) * c + d, s) -> quantize(cast(sums) * (c / s) + d / s, 1)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        if shape_of(op.scale) or not is_positive(self.constants, op.scale) or self.constants.is_scalar(op.scale, 1):
            return
        if not self._holds_sums(op.x, _DEEPEST):
            return
        writer = Writer(self.constants, op.location)
        divided = self._divided(op.x, op.scale, writer)
        one = writer.array(np.ones((), self.constants.known(op.scale).dtype))
        writer.emit(QuantizeOp(divided, one, op.zero_point, op.to))
        rewriter.replace(op, writer.ops)

    def _holds_sums(self, value: SSAValue, depth: int) -> bool | None:
        """Whether a product of integers is in a value; None where there is something that can't be divided."""
        known = self.constants.is_constant
        match value.owner:
            case _ if known(value):
                return False
            case DequantizeOp() as op if known(op.scale):
                return False
            case _ if depth == 0 or not value.has_one_use():
                return None
            case MulOp() as op if known(op.rhs):
                sums = defining(op.lhs, CastOp)
                return sums is not None and element_type_of_value(sums.x) == i32
            case AddOp() as op:
                parts = [self._holds_sums(part, depth - 1) for part in op.operands]
                return None if None in parts else any(parts)
            case ReluOp() as op:
                return self._holds_sums(op.x, depth - 1)
            case _:
                return None

    def _divided(self, value: SSAValue, scale: SSAValue, writer: Writer) -> SSAValue:
        match value.owner:
            case DequantizeOp() as op:
                return writer.emit(with_operands(op, [op.x, writer.emit(DivOp(op.scale, scale)), *op.operands[2:]]))
            case MulOp() as op:
                return writer.emit(MulOp(op.lhs, writer.emit(DivOp(op.rhs, scale))))
            case AddOp() | ReluOp() as op:
                return writer.emit(with_operands(op, [self._divided(part, scale, writer) for part in op.operands]))
            case _:
                return writer.emit(DivOp(value, scale))


SCALES: tuple[type[GraphPattern], ...] = (ScaleIntoProduct,)
