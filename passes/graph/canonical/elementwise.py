"""Elementwise ops: neutral operands, inverse pairs, cheaper equivalents, constants to the right."""

from __future__ import annotations

from typing import TypeAlias

from typing_extensions import override
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.base import ElementwiseOp, GraphOp
from ....dialects.graph.ops.activation import ClipOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import (
    AddOp,
    AndOp,
    DivOp,
    EqualOp,
    MaxOp,
    MinOp,
    MulOp,
    OrOp,
    PowOp,
    SubOp,
    WhereOp,
    XorOp,
)
from ....dialects.graph.ops.movement import BroadcastToOp
from ....dialects.graph.ops.quantization import DequantizeOp, QuantizeOp
from ....dialects.graph.ops.unary import (
    AbsOp,
    CeilOp,
    FloorOp,
    NegOp,
    NotOp,
    ReciprocalOp,
    ReluOp,
    RoundOp,
    RsqrtOp,
    SignOp,
    SqrtOp,
)
from ....dialects.graph.values import element_type_of_value, is_bool, is_float, shape_of
from ..support.pattern_utils import GraphPattern, defining, only_use, rewrites, with_operands
from .exactness import has_no_sign, holds_exactly, is_neutral_zero, may_merge

Commutative: TypeAlias = AddOp | MulOp | MinOp | MaxOp | AndOp | OrOp | XorOp | EqualOp
Idempotent: TypeAlias = ReluOp | AbsOp | FloorOp | CeilOp | RoundOp | SignOp

# The neutral right operand of each op.
_NEUTRAL: dict[type[Operation], float] = {AddOp: 0, SubOp: 0, MulOp: 1, DivOp: 1, PowOp: 1}
_NEUTRAL_BOOL: dict[type[Operation], float] = {AndOp: True, OrOp: False, XorOp: False}


def replace_by_value(op: GraphOp, value: SSAValue, rewriter: PatternRewriter) -> None:
    """Replaces an op with one result by a value, broadcast to the result's shape."""
    shape = shape_of(op.results[0])
    if shape_of(value) == shape:
        rewriter.replace(op, [], [value])
    else:
        rewriter.replace(op, BroadcastToOp(value, shape, location=op.location))


class ConstantToTheRight(GraphPattern):
    """c + x -> x + c, for commutative ops"""

    @rewrites
    @override
    def match_and_rewrite(self, op: Commutative, rewriter: PatternRewriter, /) -> None:
        if not self.constants.is_constant(op.lhs) or self.constants.is_constant(op.rhs):
            return
        op.operands = (op.rhs, op.lhs)
        rewriter.notify_op_modified(op)


class DropNeutralOperand(GraphPattern):
    """x + 0, x - 0, x * 1, x / 1, pow(x, 1), x and true, x or false, x xor false -> x; on floats x + -0, not x + 0"""

    @rewrites
    @override
    def match_and_rewrite(
        self, op: AddOp | SubOp | MulOp | DivOp | PowOp | AndOp | OrOp | XorOp, rewriter: PatternRewriter, /
    ) -> None:
        neutral = _NEUTRAL.get(type(op))
        if neutral is None and is_bool(element_type_of_value(op.lhs)):
            neutral = _NEUTRAL_BOOL[type(op)]
        found = self.constants.scalar(op.rhs)
        if neutral is None or found is None or found != neutral:
            return
        if neutral == 0 and is_float(element_type_of_value(op.lhs)) and not is_neutral_zero(type(op), found):
            return
        replace_by_value(op, op.lhs, rewriter)


class CancelInversePair(GraphPattern):
    """neg(neg(x)), not(not(x)) -> x"""

    @rewrites
    @override
    def match_and_rewrite(self, op: NegOp | NotOp, rewriter: PatternRewriter, /) -> None:
        inner = defining(op.x, type(op))
        if inner is not None:
            rewriter.replace(op, [], [inner.x])


class DropRepeatedUnary(GraphPattern):
    """relu(relu(x)) -> relu(x), and the same for abs, sign and the roundings"""

    @rewrites
    @override
    def match_and_rewrite(self, op: Idempotent, rewriter: PatternRewriter, /) -> None:
        if defining(op.x, type(op)) is not None:
            rewriter.replace(op, [], [op.x])


class ExpandPower(GraphPattern):
    """pow(x, 2) -> x * x, pow(x, 3) -> x * x * x; on floats pow(x, -1) -> 1 / x, pow(x, +-1/2) -> roots where x >= 0

    -0 and minus infinity have powers that are not what their roots are.
    """

    @rewrites
    @override
    def match_and_rewrite(self, op: PowOp, rewriter: PatternRewriter, /) -> None:
        exponent = self.constants.scalar(op.rhs)
        x, location = op.lhs, op.location
        if exponent is None or shape_of(x) != shape_of(op.result):
            return
        if exponent in (2, 3):
            square = MulOp(x, x, location=location)
            rewriter.replace(op, [square] if exponent == 2 else [square, MulOp(square, x, location=location)])
        elif is_float(element_type_of_value(x)):
            root = {0.5: SqrtOp, -0.5: RsqrtOp, -1.0: ReciprocalOp}.get(exponent)
            if root is not None and (exponent == -1 or has_no_sign(x, self.constants)):
                rewriter.replace(op, root(x, location=location))


class ReciprocalOfSqrt(GraphPattern):
    """reciprocal(sqrt(x)) -> rsqrt(x)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ReciprocalOp, rewriter: PatternRewriter, /) -> None:
        root = only_use(op.x, SqrtOp)
        if root is not None:
            rewriter.replace(op, RsqrtOp(root.x, location=op.location))


class OneOverX(GraphPattern):
    """1 / x -> reciprocal(x)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: DivOp, rewriter: PatternRewriter, /) -> None:
        if not is_float(element_type_of_value(op.rhs)) or shape_of(op.rhs) != shape_of(op.result):
            return
        if self.constants.is_scalar(op.lhs, 1.0):
            rewriter.replace(op, ReciprocalOp(op.rhs, location=op.location))


class MergeConstants(GraphPattern):
    """(x + c) + d -> x + (c + d), and likewise for products, if that is as exact and no larger than c or d"""

    @rewrites
    @override
    def match_and_rewrite(self, op: AddOp | MulOp, rewriter: PatternRewriter, /) -> None:
        inner = only_use(op.lhs, type(op))
        if inner is None or not is_float(element_type_of_value(op.lhs)):
            return
        first, second = self.constants.array(inner.rhs), self.constants.array(op.rhs)
        if first is None or second is None:
            return
        merged = type(op)(inner.rhs, op.rhs, location=op.location)
        fits = shape_of(merged.result) in (shape_of(op.rhs), shape_of(inner.rhs))
        if not fits or not may_merge(type(op), first, second):
            merged.erase()
            return
        rewriter.replace(op, [merged, type(op)(inner.lhs, merged, location=op.location)])


class ClipFromMinMax(GraphPattern):
    """max(x, c), min(x, c) -> clip(x) with that limit, on floats"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MinOp | MaxOp, rewriter: PatternRewriter, /) -> None:
        limit = self.constants.scalar(op.rhs)
        if limit is None or shape_of(op.lhs) != shape_of(op.result):
            return
        if is_float(element_type_of_value(op.lhs)):
            low, high = (limit, None) if isinstance(op, MaxOp) else (None, limit)
            rewriter.replace(op, ClipOp(op.lhs, low, high, location=op.location))


class SimplifyClip(GraphPattern):
    """clip(x, 0) -> relu(x); clip(clip(x)) -> clip(x) with the limits of both; clip(x) without limits -> x"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ClipOp, rewriter: PatternRewriter, /) -> None:
        low = None if op.min is None else op.min.value.data
        high = None if op.max is None else op.max.value.data
        if low is None and high is None:
            rewriter.replace(op, [], [op.x])
        elif low == 0 and high is None:
            rewriter.replace(op, ReluOp(op.x, location=op.location))
        elif (inner := only_use(op.x, ClipOp)) is not None:
            inner_low = None if inner.min is None else inner.min.value.data
            inner_high = None if inner.max is None else inner.max.value.data
            lows = [limit for limit in (low, inner_low) if limit is not None]
            highs = [limit for limit in (high, inner_high) if limit is not None]
            new_low, new_high = max(lows, default=None), min(highs, default=None)
            if new_low is None or new_high is None or new_low <= new_high:
                rewriter.replace(op, ClipOp(inner.x, new_low, new_high, location=op.location))


class SimplifyCast(GraphPattern):
    """cast to the same type -> x; cast(cast(x, wide), t) -> cast(x, t) where the wide type holds x exactly"""

    @rewrites
    @override
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        if op.to == element_type_of_value(op.x):
            rewriter.replace(op, [], [op.x])
            return
        inner = defining(op.x, CastOp)
        if inner is not None and holds_exactly(element_type_of_value(inner.x), inner.to):
            rewriter.replace(op, op.with_operand(inner.x))


class SimplifyWhere(GraphPattern):
    """where(true, a, b) -> a, where(false, a, b) -> b, where(not c, a, b) -> where(c, b, a)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: WhereOp, rewriter: PatternRewriter, /) -> None:
        known = self.constants.scalar(op.condition)
        if known is not None or op.lhs is op.rhs:
            replace_by_value(op, op.lhs if known in (None, True) else op.rhs, rewriter)
        elif (inverted := defining(op.condition, NotOp)) is not None:
            rewriter.replace(op, WhereOp(inverted.x, op.rhs, op.lhs, location=op.location))


class DropOperandBroadcast(GraphPattern):
    """add(broadcast_to(x), y) -> add(x, y), broadcast afterwards if y is no larger than x"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ElementwiseOp, rewriter: PatternRewriter, /) -> None:
        if not any(isinstance(operand.owner, BroadcastToOp) for operand in op.operands):
            return
        if isinstance(op, QuantizeOp | DequantizeOp) and any(shape_of(each) for each in op.operands[1:]):
            return  # with a scale of several entries no operand is smaller
        operands = [
            operand.owner.operands[0] if isinstance(operand.owner, BroadcastToOp) else operand
            for operand in op.operands
        ]
        new = with_operands(op, operands)
        shape = shape_of(op.results[0])
        if shape_of(new.results[0]) == shape:
            rewriter.replace(op, new)
        else:
            rewriter.replace(op, [new, BroadcastToOp(new.results[0], shape, location=op.location)])


class BooleanComparison(GraphPattern):
    """equal(x, true) -> x, equal(x, false) -> not(x)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: EqualOp, rewriter: PatternRewriter, /) -> None:
        known = self.constants.scalar(op.rhs)
        if known is None or element_type_of_value(op.lhs) != IntegerType(1):
            return
        if shape_of(op.lhs) != shape_of(op.result):
            return
        if known:
            rewriter.replace(op, [], [op.lhs])
        else:
            rewriter.replace(op, NotOp(op.lhs, location=op.location))
