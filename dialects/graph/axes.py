"""How the axes of an op's operands go through it: what `GraphOp.operand_axes` says. Data only; passes draw conclusions.

Where all axes that go `to` one axis of a result are `Kept` or `Repeated`, the op works along it on each element by
itself: with elements i..j of those that are `Kept`, and all else as it is, it makes elements i..j of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..sizes.sizes import now


@dataclass(frozen=True)
class Axis:
    """An axis of an operand; `to` is the axis of the result that takes its place, None where none does."""

    to: int | None


class Whole(Axis):
    """Needed whole: any element of the result may need all elements along it."""


class Reduced(Whole):
    """The same, where what is made of its elements is summed up or compared: of no result's axis, or one of size 1."""


@dataclass(frozen=True)
class MappedAxis(Axis):
    """Element i of the result's axis is made of few elements, whose places follow from i."""

    to: int


class Kept(MappedAxis):
    """Element i of the result is made of element i, by the same rule for each i."""


class Numbered(MappedAxis):
    """Element i of the result is made of element i, and of i."""


class Repeated(MappedAxis):
    """One element, of which all elements of the result are made."""


@dataclass(frozen=True)
class Strided(MappedAxis):
    """Element i of the result is a copy of element start + i * step."""

    start: int
    step: int


@dataclass(frozen=True)
class Placed(MappedAxis):
    """Element i is copied to element before + i of the result; those around them come from elsewhere."""

    before: int


@dataclass(frozen=True)
class Windowed(MappedAxis):
    """Element i of the result is made of elements i * stride - before + tap * dilation, for each tap.

    Those outside of the operand are padding: `before` and `after` it, and what a last window covers with `ceil_mode`.
    """

    taps: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    ceil_mode: bool = False


class Spread(Windowed):
    """The other way round: element i is needed for the result's elements i * stride - before + tap * dilation."""


Axes: TypeAlias = "list[tuple[Axis, ...]]"
"""For each operand, for each of its axes."""
Label: TypeAlias = "int | str"
Labels: TypeAlias = Sequence[Label]
Special: TypeAlias = "Mapping[Label, Callable[[int], Axis]]"


def labelled_axes(
    shapes: Sequence[Sequence[int]], labels: Sequence[Labels], result: Sequence[int], to: Labels, special: Special
) -> Axes:
    """Axes that have labels, as in einsum; what is said of no label is Kept, or Reduced where the result lacks it.

    Labels are those of the last axes: an operand of lower rank, and an axis of size 1, are broadcast. Of an axis that
    is longer than the result's, or shorter, the first elements go to those of the result.
    """

    def axis(label: Label, size: int) -> Axis:
        if label not in to:
            return Whole(None) if label in special else Reduced(None)
        place = to.index(label)
        if label in special:
            return special[label](place)
        if size == result[place] or (size != 1 and now(size) == now(result[place])):
            return Kept(place)
        if now(size) == 1:
            return Repeated(place)
        return Strided(place, 0, 1) if now(size) > now(result[place]) else Placed(place, 0)

    return [
        tuple(axis(label, size) for label, size in zip(each[len(each) - len(shape) :], shape, strict=True))
        for each, shape in zip(labels, shapes, strict=False)
    ]
