"""recompose-gelu: recognises gelu, in the erf form and in the tanh form.

before:  %1 = graph.div %x, %sqrt2    %2 = graph.erf %1    %3 = graph.add %2, %one
         %4 = graph.mul %x, %3        %5 = graph.mul %4, %half
after:   %5 = graph.gelu %x {approximate = "none"}

The factors may come in any order, constants as factors or divisors, the cube as a power or as products.
Constants must be those of gelu up to rounding; x * sigmoid(1.702 * x) is another function and stays.
"""

from __future__ import annotations

from math import pi, sqrt

from typing_extensions import override
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.activation import GeluOp
from ...dialects.graph.ops.elementwise import AddOp, DivOp, MulOp
from ...dialects.graph.ops.unary import ErfOp, TanhOp
from .support.multiplication_chains import Product, is_near, number_plus, product_at, product_of
from .support.pattern_utils import Constants, GraphPattern, PatternPass, only_use, rewrites

CUBIC = 0.044715


def _method(bracket: SSAValue, half: float, x: SSAValue, constants: Constants) -> str | None:
    """Whether half * bracket is (1 + erf(..x..)) / 2 or (1 + tanh(..x..)) / 2: "none" or "tanh"."""
    found = number_plus(bracket, constants)
    if found is None or not is_near(found[0] * half, 0.5):
        return None
    inner = product_of(found[1], constants)
    if not is_near(inner.scalar * half, 0.5) or len(inner.factors) != 1:
        return None
    if (erf := only_use(inner.factors[0], ErfOp)) is not None:
        argument = product_of(erf.x, constants)
        return "none" if argument.is_near(sqrt(0.5)) and argument.factors == [x] else None
    if (tanh := only_use(inner.factors[0], TanhOp)) is not None:
        return "tanh" if _is_tanh_argument(product_of(tanh.x, constants), x, constants) else None
    return None


def _is_tanh_argument(argument: Product, x: SSAValue, constants: Constants) -> bool:
    """sqrt(2 / pi) * (x + 0.044715 * x^3), or sqrt(2 / pi) * x * (1 + 0.044715 * x^2)"""
    if not argument.is_near(sqrt(2 / pi)):
        return False
    if len(argument.factors) == 1:
        add = only_use(argument.factors[0], AddOp)
        if add is None or x not in add.operands:
            return False
        cubic = product_of(add.lhs if add.rhs is x else add.rhs, constants)
        return cubic.is_near(CUBIC) and cubic.factors == [x, x, x]
    if len(argument.factors) == 2 and x in argument.factors:
        bracket = argument.factors[argument.factors[0] is x]
        found = number_plus(bracket, constants)
        if found is None or found[0] != 1:
            return False
        square = product_of(found[1], constants)
        return square.is_near(CUBIC) and square.factors == [x, x]
    return False


class Gelu(GraphPattern):
    """x / 2 * (1 + erf(x / sqrt(2))), or its tanh approximation -> gelu(x)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MulOp | DivOp, rewriter: PatternRewriter, /) -> None:
        product = product_at(op, self.constants)
        if len(product.factors) != 2:
            return
        for x, bracket in (product.factors, reversed(product.factors)):
            method = _method(bracket, product.scalar, x, self.constants)
            if method is not None:
                rewriter.replace(op, GeluOp(x, method, location=op.location))
                return


class RecomposeGelu(PatternPass):
    """Recognises gelu in both forms."""

    name = "recompose-gelu"
    patterns = (Gelu,)
    kinds = (ErfOp, TanhOp)
