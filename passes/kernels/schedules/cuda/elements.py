"""The elements schedule: a thread for each element of the results, or for the few that are 16 bytes together.

The code for every body whose elements can be written on demand. What a row or a product sums up, each thread reads for
its own element: schedules that share it between threads are cheaper where there is much of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Self

from typing_extensions import override

from .....dialects.graph.base import ContractionOp, ReductionOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.values import shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from ....cost_model import operations
from ...element_flow import same_place_pairs
from ...forms.rows import row_form
from ...forms.transposition import transposition
from ...kernel_facts import all_operands, all_results, item_bytes, scatter_of
from ...moves import moves_of
from ..schedule import Schedule, TileSize
from .cost import arithmetic_seconds, bytes_of, memory_seconds, occupied
from .rows import reduced_types
from .tuning import ELEMENTS_READ, ELEMENTS_SERIAL, ELEMENTS_SERIAL_PRODUCTS, LATENCY, LAUNCH, NEAR, STEP

BLOCKS = (64, 128, 256)


@dataclass(frozen=True)
class Elements(Schedule[GpuAttr]):
    """Every element independently."""

    forms = ("contraction", "map", "rows", "windows")
    rank = 2

    block: TileSize
    """Threads of a block."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """Several block sizes: smaller ones for few elements, so that more multiprocessors are used."""
        if scatter_of(kernel) is not None:
            return
        for block in BLOCKS:
            yield cls(block)

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Every element of a reduction reads all its operands' elements."""
        elements = sum(prod(shape_of(value)) for value in kernel.terminator.operands)
        share = occupied(-(-elements // self.block), GpuAttr.THREADS // self.block, target)
        ops, serial, waits = list(kernel.body.block.ops), 1, 0.0
        if any(isinstance(op, ReductionOp) for op in ops):
            serial = ELEMENTS_SERIAL
        if any(isinstance(op, ContractionOp) for op in ops):
            serial, waits = ELEMENTS_SERIAL_PRODUCTS, operations(kernel)[0] / max(1, elements) * ELEMENTS_READ
        work = max(arithmetic_seconds(kernel, target, max(share, 1e-6)) * serial, waits)
        time = LAUNCH + max(LATENCY, work, memory_seconds(bytes_of(kernel), target) / max(share, 1e-6) ** 0.5)
        turned = transposition(kernel)
        if turned is not None and min(turned.sizes[turned.row], turned.sizes[-1]) > GpuAttr.SECTOR // item_bytes(
            turned.root.x
        ):
            # Each element that is read brings its neighbours, which others read later, mostly from near caches.
            time += memory_seconds(bytes_of(kernel) / 2, target) * (GpuAttr.SECTOR / item_bytes(turned.root.x) / 2 - 1)
        row = row_form(kernel)
        if row is None:
            return time
        visits = max(1, len(reduced_types(row))) * row.length  # of elements, for each that is written
        near = elements * visits * item_bytes(row.root.x) / (NEAR * target.multiprocessors.data) * 1e-9
        return time + max(visits * STEP, near)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        """In place only over an operand of which each element is read at the position being written."""
        one_shape = len({shape_of(value) for value in kernel.terminator.operands}) == 1
        return InterfaceAttr.of(
            inplace=same_place_pairs(kernel) if one_shape else [],
            moves=moves_of(kernel),
            strided_operands=all_operands(kernel),
            strided_results=all_results(kernel),
        )
