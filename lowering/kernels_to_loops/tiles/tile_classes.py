"""Tiling of a row of output pixels into register tiles, with classes for tiles that touch a border."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from xdsl.ir import SSAValue

from ....dialects.sizes.sizes import bounds_of, is_fixed, pinned
from ...kernel_code.extents import Extent
from ...kernel_code.loop_builder import Index, LoopBuilder


@dataclass(frozen=True)
class TileClass:
    """Consecutive tiles of a row that run the same code; `first`, `count` and `start` may be run-time values.

    Tiles `first` to `first + count - 1` of the row have `rows` pixels each; the first of them starts at pixel `start`.
    `taps` gives for each tap of the filter row the pixels [low, high) of the tile whose input lies inside the image.
    """

    first: Index
    count: Index
    start: Index
    rows: int
    taps: tuple[tuple[int, int], ...]

    @property
    def whole(self) -> bool:
        """Whether no tap of any pixel falls outside."""
        return all(tap == (0, self.rows) for tap in self.taps)

    def has(self, pixel: int, tap: int) -> bool:
        """Whether a tap of a pixel lies inside the image."""
        low, high = self.taps[tap]
        return low <= pixel < high


def split(total: int, largest: int) -> list[int]:
    """Splits `total` into the fewest nearly equal parts of at most `largest`."""
    if total == 0:
        return []
    count = -(-total // largest)
    base, longer = divmod(total, count)
    return [base + 1] * longer + [base] * (count - longer)


def tile_classes(
    b: LoopBuilder,
    pixels: int,
    largest: int,
    taps: int = 1,
    stride: int = 1,
    pad: int = 0,
    dilation: int = 1,
    width: int | None = None,
) -> list[TileClass]:
    """The tile classes of a row of `pixels` outputs; `width` is that of the input row (None: no borders)."""
    if not is_fixed(pixels):
        if width is None:
            return _even_classes(b, pixels, largest, taps)
        return _classes_of_run_time(b, pixels, largest, taps, stride, pad, dilation, width)
    alike: list[tuple[int, tuple[tuple[int, int], ...], int]] = []  # rows, taps, number of tiles
    start = 0
    for rows in split(pixels, largest):
        valid = tuple(
            (0, rows) if width is None else _inside(start, rows, tap * dilation - pad, stride, width)
            for tap in range(taps)
        )
        whole = all(tap == (0, rows) for tap in valid)
        if alike and whole and alike[-1][:2] == (rows, valid):
            alike[-1] = (rows, valid, alike[-1][2] + 1)
        else:
            alike.append((rows, valid, 1))
        start += rows
    classes: list[TileClass] = []
    first = start = 0
    for rows, valid, count in alike:
        classes.append(TileClass(Extent(first), Extent(count), Extent(start), rows, valid))
        first += count
        start += count * rows
    return classes


def block_classes(b: LoopBuilder, pixels: int, block: int, largest: int) -> list[TileClass]:
    """The classes of a row in blocks that are tiled again; for a run-time length, the remainder comes in tiles."""
    if is_fixed(pixels):
        return tile_classes(b, pixels, block)
    whole = pixels // block
    done = whole * block
    return [TileClass(Extent(0), Extent(whole), Extent(0), block, ((0, block),))] + [
        replace(each, first=b.add(each.first, whole), start=b.add(each.start, done))
        for each in tile_classes(b, pixels - done, largest)
    ]


MOST_OVERHANGS = 8
"""Number of ways in which a row's taps may extend beyond its end that have code of their own."""


def _even_classes(b: LoopBuilder, pixels: int, largest: int, taps: int) -> list[TileClass]:
    """The classes of a row without borders in nearly equal tiles, as `split` cuts it, one for each size.

    Full tiles plus one for the remainder took a product of 128 x 2048 x 512 1.05 times as long, on Zen 5: a tile of two
    rows is bound by latency and by its panel.
    """
    return _classes_by_size(b, b.index(pixels), b.index(-(-pixels // largest)), bounds_of(pixels), largest, taps)


def counted_classes(b: LoopBuilder, rows: Index, bounds: tuple[int, int], largest: int) -> list[TileClass]:
    """The same for a value that is computed when the kernel runs, within `bounds`."""
    return _classes_by_size(b, rows, b.div(b.add(rows, largest - 1), largest), bounds, largest, 1)


def _classes_by_size(
    b: LoopBuilder, pixels: Index, tiles: Index, bounds: tuple[int, int], largest: int, taps: int
) -> list[TileClass]:
    least, most = bounds
    told = range(max(least, 1), min(most, max(least, largest * largest) + largest) + 1)
    count = b.max(tiles, 1)
    rows = b.div(pixels, count)
    longer = b.sub(pixels, b.mul(rows, count))  # number of tiles with one row more than the others
    none = b.index(0)
    classes: list[TileClass] = []
    for size in sorted({size for known in told for size in split(known, largest)}, reverse=True):
        is_usual = b.compare("eq", rows, size)
        is_longer = b.compare("eq", rows, size - 1)
        number = b.select(is_usual, b.index(b.sub(count, longer)), b.select(is_longer, b.index(longer), none))
        first = b.select(is_usual, b.index(longer), none)
        start = b.select(is_usual, b.index(b.mul(longer, size + 1)), none)
        classes.append(TileClass(first, number, start, size, ((0, size),) * taps))
    return classes


def _classes_of_run_time(
    b: LoopBuilder, pixels: int, largest: int, taps: int, stride: int, pad: int, dilation: int, width: int
) -> list[TileClass]:
    """The tile classes of a row whose length is known at run time.

    A first tile, if it touches the left border; full ones; and the remainder at the right border, with a class for
    every number of pixels it may have, of which one has tiles. Rows too short for that have classes of their own. With
    strides, how far the last pixel's last tap extends beyond the image depends on the row's length: where that changes
    a tile's taps, there is a class for each case. A pad that depends on the row's length (SAME with strides) is taken
    at its current value, under a guard.
    """
    pad = pinned(pad)
    overhang = (pixels - 1) * stride + (taps - 1) * dilation - pad - (width - 1)
    nearest, farthest = bounds_of(overhang)
    if farthest - nearest >= MOST_OVERHANGS:
        overhang = nearest = farthest = pinned(overhang)
    left = -(-pad // stride)  # number of pixels that touch each border
    right = max(0, -(-farthest // stride))
    if left > largest:
        return tile_classes(b, pinned(pixels), largest, taps, stride, pad, dilation, pinned(width))

    def inside(start: int, rows: int, behind: int, over: int) -> tuple[tuple[int, int], ...]:
        """For each tap, the rows of a tile for which it lies inside; `behind` pixels of the row follow the tile."""
        valid: list[tuple[int, int]] = []
        for tap in range(taps):
            low = max(0, -(-(pad - tap * dilation) // stride) - start)
            beyond = over - (taps - 1 - tap) * dilation  # of the last pixel's tap
            high = min(rows, rows + behind - max(0, -(-beyond // stride)))
            valid.append((low, high) if low < high else (0, 0))
        return tuple(valid)

    classes: list[TileClass] = []

    def add(condition: SSAValue | None, made: TileClass) -> None:
        """A class that has tiles if the condition holds, else none."""
        if condition is not None:
            first, count = (b.select(condition, b.index(each), b.index(0)) for each in (made.first, made.count))
            made = replace(made, first=first, count=count)
        classes.append(made)

    def add_row(condition: SSAValue | None, first: Index, start: Index, begin: int, total: int) -> None:
        """The last `total` pixels of the row, starting at its pixel `start`, which is surely beyond `begin`."""
        done = 0
        for index, rows in enumerate(split(total, largest)):
            ways: dict[tuple[tuple[int, int], ...], list[int]] = {}
            for over in range(nearest, farthest + 1):
                ways.setdefault(inside(begin + done, rows, total - done - rows, over), []).append(over)
            for valid, cases in ways.items():
                where = condition
                for predicate, over in (("sge", cases[0]), ("sle", cases[-1])) if len(ways) > 1 else ():
                    here = b.compare(predicate, overhang, over)
                    where = here if where is None else b.conjunction(where, here)
                add(where, TileClass(b.add(first, index), Extent(1), b.add(start, done), rows, valid))
            done += rows

    first = 1 if left else 0
    begin = first * largest
    shortest = begin + right
    least, most = bounds_of(pixels)
    long = None if least >= shortest else b.compare("sge", pixels, shortest)
    if first:
        add(long, TileClass(0, Extent(1), 0, largest, inside(0, largest, right, farthest)))
    whole = (pixels - begin - right) // largest
    rest, start, number = pixels - begin - whole * largest, begin + whole * largest, first + whole
    add(long, TileClass(first, Extent(whole), begin, largest, ((0, largest),) * taps))
    for left_over in range(max(right, 1), right + largest):
        taken = b.compare("eq", rest, left_over)
        add_row(taken if long is None else b.conjunction(long, taken), number, start, begin, left_over)
    for short in range(max(least, 1), min(shortest, most + 1)):
        add_row(b.compare("eq", pixels, short), 0, 0, 0, short)
    return classes


def halving_classes(b: LoopBuilder, pixels: int, largest: int) -> list[TileClass]:
    """A row in tiles of few sizes, also for a run-time length: the remainder is halved repeatedly.

    For code that is large for each size, and whose small tiles cost more than a few large ones.
    """
    if is_fixed(pixels):
        return tile_classes(b, pixels, largest)
    classes: list[TileClass] = []
    first = start = 0
    while largest:
        count = (pixels - start) // largest
        classes.append(TileClass(first, count, start, largest, ((0, largest),)))
        first, start, largest = first + count, start + count * largest, largest // 2
    return classes


def classes_of_few_sizes(b: LoopBuilder, count: Index, largest: int) -> list[TileClass]:
    """A run-time number of pixels in tiles of `largest`, and one each at most of halves of it, rounded up."""
    classes: list[TileClass] = []
    first: Index = 0
    done: Index = 0
    rows = 2 * largest
    while rows > 1:
        rows = -(-rows // 2)
        tiles = b.div(b.sub(count, done), rows)
        classes.append(TileClass(first, tiles, done, rows, ((0, rows),)))
        first, done = b.add(first, tiles), b.add(done, b.mul(tiles, rows))
    return classes


def inner_classes(
    b: LoopBuilder,
    pixels: int,
    largest: int,
    taps: int,
    stride: int,
    pad: int,
    dilation: int,
    width: int,
    part: tuple[Index, Index] | None = None,
) -> list[TileClass]:
    """Tiles of `largest` pixels with tiles of one pixel at the borders; for `largest` = 1, those alone.

    With `part`, of pixels [part[0], part[1]) of the row.
    """
    if largest == 1 and part is None:
        return tile_classes(b, pixels, 1)
    begin, end = (0, pixels) if part is None else part
    single = ((0, 1),) * taps
    if largest == 1:
        return [TileClass(0, b.sub(end, begin), begin, 1, single)]
    above = -(-pad // stride)
    last = b.div(b.max(width - 1 + pad - (taps - 1) * dilation, 0), stride)  # the last pixel that has all taps
    inside = b.min(b.max(above, begin), end)
    tiles = b.div(b.max(b.sub(b.min(b.add(last, 1), end), inside), 0), largest)
    first = b.sub(inside, begin)
    done = b.add(inside, b.mul(tiles, largest))
    return [
        TileClass(0, first, begin, 1, single),
        TileClass(first, tiles, inside, largest, ((0, largest),) * taps),
        TileClass(b.add(first, tiles), b.sub(end, done), done, 1, single),
    ]


def _inside(start: int, rows: int, shift: int, stride: int, width: int) -> tuple[int, int]:
    """Pixels i in [0, rows) with 0 <= (start + i) * stride + shift < width, as [low, high)."""
    good = [i for i in range(rows) if 0 <= (start + i) * stride + shift < width]
    return (good[0], good[-1] + 1) if good else (0, 0)


class Alike(Protocol):
    """A run of consecutive things in a row that share code: `count` of them from number `first` on.

    It may be empty; then `first` is 0, or no more than that of the next run.
    """

    @property
    def first(self) -> Index:
        """The number of the first."""
        ...

    @property
    def count(self) -> Index:
        """How many there are."""
        ...


C = TypeVar("C", bound=Alike)


def by_class(b: LoopBuilder, classes: Sequence[C], index: Index, body: Callable[[C], None]) -> None:
    """Runs `body` with the class of number `index` of the row."""
    first, *others = classes
    if not others:
        body(first)
        return
    before = b.compare("slt", index, b.add(first.first, first.count))
    b.when(before, lambda: body(first), lambda: by_class(b, others, index, body))
