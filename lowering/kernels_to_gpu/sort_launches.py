"""Launches that sort rows of integers in ascending order; see SortedRuns for how.

    launch 0        shared[i] = item i of the tile; bitonic network; runs = the tile's first items
    launch 1, ...   each item of a run: its place = its own rank + that in each other run of its group
                    the next runs = items by their places

An item is one or two i64, compared by the first and then by the second; items differ from each other and from _NONE,
which fills up tiles. (Batcher, "Sorting networks and their applications", 1968. Merging by ranks: Satish, Harris and
Garland, "Designing efficient sorting algorithms for manycore GPUs", 2009.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ...passes.kernels.schedules.cuda.selection.sorted_runs import SortedRuns
from ..kernel_code.arithmetic import Arithmetic
from ..kernel_code.loop_builder import Index
from .gpu_kernel import GpuKernel, Grid
from .thread_builder import ThreadBuilder

Item: TypeAlias = Sequence[SSAValue]
Load: TypeAlias = Callable[[Grid], Callable[[Index, Index], Item]]
"""In a launch: the item of a row at a position."""
Emit: TypeAlias = Callable[[Grid, Index, Index, Item], None]
"""Stores an item of a row at its position in the sorted row."""

_NONE = (1 << 63) - 1
MERGE_BLOCK = 128


def sort_rows(k: GpuKernel, runs: SortedRuns, load: Load, emit: Emit) -> None:
    """Appends the launches, the last of which emits the first items of each row."""

    def write(level: int) -> Callable[[Grid], None]:
        return lambda grid: _Launch(grid, runs, level, emit).merge()

    k.launch(runs.rows * runs.runs(0), runs.block, lambda grid: _Launch(grid, runs, 0, emit).sort(load), part="tiles")
    for level in range(runs.merges):
        total = runs.rows * runs.items(level)
        k.launch(-(-total // MERGE_BLOCK), MERGE_BLOCK, write(level), part=f"merge{level}")


class _Launch:
    """One launch: the sort of tiles, or the merge of runs of a level into those of the next."""

    def __init__(self, grid: Grid, runs: SortedRuns, level: int, emit: Emit) -> None:
        self.grid, self.b, self.runs, self.level, self.emit = grid, grid.b, runs, level, emit

    def sort(self, load: Load) -> None:
        """Sorts the block's tile in shared memory."""
        b, runs, tile, lane = self.b, self.runs, self.runs.tile, self.grid.lane
        row, run = b.div(self.grid.number, runs.runs(0)), b.rem(self.grid.number, runs.runs(0))
        load_item = load(self.grid)
        items = [b.shared(i64, [tile], "items") for _ in range(runs.fields)]
        first = b.mul(run, tile)

        def fill(i: Index, _: Sequence[SSAValue]) -> None:
            at = b.add(first, i)
            none = [b.constant(_NONE, i64)] * runs.fields
            given = b.when(b.compare("slt", at, runs.length), lambda: load_item(row, at), lambda: none)
            _store(b, given, items, i)

        def drain(i: Index, _: Sequence[SSAValue]) -> None:
            self.put(0, row, run, i, _load(b, items, i))

        b.loop(lane, tile, fill, step=self.grid.block)
        _bitonic(b, items, tile, lane, self.grid.block)
        kept = b.min(runs.kept(0), b.sub(runs.length, first))
        b.loop(lane, kept, drain, step=self.grid.block)

    def merge(self) -> None:
        """Puts each item of a run where it belongs among those of its group."""
        b, runs, level = self.b, self.runs, self.level
        sources = [self.grid.scratch_part(runs.part(level, field)) for field in range(runs.fields)]
        kept = runs.kept(level)

        def one(number: Index) -> None:
            row, at = b.div(number, runs.items(level)), b.rem(number, runs.items(level))
            run, place = b.div(at, kept), b.rem(at, kept)
            group, own = b.div(run, runs.ways), b.rem(run, runs.ways)
            start = b.mul(row, runs.items(level))

            def move() -> None:
                item = _load(b, sources, b.add(start, at))
                found = place
                for step in range(1, runs.ways):  # the other runs, each thread from the one behind its own
                    other = b.add(b.mul(group, runs.ways), b.rem(b.add(own, step), runs.ways))
                    length = b.max(self.length(level, other), 0)
                    first = b.add(start, b.mul(other, kept))
                    found = b.add(found, _rank(b, sources, first, length, kept, item))
                self.put(level + 1, row, group, found, item)

            b.when(b.compare("slt", place, self.length(level, run)), move)

        self.grid.items(runs.rows * runs.items(level), one)

    def length(self, level: int, run: Index) -> Index:
        """Items of a run; none or fewer where there is no such run."""
        runs = self.runs
        return self.b.min(runs.kept(level), self.b.sub(runs.length, self.b.mul(run, runs.width(level))))

    def put(self, level: int, row: Index, run: Index, place: Index, item: Item) -> None:
        """Stores an item of a run of a level, if it is among those that are kept."""
        b, runs = self.b, self.runs

        def store() -> None:
            if level == runs.merges:
                self.emit(self.grid, row, place, item)
                return
            parts = [self.grid.scratch_part(runs.part(level, field)) for field in range(runs.fields)]
            at = b.add(b.mul(run, runs.kept(level)), place)
            _store(b, item, parts, b.add(b.mul(row, runs.items(level)), at))

        wanted = runs.count if level == runs.merges else runs.kept(level)
        b.when(b.compare("slt", place, wanted), store)


def _bitonic(b: ThreadBuilder, items: Sequence[SSAValue], tile: int, lane: Index, block: int) -> None:
    """Sorts arrays in shared memory, of a power of two items."""

    def exchange(pair: Index, distance: Index, size: Index) -> None:
        low = b.sub(b.mul(pair, 2), _and(b, pair, b.sub(distance, 1)))
        high = b.add(low, distance)
        one, other = _load(b, items, low), _load(b, items, high)
        falls = b.compare("ne", _and(b, low, size), 0)
        swaps = b.insert(arith.XOrIOp(_before(b, other, one), falls))  # items differ

        def swap() -> None:
            _store(b, other, items, low)
            _store(b, one, items, high)

        b.when(swaps, swap)

    def merge(_: Index, sizes: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Sorts each run of `size` items, the halves of which are sorted in opposite directions."""
        size, steps = sizes

        def step(_: Index, distances: Sequence[SSAValue]) -> Sequence[SSAValue]:
            b.barrier()
            b.loop(lane, tile // 2, lambda pair, _: exchange(pair, distances[0], size), step=block)
            return [b.index(b.div(distances[0], 2))]

        b.loop(0, steps, step, carried=[b.index(b.div(size, 2))])
        return [b.index(b.mul(size, 2)), b.index(b.add(steps, 1))]

    b.loop(0, tile.bit_length() - 1, merge, carried=[b.index(2), b.index(1)])
    b.barrier()


def _rank(
    b: ThreadBuilder, sources: Sequence[SSAValue], first: Index, length: Index, most: int, item: Item
) -> SSAValue:
    """How many of the `length` sorted items from `first` on are before an item."""

    def step(_: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        low, high = carried

        def look() -> Sequence[SSAValue]:
            middle = b.index(b.div(b.add(low, high), 2))
            before = _before(b, _load(b, sources, b.add(first, middle)), item)
            return b.select(before, b.index(b.add(middle, 1)), low), b.select(before, high, middle)

        return b.when(b.compare("slt", low, high), look, lambda: (low, high))

    return b.loop(0, most.bit_length(), step, carried=[b.index(0), b.index(length)])[0]


def _before(b: ThreadBuilder, one: Item, other: Item) -> SSAValue:
    """i1: whether an item is before another."""
    m = Arithmetic(b, i64)
    before = m.compare("lt", one[-1], other[-1])
    for mine, yours in zip(reversed(one[:-1]), reversed(other[:-1]), strict=True):
        ties = b.conjunction(m.compare("eq", mine, yours), before)
        before = b.insert(arith.OrIOp(m.compare("lt", mine, yours), ties))
    return before


def _and(b: ThreadBuilder, x: Index, y: Index) -> SSAValue:
    return b.insert(arith.AndIOp(b.index(x), b.index(y)))


def _load(b: ThreadBuilder, buffers: Sequence[SSAValue], at: Index) -> list[SSAValue]:
    return [b.load(each, [at]) for each in buffers]


def _store(b: ThreadBuilder, item: Item, buffers: Sequence[SSAValue], at: Index) -> None:
    for number, buffer in zip(item, buffers, strict=True):
        b.store(number, buffer, [at])
