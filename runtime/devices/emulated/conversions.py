"""Conversions between numeric types, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation

from ....dialects.extensions.replace import scalar_of
from .numpy_arithmetic import unsigned
from .thread_values import Function, Value, cast_to, dtype_of, varies


def _target(op: Operation) -> np.dtype[Any]:
    return dtype_of(op.results[0].type)


def _signed_source(op: Operation) -> Function:
    """An i1 as a signed number: true is -1."""
    if dtype_of(op.operands[0].type) == np.bool_:
        return partial(_minus, _target(op))
    return _plain(op)


def _minus(target: np.dtype[Any], x: Value) -> Value:
    return cast_to(target, -cast_to(np.dtype(np.int8), x))


def _unsigned_source(op: Operation) -> Function:
    target = _target(op)

    def convert(x: Value) -> Value:
        return cast_to(target, unsigned(x))

    return convert


def _unsigned_target(op: Operation) -> Function:
    target = _target(op)
    wide = np.dtype(f"u{target.itemsize}")

    def convert(x: Value) -> Value:
        return cast_to(wide, x).view(target)

    return convert


def _odd(x: Value) -> Value:
    return (x & 1) != 0


def _truncated(op: Operation) -> Function:
    return _odd if _target(op) == np.bool_ else _plain(op)


def _index_cast(op: Operation, index: np.dtype[Any]) -> Function:
    convert = _odd if _target(op) == np.bool_ else _signed_source(op)
    if not isinstance(scalar_of(op.results[0].type), IndexType):
        return convert

    def to_index(x: Value) -> Value:
        wrapped = cast_to(_target(op), cast_to(index, convert(x)))
        return wrapped if varies(wrapped) else int(wrapped)

    return to_index


def _bitcast(op: Operation) -> Function:
    target = _target(op)

    def convert(x: Value) -> Value:
        """Lanes of another size need their bytes side by side."""
        return (x if x.itemsize == target.itemsize else np.ascontiguousarray(x)).view(target)

    return convert


def _plain(op: Operation) -> Function:
    return partial(cast_to, _target(op))


_CONVERSIONS: dict[str, Callable[[Operation], Function]] = {
    "arith.extsi": _signed_source,
    "arith.extui": _unsigned_source,
    "arith.trunci": _truncated,
    "arith.sitofp": _signed_source,
    "arith.uitofp": _unsigned_source,
    "arith.fptosi": _plain,
    "arith.fptoui": _unsigned_target,
    "arith.extf": _plain,
    "arith.truncf": _plain,
    "arith.bitcast": _bitcast,
    "vector.bitcast": _bitcast,
}


def conversion(op: Operation, index: np.dtype[Any]) -> Function | None:
    """The function that computes a conversion, with `index` as in C++; None for any other op."""
    if op.name == "arith.index_cast":
        return _index_cast(op, index)
    make = _CONVERSIONS.get(op.name)
    return make(op) if make is not None else None
