"""Vector operations in numpy: lanes are an array's last dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType
from xdsl.dialects.vector import CombiningKindAttr
from xdsl.ir import Operation

from .numpy_arithmetic import combining
from .thread_values import Function, Value, broadcast_to, lanes_of, spread, varies
from .warps import round_to_tf32


def _numbers(op: Operation, name: str) -> Sequence[int]:
    return cast("DenseArrayBase[IntegerType]", op.properties[name]).get_values()


def _broadcast(op: Operation) -> Function:
    lanes = lanes_of(op.results[0].type)

    def splat(value: Value) -> Value:
        whole = value[..., None] if varies(value) else np.asarray(value)[None, None, None]
        return broadcast_to(whole, (*whole.shape[:-1], lanes))

    return splat


def _position(op: Operation, dynamic: Sequence[Value]) -> Value:
    (known,) = _numbers(op, "static_position")
    return dynamic[0] if known == DYNAMIC_INDEX else known


def _extract(op: Operation) -> Function:
    def extract(value: Value, *dynamic: Value) -> Value:
        at = _position(op, dynamic)
        if not varies(at):
            return value[..., at]
        shape = np.broadcast_shapes(value.shape[:-1], at.shape)
        whole = broadcast_to(value, (*shape, value.shape[-1]))
        return np.take_along_axis(whole, broadcast_to(at, shape)[..., None], axis=-1)[..., 0]

    return extract


def _insert(op: Operation) -> Function:
    def insert(value: Value, into: Value, *dynamic: Value) -> Value:
        at = _position(op, dynamic)
        shape = np.broadcast_shapes(into.shape[:-1], np.shape(value), np.shape(at))
        result = np.array(broadcast_to(into, (*shape, into.shape[-1])))
        if varies(at):
            places = broadcast_to(at, shape)[..., None]
            np.put_along_axis(result, places, broadcast_to(value, shape)[..., None], axis=-1)
        else:
            result[..., at] = value
        return result

    return insert


def _shuffle(op: Operation) -> Function:
    mask = list(_numbers(op, "mask"))

    def shuffle(a: Value, b: Value) -> Value:
        shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        both = [broadcast_to(each, (*shape, each.shape[-1])) for each in (a, b)]
        return np.concatenate(both, axis=-1)[..., mask]

    return shuffle


def _reduction(op: Operation) -> Function:
    """Reduces lanes in order; the accumulator is combined last."""
    kind = cast("CombiningKindAttr", op.properties["kind"]).data
    combine = combining(str(kind))

    def reduction(value: Value, *accumulator: Value) -> Value:
        return reduce(combine, [*(value[..., lane] for lane in range(value.shape[-1])), *accumulator])

    return reduction


def _create_mask(op: Operation) -> Function:
    steps = np.arange(lanes_of(op.results[0].type))[None, None]

    def create_mask(count: Value) -> Value:
        return steps < spread(count)

    return create_mask


def _step(op: Operation) -> Function:
    steps = np.arange(lanes_of(op.results[0].type))[None, None]
    return lambda: steps


_FUNCTIONS: dict[str, Callable[[Operation], Function]] = {
    "vector.broadcast": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
    "vector.reduction": _reduction,
    "vector.create_mask": _create_mask,
    "vector.step": _step,
    "nvgpu.round_to_tf32": lambda _: round_to_tf32,
}


def vector_function(op: Operation) -> Function | None:
    """The function that computes a vector op; None for any other op."""
    make = _FUNCTIONS.get(op.name)
    return make(op) if make is not None else None
