"""numpy's basic indices as slices of axes, axes that go, and axes that come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

_END = 2**62  # beyond every dimension


@dataclass
class BasicIndices:
    """`axes` are sliced from `starts` to `stops` by `steps`; then those `dropped` go, and those `added` come."""

    starts: list[int] = field(default_factory=list[int])
    stops: list[int] = field(default_factory=list[int])
    steps: list[int] = field(default_factory=list[int])
    axes: list[int] = field(default_factory=list[int])
    dropped: list[int] = field(default_factory=list[int])
    added: list[int] = field(default_factory=list[int])
    """Places in the result."""

    def slice(self, axis: int, start: int, stop: int, step: int) -> None:
        """Adds a slice of an axis."""
        self.starts.append(start)
        self.stops.append(stop)
        self.steps.append(step)
        self.axes.append(axis)


def basic_indices(key: tuple[Any, ...], shape: Sequence[int]) -> BasicIndices:
    """What a key of integers, slices, None and one `...` means for a shape.

    Raises IndexError for integers out of range and too many indices, and TypeError for anything else in the key.
    """
    given = [each for each in key if each is not None and each is not Ellipsis]
    if len(given) > len(shape):
        raise IndexError(f"{len(given)} indices for a value of rank {len(shape)}")
    dots = sum(each is Ellipsis for each in key)
    if dots > 1:
        raise IndexError("an index can have only one ...")
    found, left = BasicIndices(), len(shape) - len(given)
    axis = made = 0
    for each in key if dots else (*key, Ellipsis):
        if each is None:
            found.added.append(made)
            made += 1
        elif each is Ellipsis:
            axis, made = axis + left, made + left
        elif isinstance(each, slice):
            start, stop, step = _bounds(cast("slice[int | None, int | None, int | None]", each))
            if (start, stop, step) != (0, _END, 1):
                found.slice(axis, start, stop, step)
            axis, made = axis + 1, made + 1
        elif isinstance(each, int):
            if not -shape[axis] <= each < shape[axis]:
                raise IndexError(f"index {each} is outside of a dimension of {shape[axis]}")
            found.slice(axis, each, _END if each == -1 else each + 1, 1)
            found.dropped.append(axis)
            axis += 1
        else:
            raise TypeError(f"a graph value can't be indexed by {type(each).__name__}: ops.take gathers by indices")
    return found


def _bounds(key: slice[int | None, int | None, int | None]) -> tuple[int, int, int]:
    step = 1 if key.step is None else key.step
    start = (0 if step > 0 else _END) if key.start is None else key.start
    stop = (_END if step > 0 else -_END) if key.stop is None else key.stop
    return start, stop, step
