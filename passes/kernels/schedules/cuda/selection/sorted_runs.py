"""How a GPU sorts rows of integers: tiles in shared memory, whose sorted runs are merged, several at once.

tiles of `tile` items                     a bitonic network by a block each
runs of tile * ways, tile * ways**2, ...  each item finds its place by its ranks in the other runs of its group
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ......dialects.kernel.targets import GpuAttr
from ......dialects.sizes.sizes import bounds_of, now, surely_below
from ..cost import memory_seconds
from ..tuning import LAUNCH, PRODUCTS_CACHE_SPEED, SORT_PAIRS, SORT_READ, SORT_STEP

TILES = (64, 128, 256, 512, 1024, 2048)
WAYS = (2, 4, 8)
LARGEST_SORTED = TILES[-1]
"""Items of a tile: two fields of 64 bits take 32 KB of shared memory."""


@dataclass(frozen=True)
class SortedRuns:
    """A sort of `rows` rows of `length` items, of which the first `count` of each row are wanted.

    An item is `fields` numbers of 64 bits. Where `count` fits a tile, runs are cut off behind so many items.
    """

    rows: int
    length: int
    count: int
    fields: int
    tile: int
    ways: int

    @classmethod
    def options(cls, length: int) -> Iterator[tuple[int, int]]:
        """(tile, ways) for rows of a length: one tile if it holds the longest row, else several and all ways."""
        longest = bounds_of(length)[1]
        enough = next((tile for tile in TILES if tile >= longest), None)
        if enough is not None:
            yield enough, WAYS[0]
            return
        yield from ((tile, ways) for tile in TILES[-2:] for ways in WAYS)

    @property
    def block(self) -> int:
        """Threads of a block that sorts a tile: one for each pair, or for each two."""
        return min(512, self.tile // 2)

    @property
    def cuts(self) -> bool:
        """Whether runs are cut off."""
        return surely_below(self.count, self.tile + 1)

    @property
    def merges(self) -> int:
        """Launches that merge runs, of the longest row."""
        runs, merges = -(-bounds_of(self.length)[1] // self.tile), 0
        while runs > 1:
            runs, merges = -(-runs // self.ways), merges + 1
        return merges

    def width(self, level: int) -> int:
        """Items that a run stands for after so many merges."""
        return self.tile * self.ways**level

    def runs(self, level: int) -> int:
        """Runs of a row."""
        return -(-self.length // self.width(level))

    def kept(self, level: int) -> int:
        """Items from the start of one run in memory to that of the next: as many as it has at most."""
        return self.count if self.cuts else self.width(level)

    def items(self, level: int) -> int:
        """Items of a row in memory."""
        return self.runs(level) * self.count if self.cuts else self.length

    def scratch(self) -> list[tuple[str, Attribute, tuple[int, ...]]]:
        """Sorted runs, between one launch and the next."""
        levels = range(min(2, self.merges))
        return [
            (self.part(level, field), i64, (self.rows * self.items(level),))
            for level in levels
            for field in range(self.fields)
        ]

    def part(self, level: int, field: int) -> str:
        """The name of the scratch that holds a field of items after so many merges."""
        return f"runs{level % 2}_{field}"

    def seconds(self, target: GpuAttr) -> float:
        """Time of all launches, beside reading what is sorted and writing the result."""
        bits, machine, rows = self.tile.bit_length() - 1, target.multiprocessors.data, now(self.rows)
        crowd = -(-rows * now(self.runs(0)) // machine)  # tiles of the busiest multiprocessor
        step = max(SORT_STEP, crowd * self.tile / 2 / SORT_PAIRS)
        time = LAUNCH + bits * (bits + 1) / 2 * step * self.fields
        for level in range(self.merges):
            steps = min(now(self.kept(level)), now(self.length)).bit_length()
            items = rows * now(self.items(level))
            read = items * (self.ways - 1) * steps * GpuAttr.SECTOR / PRODUCTS_CACHE_SPEED
            moved = 2 * 8 * items
            time += LAUNCH + steps * SORT_READ + memory_seconds(self.fields * (read + moved), target)
        return time
