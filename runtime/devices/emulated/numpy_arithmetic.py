"""The operations of arith and math in numpy with LLVM's semantics: wrapping integers, floats of fixed type.

A fused multiply-add of f32 is computed in f64, where the product is exact; the sum is rounded twice, which differs in
about one of 2^29 cases.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation

from ....dialects.graph.ops.unary import erf
from .thread_values import Function, Value, dtype_of, is_vector, select, spread, where

INFIX = {
    "arith.addi": "+",
    "arith.subi": "-",
    "arith.muli": "*",
    "arith.andi": "&",
    "arith.ori": "|",
    "arith.xori": "^",
    "arith.addf": "+",
    "arith.subf": "-",
    "arith.mulf": "*",
    "arith.divf": "/",
    "arith.shli": "<<",
    "arith.shrsi": ">>",
}
"""Ops whose semantics are Python's operators, for all types but i1."""
SIGNED_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
"""The signed predicates of cmpi, by number; the unsigned ones follow."""
_BITS = 2**64


def unsigned(value: Value) -> Value:
    """The bits of integers as unsigned ones."""
    if isinstance(value, int):
        return value % _BITS
    return value if value.dtype == np.bool_ else value.view(f"u{value.dtype.itemsize}")


def _as_unsigned(function: Function, x: Value, y: Value) -> Value:
    if type(x) is int and type(y) is int:
        result = int(function(x % _BITS, y % _BITS))
        return result - _BITS if result >= _BITS // 2 else result
    result = function(*_wide(x, y))
    return result.view(f"i{result.dtype.itemsize}")


def _wide(x: Value, y: Value) -> tuple[Value, Value]:
    """Both unsigned, with an int converted to the array's type, as numpy would take it for signed."""
    x, y = (np.uint64(each % _BITS) if isinstance(each, int) else unsigned(each) for each in (x, y))
    return x, y


def _compare_unsigned(function: Function, x: Value, y: Value) -> Value:
    return function(*_wide(x, y))


def _divided(x: Value, y: Value) -> Value:
    """Truncating division; 0 where y is 0, which is undefined behaviour."""
    if type(x) is int and type(y) is int:
        return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return np.floor_divide(x - np.fmod(x, y), y)


def _remainder(x: Value, y: Value) -> Value:
    if type(x) is int and type(y) is int:
        return 0 if y == 0 else x - y * _divided(x, y)
    return np.fmod(x, y)


def _floor_divided(x: Value, y: Value) -> Value:
    return (0 if y == 0 else x // y) if type(x) is int and type(y) is int else np.floor_divide(x, y)


def _ceil_divided(x: Value, y: Value) -> Value:
    return _floor_divided(x, y) + (_remainder(x, y) != 0)


def _shifted(x: Value, y: Value) -> Value:
    return x >> y


def _quotient_up(x: Value, y: Value) -> Value:
    return x // y + (x % y != 0)


def _nonzero_divided(x: Value, y: Value) -> Value:
    return 0 if isinstance(y, int) and y == 0 else x // y


def _nonzero_remainder(x: Value, y: Value) -> Value:
    return 0 if isinstance(y, int) and y == 0 else x % y


def _extreme(choose: Callable[[int, int], int], function: Function, x: Value, y: Value) -> Value:
    """min or max of integers."""
    return choose(x, y) if type(x) is int and type(y) is int else function(x, y)


def _maximum(x: Value, y: Value) -> Value:
    """NaN if either is; 0 is greater than -0."""
    return where((x == 0) & (y == 0), x + y, np.maximum(x, y))


def _minimum(x: Value, y: Value) -> Value:
    return where((x == 0) & (y == 0), -(-x - y), np.minimum(x, y))


def _fma(x: Value, y: Value, z: Value) -> Value:
    """x * y + z, computed in a wider type; for f64 that is long double, if that is wider."""
    wide = np.longdouble if z.dtype == np.float64 else np.float64
    return (x.astype(wide) * y.astype(wide) + z.astype(wide)).astype(z.dtype)


def _round(x: Value) -> Value:
    """Rounds to the nearest integer, ties away from zero."""
    whole = np.trunc(x)
    return where(np.abs(x - whole) >= 0.5, whole + np.copysign(x.dtype.type(1), x), whole).astype(x.dtype)


def _reciprocal_root(x: Value) -> Value:
    return x.dtype.type(1) / np.sqrt(x)


def _erf(x: Value) -> Value:
    return erf(np.asarray(x))[()]


_same_names = ["ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2"]
_same_names += ["sin", "sinh", "sqrt", "tan", "tanh", "trunc"]
_INVERSES = ("acos", "acosh", "asin", "asinh", "atan", "atanh")
_FUNCTIONS: dict[str, Function] = {
    "arith.shrui": partial(_as_unsigned, _shifted),
    "arith.divui": partial(_as_unsigned, _nonzero_divided),
    "arith.remui": partial(_as_unsigned, _nonzero_remainder),
    "arith.divsi": _divided,
    "arith.remsi": _remainder,
    "arith.floordivsi": _floor_divided,
    "arith.ceildivsi": _ceil_divided,
    "arith.ceildivui": partial(_as_unsigned, _quotient_up),
    "arith.minsi": partial(_extreme, min, np.minimum),
    "arith.maxsi": partial(_extreme, max, np.maximum),
    "arith.minui": partial(_as_unsigned, np.minimum),
    "arith.maxui": partial(_as_unsigned, np.maximum),
    "arith.remf": np.fmod,
    "arith.negf": operator.neg,
    "arith.maximumf": _maximum,
    "arith.minimumf": _minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.atan2": np.arctan2,
    "math.cbrt": np.cbrt,
    "math.copysign": np.copysign,
    "math.erf": _erf,
    "math.fma": _fma,
    "math.powf": np.power,
    "math.round": _round,
    "math.roundeven": np.rint,
    "math.rsqrt": _reciprocal_root,
    "vector.fma": _fma,
    **{f"math.{name}": getattr(np, name) for name in _same_names},
    **{f"math.{name}": getattr(np, f"arc{name[1:]}") for name in _INVERSES},
}


def _less_or_greater(x: Value, y: Value) -> Value:
    return (x < y) | (x > y)


_ORDERED: dict[str, Function] = {
    "eq": operator.eq,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
    "ne": _less_or_greater,
}
_NEGATED = {"eq": "ne", "gt": "le", "ge": "lt", "lt": "ge", "le": "gt", "ne": "eq"}


def _unordered(x: Value, y: Value) -> Value:
    return (x != x) | (y != y)


def _opposite(function: Function, x: Value, y: Value) -> Value:
    return np.logical_not(function(x, y))


def _always(truth: Any, x: Value, y: Value) -> Value:
    return truth


_FLOAT_COMPARISONS: list[Function] = [
    partial(_always, np.False_),
    *_ORDERED.values(),
    partial(_opposite, _unordered),
    *(partial(_opposite, _ORDERED[_NEGATED[name]]) for name in _ORDERED),
    _unordered,
    partial(_always, np.True_),
]
"""The predicates of cmpf, by number."""
_UNSIGNED_COMPARISONS = [partial(_compare_unsigned, _ORDERED[name]) for name in ("lt", "le", "gt", "ge")]
_TO_BOOL_FREE = {"arith.addi": "^", "arith.subi": "^", "arith.muli": "&"}


def infix(op: Operation) -> str | None:
    """The Python operator with the op's semantics, if there is one."""
    if op.name == "arith.cmpi":
        number = _predicate(op)
        return SIGNED_COMPARISONS[number] if number < len(SIGNED_COMPARISONS) else None
    if op.name in _TO_BOOL_FREE and dtype_of(op.results[0].type) == np.bool_:
        return _TO_BOOL_FREE[op.name]
    return INFIX.get(op.name)


def function_of(op: Operation) -> Function | None:
    """The function that computes an op of arith or math with operands of one type; None for any other op."""
    match op.name:
        case "arith.cmpi":
            return _UNSIGNED_COMPARISONS[_predicate(op) - len(SIGNED_COMPARISONS)]
        case "arith.cmpf":
            return _FLOAT_COMPARISONS[_predicate(op)]
        case "arith.select":
            spreads = is_vector(op.results[0].type) and not is_vector(op.operands[0].type)
            return _select_lanes if spreads else select
        case "arith.maximumf" | "arith.minimumf" if _without_signed_zeros(op):
            return np.maximum if op.name == "arith.maximumf" else np.minimum
        case _:
            return _FUNCTIONS.get(op.name)


def _select_lanes(condition: Value, a: Value, b: Value) -> Value:
    return select(spread(condition), a, b)


def _predicate(op: Operation) -> int:
    return cast("IntegerAttr", op.properties["predicate"]).value.data


def _without_signed_zeros(op: Operation) -> bool:
    flags = op.properties.get("fastmath")
    return isinstance(flags, FastMathFlagsAttr) and FastMathFlag.NO_SIGNED_ZEROS in flags.data


def combining(kind: str) -> Function:
    """The function that combines two lanes of a vector.reduction. Raises KeyError for an unknown kind."""
    joining = {"add": np.add, "mul": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    return joining.get(kind) or _FUNCTIONS[f"arith.{kind}"]


def constant_lanes(numbers: list[float | int], type: Attribute) -> Value:
    """A constant vector."""
    dtype = dtype_of(type)
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        return np.array([int(each) % 2**bits for each in numbers], f"u{dtype.itemsize}").view(dtype)[None, None]
    return np.array(numbers).astype(dtype)[None, None]
