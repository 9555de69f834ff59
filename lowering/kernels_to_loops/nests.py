"""Builds the loops of a domain: distributed over threads, vectorised along one axis or scalar.

Along the vectorised axis there is a loop over wide vectors (several registers, for independent dependence chains), then
one over single registers, then one masked vector. A short innermost axis is unrolled instead, and its results are
interleaved into whole vectors. Where the operand is transposed, square tiles are loaded row by row and transposed in
registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from ...dialects.kernel.targets import CpuAttr
from ...dialects.sizes.sizes import bounds_of, is_fixed, now
from ..kernel_code.arithmetic import bits_of
from ..kernel_code.domain import Canvas, Domain, Element, Piece, Trial
from ..kernel_code.elements.element_values import Values
from ..kernel_code.index_expr import Expr, Var
from ..kernel_code.lane_access import Interleaved, NotVectorisable, Square, Vector
from ..kernel_code.loop_builder import Index
from .kernel_instance import KernelInstance

# Each thread gets several pieces of work, so that all are busy to the end.
_WORK_PER_THREAD = 4
_LONGEST_UNROLLED = 4
_TILE = 16
_SMALLEST_TILE = 4
_MOST_TOGETHER = 4  # rows of tiles whose loads follow each other

_Share: TypeAlias = "Callable[[int], tuple[Index, Index]]"


@dataclass(frozen=True)
class Lanes:
    """Vectorisation along `axis` (a position in Domain.axes()), in vectors of `native` lanes or a multiple of it."""

    axis: int
    native: int
    most: int  # native lanes times the most registers that one vector takes
    unrolled: bool = False  # the axis after it is unrolled and interleaved
    tile: int | None = None  # the axis that transposed operands are contiguous along
    apart: int = 0  # the stride of stores along that axis; 0 if results differ

    def width(self, count: int) -> int:
        """Lanes of a vector on an axis of `count` elements."""
        width = self.most
        while width > self.native:
            if not is_fixed(count) and now(count) >= 2 * width:
                return width
            if is_fixed(count) and count >= width and (count % width == 0 or count >= 2 * width):
                return width
            width //= 2
        return self.native

    def widths(self, count: int) -> list[int]:
        """Widths in lanes of the vectors that cover `count` elements: wide ones, then single registers for the rest."""
        wide = self.width(count)
        return [wide] if (is_fixed(count) and count % wide == 0) or wide == self.native else [wide, self.native]


def choose_lanes(
    trial: Trial, domain: Domain, element: Element, lanes: tuple[int, int], store: Sequence[int], gather: bool
) -> Lanes | None:
    """The axis to vectorise, or None where scalar code is better.

    `lanes` are those of one register and the most for one vector; `store` are the result's strides per axis; `gather`:
    vectorisation pays off even where operands are loaded element by element.
    """
    native, most = lanes
    axes = domain.axes()
    last = len(axes) - 1
    sizes = [domain.size(axis) for axis in axes]
    if (not is_fixed(sizes[last]) or sizes[last] > _LONGEST_UNROLLED) and store[last] == 1:
        far = _far_axes(trial, domain, element, last)
        if not far:
            return None if far is None else Lanes(last, native, most)
        tiled = [axis for axis in far if axis >= 0 and min(now(sizes[axis]), now(sizes[last])) >= _SMALLEST_TILE]
        if tiled and not domain.breaks.get(axes[last]) and not domain.breaks.get(axes[tiled[0]]):
            return Lanes(last, native, native, tile=tiled[0], apart=store[tiled[0]])
        return Lanes(last, native, native) if gather else None
    before = last - 1
    if (
        last > 0
        and is_fixed(sizes[last])
        and 1 < sizes[last] <= _LONGEST_UNROLLED
        and store[last] == 1
        and store[before] == sizes[last]
    ):
        uncut = not domain.breaks.get(axes[last])
        if uncut and now(sizes[before]) >= native and _far_axes(trial, domain, element, before) == []:
            return Lanes(before, native, native, unrolled=True)
    return None


def _far_axes(trial: Trial, domain: Domain, element: Element, axis: int) -> list[int] | None:
    """The axes along which operands strided along `axis` are contiguous (-1: none).

    None where lanes along `axis` are impossible.
    """
    try:
        written = trial.write(domain, element, vector=axis, lanes=2)
    except NotVectorisable:
        return None
    found: list[int] = []
    for variables, values in written:
        for place in values.lanes.one_by_one:
            contiguous = [i for i, var in enumerate(variables) if place.coefficient(var) == 1]
            found.extend(contiguous or [-1])
    return found


def write_nest(k: KernelInstance, canvas: Canvas, domain: Domain, element: Element, lanes: Lanes | None) -> None:
    """Builds the loops over every element of the domain, distributed over threads."""
    nest = _Nest(k, canvas, domain, element)
    for piece in domain.pieces():
        if lanes is None:
            nest.scalars(piece)
        elif lanes.tile is not None:
            nest.tiles(piece, lanes, lanes.tile)
        elif lanes.unrolled:
            nest.interleaved(piece, lanes)
        else:
            nest.vectors(piece, lanes)


def share_loops(
    k: KernelInstance, v: Values, ranges: Sequence[tuple[int, int]], body: Callable[[list[Expr]], None]
) -> None:
    """Nested loops that run body(index) for every index of a box; the outermost ranges are distributed over threads."""
    b, wanted = k.b, _WORK_PER_THREAD * k.target.threads.data if k.target.threads.data > 1 else 1
    sizes = [high - low for low, high in ranges]
    shared = 1
    while shared < len(sizes) and now(prod(sizes[:shared])) < wanted:
        shared += 1

    def inner(outer: list[Expr]) -> None:
        if len(outer) == len(ranges):
            body(outer)
            return
        low, high = ranges[len(outer)]
        loop_over(v, low, high, lambda i: inner([*outer, i]))

    def item(i: Index) -> None:
        outer = [
            _bounded(b.add(position, low), low, high)
            for position, (low, high) in zip(b.delinearize(i, sizes[:shared]), ranges, strict=False)
        ]
        with v.scope():
            inner(outer)

    k.items(prod(sizes[:shared]), item)


def loop_over(v: Values, low: int, high: int, body: Callable[[Expr], None]) -> None:
    """for i in range(low, high): body(i)"""

    def run(i: Index, _: Sequence[SSAValue]) -> None:
        with v.scope():
            body(_bounded(i, low, high))

    v.b.loop(low, high, run)


def _bounded(i: Index, low: int, high: int) -> Expr:
    if high - low == 1:
        return Expr.of(low)
    return Expr.of(i) if isinstance(i, int) else Expr.of(Var(i, low, high - 1))


def run_lanes(
    v: Values,
    lanes: Lanes,
    low: int,
    high: int,
    body: Callable[[Expr], None],
    share: _Share | None = None,
) -> None:
    """body(i) with vectors (or a scalar) along i, so that all of [low, high) is covered once.

    With `share`, which returns this thread's part of a number of pieces, every thread runs a part.
    """
    b, count = v.b, high - low

    def block(width: int, valid: int) -> Callable[[Index, Sequence[SSAValue]], None]:
        def run(i: Index, _: Sequence[SSAValue]) -> None:
            var = Var(i, low, high - 1)
            vector = Vector(var, width, valid) if valid > 1 else None
            with v.vectorised(vector):
                body(Expr.of(var))

        return run

    start = low
    for width in lanes.widths(count):
        blocks = (high - start) // width
        if is_fixed(blocks) and blocks == 0:
            continue
        first, last = (0, blocks) if share is None else share(blocks)
        run_from, run_to = (b.add(b.mul(i, width), start) for i in (first, last))
        b.loop(run_from, run_to, block(width, width), step=width)
        start += blocks * width
    rest = high - start
    if not is_fixed(rest):
        first, last = (0, rest) if share is None else share(rest)
        b.loop(b.add(start, first), b.add(start, last), block(1, 1))
    elif rest > 0:
        first, last = (0, 1) if share is None else share(1)
        b.loop(first, last, lambda _, __: block(lanes.native, rest)(start, ()))


def _together(size: int, apart: int) -> int:
    """How many rows of tiles of `size` vectors are stored column by column, for vectors that are `apart` bytes apart.

    Loads then follow each other in memory, but stores are to so many more places, which have to be in the cache at the
    same time: 4 x 192 pictures of 32x32 pixels take 0.4 of the time, but with 512 channels four times as long.
    """
    if not apart or not is_fixed(apart):
        return 1
    lines = CpuAttr.L1_WAYS * CpuAttr.L1_WAY // gcd(apart, CpuAttr.L1_WAY)
    return max(1, min(_MOST_TOGETHER, lines // size))


class _Nest:
    """The loops over the pieces of one domain."""

    def __init__(self, k: KernelInstance, canvas: Canvas, domain: Domain, element: Element) -> None:
        self.k = k
        self.canvas = canvas
        self.domain = domain
        self.element = element

    def _write(self, index: Sequence[Expr]) -> None:
        self.element(self.canvas, self.domain.flat(index))

    def scalars(self, piece: Piece) -> None:
        """Scalar code, one element at a time."""
        share_loops(self.k, self.canvas.values, piece, self._write)

    def _around(self, outer: Sequence[tuple[int, int]], work: Callable[[list[Expr], _Share | None], None]) -> None:
        """work(index, share) for every index of the outer axes; `share` where threads split the inner axis."""
        k, v = self.k, self.canvas.values
        count = now(prod(high - low for low, high in outer))  # either choice is correct at all shapes
        if count > 1 and count >= _WORK_PER_THREAD * (k.target.threads.data - 1):
            share_loops(k, v, outer, lambda index: work(index, None))
            return

        def level(index: list[Expr]) -> None:
            if len(index) == len(outer):
                work(index, k.part)
            else:
                loop_over(v, *outer[len(index)], lambda i: level([*index, i]))

        level([])

    def vectors(self, piece: Piece, lanes: Lanes) -> None:
        """Vectors along the innermost axis."""
        low, high = piece[lanes.axis]

        def work(outer: list[Expr], share: _Share | None) -> None:
            run_lanes(self.canvas.values, lanes, low, high, lambda i: self._write([*outer, i]), share)

        self._around(piece[: lanes.axis], work)

    def interleaved(self, piece: Piece, lanes: Lanes) -> None:
        """Vectors along the axis before the innermost one, which is unrolled."""
        v = self.canvas.values
        low, high = piece[lanes.axis]
        count = piece[lanes.axis + 1][1]

        def every(outer: list[Expr], i: Expr) -> None:
            together = Interleaved(count) if v.vector is not None else None  # of whole vectors, without the remainder
            for number in range(count):
                if together is not None:
                    together.number = number
                v.lanes.interleaved = together
                self._write([*outer, i, Expr.of(number)])
            v.lanes.interleaved = None

        def work(outer: list[Expr], share: _Share | None) -> None:
            run_lanes(v, lanes, low, high, lambda i: every(outer, i), share)

        self._around(piece[: lanes.axis], work)

    def tiles(self, piece: Piece, lanes: Lanes, other: int) -> None:
        """Square tiles over the innermost axis and the one along which operands are contiguous; at ends smaller."""
        v, b = self.canvas.values, self.k.b
        (low, high), (other_low, other_high) = piece[lanes.axis], piece[other]
        size = _TILE
        while size > min(now(high - low), now(other_high - other_low)):  # if no tile fits, only strips are built
            size //= 2
        end, other_end = (stop - (stop - start) % size for start, stop in ((low, high), (other_low, other_high)))
        outer_axes = [axis for axis in range(lanes.axis) if axis != other]
        together = _together(size, lanes.apart * bits_of(self.canvas.results[0].element) // 8)

        # For symbolic sizes, constants bound the quotients.
        bounds = end if is_fixed(end) else high, other_end if is_fixed(other_end) else other_high

        def tile(index: list[Expr], i: Index, j: Index) -> None:
            along, across = Var(i, low, bounds[0] - 1), Var(j, other_low, bounds[1] - size)
            with v.vectorised(Vector(along, size, size)):
                v.lanes.square = Square(across, size)
                for offset in range(size):
                    v.lanes.square.offset = offset
                    full = list(index)
                    full.insert(other, Expr.of(across) + offset)
                    self._write([*full, Expr.of(along)])
                v.lanes.square = None

        def work(index: list[Expr], share: _Share | None) -> None:
            columns, rows = (end - low) // size, (other_end - other_low) // size
            first, last = (0, rows) if share is None else share(rows)

            def block(r: Index, _: Sequence[SSAValue]) -> None:
                def column(c: Index, _: Sequence[SSAValue]) -> None:
                    at = b.add(b.mul(c, size), low)

                    def one(i: Index, _: Sequence[SSAValue]) -> None:
                        tile(index, at, b.add(b.mul(i, size), other_low))

                    if together == 1:
                        one(r, ())
                    else:
                        b.loop(r, b.min(b.add(r, together), last), one)

                b.loop(0, columns, column)

            b.loop(first, last, block, step=together)

        self._around([piece[axis] for axis in outer_axes], work)
        for axis, span in ((other, (other_end, other_high)), (lanes.axis, (end, high))):
            if bounds_of(span[1] - span[0])[1] > 0:
                strip = list(piece)
                strip[axis] = span
                if axis == lanes.axis:
                    strip[other] = (other_low, other_end)
                sides = [stop - start for start, stop in (strip[lanes.axis], strip[other])]
                if is_fixed(*sides) and min(sides) >= _SMALLEST_TILE:
                    self.tiles(tuple(strip), lanes, other)
                else:
                    self.scalars(tuple(strip))
