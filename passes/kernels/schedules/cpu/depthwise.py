"""The depthwise schedule: a tile of output pixels by one register of channels.

The sums of the tile, the filter's taps and one input pixel share the registers. Several rows at once let each input
pixel serve several of them: with 32 registers, 3 rows by 7 columns for a 3x3 filter ran up to 1.5 times faster than
one row on Zen 5, and 2 by 7 or 1 by 7 are left for larger filters. A row count that divides the picture needs fewer
variants of code and is preferred where the picture is tall.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation

from .....dialects.graph.contraction import ConvOp
from .....dialects.graph.packing import DepthwisePacking
from .....dialects.graph.structure import KernelOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel import InterfaceAttr
from .....dialects.targets import CpuAttr
from ....work import seconds
from ...element_flow import same_place_pairs
from ...forms.contraction import contraction_form, conv_geometry
from ...kernel_facts import argument_index, plain_operands
from ..schedule import Schedule, TileSize
from . import panels

COLUMNS = 7
# Taps up to which code names each: on Zen 3 that ran 7x7 a fifth faster than a loop over the rows of the filter, 9x9
# no faster; and LLVM took 6 seconds for 9x9 and 9 for 11x11 instead of half a second.
WRITTEN_OUT = 49
TALL = 8  # output rows from which on only row counts that divide the height are taken
ITEMS_PER_THREAD = 4  # pieces of work that balance the threads to within a quarter

# Code names the columns of a filter; with more of them it would grow beyond that of small filters.
MOST_COLUMNS = 32


@dataclass(frozen=True)
class Depthwise(Schedule):
    """A tile of pixels by one register of channels at a time."""

    name = "depthwise"

    tile_rows: TileSize
    """Rows of pixels of a tile."""
    tile_columns: TileSize
    """Pixels of each row of a tile."""
    lanes: TileSize
    """Channels of one register and of a panel of the filter."""
    chunks: TileSize
    """Parts that the channels of a tile are cut into for the threads."""
    inline: bool
    """Whether the epilogue runs on the sums in registers, not in a second pass over the stored tile."""
    filter_loop: bool = False
    """Whether the rows of the filter are a loop. Tiles have one row then."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """The tile that fits the target's registers, and how finely channels are cut for the threads."""
        form = contraction_form(kernel)
        if not isinstance(form.root, ConvOp) or not fits(form.root) or form.prologue or form.pool is not None:
            return
        g = conv_geometry(form.root)
        taps = g.kernel[0] * g.kernel[1]
        lanes = target.lanes(32)
        registers = target.registers.data
        filter_loop = taps > WRITTEN_OUT
        row = min(g.kernel[1], COLUMNS)  # a pixel is read by one tap of each column's row
        held = row if filter_loop else taps if taps < registers // 2 else g.kernel[1]
        columns = min(COLUMNS, g.out_width, max(1, registers - held - 2))
        rows = 1 if filter_loop else max(1, min(3, g.out_height, (registers - held - 1) // columns))
        if g.out_height > TALL:
            rows = max(candidate for candidate in range(1, rows + 1) if g.out_height % candidate == 0)
        tiles = g.batch * -(-g.out_height // rows) * -(-g.out_width // columns)
        blocks = -(-g.channels // lanes)
        wanted = ITEMS_PER_THREAD * target.threads.data
        chunks = 1 if target.threads.data == 1 else min(blocks, -(-wanted // tiles))
        yield cls(rows, columns, lanes, chunks, panels.runs_inline(form), filter_loop)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Channels are made up to whole registers; all else is used."""
        channels = shape_of(contraction_form(kernel).lhs)[-1]
        return seconds(kernel, target, wasted=-(-channels // self.lanes) * self.lanes / channels)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        form = contraction_form(kernel)
        packed = argument_index(kernel, form.rhs)
        plain = plain_operands(kernel, [form.root, *form.epilogue])
        return InterfaceAttr.of(
            strided_operands=[operand for operand in plain if operand != packed],
            strided_results=[0],
            inplace=same_place_pairs(kernel) if self.inline else [],
            packed={packed: DepthwisePacking(self.lanes)},
        )


def fits(root: Operation) -> bool:
    """Whether there is code for a root: f32, channels-last of rank 2, one filter per channel."""
    if not isinstance(root, ConvOp) or not panels.fits(root):
        return False
    if element_type_of_value(root.result) != f32 or len(shape_of(root.result)) != 4:
        return False
    filters, _, *kernel = shape_of(root.weight)
    return root.groups.value.data == shape_of(root.x)[-1] == filters > 1 and kernel[1] <= MOST_COLUMNS
