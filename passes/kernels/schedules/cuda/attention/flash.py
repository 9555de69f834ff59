"""The flash schedule: flash attention, without scores in memory.

A block has a tile of queries, and walks over tiles of keys and values that it copies into shared memory. Half a warp
shares some queries: each of its lanes has the scores of every sixteenth key, and some columns of the result. Where
there are few queries, several blocks share the keys; a second launch puts their sums together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from ......dialects.errors import CompileError
from ......dialects.graph.base import describe
from ......dialects.graph.ops.attention import AttentionOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ......dialects.sizes.sizes import bounds_of
from ....forms.attention import AttentionSizes, check_attention, direct_operands, in_memory
from ....kernel_facts import item_bytes, the_root
from ...schedule import Count, Schedule, TileSize
from ...scratch import ScratchLayout
from ..cost import bytes_of, memory_seconds
from ..tuning import FLASH_SUMS, LATENCY, LAUNCH

LANES = 16
"""That share a query: two groups are a warp, so that sums over a group take four shuffles."""
STAGES = 2
"""Tiles of keys in shared memory: one is copied while the one before is used."""

ROWS = (1, 2, 4, 8)
KEYS = (1, 2, 4)
GROUPS = (4, 8, 16)
SPLITS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Flash(Schedule[GpuAttr]):
    """Tiles of queries by tiles of keys, with an online softmax."""

    forms = ("attention",)

    rows: TileSize
    """Queries of a group of lanes."""
    groups: TileSize
    """Groups of lanes in a block."""
    keys: TileSize
    """Keys of a tile for each lane."""
    splits: Count = 1
    """Blocks that share the keys of a tile of queries."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.groups * LANES

    @property
    def tile_rows(self) -> int:
        """Queries of a block."""
        return self.rows * self.groups

    @property
    def tile_keys(self) -> int:
        """Keys of a tile."""
        return self.keys * LANES

    def row_tiles(self, sizes: AttentionSizes) -> int:
        """Number of blocks for the queries of one key head."""
        return -(-sizes.queries * sizes.group // self.tile_rows)

    def blocks(self, sizes: AttentionSizes) -> int:
        """Blocks of the whole grid."""
        return self.row_tiles(sizes) * sizes.batch * sizes.key_heads * self.splits

    def key_tiles(self, sizes: AttentionSizes) -> int:
        """Tiles of keys per block."""
        tiles = -(-sizes.keys // self.tile_keys)
        return -(-tiles // self.splits)

    def shared(self, sizes: AttentionSizes, itemsize: int) -> int:
        """Bytes of shared memory: the queries, two tiles of keys and values, and the tile's weights."""
        lanes = GpuAttr.ACCESS // itemsize
        depth, width = padded_row(sizes.depth, lanes), whole(sizes.width, lanes)
        numbers = self.tile_rows * (depth + padded_row(self.tile_keys, lanes))
        numbers += STAGES * self.tile_keys * (depth + width)
        return numbers * itemsize

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """Tiles that fit registers and shared memory. Raises CompileError if there are none."""
        root = the_root(kernel, AttentionOp)
        sizes, itemsize = check_attention(root), item_bytes(root.result)
        found = False
        for rows in ROWS:
            for groups in GROUPS:
                for keys in KEYS:
                    plain = cls(rows, groups, keys)
                    if bounds_of(plain.shared(sizes, itemsize))[1] > target.shared.data:
                        continue
                    if plain._sums(sizes, itemsize) > FLASH_SUMS and rows > 1:
                        continue
                    for splits in SPLITS:
                        if splits == 1 or (splits - 1) * keys * LANES < sizes.keys:
                            found = True
                            yield cls(rows, groups, keys, splits)
        if not found:
            raise CompileError(f"{describe(root)}: heads of {sizes.depth} elements are too large for shared memory")

    def _sums(self, sizes: AttentionSizes, itemsize: int) -> int:
        """32-bit registers of a thread for its result columns and scores."""
        columns = whole(sizes.width, LANES * GpuAttr.ACCESS // itemsize) // LANES
        return self.rows * (columns + self.keys) * itemsize // 4

    def resident(self, sizes: AttentionSizes, itemsize: int, target: GpuAttr) -> int:
        """Resident blocks of a multiprocessor, as limited by threads, shared memory and registers."""
        registers = min(255, 48 + self._sums(sizes, itemsize) + 4 * (self.rows + self.keys))
        by_shared = target.shared.data // max(1, self.shared(sizes, itemsize) + 1024)
        by_registers = target.registers.data // (self.threads * registers)
        return max(1, min(GpuAttr.THREADS // self.threads, by_shared, by_registers))

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Instructions per tile of keys, times tiles of the blocks on a multiprocessor."""
        root = the_root(kernel, AttentionOp)
        sizes, itemsize = check_attention(root), item_bytes(root.result)
        lanes = GpuAttr.ACCESS // itemsize
        vectors = whole(sizes.width, LANES * lanes) // (LANES * lanes)  # of a lane's columns
        depth = whole(sizes.depth, lanes)
        products = self.rows * self.keys * depth + self.rows * self.tile_keys * vectors * lanes
        reads = (self.rows + self.keys) * depth / lanes + self.tile_keys * (self.rows / lanes + vectors)
        copies = STAGES * self.tile_keys * (depth + sizes.width) / lanes / self.threads
        softmax = self.rows * (20 * self.keys + 40)
        warps, blocks = self.threads / 32, max(1, self.blocks(sizes))
        held = min(self.resident(sizes, itemsize, target), -(-blocks // target.multiprocessors.data))
        cycles = target.gflops.data / (target.multiprocessors.data * 256)  # per nanosecond: 128 multiply-adds each
        instructions = products * itemsize / 4 + reads + softmax + 8 * copies
        issued = instructions * warps * held / 4
        waited = 40 * (depth + self.tile_keys) / lanes + instructions + 600  # of one warp that runs alone
        shared = 2.5 * reads * warps * held
        causal = 0.6 if root.causal is not None and self.splits == 1 and sizes.queries > 1 else 1.0
        waves = -(-blocks // (held * target.multiprocessors.data))
        tiles = max(1.0, self.key_tiles(sizes) * causal) * max(issued, waited, shared)
        seconds = waves * (tiles / cycles * 1e-9 + LATENCY)
        parts = 0.0
        if self.splits > 1:
            sums = self.splits * sizes.batch * sizes.heads * sizes.queries * (sizes.width + 2) * itemsize
            parts = LAUNCH + 2 * LATENCY + memory_seconds(2 * sums, target)
        # Each tile of queries reads all keys: the second-level cache hands out about twice what memory does.
        read = blocks / self.splits * sizes.keys * key_bytes(root, sizes) * causal
        cached = memory_seconds(read, target) / 2
        return LAUNCH + max(seconds, cached, memory_seconds(bytes_of(kernel), target)) + parts

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        """Operands and results accessed without views may have any strides."""
        return InterfaceAttr.of(
            strided_operands=direct_operands(kernel),
            strided_results=[0],
            scratch=self.scratch(kernel).together,
        )

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """If blocks share keys: each block's undivided results, and the maximum and sum of each row."""
        if self.splits == 1:
            return ScratchLayout()
        root = the_root(kernel, AttentionOp)
        sizes, element = check_attention(root), element_type_of_value(root.result)
        rows = sizes.batch * sizes.heads * sizes.queries
        return ScratchLayout.of(
            shared=[
                ("results", element, (self.splits, rows, sizes.width)),
                ("peaks", element, (self.splits, rows)),
                ("totals", element, (self.splits, rows)),
            ]
        )


def key_bytes(root: AttentionOp, sizes: AttentionSizes) -> int:
    """Bytes of a key and its value in memory, where they may be narrower than the queries."""
    key, value = (item_bytes(in_memory(each)) for each in (root.key, root.value))
    return sizes.depth * key + sizes.width * value


def whole(size: int, lanes: int) -> int:
    """A size rounded up to whole vectors."""
    return -(-size // lanes) * lanes


def padded_row(size: int, lanes: int) -> int:
    """Stride of rows in shared memory: an odd number of vectors, so that lanes in a column use all banks."""
    vectors = -(-size // lanes)
    return (vectors + 1 - vectors % 2) * lanes
