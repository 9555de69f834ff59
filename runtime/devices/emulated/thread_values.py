"""Values of the GPU interpreter: a number for all threads, or an array over blocks and threads.

All threads of a batch of blocks execute each step together. A scalar is

    an int, for an index, or a numpy scalar    the same in all threads
    an array of shape (1, threads)             the same in all blocks
    an array of shape (blocks, 1)              the same in all threads of a block
    an array of shape (blocks, threads)

and they combine by numpy's broadcasting. A vector has an additional dimension for its lanes. The active threads of a
step are a mask: True for all, False for none, or a boolean array of such a shape. In inactive threads a value is
undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, VectorType
from xdsl.ir import Attribute

from ....dialects.extensions.replace import scalar_of
from ....dialects.graph.values import numpy_dtype
from ...device import Array

Value: TypeAlias = Any
Mask: TypeAlias = "bool | Array"
Function: TypeAlias = Callable[..., Value]
# numpy's, for values of unknown type
where: Function = np.where
broadcast_to: Function = np.broadcast_to


def is_vector(type: Attribute) -> bool:
    """Whether values of the type are vectors."""
    return isinstance(type, VectorType)


def lanes_of(type: Attribute) -> int:
    """The lanes of a vector type; 0 for a scalar."""
    return cast("VectorType[Attribute]", type).get_shape()[0] if isinstance(type, VectorType) else 0


def dtype_of(type: Attribute) -> np.dtype[Any]:
    """The numpy type of a scalar, or of a vector's lanes."""
    element = scalar_of(type)
    return np.dtype(np.int64) if isinstance(element, IndexType) else numpy_dtype(element)


def stored_dtype(type: Attribute) -> np.dtype[Any]:
    """The numpy type in memory, where a boolean is a byte."""
    dtype = dtype_of(type)
    return np.dtype(np.uint8) if dtype == np.bool_ else dtype


def varies(value: Value) -> bool:
    """Whether it is an array over threads, and not a number common to all."""
    return isinstance(value, np.ndarray)


def constant(value: float | int, type: Attribute) -> Value:
    """A scalar constant of the type; integers are truncated to its width."""
    element = scalar_of(type)
    if isinstance(element, IndexType):
        return int(value)
    dtype = dtype_of(element)
    if isinstance(element, IntegerType) and dtype != np.bool_:
        bits = 8 * dtype.itemsize
        return np.array(int(value) % 2**bits, f"u{dtype.itemsize}").view(dtype)[()]
    return dtype.type(value)


def cast_to(dtype: np.dtype[Any], value: Value) -> Value:
    """The value converted by numpy; an index common to all threads stays an int."""
    if varies(value):
        return value.astype(dtype, copy=False)
    if type(value) is int and not -(2**63) <= value < 2**63:
        value = (value + 2**63) % 2**64 - 2**63  # wraps around like the index type it represents
    number: Value = np.asarray(value).astype(dtype)
    return number[()]


def spread(value: Value) -> Value:
    """A scalar or mask with an additional dimension, to broadcast with vectors."""
    return value[..., None] if varies(value) else value


def select(condition: Value, a: Value, b: Value) -> Value:
    """a where the condition holds, else b"""
    if varies(condition):
        return where(condition, a, b)
    return a if condition else b


# Which threads go on


def split(condition: Value, mask: Mask) -> tuple[Mask, Mask]:
    """The threads of a mask for which a condition holds, and the others.

    The mask itself (identical) if it holds in all, which tells callers that nothing needs merging.
    """
    if not varies(condition):
        return (mask, False) if condition else (False, mask)
    then = condition if mask is True else condition & mask
    if not then.any():
        return False, mask
    otherwise = ~condition if mask is True else ~condition & mask
    if not otherwise.any():
        return mask, False
    return then, otherwise


def trips(lower: Value, upper: Value, step: Value, mask: Mask) -> Iterator[tuple[Value, Mask]]:
    """The iterations of a loop: the counter, and the threads still in it."""
    if not any(varies(bound) for bound in (lower, upper, step)):
        for counter in range(lower, upper, step):
            yield counter, mask
        return
    counter = lower
    while True:
        inside, _ = split(counter < upper, mask)
        if inside is False:
            return
        yield counter, inside
        counter = counter + step


def merged(inside: Mask, mask: Mask, new: Value, old: Value) -> Value:
    """The loop-carried value of the threads in `mask` after an iteration by those `inside`."""
    return new if inside is mask else where(inside, new, old)


def merged_lanes(inside: Mask, mask: Mask, new: Value, old: Value) -> Value:
    """The same for a vector."""
    return new if inside is mask else where(spread(inside), new, old)


def joined(then: Mask, otherwise: Mask, a: Value, b: Value) -> Value:
    """The result of a branch: a in the threads of `then`, b in the others."""
    if otherwise is False:
        return a
    return b if then is False else where(then, a, b)


def joined_lanes(then: Mask, otherwise: Mask, a: Value, b: Value) -> Value:
    """The same for a vector."""
    return joined(then if isinstance(then, bool) else spread(then), otherwise, a, b)
