"""Elementwise operators that are one graph op, with their differences between opsets."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

from onnx import defs
from xdsl.dialects.builtin import Float8E8M0FNUType, i1
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.graph.narrow_types import is_narrow_float, packed_bits
from ....dialects.graph.ops import elementwise, unary
from ....dialects.graph.ops.activation import ClipOp, EluOp, GeluOp, HardSigmoidOp, LeakyReluOp
from ....dialects.graph.ops.conversion import BitcastOp, CastOp
from ....dialects.graph.ops.elementwise import (
    AddOp,
    AndOp,
    BinaryOp,
    DivOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    MaxOp,
    MinOp,
    ModOp,
    OrOp,
    PreluOp,
    ShiftLeftOp,
    ShiftRightOp,
    UnaryOp,
    WhereOp,
    XorOp,
)
from ....dialects.graph.ops.unary import IsInfOp, IsNanOp, NotOp
from ....dialects.graph.values import element_type_of_value, is_bool, is_float, shape_of
from ..node import Handler, Node, Result

OpT = TypeVar("OpT", UnaryOp, BinaryOp)

# All integers up to this one are exact in float64, the type of the limits of `graph.clip`.
_EXACT = 2**53


def _unary(make: Callable[[SSAValue], GraphOp]) -> Handler:
    return lambda node: node.emit(make(node.operand()))


def _binary(make: Callable[[SSAValue, SSAValue], GraphOp]) -> Handler:
    return lambda node: node.emit(make(node.operand(0), _second(node)))


def _logical(handler: Handler) -> Handler:
    """Accepts booleans only; the graph ops also accept integers, bitwise."""

    def logical(node: Node) -> Result:
        for operand in node.operands():
            if not is_bool(element_type_of_value(operand)):
                raise node.invalid(f"takes booleans, got {element_type_of_value(operand)}")
        return handler(node)

    return logical


def _second(node: Node) -> SSAValue:
    """The second operand. In opset 6, `axis` is the axis of the first with which its dimensions start to align."""
    value = node.operand(1)
    if node.opset >= 7:
        return value
    node.ignore("broadcast")  # permits what opset 7 always permits
    rank, given = len(shape_of(node.operand(0))), shape_of(value)
    axis = node.axis(rank - len(given), rank) if node.has("axis") else rank - len(given)
    return node.reshape(value, (*given, *[1] * (rank - len(given) - axis)))


def _variadic(make: Callable[[SSAValue, SSAValue], GraphOp]) -> Handler:
    def handler(node: Node) -> SSAValue:
        first, *others = node.operands()
        for other in others:
            first = node.emit(make(first, other))
        return first

    return handler


def _mean(node: Node) -> SSAValue:
    total, *others = [node.widened(operand) for operand in node.operands()]
    for other in others:
        total = node.emit(AddOp(total, other))
    mean = node.emit(DivOp(total, node.scalar(len(others) + 1, total)))
    return node.cast(mean, element_type_of_value(node.operand()))


def _mod(node: Node) -> SSAValue:
    lhs, rhs = node.operand(0), node.operand(1)
    fmod = node.flag("fmod")
    if is_float(element_type_of_value(lhs)) and not fmod and node.opset < 28:
        raise node.malformed("fmod must be 1 for float operands")
    return node.emit(ModOp(lhs, rhs, fmod=fmod))


def _clip(node: Node) -> SSAValue:
    x = node.operand()
    if node.opset < 11:
        low = node.number("min", 0.0) if node.has("min") else None
        high = node.number("max", 0.0) if node.has("max") else None
        return node.emit(ClipOp(x, low, high))
    limits = [node.optional(1), node.optional(2)]
    values = [None if limit is None else node.known(limit) for limit in limits]
    known = all(limit is None or value is not None for limit, value in zip(limits, values, strict=True))
    numbers = [None if value is None else value.reshape(-1)[0].item() for value in values]
    if known and all(number is None or _is_exact(number) for number in numbers):
        return node.emit(ClipOp(x, *numbers)) if limits != [None, None] else x
    low, high = limits
    if low is not None:
        x = node.emit(MaxOp(x, node.reshape(low, ())))
    return x if high is None else node.emit(MinOp(x, node.reshape(high, ())))


def _is_exact(number: float | int) -> bool:
    """Whether a limit is exactly representable in float64, the type of the attribute."""
    return isinstance(number, float) or abs(number) <= _EXACT


def _bit_shift(node: Node) -> SSAValue:
    x, count = node.operand(0), node.operand(1)
    match node.text("direction", ""):
        case "LEFT":
            return node.emit(ShiftLeftOp(x, count))
        case "RIGHT":
            return node.emit(ShiftRightOp(x, count))
        case direction:
            raise node.malformed(f"direction is LEFT or RIGHT, got {direction!r}")


def _prelu(node: Node) -> SSAValue:
    x, slope = node.operand(0), node.operand(1)
    rank = len(shape_of(x))
    if len(shape_of(slope)) > rank:
        raise node.invalid("the slope has more dimensions than the operand")
    if node.opset < 7 and shape_of(slope) != (1,):
        slope = node.reshape(slope, (*shape_of(slope), *[1] * (rank - 2)))  # one slope for each channel
    return node.emit(PreluOp(x, slope))


def _is_inf(node: Node) -> SSAValue:
    x = node.operand()
    infinite = node.emit(IsInfOp(x))
    negative, positive = node.flag("detect_negative", True), node.flag("detect_positive", True)
    if negative and positive:
        return infinite
    if not negative and not positive:
        return node.broadcast(node.scalar(False, i1), shape_of(x))
    zero = node.scalar(0, x)
    side = node.emit(GreaterOp(x, zero) if positive else LessOp(x, zero))
    return node.emit(AndOp(infinite, side))


def _cast_to(node: Node, to: Attribute) -> SSAValue:
    """Casts; `saturate` matters to 8-bit floats only, other rounding modes to powers of two only."""
    x = node.operand()
    saturate, mode = node.flag("saturate", True), node.text("round_mode", "up")
    if element_type_of_value(x) == to:
        return x
    if not is_narrow_float(to) or packed_bits(to) < 8:
        return node.emit(CastOp(x, to))
    is_power = isinstance(to, Float8E8M0FNUType)
    return node.emit(CastOp(x, to, saturate=saturate, round_mode=mode if is_power else None))


def _of_same_name(family: ModuleType, kind: type[OpT], handler: Callable[[type[OpT]], Handler]) -> dict[str, Handler]:
    """Handlers of the ONNX operators that have the name of a graph op of a class."""
    found = [each for each in vars(family).values() if isinstance(each, type) and issubclass(each, kind)]
    return {name: handler(each) for each in found if defs.has(name := each.__name__.removesuffix("Op"))}


HANDLERS: dict[str, Handler] = {
    **_of_same_name(unary, UnaryOp, _unary),
    **_of_same_name(elementwise, BinaryOp, _binary),
    "IsNaN": _unary(IsNanOp),
    "Not": _logical(_unary(NotOp)),
    "BitwiseNot": _unary(NotOp),
    "Gelu": lambda node: node.emit(GeluOp(node.operand(), node.text("approximate", "none"))),
    "LeakyRelu": lambda node: node.emit(LeakyReluOp(node.operand(), node.number("alpha", 0.01))),
    "Elu": lambda node: node.emit(EluOp(node.operand(), node.number("alpha", 1.0))),
    "HardSigmoid": lambda node: node.emit(
        HardSigmoidOp(node.operand(), node.number("alpha", 0.2), node.number("beta", 0.5))
    ),
    "Clip": _clip,
    "Cast": lambda node: _cast_to(node, node.element_type("to")),
    "CastLike": lambda node: _cast_to(node, element_type_of_value(node.operand(1))),
    "BitCast": lambda node: node.emit(BitcastOp(node.operand(), node.element_type("to"))),
    "IsInf": _is_inf,
    "LessOrEqual": _binary(LessEqualOp),
    "GreaterOrEqual": _binary(GreaterEqualOp),
    "And": _logical(_binary(AndOp)),
    "Or": _logical(_binary(OrOp)),
    "Xor": _logical(_binary(XorOp)),
    "BitShift": _bit_shift,
    "BitwiseAnd": _binary(AndOp),
    "BitwiseOr": _binary(OrOp),
    "BitwiseXor": _binary(XorOp),
    "Mod": _mod,
    "PRelu": _prelu,
    "Max": _variadic(MaxOp),
    "Min": _variadic(MinOp),
    "Sum": _variadic(AddOp),
    "Mean": _mean,
    "Where": lambda node: node.emit(WhereOp(node.operand(0), node.operand(1), node.operand(2))),
}
