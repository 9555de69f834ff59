"""Chains of multiplications as a scalar times factors, in any association."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from ....dialects.graph.ops.elementwise import AddOp, DivOp, MulOp, PowOp
from ....dialects.graph.ops.unary import NegOp
from ....dialects.graph.values import shape_of
from .pattern_utils import Constants

# Relative tolerance for a formula's constants, which may be rounded to single precision, or by hand to 6 digits.
TOLERANCE = 2e-6


@dataclass
class Product:
    """scalar * factors[0] * factors[1] * ..."""

    scalar: float = 1.0
    factors: list[SSAValue] = field(default_factory=list[SSAValue])

    def is_near(self, expected: float) -> bool:
        """Whether the scalar is `expected`, up to the rounding of a model's constants."""
        return is_near(self.scalar, expected)


def is_near(found: float, expected: float) -> bool:
    """Whether a model's constant approximates `expected`."""
    return abs(found - expected) <= TOLERANCE * abs(expected)


def product_at(root: Operation, constants: Constants) -> Product:
    """The product that an op computes, looking through inner products with a single use."""
    product = Product()
    _collect(root.results[0], product, constants, outermost=True)
    return product


def product_of(value: SSAValue, constants: Constants) -> Product:
    """The product that defines a value with a single use."""
    product = Product()
    _collect(value, product, constants, outermost=False)
    return product


def _collect(value: SSAValue, product: Product, constants: Constants, outermost: bool) -> None:
    number = constants.scalar(value)
    if number is not None and not outermost:
        product.scalar *= number
        return
    op = value.owner
    if outermost or value.has_one_use():
        match op:
            case MulOp() if _same_shape(op.lhs, op.rhs, value, constants):
                _collect(op.lhs, product, constants, outermost=False)
                _collect(op.rhs, product, constants, outermost=False)
                return
            case DivOp() if (divisor := constants.scalar(op.rhs)) and shape_of(op.lhs) == shape_of(value):
                product.scalar /= divisor
                _collect(op.lhs, product, constants, outermost=False)
                return
            case NegOp():
                product.scalar = -product.scalar
                _collect(op.x, product, constants, outermost=False)
                return
            case PowOp() if constants.scalar(op.rhs) in (2, 3):
                product.factors += [op.lhs] * int(constants.scalar(op.rhs) or 0)
                return
            case _:
                pass
    product.factors.append(value)


def _same_shape(lhs: SSAValue, rhs: SSAValue, result: SSAValue, constants: Constants) -> bool:
    """Whether each operand is a scalar or has the result's shape, so that factors commute."""
    shape = shape_of(result)
    return all(shape_of(operand) == shape or constants.scalar(operand) is not None for operand in (lhs, rhs))


def number_plus(value: SSAValue, constants: Constants) -> tuple[float, SSAValue] | None:
    """`value` as number + x, if it is such a sum with a single use."""
    op = value.owner
    if not isinstance(op, AddOp) or not value.has_one_use():
        return None
    for number, x in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        found = constants.scalar(number)
        if found is not None and shape_of(x) == shape_of(value):
            return found, x
    return None
