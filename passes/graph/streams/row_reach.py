"""Which rows of its operands an op reads for some rows of its result, and the op that computes just those rows.

Rows are the elements along one axis of a value. For rows i..j of a result an op reads rows `first(i)`..`end(j)` of an
operand, both linear in i and j: a convolution with stride 2, 3 taps and a pad of 1 reads 2i - 1..2j. Rows outside of
the operand are padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod

from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.axes import Kept, Placed, Repeated, Spread, Strided, Windowed
from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.contraction import ConvOp
from ....dialects.graph.ops.movement import PadOp, ReshapeOp, SliceOp
from ....dialects.graph.ops.windows import AvgPoolOp, MaxPoolOp
from ....dialects.graph.values import ints, ints_attr, shape_of
from ....dialects.graph.window_sizes import spatial_axes
from ....dialects.sizes.sizes import is_fixed


@dataclass(frozen=True)
class Reach:
    """How rows of a result depend on the rows of an operand."""

    axis: int
    """The operand's axis."""
    scale: Fraction = Fraction(1)
    """Rows of the operand for each row of the result."""
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    multiple: int = 1
    """The result's rows are computed so many at a time."""

    def first(self, row: int) -> int:
        """The first row that rows from `row` on read; negative in the padding."""
        return floor(row * self.scale + self.low)

    def end(self, row: int) -> int:
        """The row behind the last that rows before `row` read; it may lie in the padding."""
        return ceil(row * self.scale + self.high)

    def rows(self, available: int) -> int:
        """How many rows of the result can be computed from the first `available` rows of an endless operand."""
        return floor((available - self.high) / self.scale) // self.multiple * self.multiple


def row_axis(value: SSAValue) -> int | None:
    """The axis along which a value's bytes are divided into rows: the first of more than one element."""
    return next((axis for axis, size in enumerate(shape_of(value)) if not is_fixed(size) or size > 1), None)


def reaches(op: GraphOp, axis: int) -> list[Reach | None] | None:
    """For each operand, how rows along `axis` of the result depend on it; None for one that is read as a whole.

    None if the op can't compute rows by themselves.
    """
    if isinstance(op, ReshapeOp):
        reach = _reshaped(shape_of(op.x), shape_of(op.result), axis)
        return None if reach is None else [reach]
    found: list[Reach | None] = []
    for value, axes in zip(op.operands, op.operand_axes(), strict=True):
        meeting = [place for place, each in enumerate(axes) if each.to == axis]
        if not meeting or isinstance(axes[meeting[0]], Repeated):
            found.append(None)
            continue
        place, kind = meeting[0], axes[meeting[0]]
        if len(meeting) > 1 or not is_fixed(shape_of(value)[place]):
            return None
        match kind:
            case Spread():
                return None
            case Windowed() if isinstance(op, ConvOp | MaxPoolOp | AvgPoolOp):
                last = (kind.taps - 1) * kind.dilation + 1 - kind.stride - kind.before
                found.append(Reach(place, Fraction(kind.stride), Fraction(-kind.before), Fraction(last)))
            case Kept() if shape_of(value)[place] == shape_of(op.results[0])[axis]:
                found.append(Reach(place))
            case Placed() if isinstance(op, PadOp):
                found.append(Reach(place, Fraction(1), Fraction(-kind.before), Fraction(-kind.before)))
            case Strided() if isinstance(op, SliceOp) and kind.step > 0:
                last = kind.start - kind.step + 1
                found.append(Reach(place, Fraction(kind.step), Fraction(kind.start), Fraction(last)))
            case _:
                return None
    return found


def _reshaped(old: Sequence[int], new: Sequence[int], axis: int) -> Reach | None:
    """The reach of a reshape whose rows are blocks of memory before and after."""
    place = next((i for i, size in enumerate(old) if size != 1), None)
    if place is None or prod(new[:axis]) != 1 or not is_fixed(*old, *new):
        return None
    rows, result = old[place], new[axis]
    if result % rows == 0:
        return Reach(place, Fraction(rows, result), multiple=result // rows)
    return Reach(place, Fraction(rows // result)) if rows % result == 0 else None


def part_properties(op: GraphOp, axis: int, reach: Reach | None, start: int, stop: int) -> dict[str, Attribute]:
    """The properties of the op that computes rows start..stop of the result from the rows it reads.

    `reach` is that of its first operand.
    """
    shape = shape_of(op.results[0])
    if isinstance(op, ReshapeOp):
        return {"shape": ints_attr([*shape[:axis], stop - start, *shape[axis + 1 :]])}
    if reach is None or not isinstance(op, ConvOp | MaxPoolOp | AvgPoolOp | PadOp | SliceOp):
        return op.resized(axis, stop - start)
    rows = shape_of(op.operands[0])[reach.axis]
    low, high = max(0, -reach.first(start)), max(0, reach.end(stop) - rows)
    if isinstance(op, SliceOp):
        step = ints(op.steps)[axis]
        changed = {"starts": 0, "stops": (stop - start - 1) * step + 1}
        return {name: _with(ints(getattr(op, name)), axis, value) for name, value in changed.items()}
    if isinstance(op, PadOp):
        end = shape[axis] - ints(op.high)[axis]  # of the operand's rows in the result
        low, high = max(0, min(stop, ints(op.low)[axis]) - start), max(0, stop - max(start, end))
        return {"low": _with(ints(op.low), axis, low), "high": _with(ints(op.high), axis, high)}
    spatial = list(spatial_axes(op.layout.data, len(shape)))
    if axis not in spatial:
        return op.resized(axis, stop - start)
    pads, place = list(ints(op.pads)), spatial.index(axis)
    if stop == shape[axis] and not isinstance(op, ConvOp) and op.ceil_mode is not None:
        high = pads[place + len(spatial)]  # what lies behind the pad is not counted
    pads[place], pads[place + len(spatial)] = low, high
    return {"pads": ints_attr(pads)}


def _with(numbers: Sequence[int], place: int, number: int) -> Attribute:
    return ints_attr([*numbers[:place], number, *numbers[place + 1 :]])
