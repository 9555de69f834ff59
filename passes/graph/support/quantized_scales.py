"""Patterns that divide a result's scale into the factors of its sum, instead of dividing every result."""

from __future__ import annotations

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.ops.activation import ClipOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import AddOp, DivOp, MulOp
from ....dialects.graph.ops.quantization import DequantizeOp, QuantizeOp, integer_range
from ....dialects.graph.ops.unary import ReluOp, RoundOp
from ....dialects.graph.values import element_type_of_value, shape_of
from .pattern_utils import GraphPattern, only_use, rewrites, with_operands
from .quantized_levels import Writer, integer, is_positive, same_parameter

_DEEPEST = 8  # ops between a product and the quantize after it


def _sums(value: SSAValue) -> CastOp | None:
    """The integer sums that a value is a constant multiple of, possibly rounded: the value is finite then."""
    match value.owner:
        case CastOp() as op:
            return op if element_type_of_value(op.x) == i32 else None
        case MulOp() | DivOp() | RoundOp() | ClipOp() as op:
            return _sums(op.operands[0])
        case DequantizeOp() as op:
            return None if (inner := _rounded_sums(op)) is None else _sums(inner.x)
        case _:
            return None


def _rounded_sums(op: DequantizeOp) -> QuantizeOp | None:
    """The quantize of sums that `op` dequantises directly."""
    inner = only_use(op.x, QuantizeOp)
    if inner is None or _sums(inner.x) is None:
        return None
    return inner if element_type_of_value(op.result) == element_type_of_value(inner.x) else None


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
        """Whether a value contains an integer product; None if it contains an op that can't be rescaled."""
        known = self.constants.is_constant
        match value.owner:
            case _ if known(value):
                return False
            case DequantizeOp() as op if known(op.scale):
                return False
            case _ if depth == 0 or not value.has_one_use():
                return None
            case MulOp() as op if known(op.rhs):
                return _sums(op.lhs) is not None
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


class RoundedProduct(GraphPattern):
    """dequantize(quantize(x, s, z), t, z) of a product -> clip(round(x / s)) * t, without integers in between"""

    @rewrites
    @override
    def match_and_rewrite(self, op: DequantizeOp, rewriter: PatternRewriter, /) -> None:
        inner = _rounded_sums(op)
        if inner is None or self._waits(op):
            return
        zero = integer(self.constants, inner.zero_point)
        if zero is None or not same_parameter(self.constants, inner.zero_point, op.zero_point):
            return
        low, high = integer_range(inner.to)
        writer = Writer(self.constants, op.location)
        steps = inner.x
        if not self.constants.is_scalar(inner.scale, 1):
            steps = writer.emit(DivOp(steps, inner.scale))
        steps = writer.emit(ClipOp(writer.emit(RoundOp(steps)), low - zero, high - zero))
        writer.emit(MulOp(steps, op.scale))
        rewriter.replace(op, writer.ops)

    def _waits(self, op: DequantizeOp) -> bool:
        """Whether it is added to another, earlier product, whose kernel should read bytes."""
        users = [use.operation for use in op.result.uses]
        others = [_sums(operand) for user in users if isinstance(user, AddOp) for operand in user.operands]
        own = _sums(op.result)
        return any(other and own and other.is_before_in_block(own) for other in others)
