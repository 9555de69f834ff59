"""What a value of GPU code is to the interpreter: a number for all threads, or an array of theirs.

All threads of some blocks take each step together. A scalar is

    an int, for an index, or a numpy scalar    the same in all threads
    an array of shape (1, threads)             the same in all blocks
    an array of shape (blocks, 1)              the same in all threads of a block
    an array of shape (blocks, threads)

and numpy's broadcasting makes one of the other where they meet. A vector has one dimension more, for its lanes. Which
threads take a step is a mask: True for all, False for none, or an array of truth values of such a shape. In threads
that don't take it a value may be anything.
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
# numpy's, of values of which no type is known here
where: Function = np.where
broadcast_to: Function = np.broadcast_to


def is_vector(type: Attribute) -> bool:
    """Whether values of the type have lanes."""
    return isinstance(type, VectorType)


def lanes_of(type: Attribute) -> int:
    """The lanes of a vector type; 0 for a scalar."""
    return cast("VectorType[Attribute]", type).get_shape()[0] if isinstance(type, VectorType) else 0


def dtype_of(type: Attribute) -> np.dtype[Any]:
    """The numpy type of a scalar, or of a vector's lanes."""
    element = scalar_of(type)
    return np.dtype(np.int64) if isinstance(element, IndexType) else numpy_dtype(element)


def stored_dtype(type: Attribute) -> np.dtype[Any]:
    """The numpy type that it has in memory, where a truth value is a byte."""
    dtype = dtype_of(type)
    return np.dtype(np.uint8) if dtype == np.bool_ else dtype


def varies(value: Value) -> bool:
    """Whether it is an array of what threads have, and not a number that all of them share."""
    return isinstance(value, np.ndarray)


def constant(value: float | int, type: Attribute) -> Value:
    """A number as a scalar of the type; integers keep their low bits."""
    element = scalar_of(type)
    if isinstance(element, IndexType):
        return int(value)
    dtype = dtype_of(element)
    if isinstance(element, IntegerType) and dtype != np.bool_:
        bits = 8 * dtype.itemsize
        return np.array(int(value) % 2**bits, f"u{dtype.itemsize}").view(dtype)[()]
    return dtype.type(value)


def cast_to(dtype: np.dtype[Any], value: Value) -> Value:
    """The value as numpy converts it; an index that all threads share stays an int."""
    if varies(value):
        return value.astype(dtype, copy=False)
    if type(value) is int and not -(2**63) <= value < 2**63:
        value = (value + 2**63) % 2**64 - 2**63  # as the index wraps around that it stands for
    number: Value = np.asarray(value).astype(dtype)
    return number[()]


def spread(value: Value) -> Value:
    """A scalar, or a mask, so that it meets vectors: the same in each lane."""
    return value[..., None] if varies(value) else value


def select(condition: Value, a: Value, b: Value) -> Value:
    """a where the condition holds, else b"""
    if varies(condition):
        return where(condition, a, b)
    return a if condition else b


# Which threads go on


def split(condition: Value, mask: Mask) -> tuple[Mask, Mask]:
    """The threads of a mask where a condition holds, and the others.

    It is the mask itself where it holds in all, by which others know that nothing is to be merged.
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
    """The trips of a loop: the counter, and the threads that are still in it."""
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
    """What a loop of the threads in `mask` carries on after a trip of those `inside`."""
    return new if inside is mask else where(inside, new, old)


def merged_lanes(inside: Mask, mask: Mask, new: Value, old: Value) -> Value:
    """The same of a vector."""
    return new if inside is mask else where(spread(inside), new, old)


def joined(then: Mask, otherwise: Mask, a: Value, b: Value) -> Value:
    """The result of a branch: a of the threads in `then`, b of the others."""
    if otherwise is False:
        return a
    return b if then is False else where(then, a, b)


def joined_lanes(then: Mask, otherwise: Mask, a: Value, b: Value) -> Value:
    """The same of a vector."""
    return joined(then if isinstance(then, bool) else spread(then), otherwise, a, b)
