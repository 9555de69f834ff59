"""Which rows of its operands an op reads for some rows of its result, and the op that computes just those rows.

Rows are the elements along one axis of a value. For rows i..j of a result an op reads rows `first(i)`..`end(j)` of an
operand, both linear in i and j: a convolution with stride 2, 3 taps and a pad of 1 reads 2i - 1..2j, a transposed one
i / 2 - 1/2..j / 2 + 1/2, from the row below to the row above. Rows outside of the operand are padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod

import numpy as np
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.axes import Kept, Placed, Repeated, Spread, Strided, Whole, Windowed
from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.contraction import ConvOp, ConvTransposeOp
from ....dialects.graph.ops.movement import PadOp, ReshapeOp, SliceOp
from ....dialects.graph.ops.resize import Extent, ResizeOp
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


def lie_together(value: SSAValue, axis: int) -> bool:
    """Whether each row along an axis lies in one piece, and the next one behind it."""
    return all(size == 1 for size in shape_of(value)[:axis])


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
                taps = Fraction(kind.before - (kind.taps - 1) * kind.dilation, kind.stride)
                spread = Reach(place, Fraction(1, kind.stride), taps, Fraction(kind.before, kind.stride))
                last = shape_of(op.results[0])[axis] - 1
                if (kind.taps - 1) * kind.dilation + 1 < kind.stride or spread.first(last) >= shape_of(value)[place]:
                    return None  # a row with no row of the operand near it
                found.append(spread)
            case Windowed() if isinstance(op, ConvOp | MaxPoolOp | AvgPoolOp):
                last = (kind.taps - 1) * kind.dilation + 1 - kind.stride - kind.before
                windows = Reach(place, Fraction(kind.stride), Fraction(-kind.before), Fraction(last))
                beyond = windows.end(shape_of(op.results[0])[axis]) - shape_of(value)[place] - kind.after
                if beyond > 0 and isinstance(op, AvgPoolOp) and op.count_include_pad is not None:
                    return None  # what a last window has beyond the pad is no zero that is counted
                if windows.end(1) <= 0 or windows.first(shape_of(op.results[0])[axis] - 1) >= shape_of(value)[place]:
                    return None  # a row that reads nothing but padding
                found.append(windows)
            case Kept() if shape_of(value)[place] == shape_of(op.results[0])[axis]:
                found.append(Reach(place))
            case Whole() if isinstance(op, AttentionOp) and axis == 1:
                shared = shape_of(op.query)[1] // shape_of(value)[1]
                found.append(Reach(place, Fraction(1, shared), multiple=shared))
            case Placed() | Whole() if isinstance(op, PadOp):
                if (padded := _padded(op, axis)) is None:
                    return None
                found.append(padded)
            case Whole() if isinstance(op, ResizeOp):
                if (resampled := _resampled(op, axis)) is None:
                    return None
                found.append(resampled)
            case Strided() if isinstance(op, SliceOp) and kind.step > 0:
                last = kind.start - kind.step + 1
                found.append(Reach(place, Fraction(kind.step), Fraction(kind.start), Fraction(last)))
            case _:
                return None
    return found


def _padded(op: PadOp, axis: int) -> Reach | None:
    """The reach of a pad: the first band and the last one have the rows that they are padded with, or mirror."""
    low, high, rows = ints(op.low)[axis], ints(op.high)[axis], shape_of(op.result)[axis]
    if op.mode.data == "wrap":
        return None  # both ends need each other
    first, last = (2 * pad + 1 if op.mode.data == "reflect" else pad + 1 for pad in (low, high))
    multiple = next((m for m in range(first, rows) if (rows % m or m) >= last), None)
    return None if multiple is None else Reach(axis, Fraction(1), Fraction(-low), Fraction(-low), multiple)


def _resampled(op: ResizeOp, axis: int) -> Reach | None:
    """The reach of a resize: bounds of all taps, beyond the ends of x too, on lines with the slope of positions."""
    old, new, scale = shape_of(op.x)[axis], shape_of(op.result)[axis], op.scales.get_values()[axis]
    if op.part is not None or op.coordinate.data == "tf_crop_and_resize" or 0 in (old, new):
        return None
    slope = (old - 1, max(new - 1, 1)) if op.coordinate.data == "align_corners" else (old, new)
    step = 1 / Fraction(scale) if (1 / Fraction(scale)).denominator == 1 else Fraction(*slope)
    taps, rows = op.unclamped_taps(axis)[0], np.arange(new, dtype=np.int64)
    least, most = np.minimum(taps.min(1), old - 1), np.maximum(taps.max(1), 0) + 1
    low = int((least * step.denominator - rows * step.numerator).min())
    high = int((most * step.denominator - (rows + 1) * step.numerator).max())
    multiple = new // old if new % old == 0 and scale == new // old else 1
    return Reach(axis, step, Fraction(low, step.denominator), Fraction(high, step.denominator), multiple)


def _part_of_resize(op: ResizeOp, axis: int, reach: Reach, start: int, stop: int) -> dict[str, Attribute]:
    """Rows start..stop of a resize by themselves.

    Where rows are as far from the ends as not to be clamped, and have the same taps as rows that begin elsewhere, they
    are told as those, so that parts are equal.
    """
    rank, whole = len(shape_of(op.x)), op.extent(axis)
    first, end = max(0, reach.first(start)), min(reach.end(stop), whole.old)
    at = Extent(whole.old, whole.new, first, start, stop - start)
    indices, weights = op.unclamped_taps(axis, at)
    scale = op.scales.get_values()[axis]
    if scale.is_integer() and indices.min() >= 0 and indices.max() < whole.old:
        moved = start % int(scale) + op.neighbours(axis) * int(scale)
        by = (start - moved) // int(scale)
        size = end - by + op.neighbours(axis)
        other = Extent(size, size * int(scale), first - by, moved, stop - start)
        others, same = op.unclamped_taps(axis, other)
        if first >= by and others.min() >= 0 and np.array_equal(others + by, indices) and np.array_equal(same, weights):
            at = other
    part = [0] * (4 * rank)
    part[axis::rank] = at.first_old, at.old, at.first_new, at.new
    return {**op.resized(axis, stop - start), "part": ints_attr(part)}


def _reshaped(old: Sequence[int], new: Sequence[int], axis: int) -> Reach | None:
    """The reach of a reshape whose rows are blocks of memory before and after, as often as axes before them tell."""
    if not is_fixed(*old, *new):
        return None
    before = prod(new[:axis])
    place = next((i for i, size in enumerate(old) if size != 1 and prod(old[:i]) == before), None)
    if place is None:
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
    if reach is not None and isinstance(op, ResizeOp) and not op.is_identity(axis):
        return _part_of_resize(op, axis, reach, start, stop)
    if reach is None or not isinstance(op, ConvOp | ConvTransposeOp | MaxPoolOp | AvgPoolOp | PadOp | SliceOp):
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
    if isinstance(op, ConvTransposeOp):
        return _part_of_transposed(op, place, reach, rows, start, stop)
    pads[place], pads[place + len(spatial)] = low, high
    return {"pads": ints_attr(pads)}


def _part_of_transposed(
    op: ConvTransposeOp, place: int, reach: Reach, rows: int, start: int, stop: int
) -> dict[str, Attribute]:
    """Rows start..stop of a transposed convolution along a spatial axis: all that its rows of x add to, and cropped."""
    pads, more, stride = list(ints(op.pads)), list(ints(op.output_padding)), ints(op.strides)[place]
    first, end = max(0, reach.first(start)), min(reach.end(stop), rows)
    full = (end - first - 1) * stride + op.window.extent[place]
    low = pads[place] + start - first * stride
    high = full - low - (stop - start)
    pads[place], pads[place + len(more)], more[place] = low, max(0, high), max(0, -high)
    return {"pads": ints_attr(pads), "output_padding": ints_attr(more)}


def _with(numbers: Sequence[int], place: int, number: int) -> Attribute:
    return ints_attr([*numbers[:place], number, *numbers[place + 1 :]])
