"""The attention schedule: register tiles as for a matrix product, one head per thread at a time.

Scratch for each thread holds one head's keys in panels and `mr` rows of scores, so it grows with the number of keys
and not with its square.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import f32, f64

from .....dialects.errors import CompileError
from .....dialects.graph.attention import AttentionOp
from .....dialects.graph.base import describe
from .....dialects.graph.structure import KernelOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel_attributes import InterfaceAttr
from .....dialects.targets import CpuAttr
from ....work import seconds
from ...kernel_facts import item_bytes, the_root
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout


@dataclass(frozen=True)
class AttentionSizes:
    """q [batch, heads, queries, depth], k [batch, key_heads, keys, depth], v [batch, key_heads, keys, width]."""

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    depth: int
    width: int


def attention_sizes(op: AttentionOp) -> AttentionSizes:
    """The sizes of an attention op."""
    batch, heads, queries, depth = shape_of(op.query)
    key_heads, keys = shape_of(op.key)[1:3]
    return AttentionSizes(batch, heads, key_heads, queries, keys, depth, shape_of(op.value)[3])


@dataclass(frozen=True)
class Attention(Schedule[CpuAttr]):
    """A head at a time, its keys in panels and whole rows of scores."""

    name = "attention"

    mr: TileSize
    """Rows of a tile: queries."""
    nr: TileSize
    """Columns of a tile, and keys of a panel."""
    lanes: TileSize
    """Elements of one register."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Tile sizes from the target's registers; CompileError where there is no code."""
        root = the_root(kernel, AttentionOp)
        element = element_type_of_value(root.result)
        if element not in (f32, f64):
            raise CompileError(f"{describe(root)}: attention on {element} has no code; only f32 and f64 do")
        sizes = attention_sizes(root)
        if 0 in (sizes.keys, sizes.depth):
            raise CompileError(
                f"{describe(root)}: {sizes.keys} keys of {sizes.depth} elements leave nothing to attend to"
            )
        lanes = target.lanes(8 * item_bytes(root.result))
        yield cls(max(1, (target.registers.data - 3) // 2), 2 * lanes, lanes)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(per_thread=self.scratch(kernel).per_thread)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """One head's keys in panels, and a tile's rows of scores."""
        root = the_root(kernel, AttentionOp)
        sizes, element = attention_sizes(root), element_type_of_value(root.result)
        panels = -(-sizes.keys // self.nr)
        keys, scores = (panels, sizes.depth, self.nr), (self.mr, panels * self.nr)
        return ScratchLayout.of([("keys", element, keys), ("scores", element, scores)])
