"""Boxes: strided index sets in a buffer, their overlap, and composition of views.

A buffer is a line of elements 0, 1, ...; a box is the set `offset + sum(i * stride)` for every multi-index i below
`sizes`. The unit is the caller's choice: elements for types, bytes for memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import TypeAlias

from ...dialects.sizes.sizes import is_fixed, now, surely_below

Dims: TypeAlias = "tuple[tuple[int, int], ...]"
"""(size, stride) pairs by decreasing stride, without sizes of 1; contiguous axes are merged."""


def row_major(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of a dense row-major box."""
    strides = [1] * len(sizes)
    for axis in range(len(sizes) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * sizes[axis + 1]
    return tuple(strides)


@dataclass(frozen=True)
class Box:
    """A strided window on a line of elements; for memory (bytes), strides are positive."""

    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def dense(cls, sizes: Sequence[int], offset: int = 0) -> Box:
        """A contiguous row-major box."""
        return cls(offset, tuple(sizes), row_major(sizes))

    @cached_property
    def count(self) -> int:
        """Number of elements of the box."""
        return prod(self.sizes)

    @cached_property
    def end(self) -> int:
        """One past the largest element of the box."""
        return self.offset + (_extent(self.dims) if self.count else 0)

    @property
    def is_dense(self) -> bool:
        """Whether the box is contiguous and row-major, at any offset."""
        pairs = zip(self.sizes, self.strides, row_major(self.sizes), strict=True)
        return all(size == 1 or stride == dense for size, stride, dense in pairs)

    @property
    def rows_are_dense(self) -> bool:
        """Whether the innermost axis has stride 1."""
        return not self.sizes or self.sizes[-1] == 1 or self.strides[-1] == 1

    @cached_property
    def dims(self) -> Dims:
        """The axes of size above 1 as (size, stride), by decreasing stride; contiguous ones are merged."""
        pairs = sorted(
            ((size, stride) for size, stride in zip(self.sizes, self.strides, strict=True) if size != 1),
            key=lambda pair: -now(pair[1]),
        )
        merged: list[tuple[int, int]] = []
        for size, stride in pairs:
            if merged and merged[-1][1] == stride * size:
                merged[-1] = (merged[-1][0] * size, stride)
            else:
                merged.append((size, stride))
        return tuple(merged)

    @cached_property
    def has_fixed_sizes(self) -> bool:
        """Whether the box is the same at all shapes."""
        return is_fixed(self.offset, *self.sizes, *self.strides)

    def in_bytes(self, itemsize: int) -> Box:
        """The same box in bytes, for elements of `itemsize` bytes."""
        strides = tuple(stride * itemsize for stride in self.strides)
        return Box(self.offset * itemsize, (*self.sizes, itemsize), (*strides, 1))

    def moved(self, distance: int) -> Box:
        """The box shifted by `distance`."""
        return Box(self.offset + distance, self.sizes, self.strides)

    def overlaps(self, other: Box) -> bool:
        """Whether the boxes share an element.

        Exact where both consist of rows of one pitch, as all slices and concatenations of one buffer do; otherwise True
        where it can't be excluded.
        """
        if not self.count or not other.count:
            return False
        meet = _meet_at_fixed_sizes if self.has_fixed_sizes and other.has_fixed_sizes else _meet
        return meet(other.offset - self.offset, self.dims, other.dims)


def _extent(dims: Dims) -> int:
    return 1 + sum((size - 1) * stride for size, stride in dims)


def _meet(shift: int, a: Dims, b: Dims) -> bool:
    """Whether a box of dims `a` at 0 and one of dims `b` at `shift` share an element."""
    if surely_below(_extent(a) - 1, shift) or surely_below(_extent(b) - 1, -shift):
        return False
    if not a and not b:
        return True
    pitch = max((dims[0][1] for dims in (a, b) if dims), key=now)
    rows_a, inner_a = (a[0][0], a[1:]) if a and a[0][1] == pitch else (1, a)
    rows_b, inner_b = (b[0][0], b[1:]) if b and b[0][1] == pitch else (1, b)
    width_a, width_b = _extent(inner_a), _extent(inner_b)
    if not (surely_below(width_a - 1, pitch) and surely_below(width_b - 1, pitch)):
        return True
    # Row i of `a` and row i + k of `b` lie shift + k * pitch apart; few k bring them close enough to meet.
    first, last = -((shift + width_b - 1) // pitch), (width_a - 1 - shift) // pitch
    if not is_fixed(first, last):
        return True
    if is_fixed(rows_a, rows_b):  # otherwise k for rows that may not exist is harmless
        first, last = max(1 - rows_a, first), min(rows_b - 1, last)
    return any(_meet(shift + k * pitch, inner_a, inner_b) for k in range(first, last + 1))


# elide-copies compares the same boxes again and again: of 75,573 pairs in DenseNet-121 6,608 differ.
_meet_at_fixed_sizes = lru_cache(maxsize=65536)(_meet)


def placed(view: Box, home: Box) -> Box | None:
    """A view of a dense buffer, re-expressed for the buffer placed at `home` within another one.

    `view` counts elements of the dense buffer; `home`, of shape `home.sizes`, is where these elements lie in the other
    buffer. None where the composition is no box.
    """
    axes: list[tuple[int, int, int]] = []  # size, stride in the dense buffer, stride in the other one
    for size, dense, stride in zip(home.sizes, row_major(home.sizes), home.strides, strict=True):
        if size == 1:
            continue
        if axes and axes[-1][2] == stride * size:
            axes[-1] = (axes[-1][0] * size, dense, stride)
        else:
            axes.append((size, dense, stride))
    offset, rest = home.offset, view.offset
    reached: list[int] = []  # extent of the view along each axis
    for size, dense, stride in axes:
        position, rest = divmod(rest, dense)
        reached.append(position)
        offset += position * stride
        if position >= size:
            return None
    strides: list[int] = []
    for size, stride in zip(view.sizes, view.strides, strict=True):
        if size == 1:
            strides.append(0)
            continue
        # Axes by decreasing stride: the first whose stride is not larger than the step carries it; preferably one
        # that is not larger at any shape, which holds for all.
        reachable = [i for i, (_, dense, _) in enumerate(axes) if surely_below(dense - 1, stride)]
        reachable += [i for i, (_, dense, _) in enumerate(axes) if now(stride) >= now(dense)]
        found = next(iter(reachable), None)
        if found is None or stride % axes[found][1]:
            return None
        step = stride // axes[found][1]
        reached[found] += step * (size - 1)
        strides.append(step * axes[found][2])
    if any(position >= axis[0] for position, axis in zip(reached, axes, strict=True)):
        return None
    return Box(offset, view.sizes, with_unit_strides(view.sizes, strides))


def with_unit_strides(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The strides, with those of axes of size 1 replaced by their row-major values."""
    result = list(strides)
    following = 1
    for axis in range(len(result) - 1, -1, -1):
        if sizes[axis] == 1:
            result[axis] = following
        reached = result[axis] * sizes[axis]
        following = reached if now(reached) > now(following) else following  # of size 1: never stepped along
    return tuple(result)


def reshaped(box: Box, shape: Sequence[int]) -> Box | None:
    """The same elements in the same order under another shape; None where no strides express it."""
    return Box.dense(shape, box.offset) if 0 in shape else placed(Box.dense(shape), box)
