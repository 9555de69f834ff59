"""The attention schedule: register tiles as for a matrix product, one head per thread at a time.

Scratch for each thread holds one head's keys in panels and `mr` rows of scores, so it grows with the number of keys
and not with its square.

Few queries, as when a text is written token by token, take keys where they lie: to put them into panels would take
longer than to read them. The heads that share keys are then the rows of a tile, so that keys are read once for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.ir import Attribute

from .....dialects.graph.ops.attention import AttentionOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from .....dialects.sizes.sizes import bounds_of, is_fixed, now
from ....cost_model import seconds
from ....geometry.strided_views import strided_view
from ...forms.attention import attention_sizes, check_attention, direct_operands, in_memory
from ...kernel_facts import item_bytes, the_root
from ..schedule import Count, Schedule, TileSize
from ..scratch import ScratchLayout
from .products.tiled_product import beside_float_sums
from .tuning import ATTENTION_AHEAD_SHARE, ATTENTION_FEW_QUERIES, ATTENTION_SHARED


@dataclass(frozen=True)
class Attention(Schedule[CpuAttr]):
    """One head at a time, with keys in panels and whole rows of scores."""

    forms = ("attention",)

    mr: TileSize
    """Rows of a tile: queries."""
    nr: TileSize
    """Columns of a tile, and keys of a panel."""
    lanes: TileSize
    """Elements of one register."""
    few: Count = 0
    """So many queries, or fewer, read keys where they lie."""
    ahead: bool = False
    """Whether the next head's rows are asked for while this one's scores become weights."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Tile sizes from the target's registers. Raises CompileError for unsupported types."""
        root = the_root(kernel, AttentionOp)
        check_attention(root)
        lanes = target.lanes(8 * item_bytes(root.result))
        least = bounds_of(shape_of(root.query)[2])[0]
        few = ATTENTION_FEW_QUERIES if least <= ATTENTION_FEW_QUERIES and _in_rows(root) else 0
        rows = max(1, (target.registers.data - beside_float_sums(target)) // 2)
        yield cls(rows, 2 * lanes, lanes, few, _asks_ahead(root, target))

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(
            strided_operands=direct_operands(kernel), strided_results=[0], per_thread=self.scratch(kernel).per_thread
        )

    def row_of_scores(self, keys: int, size: int) -> int:
        """Stride of rows of scores, for elements of `size` bytes.

        Rows whose distance is a multiple of CpuAttr.L1_WAY would conflict in the first-level cache.
        """
        return keys + (self.lanes if is_fixed(keys) and keys * size % CpuAttr.L1_WAY == 0 else 0)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """One head's keys in panels, and a tile's rows of scores with a factor each."""
        root = the_root(kernel, AttentionOp)
        sizes, element = attention_sizes(root), element_type_of_value(root.result)
        panels = -(-sizes.keys // self.nr)
        rows = max(self.mr, min(ATTENTION_SHARED, sizes.group) if self.few else 0)
        rows_of_scores: list[tuple[str, Attribute, Sequence[int]]] = [
            ("scores", element, (rows, self.row_of_scores(panels * self.nr, item_bytes(root.result)))),
            ("factors", element, (rows,)),
        ]
        if bounds_of(sizes.queries)[1] <= self.few:
            return ScratchLayout.of(rows_of_scores)
        return ScratchLayout.of([("keys", element, (panels, sizes.depth, self.nr)), *rows_of_scores])


def _asks_ahead(root: AttentionOp, target: CpuAttr) -> bool:
    """Whether prefetching the next head's rows pays: they fit the cache besides the present ones.

    There must also be as many as queries during which they are prefetched. Heads are adjacent in a token's row, so a
    hardware prefetcher fetches another head's.
    """
    sizes = attention_sizes(root)
    read = now(sizes.keys) * (2 * sizes.depth + sizes.width) * item_bytes(root.result)
    return sizes.keys == sizes.queries and read <= ATTENTION_AHEAD_SHARE * target.l2.data


def _in_rows(root: AttentionOp) -> bool:
    """Whether the elements of a query, and those of a key, are contiguous."""
    return all(strided_view(in_memory(operand)).strides[-1] == 1 for operand in (root.query, root.key))
