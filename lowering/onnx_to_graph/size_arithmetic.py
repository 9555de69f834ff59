"""Folding of ops on symbolic sizes: what models compute from Shape by Gather, Concat and arithmetic.

Arrays hold Python objects: numbers and sizes (dialects/sizes/). An op that can't be folded stays, and computes with
`graph.sizes` at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ...dialects.graph.base import GraphOp
from ...dialects.graph.ops.conversion import CastOp
from ...dialects.graph.ops.elementwise import (
    AddOp,
    DivOp,
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    MaxOp,
    MinOp,
    ModOp,
    MulOp,
    SubOp,
    WhereOp,
)
from ...dialects.graph.ops.indexing import GatherOp
from ...dialects.graph.ops.movement import BroadcastToOp, ConcatOp, ReshapeOp, SliceOp, TransposeOp
from ...dialects.graph.ops.reduction import ReduceMaxOp, ReduceMinOp, ReduceProdOp, ReduceSumOp
from ...dialects.graph.ops.unary import NegOp
from ...dialects.graph.values import Array, element_type_of_value, ints, numpy_dtype
from ...dialects.sizes.sizes import equal, smaller

_MOVES = (BroadcastToOp, ConcatOp, GatherOp, ReshapeOp, SliceOp, TransposeOp)

_BINARY: dict[type[GraphOp], Callable[[Any, Any], Any]] = {
    AddOp: lambda a, b: a + b,
    SubOp: lambda a, b: a - b,
    MulOp: lambda a, b: a * b,
    MinOp: smaller,
    MaxOp: lambda a, b: a + b - smaller(a, b),
    EqualOp: equal,
    LessOp: lambda a, b: a < b,
    LessEqualOp: lambda a, b: a <= b,
    GreaterOp: lambda a, b: a > b,
    GreaterEqualOp: lambda a, b: a >= b,
    # For non-negative numbers, for which floor and truncation agree.
    DivOp: lambda a, b: a // b,
    ModOp: lambda a, b: a % b,
}

_REDUCTIONS: dict[type[GraphOp], Callable[[Any, Any], Any]] = {
    ReduceSumOp: lambda a, b: a + b,
    ReduceProdOp: lambda a, b: a * b,
    ReduceMinOp: smaller,
    ReduceMaxOp: lambda a, b: a + b - smaller(a, b),
}


def evaluated_sizes(op: GraphOp, arrays: Sequence[Array]) -> list[Array] | None:
    """The op's results, or None if they can't be expressed by sizes."""
    kind = type(op)
    if isinstance(op, GatherOp) and arrays[1].dtype == object:
        return None
    if isinstance(op, _MOVES):
        return [_objects(result) for result in op.evaluate(*arrays)]
    if isinstance(op, WhereOp):
        return None if arrays[0].dtype == object else [_objects(np.where(*arrays))]
    if kind in (DivOp, ModOp) and not (_all(arrays[0], lambda a: a >= 0) and _all(arrays[1], lambda b: b > 0)):
        return None
    if isinstance(op, CastOp):
        kind_of_numbers = numpy_dtype(element_type_of_value(op.results[0])).kind
        return [arrays[0]] if kind_of_numbers in "iu" else None
    if kind in _BINARY:
        return [_mapped(_BINARY[kind], *arrays)]
    if isinstance(op, NegOp):
        return [_mapped(lambda a, _: -a, arrays[0], arrays[0])]
    if kind in _REDUCTIONS:
        reduce = np.frompyfunc(_REDUCTIONS[kind], 2, 1)
        result = arrays[0]
        for axis in sorted(ints(cast("Any", op).axes), reverse=True):
            result = _objects(reduce.reduce(result, axis=axis, keepdims=True))
        return [result.reshape(_plain_shape(op))]
    return None


def _plain_shape(op: GraphOp) -> tuple[int, ...]:
    return cast("Any", op.results[0].type).get_shape()


def _all(array: Array, holds: Callable[[Any], bool]) -> bool:
    return all(map(holds, array.flat))


def _mapped(function: Callable[[Any, Any], Any], a: Array, b: Array) -> Array:
    a, b = np.broadcast_arrays(_objects(a), _objects(b))
    result = np.empty(a.shape, object)
    for index in np.ndindex(*a.shape):
        result[index] = function(a[index], b[index])
    return result


def _objects(array: Any) -> Array:
    """The array with Python integers as elements; a single size, which numpy takes for a number, has rank 0."""
    if isinstance(array, int):
        result = np.empty((), object)
        result[()] = array
        return result
    array = np.asarray(array)
    if array.dtype == object:
        return array
    result = np.empty(array.shape, object)
    for index in np.ndindex(*array.shape):
        result[index] = array[index].item()
    return result
