"""The vector_rows schedule: products with few rows, bound by reading the right-hand side once.

The threads of a block share its `columns` and the depth. Where the right-hand side's columns are neighbours, threads
side by side read a row of them, and others the rows below; where its depth is, the lanes of a warp go along a column.
What each has summed is added over lanes and warps, always in the same order. Of a block-quantised matrix, each warp
reads the packed numbers of TOGETHER columns, word by word along the depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.contraction import MatmulOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from .....dialects.sizes.sizes import bounds_of, is_fixed
from ....geometry.strided_views import strided_view
from ...forms.contraction import ContractionForm, contraction_form
from ...forms.product import product_shape
from ..schedule import Schedule, TileSize
from .cost import arithmetic_seconds, memory_seconds
from .products import (
    MOST_ALONG_Z,
    WORD,
    bytes_of_right,
    code_for,
    interface_of,
    packed_bytes_of,
    rounding_of,
    runs_along_depth,
)
from .tuning import (
    LATENCY,
    LAUNCH,
    PER_MULTIPROCESSOR,
    VECTOR_ROWS_BLOCK_SERIAL,
    VECTOR_ROWS_MOST_ROWS,
    VECTOR_ROWS_SERIAL,
)

UNROLLED = 4
"""Reads of the right-hand side that a thread has under way."""

BLOCK_COLUMNS = (8, 16, 32)
"""Columns of a block, of block-quantised matrices."""
BY_COLUMNS = tuple((columns, block) for columns in (8, 16, 32) for block in (128, 256, 512))
TOGETHER, BLOCK_UNROLLED = 4, 2
"""Of block-quantised matrices: columns of a warp, and words of each that a lane has under way."""

BY_DEPTH = ((4, 128), (8, 256), (16, 512), (16, 256), (32, 256))
"""Columns and threads of a block."""


@dataclass(frozen=True)
class VectorRows(Schedule[GpuAttr]):
    """Few rows times a matrix that is read once."""

    forms = ("contraction",)
    rank = -1  # where memory is the limit of all, this one has no barriers along the depth

    columns: TileSize
    """Columns of a block."""
    block: TileSize
    """Threads of a block."""
    f16: bool = False
    bf16: bool = False
    """How a constant right-hand side is rounded when it is packed; sums and the left-hand side are f32."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """Blocks of several sizes, for few rows."""
        form = code_for(kernel, of_blocks=True)
        if form is None:
            return
        shape = product_shape(form.root)
        if not is_fixed(shape.rows) or shape.rows > VECTOR_ROWS_MOST_ROWS or bounds_of(shape.batch)[1] > MOST_ALONG_Z:
            return
        if form.blocks is not None:
            yield from (cls(columns, columns // TOGETHER * GpuAttr.WARP) for columns in BLOCK_COLUMNS)
            return
        rounding = rounding_of(kernel, target)
        packed = {rounding: True} if rounding in ("f16", "bf16") else {}
        for columns, block in BY_DEPTH if goes_along_depth(form) else BY_COLUMNS:
            yield cls(columns, block, **packed)

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """The bytes, bound by memory or by the number of bytes in flight."""
        form = contraction_form(kernel)
        shape = product_shape(form.root)
        blocks = ceil(shape.columns / self.columns) * shape.batch
        machines = target.multiprocessors.data
        most = ceil(blocks / machines)
        together = min(GpuAttr.THREADS // self.block, most)
        right_bytes, serial = 2 if self.f16 or self.bf16 else bytes_of_right(form), VECTOR_ROWS_SERIAL
        asked = UNROLLED * 4 * right_bytes
        if form.blocks is not None:
            serial, asked = VECTOR_ROWS_BLOCK_SERIAL, BLOCK_UNROLLED * TOGETHER * WORD
        under_way = together * self.block * asked
        busiest = most * self.columns * shape.depth * right_bytes
        reading = busiest / min(PER_MULTIPROCESSOR, under_way / LATENCY)
        share = min(1.0, blocks / machines)
        work = arithmetic_seconds(kernel, target, share) * serial
        return LAUNCH + LATENCY + max(memory_seconds(packed_bytes_of(kernel, right_bytes), target), reading, work)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return interface_of(kernel, rounding="f16" if self.f16 else "bf16" if self.bf16 else "")


def goes_along_depth(form: ContractionForm) -> bool:
    """Whether lanes go along the depth of the right-hand side: its elements in a row are no neighbours."""
    if product_shape(form.root).columns == 1:
        return True
    if not isinstance(form.root, MatmulOp):
        return False
    steps = strided_view(form.root.rhs).strides
    column = steps[-2] if form.root.transpose_b is not None else steps[-1]
    return runs_along_depth(form) or column != 1
