"""The flash_tensor schedule: flash attention with products on tensor cores.

A warp has 16 queries. Some warps of a block share its queries and take turns at the keys of a tile; at the end they add
their results up in shared memory. For precisions below that of 32 bits, which the target must allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import f32

from ......dialects.graph.ops.attention import AttentionOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ......dialects.sizes.sizes import bounds_of
from ....forms.attention import AttentionSizes, check_attention, direct_operands
from ....kernel_facts import the_root
from ...schedule import Schedule, TileSize
from ..cost import bytes_of, memory_seconds
from ..tuning import FLASH_TENSOR_REACHED, FLASH_TENSOR_REGISTERS, LATENCY, LAUNCH, MMA_REACHED
from .flash import STAGES, key_bytes, whole

WARP_ROWS = 16
"""Queries of a warp: the rows of a tensor unit's product."""
WARP_COLUMNS = 8
"""Its columns."""
BYTES = 4
"""Of a number in shared memory: it is rounded when a tensor unit reads it."""

ROW_WARPS = (1, 2, 4)
KEY_WARPS = (1, 2, 4)
KEYS = (2, 4, 8)


@dataclass(frozen=True)
class FlashTensor(Schedule[GpuAttr]):
    """Tiles of 16 queries by tiles of keys, in mma fragments."""

    forms = ("attention",)

    row_warps: TileSize
    """Warps with queries of their own."""
    key_warps: TileSize
    """Warps that share queries."""
    keys: TileSize
    """Keys of a tile for each warp, in eights."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.row_warps * self.key_warps

    @property
    def tile_rows(self) -> int:
        """Queries of a block."""
        return self.row_warps * WARP_ROWS

    @property
    def tile_keys(self) -> int:
        """Keys of a tile."""
        return self.key_warps * self.keys * WARP_COLUMNS

    def blocks(self, sizes: AttentionSizes) -> int:
        """Blocks of the whole grid."""
        return -(-sizes.queries * sizes.group // self.tile_rows) * sizes.batch * sizes.key_heads

    def shared(self, sizes: AttentionSizes, precision: str) -> int:
        """Bytes of shared memory: two tiles of keys and values, and what warps add up."""
        depth, width = key_row(sizes.depth, precision), value_row(sizes.width)
        numbers = STAGES * self.tile_keys * (depth + width)
        if self.key_warps > 1:
            numbers += self.key_warps * self.tile_rows * (value_row(sizes.width) + 2)
        return numbers * BYTES

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """Tiles that fit registers and shared memory, if the precision permits rounding."""
        root, precision = the_root(kernel, AttentionOp), target.precision.data
        sizes = check_attention(root)
        if precision == "fp32" or element_type_of_value(root.result) != f32:
            return
        for row_warps in ROW_WARPS:
            for key_warps in KEY_WARPS:
                for keys in KEYS:
                    tiles = cls(row_warps, key_warps, keys)
                    fits = bounds_of(tiles.shared(sizes, precision))[1] <= target.shared.data
                    if fits and tiles._registers(sizes, precision) <= FLASH_TENSOR_REGISTERS:
                        yield tiles

    def _registers(self, sizes: AttentionSizes, precision: str) -> int:
        """Registers of a thread's fragments of queries, scores and results; twice for 3xtf32."""
        queries = whole(sizes.depth, step_of(precision)) // (4 if step_of(precision) == 16 else 2)
        queries *= 2 if precision == "3xtf32" else 1
        return queries + 4 * self.keys + whole(sizes.width, WARP_COLUMNS) // 2

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Products of a tile on tensor cores, the shared-memory reads that feed them, or instructions."""
        root, precision = the_root(kernel, AttentionOp), target.precision.data
        sizes = check_attention(root)
        step, rounds = step_of(precision), 3 if precision == "3xtf32" else 1
        depth, columns = whole(sizes.depth, step) // step, whole(sizes.width, WARP_COLUMNS) // WARP_COLUMNS
        products = self.keys * depth + self.keys * WARP_COLUMNS // step * columns
        reads = products * (step // 4)
        each = target.multiprocessors.data
        cycles = target.gflops.data / (each * 256)  # per nanosecond: 128 multiply-adds each
        rate = target.tensor_gflops.data * (2 if step == 16 else 1) / (each * cycles) * MMA_REACHED
        blocks, warps = max(1, self.blocks(sizes)), self.threads // 32
        registers = min(255, 60 + self._registers(sizes, precision))
        resident = min(
            GpuAttr.THREADS // self.threads,
            target.shared.data // (self.shared(sizes, precision) + 1024),
            target.registers.data // (self.threads * registers),
        )
        held = max(1, min(resident, -(-blocks // each)))
        # Instructions by the machine code: a lane has four scores of eight keys, four columns of eight of the results.
        softmax = self.keys * (56 if rounds == 3 else 24) + 4 * columns + 80
        copies = 6 * self.tile_keys * (sizes.depth + sizes.width) / 4 / self.threads
        loaded = {16: 0.75, 8: 1.5}[step] if rounds == 1 else 3.5  # a vector's share of a load, and the rounding
        instructions = products * rounds + loaded * reads + softmax + copies
        multiplied = products * rounds * 2 * 16 * 8 * step / rate
        issued = max(max(instructions / 4, reads) / FLASH_TENSOR_REACHED, multiplied) * warps * held
        waited = instructions + 30 * (depth + self.keys) + 600
        waves = -(-blocks // (held * each))
        causal = 0.6 if root.causal is not None and sizes.queries > 1 else 1.0
        tiles = max(1.0, -(-sizes.keys // self.tile_keys) * causal)
        added = 500 if self.key_warps > 1 else 0
        seconds = waves * ((tiles * max(issued, waited) + added) / cycles * 1e-9 + LATENCY)
        read = blocks * sizes.keys * key_bytes(root, sizes) * causal
        return LAUNCH + max(seconds, memory_seconds(read, target) / 2, memory_seconds(bytes_of(kernel), target))

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        """Operands and results accessed without views may have any strides."""
        return InterfaceAttr.of(strided_operands=direct_operands(kernel), strided_results=[0])


def step_of(precision: str) -> int:
    """The depth of one mma instruction."""
    return 16 if precision in ("fp16", "bf16") else 8


def key_row(depth: int, precision: str) -> int:
    """Stride of keys in shared memory, such that a warp's reads use all banks.

    A lane reads at row lane / 4 two numbers from column 2 * (lane % 4) on, or four of those that become 16 bits.
    """
    step = step_of(precision)
    return whole(depth - step, 2 * step) + step


def value_row(width: int) -> int:
    """The same for values: a lane reads at row 2 * (lane % 4), from column columns_together * (lane / 4) on."""
    return whole(width, WARP_COLUMNS) + 4


def columns_together(width: int) -> int:
    """Adjacent columns of values that a lane reads, each for another product."""
    columns = whole(width, WARP_COLUMNS) // WARP_COLUMNS
    return 4 if columns % 4 == 0 else 2 if columns % 2 == 0 else 1
