"""The transpose_tiles schedule: transposes planes by square tiles in shared memory.

Loads follow x's memory order and stores the result's: a thread that loaded its own element would fetch 32 bytes for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from ...forms.transposition import Transposition, transposition
from ...kernel_facts import all_operands, all_results, item_bytes
from ...moves import moves_of
from ..schedule import Schedule, TileSize
from .cost import bytes_of, stream_seconds
from .tuning import LAUNCH, TRANSPOSE_TILES_MEETING, TRANSPOSE_TILES_SMALLEST

TILE = 32


@dataclass(frozen=True)
class TransposeTiles(Schedule[GpuAttr]):
    """Square tiles by blocks."""

    forms = ("map",)

    tile: TileSize = TILE
    """Rows and columns of a square."""
    rows: TileSize = 8
    """Rows of threads: each does every so many rows of the square."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        form = transposition(kernel)
        if form is not None and min(form.sizes[form.row], form.sizes[-1]) >= TRANSPOSE_TILES_SMALLEST:
            yield cls()

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Squares at the edges are incomplete."""
        form = transposition(kernel)
        assert form is not None
        squares, block = self.squares(form), self.tile * self.rows
        used = form.faces * form.sizes[form.row] * form.sizes[-1] / (squares * self.tile**2)
        nbytes, waiting = bytes_of(kernel), self.tile // self.rows * item_bytes(form.root.x)
        moving = stream_seconds(nbytes / used, nbytes / 2, squares, block, waiting, target)
        return LAUNCH + TRANSPOSE_TILES_MEETING + moving

    def squares(self, form: Transposition) -> int:
        """Number of squares."""
        rows, columns = form.sizes[form.row], form.sizes[-1]
        return form.faces * -(-rows // self.tile) * -(-columns // self.tile)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(
            moves=moves_of(kernel),
            strided_operands=all_operands(kernel),
            strided_results=all_results(kernel),
        )
