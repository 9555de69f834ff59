"""C++ for math operations: calls of math functions that both CUDA and g++ provide."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float64Type, f32
from xdsl.dialects.math import Exp2Op
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from .arith_ops import elementwise, in_f32, rounded
from .expressions import Expression, call, conditional, literal
from .kernel_text import Handler, KernelText
from .library import FUNCTIONS
from .types import element_of


def _function(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    if isinstance(op, Exp2Op) and FastMathFlag.APPROX_FUNC in op.fastmath.data and element_of(op.result.type) == f32:
        return call("approximate_exp2", *x)
    name = FUNCTIONS[op.name.partition(".")[2]]
    suffix = "" if isinstance(element_of(op.results[0].type), Float64Type) else "f"
    return rounded(call(f"{name}{suffix}", *in_f32(op, x)), op.results[0].type)


def _absolute(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    (value,) = x
    kind = kernel.types.spelled(element_of(op.results[0].type))
    negative = Expression(f"{value.bound(value.level)} < 0", depends=value.depends)
    zero = literal(0) if kind == "int" else Expression(f"{kind}(0)")
    return conditional(negative, call("wrapping_sub", zero, value), value)


HANDLERS: dict[str, Handler] = {
    **{f"math.{name}": lambda kernel, op: elementwise(kernel, op, _function) for name in FUNCTIONS},
    "math.absi": lambda kernel, op: elementwise(kernel, op, _absolute, repeated=True),
    "vector.fma": lambda kernel, op: elementwise(
        kernel, op, lambda _, __, x: rounded(call(_fused(op), *in_f32(op, x)), op.results[0].type)
    ),
}


def _fused(op: Operation) -> str:
    return "fma" if isinstance(element_of(op.results[0].type), Float64Type) else "fmaf"
