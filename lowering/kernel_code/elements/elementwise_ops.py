"""The elementwise graph ops on loop level: one op becomes arithmetic on scalars, or on vectors of any width.

`exp`, `erf`, `tanh` and their like stay `math` operations, which expand-math takes apart. 16-bit floats are
computed in f32 and rounded after each op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, pi, sqrt
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, StringAttr, UnitAttr, f32, f64, i1, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.extensions.arith import FLUSH, SelectOp
from ....dialects.extensions.replace import scalar_of, shaped_like
from ....dialects.graph.narrow_types import is_narrow_float
from ....dialects.graph.ops.elementwise import MulOp
from ....dialects.graph.values import element_type_of_value, is_float
from ..approximations import gelu
from ..arithmetic import (
    UNARY,
    Arithmetic,
    bits_of,
    convert,
    is_integer,
    is_unsigned,
    loaded,
    narrowed,
    number_in,
    signless,
    stored,
    wide_float,
)
from ..loop_builder import Index, LoopBuilder

_GELU_IS_ZERO = 40.0  # gelu of numbers below minus this is 0; the product of minus infinity and 0 would be NaN
_ROUNDING = 1.5 * 2**23
_FEW_BITS = 6  # constant exponents up to which powers are unrolled


@dataclass(frozen=True)
class _Site:
    """One op being built: its operands, and arithmetic in their common type."""

    op: Operation
    m: Arithmetic
    operands: Sequence[SSAValue]

    @property
    def x(self) -> SSAValue:
        return self.operands[0]

    @property
    def y(self) -> SSAValue:
        return self.operands[1]

    def number(self, name: str) -> float | None:
        """A float attribute of the op."""
        attribute = self.op.properties.get(name)
        return cast("FloatAttr", attribute).value.data if attribute is not None else None

    def one(self) -> SSAValue:
        return self.m.constant(1)

    def zero(self) -> SSAValue:
        return self.m.constant(0)


_Rule = Callable[[_Site], SSAValue]


def _math(kind: str) -> _Rule:
    return lambda s: s.m.unary(kind, s.x)


def _binary(kind: str) -> _Rule:
    return lambda s: s.m.binary(kind, s.x, s.y)


def _sum(kind: str) -> _Rule:
    def rule(s: _Site) -> SSAValue:
        # A product that reaches this op indirectly, through a concatenation say, is fused in some code only.
        first, second = (isinstance(operand.owner, MulOp) for operand in s.op.operands)
        return s.m.sum(kind, s.x, s.y, (first, second))

    return rule


def _compare(kind: str) -> _Rule:
    return lambda s: s.m.compare(kind, s.x, s.y)


def _sub(s: _Site) -> SSAValue:
    """Never fused with a multiplication: x - x must be 0, even if one operand is recomputed here."""
    return replace(s.m, contract=False).sub(s.x, s.y)


def _sign(s: _Site) -> SSAValue:
    m, zero = s.m, s.zero()
    result = m.select(m.compare("gt", s.x, zero), s.one(), s.x)
    if m.unsigned:
        return result
    return m.select(m.compare("lt", s.x, zero), m.constant(-1), result)


def _not(s: _Site) -> SSAValue:
    return s.m.binary("xor", s.x, s.m.constant(1 if s.m.element == i1 else -1))


def _relu(s: _Site) -> SSAValue:
    return s.m.max(s.x, s.zero())


def _clip(s: _Site) -> SSAValue:
    x = s.x
    low, high = s.number("min"), s.number("max")
    if low is not None:
        x = s.m.max(x, s.m.constant(_limit(low, s)))
    if high is not None:
        x = s.m.min(x, s.m.constant(_limit(high, s)))
    return x


def _limit(value: float, s: _Site) -> float | int:
    """A limit of clip in the element type, saturated to an integer type's range."""
    if s.m.is_float:
        return value
    low, high = _range(bits_of(s.m.element), s.m.unsigned)
    return low if value < low else high if value > high else int(value)


def _range(bits: int, unsigned: bool) -> tuple[int, int]:
    """The least and the largest integer of a type."""
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _logistic(m: Arithmetic, numerator: SSAValue, x: SSAValue) -> SSAValue:
    """numerator / (1 + exp(-x)); an overflow of exp correctly gives 0."""
    return m.div(numerator, m.add(m.constant(1), m.unary("exp", m.neg(x))))


def _sigmoid(s: _Site) -> SSAValue:
    return _logistic(s.m, s.one(), s.x)


def _silu(s: _Site) -> SSAValue:
    return _logistic(s.m, s.x, s.x)


def _softplus(s: _Site) -> SSAValue:
    m = s.m
    return m.add(m.max(s.x, s.zero()), m.unary("log1p", m.unary("exp", m.neg(m.abs(s.x)))))


def _softsign(s: _Site) -> SSAValue:
    return s.m.div(s.x, s.m.add(s.one(), s.m.abs(s.x)))


def _leaky(s: _Site, slope: SSAValue) -> SSAValue:
    return s.m.select(s.m.compare("lt", s.x, s.zero()), s.m.mul(s.x, slope), s.x)


def _leaky_relu(s: _Site) -> SSAValue:
    return _leaky(s, s.m.constant(s.number("alpha") or 0.0))


def _prelu(s: _Site) -> SSAValue:
    return _leaky(s, s.y)


def _elu(s: _Site) -> SSAValue:
    m = s.m
    below = m.mul(m.constant(s.number("alpha") or 0.0), m.unary("expm1", s.x))
    return m.select(m.compare("lt", s.x, s.zero()), below, s.x)


def _hard_sigmoid(s: _Site) -> SSAValue:
    m = s.m
    line = m.add(m.mul(s.x, m.constant(s.number("alpha") or 0.0)), m.constant(s.number("beta") or 0.0))
    return m.min(m.max(line, s.zero()), s.one())


def _gelu(s: _Site) -> SSAValue:
    if cast("StringAttr", s.op.properties["approximate"]).data == "tanh":
        return _gelu_tanh(s)
    return gelu(s.m, s.x) if s.m.element == f32 else _gelu_erf(s)


def _gelu_tanh(s: _Site) -> SSAValue:
    """x sigmoid(2u), because (1 + tanh u) / 2 = sigmoid(2u)."""
    m = s.m
    x = m.max(s.x, m.constant(-_GELU_IS_ZERO))
    slope = 2 * sqrt(2 / pi)
    factor = m.add(m.mul(m.mul(x, x), m.constant(slope * 0.044715)), m.constant(slope))
    return _logistic(m, x, m.mul(x, factor))


def _gelu_erf(s: _Site) -> SSAValue:
    m = s.m
    x = m.max(s.x, m.constant(-_GELU_IS_ZERO))
    half = m.mul(x, m.constant(0.5))
    return m.mul(half, m.add(s.one(), m.unary("erf", m.mul(x, m.constant(sqrt(0.5))))))


def _is_inf(s: _Site) -> SSAValue:
    return s.m.compare("eq", s.m.abs(s.x), s.m.constant(inf))


def _mod(s: _Site) -> SSAValue:
    m = s.m
    rest = m.remainder(s.x, s.y)
    if "fmod" in s.op.properties or m.unsigned:
        return rest
    zero = s.zero()
    is_rest = m.compare("ne", rest, zero)
    signs_differ = m.b.insert(arith.XOrIOp(m.compare("lt", rest, zero), m.compare("lt", s.y, zero)))
    result = m.select(m.b.conjunction(is_rest, signs_differ), m.add(rest, s.y), rest)
    if not m.is_float:
        return result
    return m.select(is_rest, result, m.b.make(math.CopySignOp, zero, s.y))  # the sign of a zero is that of y, too


def _pow(s: _Site) -> SSAValue:
    base_type, exponent_type = (element_type_of_value(operand) for operand in s.op.operands)
    if s.m.is_float:
        return s.m.power(s.x, convert(s.m.b, s.y, _actual(s.y, exponent_type), s.m.element))
    if is_integer(exponent_type):
        return _integer_power(s, exponent_type)
    base, exponent = convert(s.m.b, s.x, base_type, f64), convert(s.m.b, s.y, exponent_type, f64)
    return convert(s.m.b, Arithmetic(s.m.b, base.type).power(base, exponent), f64, base_type)


def _integer_power(s: _Site, exponent_type: Attribute) -> SSAValue:
    """Exponentiation by squaring; a negative exponent gives non-zero results for 1 and -1 only.

    In n bits, the powers of odd numbers have period 2^(n - 2), those of even ones are 0 from the n-th on.
    """
    m, b, bits = s.m, s.m.b, bits_of(s.m.element)
    power = Arithmetic(b, s.y.type, is_unsigned(exponent_type))
    known = number_in(s.y)
    if isinstance(known, int) and 0 <= known < 2**_FEW_BITS:
        return _known_power(m, s.x, known)
    one = power.constant(1)
    steps = min(max(bits - 2, bits.bit_length()), bits_of(power.element) - (not power.unsigned))

    def step(_: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        result, square, left = carried
        odd = power.compare("ne", power.binary("and", left, one), power.constant(0))
        result = m.select(odd, m.mul(result, square), result)
        return result, m.mul(square, square), b.make(arith.ShRUIOp, left, one)

    result = b.loop(0, steps, step, carried=[s.one(), s.x, s.y])[0]
    even = m.compare("eq", m.binary("and", s.x, s.one()), s.zero())
    beyond = power.compare("ge", s.y, power.constant(min(bits, 2 ** (bits_of(power.element) - 1) - 1)))
    result = m.select(b.conjunction(even, beyond), s.zero(), result)
    if power.unsigned:
        return result
    is_unit = m.compare("le", m.abs(s.x), s.one())
    odd = power.compare("ne", power.binary("and", s.y, one), power.constant(0))
    inverse = m.select(is_unit, m.select(odd, s.x, m.mul(s.x, s.x)), s.zero())
    return m.select(power.compare("lt", s.y, power.constant(0)), inverse, result)


def _known_power(m: Arithmetic, x: SSAValue, exponent: int) -> SSAValue:
    result, square = m.constant(1), x
    while exponent:
        if exponent % 2:
            result = m.mul(result, square)
        exponent //= 2
        square = m.mul(square, square) if exponent else square
    return result


def _quantize(s: _Site) -> SSAValue:
    """Clamped by comparisons that are false for NaN, which becomes the smallest number."""
    m, b = s.m, s.m.b
    to = s.op.properties["to"]
    quotient = m.div(s.x, s.y)
    precise = element_type_of_value(s.op.operands[1])
    if wide_float(precise) != precise:
        quotient = convert(b, convert(b, quotient, m.element, precise), precise, m.element)
    low, high = _range(bits_of(to), is_unsigned(to))

    def clamped(value: SSAValue, shift: int = 0) -> SSAValue:
        least, most = m.constant(low - shift), m.constant(high - shift)
        above = m.select(m.compare("gt", value, least), value, least)
        return m.select(m.compare("lt", above, most), above, most)

    zero = number_in(s.operands[2]) if len(s.operands) == 3 else 0
    if m.element == f32 and zero is not None:
        return _rounded_bits(m, clamped(quotient, int(zero)), int(zero), to)
    steps = m.binary("add", m.unary("round", quotient), s.operands[2]) if zero != 0 else m.unary("round", quotient)
    return convert(b, clamped(steps), m.element, to)


def _rounded_bits(m: Arithmetic, value: SSAValue, zero: int, to: Attribute) -> SSAValue:
    """f32 below 2^21 rounded to nearest even, plus `zero`, in the integer type `to`.

    Of floats in [2^23, 2^24) the last bit is 1, so that a sum with 1.5 * 2^23 is rounded to an integer, whose low bits
    are those of the sum: one addition instead of a rounding, an addition and a conversion. An even `zero` is added
    with it; an odd one would swap even and odd.
    """
    b, even = m.b, zero - zero % 2
    total = m.binary("add", value, m.constant(_ROUNDING + even))
    i = Arithmetic(b, shaped_like(i32, value.type))
    bits = b.insert(arith.BitcastOp(total, i.type))
    return convert(b, bits if zero == even else i.add(bits, i.constant(1)), i32, to)


def _dequantize(s: _Site) -> SSAValue:
    steps = s.m.binary("sub", s.x, s.operands[2]) if len(s.operands) == 3 else s.x
    return s.m.mul(steps, s.y)


_RULES: dict[str, _Rule] = {
    # One operation of the same name.
    **{f"graph.{kind}": _math(kind) for kind in UNARY},
    **{f"graph.{kind}": _binary(kind) for kind in ("and", "mul", "or", "xor")},
    "graph.abs": lambda s: s.m.abs(s.x),  # of integers, too
    "graph.add": _sum("add"),
    "graph.clip": _clip,
    "graph.dequantize": _dequantize,
    "graph.div": lambda s: s.m.div(s.x, s.y),
    "graph.elu": _elu,
    "graph.equal": _compare("eq"),
    "graph.gelu": _gelu,
    "graph.greater": _compare("gt"),
    "graph.greater_equal": _compare("ge"),
    "graph.hard_sigmoid": _hard_sigmoid,
    "graph.is_inf": _is_inf,
    "graph.is_nan": lambda s: s.m.is_nan(s.x),
    "graph.leaky_relu": _leaky_relu,
    "graph.less": _compare("lt"),
    "graph.less_equal": _compare("le"),
    "graph.max": lambda s: s.m.max(s.x, s.y),
    "graph.min": lambda s: s.m.min(s.x, s.y),
    "graph.mod": _mod,
    "graph.neg": lambda s: s.m.neg(s.x),
    "graph.not": _not,
    "graph.pow": _pow,
    "graph.prelu": _prelu,
    "graph.quantize": _quantize,
    "graph.reciprocal": lambda s: s.m.div(s.one(), s.x),
    "graph.relu": _relu,
    "graph.rsqrt": lambda s: s.m.div(s.one(), s.m.unary("sqrt", s.x)),
    "graph.shift_left": lambda s: s.m.shifted(s.x, s.y, left=True),
    "graph.shift_right": lambda s: s.m.shifted(s.x, s.y, left=False),
    "graph.sigmoid": _sigmoid,
    "graph.sign": _sign,
    "graph.silu": _silu,
    "graph.softplus": _softplus,
    "graph.softsign": _softsign,
    "graph.sub": _sub,
}


def is_elementwise(op: Operation) -> bool:
    """Whether `emit_elementwise` supports the op."""
    return op.name in _RULES or op.name in ("graph.bitcast", "graph.cast", "graph.where")


def emit_elementwise(
    b: LoopBuilder, op: Operation, operands: Sequence[SSAValue], result_element: Attribute
) -> SSAValue:
    """Builds the op on scalars, or on 1-D vectors of equal length (then all operands are vectors).

    Integers are signless. Floats may be wider than the declared types of operands, for example the f32 accumulator of
    an f16 convolution; `result_element` is the requested type.
    """
    declared = [element_type_of_value(operand) for operand in op.operands]
    actual = [_actual(value, type) for value, type in zip(operands, declared, strict=True)]
    if op.name == "graph.where":
        condition, *values = operands
        first, second = (
            convert(b, value, type, result_element) for value, type in zip(values, actual[1:], strict=True)
        )
        return b.insert(SelectOp(condition, first, second))
    if op.name == "graph.cast":
        # Through the op's own type: a cast of f32 to bool or f16 must not see more bits than the type has.
        target = op.properties["to"]
        return convert(b, _cast(b, op, operands[0], actual[0], target), target, result_element)
    if op.name == "graph.bitcast":
        return _bitcast(b, operands[0], declared[0], op.properties["to"])
    rule = _RULES[op.name]
    is_pow = op.name == "graph.pow"
    floats = [type for type in actual if not is_integer(type)]  # quantisation also has integer operands
    wide = wide_float(actual[0] if is_pow else max(floats or actual, key=bits_of))
    values = [
        value if is_pow and i == 1 else convert(b, value, type, wide)
        for i, (value, type) in enumerate(zip(operands, actual, strict=True))
    ]
    site = _Site(op, Arithmetic(b, values[0].type, is_unsigned(wide)), values)
    value = rule(site)
    computed = scalar_of(value.type)
    return value if computed == signless(result_element) else convert(b, value, computed, result_element)


def _cast(b: LoopBuilder, op: Operation, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    if "flush" in op.properties and source == f32:
        made = arith.TruncFOp(value, shaped_like(target, value.type))
        made.attributes[FLUSH] = UnitAttr()
        return b.insert(made)
    if not is_narrow_float(target):
        return convert(b, value, source, target)
    mode = op.properties.get("round_mode")
    name = mode.data if isinstance(mode, StringAttr) else "up"
    return narrowed(b, value, source, target, saturate="saturate" in op.properties, mode=name)


def _bitcast(b: LoopBuilder, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    """A bitcast via the in-memory form, in which booleans are bytes."""
    value = convert(b, value, scalar_of(value.type), source) if is_float(source) else value
    if source == i1:
        value, source = convert(b, value, i1, i8), i8
    if target == i1:
        return convert(b, loaded(b, stored(b, value, source)), i8, i1)
    held = stored(b, value, source)
    wanted = shaped_like(target, value.type)
    return loaded(b, held if held.type == wanted else b.insert(arith.BitcastOp(held, wanted)))


def _actual(value: SSAValue, declared: Attribute) -> Attribute:
    """The element type that a value has; the declared one if they differ only in signedness."""
    element = scalar_of(value.type)
    return declared if signless(declared) == signless(element) else element
