"""The flash_wgmma schedule: flash attention with products by warpgroups.

A warpgroup has 64 queries, and holds them, its scores and its results in registers. Tiles of keys and values come by
asynchronous copies, as they are in memory; all threads of the block round them and lay them out as tensor cores read
shared memory. Scores of a tile are multiplied while the values of the one before are, and tensor cores work while
threads round the tile after it and compute the softmax.

Only for sm_90a, and for precisions below that of 32 bits. The structure is that of FlashAttention-3 (Shah et al. 2024)
without its warps that only copy: keys and values are rounded here, which copies can't do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import f32

from ......dialects.gpu.warpgroup import MOST_COLUMNS, ROWS, WARPGROUP
from ......dialects.graph.ops.attention import AttentionOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ......dialects.sizes.sizes import bounds_of
from ....forms.attention import AttentionSizes, check_attention, direct_operands
from ....kernel_facts import the_root
from ...schedule import Schedule, TileSize
from ..cost import bytes_of, memory_seconds, product_gflops
from ..tuning import (
    EXP2,
    FLASH_WGMMA_OTHERS,
    FLASH_WGMMA_ROUNDED,
    FLASH_WGMMA_SCORE,
    LATENCY,
    LAUNCH,
    PRODUCTS_CACHE_SPEED,
    PRODUCTS_STEP,
    WGMMA_REACHED,
)
from ..wgmma import ARCHITECTURE
from .flash import padded_row, whole

PRECISIONS = ("tf32", "fp16", "bf16")
WARPGROUPS = (1, 2, 3)
KEYS = (32, 64, 128)
COLUMNS = 8
"""Those that a product's columns are a multiple of."""
COPIED, ROUNDED_KEYS, ROUNDED_VALUES = 2, 2, 3
"""Tiles in shared memory: as they are in memory, and laid out for products, which take values after the keys."""


@dataclass(frozen=True)
class FlashWgmma(Schedule[GpuAttr]):
    """Tiles of 64 queries for each warpgroup by tiles of keys."""

    forms = ("attention",)

    warpgroups: TileSize
    """Warpgroups of a block, which share its tiles of keys."""
    keys: TileSize
    """Keys of a tile: a multiple of 16, at most 256."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warpgroups * WARPGROUP

    @property
    def tile_rows(self) -> int:
        """Queries of a block."""
        return self.warpgroups * ROWS

    def blocks(self, sizes: AttentionSizes) -> int:
        """Blocks of the whole grid."""
        return -(-sizes.queries * sizes.group // self.tile_rows) * sizes.batch * sizes.key_heads

    def stages(self, sizes: AttentionSizes) -> tuple[int, int, int]:
        """Tiles in shared memory (COPIED, ROUNDED_KEYS, ROUNDED_VALUES), no more than there are."""
        tiles = bounds_of(-(-sizes.keys // self.keys))[1]
        return min(COPIED, tiles), min(ROUNDED_KEYS, tiles), min(ROUNDED_VALUES, tiles)

    def shared(self, sizes: AttentionSizes, precision: str) -> int:
        """Bytes of shared memory."""
        copied, of_keys, of_values = self.stages(sizes)
        step, itemsize = depth_of_product(precision)
        depth, width = whole(sizes.depth, step), whole(sizes.width, COLUMNS)
        staged = copied * (padded_row(depth, 4) + width) * 4
        return self.keys * (staged + (of_keys * depth + of_values * width) * itemsize)

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """Tiles that fit registers and shared memory, where there are warpgroups and the precision permits rounding."""
        root, precision = the_root(kernel, AttentionOp), target.precision.data
        sizes = check_attention(root)
        if target.architecture.data != ARCHITECTURE or precision not in PRECISIONS:
            return
        if element_type_of_value(root.result) != f32 or bounds_of(sizes.width)[1] > MOST_COLUMNS:
            return
        for warpgroups in WARPGROUPS:
            for keys in KEYS:
                tiles = cls(warpgroups, keys)
                fits = bounds_of(tiles.shared(sizes, precision))[1] <= target.shared.data
                if fits and tiles.registers(sizes, precision) <= min(255, target.registers.data // tiles.threads):
                    yield tiles

    def registers(self, sizes: AttentionSizes, precision: str) -> int:
        """32-bit registers of a thread: queries, scores and weights, results, and all else."""
        step, itemsize = depth_of_product(precision)
        queries = whole(bounds_of(sizes.depth)[1], step) * itemsize // 8
        results = whole(bounds_of(sizes.width)[1], COLUMNS) // 2
        return queries + self.keys // 2 + self.keys * itemsize // 8 + results + FLASH_WGMMA_OTHERS

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Products at their peak and what else a tile of keys takes, one after the other, or its latency.

        They overlap only in part: FlashAttention-3's published rates on an H100 are those of products at their peak
        and the powers of all scores behind them, for heads of 64 and of 128.
        """
        root, precision = the_root(kernel, AttentionOp), target.precision.data
        sizes, machines = check_attention(root), target.multiprocessors.data
        step, itemsize = depth_of_product(precision)
        depth, width = whole(sizes.depth, step), whole(sizes.width, COLUMNS)
        blocks = max(1, self.blocks(sizes))
        resident = min(
            GpuAttr.THREADS // self.threads,
            target.shared.data // (self.shared(sizes, precision) + 1024),
            target.registers.data // (self.threads * self.registers(sizes, precision)),
        )
        held = max(1, min(resident, -(-blocks // machines)))
        cycle = machines * 256 / target.gflops.data * 1e-9  # seconds, of 128 multiply-adds each
        # Of a tile of keys and of a block:
        numbers, scores = self.keys * (depth + width), self.tile_rows * self.keys
        products = 2 * self.tile_rows * numbers / (product_gflops(target) / machines) * 1e-9
        powers = scores * EXP2 / 128 * cycle
        instructions = scores * FLASH_WGMMA_SCORE + self.tile_rows * width + numbers * FLASH_WGMMA_ROUNDED
        issued = instructions / 128 * cycle
        moved = numbers * (8 + itemsize) / GpuAttr.BANKS * cycle
        multiplied = max(products, numbers * itemsize * self.warpgroups / GpuAttr.BANKS * cycle)
        busy = max(products / WGMMA_REACHED, multiplied + max(powers, issued, moved)) * held + PRODUCTS_STEP / held
        waited = PRODUCTS_STEP + products / 2 + issued * 4 / (self.threads // 32)
        causal = 0.5 * (1 + min(1.0, self.keys / max(1, sizes.keys))) if root.causal is not None else 1.0
        tiles = max(1.0, -(-sizes.keys // self.keys) * causal)
        waves = -(-blocks // (held * machines))
        seconds = waves * (tiles * max(busy, waited) + PRODUCTS_STEP + LATENCY)
        read = blocks * sizes.keys * (sizes.depth + sizes.width) * 4 * causal
        cached = memory_seconds(read, target) / PRODUCTS_CACHE_SPEED
        return LAUNCH + max(seconds, cached, memory_seconds(bytes_of(kernel), target))

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        """Operands and results accessed without views may have any strides."""
        return InterfaceAttr.of(strided_operands=direct_operands(kernel), strided_results=[0])


def depth_of_product(precision: str) -> tuple[int, int]:
    """The depth of one product, and the bytes of a multiplied number."""
    return (16, 2) if precision in ("fp16", "bf16") else (8, 4)
