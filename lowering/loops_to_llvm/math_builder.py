"""A builder of arithmetic on f32 or f64 scalars and vectors, the base of function_polynomials.py."""

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, FastMathFlagsAttr
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.extensions import CmpfOp, SelectOp, SIToFPOp
from .types import element_of, lanes_of, truth_type, vector_type

_NO_FAST_MATH = {"fastmath": FastMathFlagsAttr("none")}
_NO_OVERFLOW_FLAGS = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_PREDICATES = {
    name: {"predicate": IntegerAttr(number, i64), **_NO_FAST_MATH}
    for number, name in enumerate(CMPF_COMPARISON_OPERATIONS)
}


class MathBuilder:
    """Inserts operations before the one they replace. `fused`: the CPU has a fused multiply-add."""

    def __init__(self, before: Operation, value_type: Attribute, *, fused: bool) -> None:
        lanes = lanes_of(value_type)
        assert before.parent is not None
        self._block = before.parent
        self._before = before
        self._fused = fused
        self._numbers: dict[float, SSAValue] = {}
        self.type = value_type
        self.precision = 53 if element_of(value_type) == f64 else 24
        """Bits of the significand, the leading one included."""
        self.integer_type = i32 if lanes is None else vector_type(i32, lanes)
        self.truth_type = truth_type(value_type)

    def insert(self, op: Operation) -> SSAValue:
        """Inserts an operation; returns its result."""
        self._block.insert_op_before(op, self._before)
        return op.results[0]

    def number(self, value: float) -> SSAValue:
        """A float constant."""
        known = self._numbers.get(value)
        if known is None:
            constant = {"value": _float_constant(value, self.type)}
            known = self.insert(arith.ConstantOp.create(result_types=(self.type,), properties=constant))
            self._numbers[value] = known
        return known

    def integer(self, value: int) -> SSAValue:
        """A 32-bit integer constant."""
        constant = {"value": _integer_constant(value, self.integer_type)}
        return self.insert(arith.ConstantOp.create(result_types=(self.integer_type,), properties=constant))

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a + b"""
        return self._float(arith.AddfOp, a, b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a - b"""
        return self._float(arith.SubfOp, a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a * b"""
        return self._float(arith.MulfOp, a, b)

    def div(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a / b"""
        return self._float(arith.DivfOp, a, b)

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """a * b + c, fused where the CPU has the instruction"""
        return self._float(math.FmaOp, a, b, c) if self._fused else self.add(self.mul(a, b), c)

    def abs(self, a: SSAValue) -> SSAValue:
        """|a|"""
        return self._float(math.AbsFOp, a)

    def sqrt(self, a: SSAValue) -> SSAValue:
        """The square root."""
        return self._float(math.SqrtOp, a)

    def copysign(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """|a| with the sign of b"""
        return self._float(math.CopySignOp, a, b)

    def horner(self, coefficients: Sequence[float], x: SSAValue) -> SSAValue:
        """c[0] + x * (c[1] + x * ...)"""
        result = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.number(coefficient))
        return result

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """A boolean; predicates are those of arith.cmpf."""
        return self.insert(
            CmpfOp.create(operands=(a, b), result_types=(self.truth_type,), properties=_PREDICATES[predicate])
        )

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """a where the condition holds, else b"""
        return self.insert(SelectOp.create(operands=(condition, a, b), result_types=(a.type,)))

    def at_most(self, a: SSAValue, limit: float) -> SSAValue:
        """min(a, limit), propagating NaN; one instruction on x86 in this form."""
        bound = self.number(limit)
        return self.select(self.compare("ogt", a, bound), bound, a)

    def at_least(self, a: SSAValue, limit: float) -> SSAValue:
        """max(a, limit), propagating NaN."""
        bound = self.number(limit)
        return self.select(self.compare("olt", a, bound), bound, a)

    def bits(self, a: SSAValue) -> SSAValue:
        """The bits of floats."""
        return self.insert(arith.BitcastOp.create(operands=(a,), result_types=(self.integer_type,)))

    def from_bits(self, a: SSAValue) -> SSAValue:
        """The floats with the given bits."""
        return self.insert(arith.BitcastOp.create(operands=(a,), result_types=(self.type,)))

    def add_bits(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Sum of integers."""
        return self._integer(arith.AddiOp, a, b)

    def sub_bits(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Difference of integers."""
        return self._integer(arith.SubiOp, a, b)

    def shift_left(self, a: SSAValue, count: int) -> SSAValue:
        """Integers times 2**count."""
        return self._integer(arith.ShLIOp, a, self.integer(count))

    def shift_right(self, a: SSAValue, count: int) -> SSAValue:
        """Arithmetic right shift: signed integers divided by 2**count, rounded down."""
        operands = (a, self.integer(count))
        return self.insert(arith.ShRSIOp.create(operands=operands, result_types=(self.integer_type,)))

    def to_float(self, a: SSAValue) -> SSAValue:
        """Signed integers converted to floats."""
        return self.insert(SIToFPOp.create(operands=(a,), result_types=(self.type,)))

    def _float(self, op: type[Operation], *operands: SSAValue) -> SSAValue:
        return self.insert(op.create(operands=operands, result_types=(self.type,), properties=_NO_FAST_MATH))

    def _integer(self, op: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(op.create(operands=(a, b), result_types=(self.integer_type,), properties=_NO_OVERFLOW_FLAGS))


@lru_cache(maxsize=4096)
def _float_constant(value: float, value_type: Attribute) -> Attribute:
    if isinstance(value_type, VectorType):
        return DenseIntOrFPElementsAttr.from_list(cast("VectorType[Float32Type]", value_type), [value])
    return FloatAttr(value, cast("Float32Type | Float64Type", value_type))


@lru_cache(maxsize=4096)
def _integer_constant(value: int, integer_type: Attribute) -> Attribute:
    if isinstance(integer_type, VectorType):
        return DenseIntOrFPElementsAttr.from_list(cast("VectorType[IntegerType]", integer_type), [value])
    return IntegerAttr(value, i32)
