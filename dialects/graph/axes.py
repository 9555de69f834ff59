"""Access relations between the axes of an op's operands and results, as returned by `GraphOp.operand_axes`.

Data only; passes draw conclusions. If all axes that map `to` one axis of a result are `Kept` or `Repeated`, the op is
independent along it: with elements i..j of the `Kept` axes, and everything else unchanged, it computes elements i..j of
the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..sizes.sizes import now


@dataclass(frozen=True)
class Axis:
    """An axis of an operand; `to` is the corresponding axis of the result, or None."""

    to: int | None


class Whole(Axis):
    """Read completely: any element of the result may depend on all elements along it."""


class Reduced(Whole):
    """Whole, with its elements summed or compared: it has no axis in the result, or one of size 1."""


@dataclass(frozen=True)
class MappedAxis(Axis):
    """Element i of the result's axis depends on few elements, whose indices are functions of i."""

    to: int


class Kept(MappedAxis):
    """Element i of the result depends on element i, by the same function for each i."""


class Numbered(MappedAxis):
    """Element i of the result depends on element i, and on the number i."""


class Repeated(MappedAxis):
    """An axis of size 1, broadcast along the result's."""


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
    """Element i of the result depends on elements i * stride - before + tap * dilation, for each tap.

    Those outside of the operand are padding: `before` and `after` it, and the rest of a last window with `ceil_mode`.
    """

    taps: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    ceil_mode: bool = False


class Spread(Windowed):
    """The transposed access: element i contributes to the result's elements i * stride - before + tap * dilation."""


Axes: TypeAlias = "list[tuple[Axis, ...]]"
"""For each operand, for each of its axes."""
Label: TypeAlias = "int | str"
Labels: TypeAlias = Sequence[Label]
Special: TypeAlias = "Mapping[Label, Callable[[int], Axis]]"


def labelled_axes(
    shapes: Sequence[Sequence[int]], labels: Sequence[Labels], result: Sequence[int], to: Labels, special: Special
) -> Axes:
    """Axes by labels, as in einsum: a label without other rules is Kept, or Reduced if the result lacks it.

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
