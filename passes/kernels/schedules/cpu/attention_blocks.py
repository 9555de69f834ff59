"""The schedule of attention in blocks of keys, with a running softmax: for sequences whose keys no near cache holds.

Whole rows of scores read all keys and values of a head again for each tile of queries, from far away where there are
many, and are themselves as long. Here some tiles of queries meet a block of keys and values while it is near, and a
tile's scores of a block are in the first-level cache. Peaks, sums of weights and sums of weighted values go on from
block to block, which takes a multiplication of each of these sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from typing_extensions import override
from xdsl.ir import Attribute

from .....dialects.graph.ops.attention import AttentionOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.values import element_type_of_value
from .....dialects.kernel.targets import CpuAttr
from .....dialects.sizes.sizes import bounds_of, is_fixed, now
from ...forms.attention import attention_sizes
from ...kernel_facts import item_bytes, the_root
from ..schedule import Count, TileSize
from ..scratch import ScratchLayout
from .attention import Attention
from .tuning import (
    ATTENTION_BLOCKS_BLOCK_SHARE,
    ATTENTION_BLOCKS_HEAD_SHARE,
    ATTENTION_BLOCKS_MOST_KEYS,
    ATTENTION_BLOCKS_MOST_TILES,
    ATTENTION_BLOCKS_NOT_PAYING,
    ATTENTION_BLOCKS_PAYING,
    ATTENTION_BLOCKS_QUERIES_SHARE,
)


@dataclass(frozen=True)
class AttentionBlocks(Attention):
    """One head at a time, with keys in panels, by blocks of keys and an online softmax."""

    block: Count = 0
    """Keys of a block, whole panels."""
    tall: TileSize = 1
    """Tiles of queries that meet a block one after the other."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """If there may be more keys than one block has, and not for few queries."""
        root = the_root(kernel, AttentionOp)
        sizes = attention_sizes(root)
        for schedule in super().candidates(kernel, target):
            if schedule.few or not is_fixed(sizes.depth + sizes.width):
                continue
            fitting = target.l2.data // _bytes_of_both(root)  # keys with their values, or queries with their sums
            keys = min(int(ATTENTION_BLOCKS_BLOCK_SHARE * fitting), ATTENTION_BLOCKS_MOST_KEYS)
            block = max(1, keys // schedule.nr) * schedule.nr
            tiles = min(
                ATTENTION_BLOCKS_MOST_TILES,
                int(ATTENTION_BLOCKS_QUERIES_SHARE * fitting) // schedule.mr,
                -(-bounds_of(sizes.queries)[1] // schedule.mr),
            )
            if bounds_of(sizes.keys)[1] > block:
                yield replace(schedule, block=block, tall=max(1, tiles), ahead=False)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Pays if a head's keys and values take a large part of the second-level cache."""
        root = the_root(kernel, AttentionOp)
        head = now(attention_sizes(root).keys) * _bytes_of_both(root)
        pays = head >= ATTENTION_BLOCKS_HEAD_SHARE * target.l2.data
        return super().cost(kernel, target) * (ATTENTION_BLOCKS_PAYING if pays else ATTENTION_BLOCKS_NOT_PAYING)

    @property
    def row_of_block(self) -> int:
        """Stride of rows of scores in elements: see `row_of_scores`."""
        return self.block + self.lanes

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """One head's keys in panels, a tile's scores of a block, and the running softmax."""
        root = the_root(kernel, AttentionOp)
        sizes, element = attention_sizes(root), element_type_of_value(root.result)
        rows = self.tall * self.mr
        parts: list[tuple[str, Attribute, Sequence[int]]] = [
            ("keys", element, (-(-sizes.keys // self.nr), sizes.depth, self.nr)),
            ("scores", element, (self.mr, self.row_of_block)),
            ("factors", element, (self.mr,)),
            ("peaks", element, (rows,)),
            ("totals", element, (rows,)),
            ("sums", element, (rows, sizes.width)),
        ]
        return ScratchLayout.of(parts)


def _bytes_of_both(root: AttentionOp) -> int:
    """Bytes of a key and its value; of a query and its sums."""
    sizes = attention_sizes(root)
    return (sizes.depth + sizes.width) * item_bytes(root.result)
