"""Arithmetic on values of one type, scalars and 1-D vectors, and conversion between types.

Integers of every signedness are computed on signless ones. Floats are rounded once per operation, except that a
product is fused with the sum it goes into. What is fused is decided here, by what is computed: LLVM, left to choose
(`contract` on sums), goes by what else is in the loop, and so by where the buffers lie. A product's own flag
`contract` says that a sum may take it in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    Float16Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    VectorType,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, SSAValue

from ...dialects.extensions.arith import (
    CmpfOp,
    CmpiOp,
    ExtSIOp,
    ExtUIOp,
    FPToSIOp,
    FPToUIOp,
    RemFOp,
    SelectOp,
    SIToFPOp,
    TruncIOp,
    UIToFPOp,
)
from ...dialects.extensions.replace import scalar_of, shaped_like
from ...dialects.graph.narrow_types import is_narrow, is_narrow_float
from ...dialects.sizes.sizes import Size
from .loop_builder import LoopBuilder
from .narrow_floats import from_narrow, to_narrow, to_odd

CONTRACT = FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
APPROXIMATE = FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
NO_SIGNED_ZEROS = FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])

_FLOAT_BINARY = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "copysign": math.CopySignOp,
}
_INTEGER_BINARY = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
    "shl": arith.ShLIOp,
    "shr": arith.ShRSIOp,
}
UNARY = {
    "abs": math.AbsFOp,
    "atan": math.AtanOp,
    "ceil": math.CeilOp,
    "cos": math.CosOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "expm1": math.ExpM1Op,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "log1p": math.Log1pOp,
    "round": math.RoundEvenOp,
    "sin": math.SinOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
}


def bits_of(element: Attribute) -> int:
    """Width of a number type in bits."""
    return cast("FixedBitwidthType", element).bitwidth


def is_integer(element: Attribute) -> bool:
    """Whether an element type is an integer or boolean."""
    return isinstance(element, IntegerType)


def is_unsigned(element: Attribute) -> bool:
    """Whether an element type has no negative numbers: booleans and unsigned integers."""
    if not isinstance(element, IntegerType):
        return False
    integer = cast("IntegerType[int]", element)
    return integer.width.data == 1 or integer.signedness.data == Signedness.UNSIGNED


def signless(element: Attribute) -> Attribute:
    """The type in which an element type is computed: integers become signless.

    Storage-only types are bytes: narrow integers with their value, narrow floats with their bits.
    """
    if is_narrow(element):
        return i8
    return IntegerType(bits_of(element)) if is_integer(element) else element


def loaded(b: LoopBuilder, value: SSAValue) -> SSAValue:
    """A value in memory form converted to the type of computation."""
    element = scalar_of(value.type)
    if signless(element) == element:
        return value
    bits = IntegerType(bits_of(element))
    if bits != element:
        value = b.insert(arith.BitcastOp(value, shaped_like(bits, value.type)))
    if not is_narrow(element) or bits == i8:
        return value
    extend = ExtSIOp if is_integer(element) and not is_unsigned(element) else ExtUIOp
    return b.insert(extend(value, shaped_like(i8, value.type)))


def stored(b: LoopBuilder, value: SSAValue, element: Attribute) -> SSAValue:
    """The inverse of `loaded`: a computed value converted to memory form."""
    if signless(element) == element:
        return value
    bits = IntegerType(bits_of(element))
    if is_narrow(element) and bits != i8:
        value = b.insert(TruncIOp(value, shaped_like(bits, value.type)))
    return value if bits == element else b.insert(arith.BitcastOp(value, shaped_like(element, value.type)))


def wide_float(element: Attribute) -> Attribute:
    """The type in which floats are computed: f32 for the 16-bit ones."""
    return f32 if isinstance(element, Float16Type | BFloat16Type) else element


def lanes_of(value: SSAValue) -> int:
    """Lanes of a vector; 1 for a scalar."""
    type: Attribute = value.type
    return cast("VectorType[Attribute]", type).get_shape()[0] if isinstance(type, VectorType) else 1


def number_in(value: SSAValue) -> float | int | None:
    """The value of a constant (or of a constant splat); None for any other value."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    constant = owner.value
    if isinstance(constant, DenseIntOrFPElementsAttr):
        return cast("float | int", constant.get_values()[0]) if constant.is_splat() else None
    if isinstance(constant, IntegerAttr | FloatAttr):
        return constant.value.data
    return None


@dataclass(frozen=True)
class Arithmetic:
    """Builds arithmetic on values of one type: floats, or signless integers interpreted as signed or not.

    With `contract` a float product is fused with the sum that uses it, in f32 and f64. With `fused`, `fma` is
    `math.fma`, which rounds once.
    """

    b: LoopBuilder
    type: Attribute
    unsigned: bool = False
    contract: bool = True
    fused: bool = False

    @property
    def element(self) -> Attribute:
        """The scalar type."""
        return scalar_of(self.type)

    @property
    def is_float(self) -> bool:
        """Whether the type is a float."""
        return not is_integer(self.element)

    def constant(self, value: float | int) -> SSAValue:
        """A constant, splat to a vector's lanes; also a symbolic size."""
        if isinstance(value, Size):
            number = convert(self.b, self.b.constant(value, i64), i64, self.element)
            type = self.type
            if not isinstance(type, VectorType):
                return number
            return self.b.splat(number, cast("VectorType[Attribute]", type).get_shape()[0])
        return self.b.constant(float(value) if self.is_float else value, self.type)

    def binary(self, kind: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """add, sub, mul, div, copysign of floats; add, sub, mul, and, or, xor, shl, shr (signed) of integers."""
        if self.is_float:
            flags = CONTRACT if self.contract and kind == "mul" else None
            return self.b.make(_FLOAT_BINARY[kind], x, y, extra=(flags,))
        return self.b.make(_INTEGER_BINARY[kind], x, y)

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x + y"""
        return self.sum("add", x, y)

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x - y"""
        return self.sum("sub", x, y)

    def sum(self, kind: str, x: SSAValue, y: SSAValue, products: tuple[bool, bool] = (True, True)) -> SSAValue:
        """`add` or `sub`; `products` says which of x and y may be fused if they are products."""
        if self.contract and self.element in (f32, f64):
            if products[0] and (factors := self._factors(x)):
                return self._fused(*factors, self.neg(y) if kind == "sub" else y)
            if products[1] and (factors := self._factors(y)):
                return self._fused(self.neg(factors[0]) if kind == "sub" else factors[0], factors[1], x)
        return self.binary(kind, x, y)

    def _factors(self, value: SSAValue) -> tuple[SSAValue, SSAValue] | None:
        """The factors of a product, also of a splat one; None if it is no product, or may not be fused."""
        owner = value.owner
        product = owner.source.owner if isinstance(owner, BroadcastOp) else owner
        if not isinstance(product, arith.MulfOp) or product.fastmath != CONTRACT:
            return None
        x, y = product.operands
        if product is not owner:
            x, y = (self.b.splat(each, lanes_of(value)) for each in (x, y))
        return x, y

    def _fused(self, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
        """x * y + z, rounded once if there is an instruction for it."""
        if isinstance(self.type, VectorType):
            return self.b.fma(x, y, z)
        properties = {"fastmath": CONTRACT}
        return self.b.insert(math.FmaOp.create(operands=[x, y, z], result_types=[self.type], properties=properties))

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x * y"""
        return self.binary("mul", x, y)

    def fma(self, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
        """x * y + z of floats: math.fma if `fused`, otherwise a product and a sum, which `contract` fuses."""
        return self.b.make(math.FmaOp, x, y, z) if self.fused else self.add(self.mul(x, y), z)

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """x / y; integers truncate toward zero, with 0 for y = 0 (which would trap)."""
        if self.is_float:
            return self.binary("div", x, y)
        if self.unsigned:
            safe = self._nonzero(y)
            return self._zero_where_zero(y, self.b.insert(arith.DivUIOp(x, safe)))
        # The smallest integer divided by -1 would stop the process too.
        minus_one = self.compare("eq", y, self.constant(-1))
        safe = self._nonzero(self.select(minus_one, self.constant(1), y))
        quotient = self.b.insert(arith.DivSIOp(x, safe))
        return self._zero_where_zero(y, self.select(minus_one, self.neg(x), quotient))

    def remainder(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The remainder of truncating division; for integers 0 where y is 0."""
        if self.is_float:
            return self.b.insert(RemFOp(x, y))  # the C library's fmod: exact, however large the quotient
        if self.unsigned:
            return self._zero_where_zero(y, self.b.insert(arith.RemUIOp(x, self._nonzero(y))))
        minus_one = self.compare("eq", y, self.constant(-1))
        safe = self._nonzero(self.select(minus_one, self.constant(1), y))
        return self._zero_where_zero(y, self.b.insert(arith.RemSIOp(x, safe)))

    def _nonzero(self, y: SSAValue) -> SSAValue:
        if number_in(y):
            return y
        return self.select(self.compare("eq", y, self.constant(0)), self.constant(1), y)

    def _zero_where_zero(self, y: SSAValue, value: SSAValue) -> SSAValue:
        if number_in(y):
            return value
        return self.select(self.compare("eq", y, self.constant(0)), self.constant(0), value)

    def shifted(self, x: SSAValue, count: SSAValue, *, left: bool) -> SSAValue:
        """A shifted integer; 0 (or the sign) for a negative or too large count."""
        bits = self.constant(bits_of(self.element))
        inside = self.b.make(CmpiOp, count, bits, extra=("ult",))
        safe = self.select(inside, count, self.constant(0))
        if left:
            return self.select(inside, self.b.make(arith.ShLIOp, x, safe), self.constant(0))
        if self.unsigned:
            return self.select(inside, self.b.make(arith.ShRUIOp, x, safe), self.constant(0))
        sign = self.b.make(arith.ShRSIOp, x, self.constant(bits_of(self.element) - 1))
        return self.select(inside, self.b.make(arith.ShRSIOp, x, safe), sign)

    def neg(self, x: SSAValue) -> SSAValue:
        """-x"""
        if self.is_float:
            return self.b.make(arith.NegfOp, x)
        return self.sub(self.constant(0), x)

    def abs(self, x: SSAValue) -> SSAValue:
        """|x|"""
        if self.is_float:
            return self.unary("abs", x)
        return x if self.unsigned else self.select(self.compare("lt", x, self.constant(0)), self.neg(x), x)

    def unary(self, kind: str, x: SSAValue) -> SSAValue:
        """A function of one float: abs, ceil, cos, erf, exp, floor, log, log1p, round (to even), ..."""
        return self.b.make(UNARY[kind], x)

    def approximate_exp2(self, x: SSAValue) -> SSAValue:
        """2 to the power of a float, by an instruction of the device where there is one for f32."""
        return self.b.insert(math.Exp2Op(x, APPROXIMATE))

    def compare(self, kind: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """i1: eq, ne, lt, le, gt, ge. With NaN only ne is true."""
        if self.is_float:
            return self.b.make(CmpfOp, x, y, extra=("une" if kind == "ne" else f"o{kind}",))
        sign = "" if kind in ("eq", "ne") else "u" if self.unsigned else "s"
        return self.b.make(CmpiOp, x, y, extra=(f"{sign}{kind}",))

    def is_nan(self, x: SSAValue) -> SSAValue:
        """i1: whether a float is NaN."""
        return self.b.insert(CmpfOp(x, x, "uno"))

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        """x where the condition holds, else y"""
        return self.b.make(SelectOp, condition, x, y)

    def max(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The maximum; NaN if either is NaN."""
        return self._extreme("gt", x, y)

    def min(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The minimum; NaN if either is NaN."""
        return self._extreme("lt", x, y)

    def _extreme(self, kind: str, x: SSAValue, y: SSAValue) -> SSAValue:
        if number_in(y) is not None:
            x, y = y, x
        first = number_in(x)
        if self.is_float and (first is None or first != first):
            # Which of two zeros comes out does not matter; that saves most of the operation's instructions.
            operation = arith.MaximumfOp if kind == "gt" else arith.MinimumfOp
            return self.b.make(operation, x, y, extra=(NO_SIGNED_ZEROS,))
        # With a number first, a comparison that fails because of a NaN selects the NaN: one instruction on
        # x86.
        return self.select(self.compare(kind, x, y), x, y)

    def power(self, x: SSAValue, exponent: SSAValue) -> SSAValue:
        """x to the exponent, for floats; common constant exponents without a call."""
        number = number_in(exponent)
        # expand-math writes 0, 4 and -2, whose products no sum may take in.
        if number in (1, 2, 3, 0.5, 0.75, -0.5, -1) and (known := self.known_power(x, number)) is not None:
            return known
        return self.b.insert(math.PowFOp(x, exponent))

    def known_power(self, x: SSAValue, exponent: float) -> SSAValue | None:
        """x**exponent of floats, for exponents that are cheap to compute; None for any other."""
        match exponent:
            case 0:
                return self.constant(1)
            case 1:
                return x
            case 2:
                return self.mul(x, x)
            case 3:
                return self.mul(self.mul(x, x), x)
            case 4:
                square = self.mul(x, x)
                return self.mul(square, square)
            case -1 | -2:
                one = self.constant(1)
                return self.div(one, x if exponent == -1 else self.mul(x, x))
            case 0.5:
                return self._square_root_power(x)
            case 0.75:
                root = self._square_root_power(x)
                return self.mul(root, self.unary("sqrt", root))
            case -0.5:
                one = self.constant(1)
                return self.div(one, self._square_root_power(x))
            case _:
                return None

    def _square_root_power(self, x: SSAValue) -> SSAValue:
        """x**(1/2): unlike sqrt, pow returns +0 for -0 and +infinity for -infinity."""
        root = self.unary("sqrt", self.add(x, self.constant(0)))
        return self.select(self.compare("eq", x, self.constant(-inf)), self.constant(inf), root)

    def polynomial(self, coefficients: Sequence[float], x: SSAValue) -> SSAValue:
        """Horner's scheme; coefficients from the constant one upwards."""
        result = self.constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.constant(coefficient))
        return result

    def bits(self, x: SSAValue, integer: Attribute) -> SSAValue:
        """A bitcast to `integer`, or from it to the float type of equal width."""
        return self.b.insert(arith.BitcastOp(x, shaped_like(integer, self.type)))


def convert(b: LoopBuilder, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    """`value` of type `source` converted to `target`: floats to integers toward zero, to booleans by != 0."""
    if source == target:
        return value
    if is_narrow_float(source):
        return convert(b, from_narrow(b, value, source), f32, target)
    if is_narrow_float(target):
        return narrowed(b, value, source, target, saturate=False)
    if is_narrow(source):  # a byte with the number
        source = IntegerType(8, cast("IntegerType[int]", source).signedness.data)
    if is_narrow(target):
        return _low_bits(b, convert(b, value, source, i8), target)
    if signless(source) == signless(target):
        return value
    number = number_in(value)
    if (
        number is not None
        and not isinstance(number, Size)
        and not is_integer(target)
        and (number >= 0 or not is_unsigned(source))
    ):
        return b.constant(number, shaped_like(target, value.type))
    if target == i1:
        of = Arithmetic(b, value.type, is_unsigned(source))
        return of.compare("ne", value, of.constant(0))
    if is_integer(source):
        return _from_integer(b, value, is_unsigned(source), signless(target))
    return _from_float(b, value, source, target)


def narrowed(
    b: LoopBuilder, value: SSAValue, source: Attribute, target: Attribute, *, saturate: bool, mode: str = "up"
) -> SSAValue:
    """`value` of type `source` converted to a narrow float; `saturate` and `mode` as in graph.cast."""
    single = to_odd(b, value) if source == f64 else convert(b, value, source, f32)
    return to_narrow(b, single, target, saturate=saturate, mode=mode)


def _low_bits(b: LoopBuilder, value: SSAValue, target: Attribute) -> SSAValue:
    """A byte reduced to the value of its low bits in a narrow integer type."""
    m = Arithmetic(b, value.type)
    bits = bits_of(target)
    if is_unsigned(target):
        return m.binary("and", value, m.constant(2**bits - 1))
    shift = m.constant(8 - bits)
    return b.make(arith.ShRSIOp, b.make(arith.ShLIOp, value, shift), shift)


def _from_integer(b: LoopBuilder, value: SSAValue, unsigned: bool, target: Attribute) -> SSAValue:
    if is_integer(target):
        return _resized(b, value, unsigned, target)
    wide = wide_float(target)
    to_float = UIToFPOp if unsigned else SIToFPOp
    converted = b.insert(to_float(value, shaped_like(wide, value.type)))
    return _refloat(b, converted, target)


def _from_float(b: LoopBuilder, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    if not is_integer(target):
        # All ways lead through f32: between the other types there are library calls, not instructions.
        single = to_odd(b, value) if source == f64 and target != f32 else _refloat(b, value, f32)
        return _refloat(b, single, target)
    value = _refloat(b, value, wide_float(source))
    if is_unsigned(target) and bits_of(target) == 64:
        return b.insert(FPToUIOp(value, shaped_like(i64, value.type)))
    # Narrow integers take the low bits of a wider one, as C does; so do the unsigned ones.
    enough = i32 if bits_of(target) < 32 or (bits_of(target) == 32 and not is_unsigned(target)) else i64
    wide = b.insert(FPToSIOp(value, shaped_like(enough, value.type)))
    return _resized(b, wide, False, signless(target))


def _resized(b: LoopBuilder, value: SSAValue, unsigned: bool, target: Attribute) -> SSAValue:
    width, wanted = bits_of(scalar_of(value.type)), bits_of(target)
    if width == wanted:
        return value
    resize = TruncIOp if wanted < width else ExtUIOp if unsigned else ExtSIOp
    return b.insert(resize(value, shaped_like(target, value.type)))


def _refloat(b: LoopBuilder, value: SSAValue, target: Attribute) -> SSAValue:
    source = scalar_of(value.type)
    if source == target:
        return value
    resize = arith.ExtFOp if bits_of(target) > bits_of(source) else arith.TruncFOp
    return b.insert(resize(value, shaped_like(target, value.type)))
