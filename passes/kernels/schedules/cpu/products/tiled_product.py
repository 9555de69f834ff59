"""What the schedules of register tiles over panels share: tiles of `mr` rows by `nr` columns.

The right-hand side lies in panels of `nr` columns. A tile holds mr x nr sums in registers over the whole inner sum;
`nr` is two vector registers, and mr the most that leaves room for the panel's row and one broadcast: 14 x 32 for 32
registers of 512 bits, 6 x 16 for 16 of 256. Both reach 95-100 % of the FMA peak (measured on Zen 5, K >= 64).

Each loop nest around the tiles is a schedule of its own. Of weights that are packed ahead, by pack-weights:

    panels                panel by panel; threads share out the panels
    panels_by_rows        panel by panel; threads share out the rows
    rows_before_panels    row by row
    blocked_panels        blocks of rows by groups of panels

And where something is made in scratch in front of the tiles or behind them:

    computed_panels       the right-hand side is no weight: packed a panel at a time
    dequantised_panels    the right-hand side has few bits: dequantised a panel at a time, or in registers
    block_dots            likewise, and rows may be rounded: dot products of bytes
    prologue_panels       the left-hand side is computed, a block of rows at a time
    pooled_panels         a convolution in front of a max pool, a band of rows at a time

Bytes are multiplied in groups of four, with sums of 32 bits. A CPU without an instruction for that splits each group in
two, which takes more registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import bf16, f32, f64, i32
from xdsl.ir import Operation, SSAValue

from ......dialects.amx import ROW_BYTES, ROWS
from ......dialects.bf16_dot import PAIR
from ......dialects.byte_dot import GROUP
from ......dialects.graph.base import ElementwiseOp
from ......dialects.graph.ops.contraction import ConvOp, MatmulOp, is_byte
from ......dialects.graph.ops.conversion import CastOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.packing.block_panels import BlockPanelPacking
from ......dialects.graph.packing.grouped_panels import (
    Bf16ConvPacking,
    Bf16PanelPacking,
    ByteConvPacking,
    BytePanelPacking,
    PairedBf16PanelPacking,
    whole_groups,
)
from ......dialects.graph.packing.packings import (
    ConvPacking,
    Packing,
    PairedPanelPacking,
    PanelPacking,
)
from ......dialects.graph.packing.unpack import UnpackOp
from ......dialects.graph.values import element_type_of_value, ints, nbytes_of, shape_of, type_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import CpuAttr
from ......dialects.sizes.sizes import bounds_of, is_fixed, now
from .....cost_model import moving_seconds, seconds
from .....geometry.strided_views import strided_view
from ....element_flow import same_place_pairs
from ....forms.contraction import ContractionForm, contraction_form, conv_geometry
from ....kernel_facts import argument_index, constant_operands, item_bytes, plain_operands
from ...schedule import LARGEST_TILE, Count, Schedule, TileSize
from ..tuning import (
    PANELS_FEW_ROWS,
    PANELS_INLINE_EPILOGUE,
    PANELS_OF_A_GROUP,
    PANELS_ROWS_SHARE,
    PANELS_WIDE,
)


@dataclass(frozen=True)
class TiledProduct(Schedule[CpuAttr]):
    """Tiles over panels; itself no schedule, as it has no `forms`."""

    mr: TileSize
    """Rows of a tile."""
    nr: TileSize
    """Columns of a tile and of a panel."""
    lanes: TileSize
    """Elements of one register."""
    inline: bool
    """Whether the epilogue runs on the sums in registers, not in a second pass over the stored tile."""
    prefetch: Count = 0
    """Elements of a cache line, where the next panel is asked for while one is used; 0: it is not."""
    matrix: Count = 0
    """Elements of the inner sum that one product of tiles takes; 0: rows are multiplied one by one in registers."""

    @classmethod
    def suits(cls, form: ContractionForm, packed: bool) -> bool:
        """Whether the code is that of a form whose right-hand side is `packed` ahead, or not.

        By default: if it is, and nothing is made in scratch.
        """
        return packed and is_plain(form) and form.blocks is None

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Tile sizes from the target's registers, with the usual options beside them."""
        form = contraction_form(kernel)
        found = cls.of_form(kernel, form, target)
        if found is not None and cls.suits(form, bool(packed_operands(kernel, form, found.nr))):
            yield found

    @classmethod
    def of_form(cls, kernel: KernelOp, form: ContractionForm, target: CpuAttr) -> Self | None:
        """Tile sizes for one contraction of a kernel, None for an unsupported one."""
        if not fits(form.root) or form.means is not None:
            return None
        size = item_bytes(form.root.results[0])
        lanes = target.lanes(8 * size)
        nr = 2 * lanes
        if form.halves and not (pairs(form.root) and packed_operands(kernel, form, nr)):
            return None
        if step := matrix_step(form, target):
            return cls(2 * ROWS, nr, lanes, runs_inline(form), matrix=step)
        mr = max(1, (target.registers.data - _beside_sums(form.root, target)) // 2)
        if _row_bytes(form) % target.L1_WAY == 0:  # more rows would push each other out of the first-level cache
            mr = min(mr, target.L1_WAYS)
        asked_for = prod(shape_of(form.root.results[0])[:-1]) > PANELS_FEW_ROWS and _next_fits(form, nr, target)
        prefetch = _line(kernel, form, nr) if asked_for else 0
        return cls(mr, nr, lanes, runs_inline(form), prefetch)

    @override
    def neighbours(self, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Panels of four registers, with as many rows as registers are left for; and prefetching switched.

        LLVM makes poor code of three registers, and with one all rows are read again for each register.
        """
        if self.matrix:  # four tiles of sums leave four registers for those of rows and columns
            return
        form = contraction_form(kernel)
        registers = target.registers.data - _beside_sums(form.root, target) + 2
        rows = (registers - PANELS_WIDE) // PANELS_WIDE
        if rows >= 1 and PANELS_WIDE * self.lanes <= LARGEST_TILE:
            yield replace(self, mr=rows, nr=PANELS_WIDE * self.lanes)
        if line := _line(kernel, form, self.nr):
            yield replace(self, prefetch=0 if self.prefetch else line)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Rows that don't fit a core's own cache are loaded again for each panel but the first."""
        root = contraction_form(kernel).root
        time, again = self.least_cost(kernel, target), -(-now(shape_of(root.results[0])[-1]) // self.nr) - 1
        grouped = isinstance(root, ConvOp) and root.groups.value.data > 1
        if grouped or (rows := bytes_of_rows(root)) <= PANELS_ROWS_SHARE * target.l2.data:
            return time
        return time + moving_seconds(rows, target, again)

    def least_cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Seconds of the tiles in any order."""
        return seconds(kernel, target, wasted=self.wasted(contraction_form(kernel).root, target))

    def wasted(self, root: Operation, target: CpuAttr) -> float:
        """Columns are padded to whole registers, and a tap's bytes to whole groups."""
        assert isinstance(root, MatmulOp | ConvOp)
        groups = root.groups.value.data if isinstance(root, ConvOp) else 1
        columns = shape_of(root.results[0])[-1] // groups
        wasted = -(-columns // self.lanes) * self.lanes / columns
        if groups > 1:
            wasted *= 1 + PANELS_OF_A_GROUP / now(depth_of(root))
        run = shape_of(root.weight)[1] if isinstance(root, ConvOp) else depth_of(root)
        if self.matrix:
            side_by_side = isinstance(root, MatmulOp) or conv_geometry(root).pointwise
            rows = now(prod(shape_of(root.results[0])[:-1]) if side_by_side else shape_of(root.results[0])[-2])
            size = item_bytes(root.operands[0])
            wasted *= -(-rows // ROWS) * ROWS / rows * ROW_BYTES / (self.matrix * size) / target.matrix_speed(size)
        elif root.sums is not None:
            wasted *= whole_groups(run, PAIR) / run / target.bf16_speed
        elif is_byte(element_type_of_value(root.operands[0])):
            wasted *= whole_groups(run) / run / target.byte_speed(_alike(root))
        return wasted

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        form = contraction_form(kernel)
        packed = packed_operands(kernel, form, self.nr)
        # Rows are addressed by their own strides on both sides; a packed panel copies those of a computed one.
        readers = [form.root, *form.prologue, *form.epilogue]
        return InterfaceAttr.of(
            strided_operands=[operand for operand in plain_operands(kernel, readers) if operand not in packed],
            strided_results=[0],
            inplace=same_place_pairs(kernel) if self.inline else [],
            packed=packed,
            per_thread=self.scratch(kernel).per_thread,
            pieces=self.pieces(form),
        )

    def pieces(self, form: ContractionForm) -> int:
        """Pieces of work of which each goes on with what the one before has left in scratch; 0: there are none."""
        del form
        return 0


def is_plain(form: ContractionForm) -> bool:
    """Whether no left-hand side is computed and no pool follows."""
    return not form.prologue and form.pool is None


def has_whole_rows(form: ContractionForm) -> bool:
    """Whether the elements of each of a product's left-hand rows lie side by side."""
    product = isinstance(form.root, MatmulOp) and form.root.transpose_a is None
    return product and strided_view(form.lhs).strides[-1:] == (1,)


def fits(root: Operation) -> bool:
    """Whether a root is supported.

    f32, f64, bf16 with sums of f32, or bytes; convolutions channels-last of rank 1 or 2; a contracted dimension that is
    not empty.
    """
    if not isinstance(root, MatmulOp | ConvOp):
        return False
    if element_type_of_value(root.results[0]) not in (f32, f64) and not is_byte(
        element_type_of_value(root.operands[0])
    ):
        return False
    # Tiles have elements, and only the general code knows what sums of nothing are.
    if any(0 in shape_of(value) for value in (*root.operands, *root.results)):
        return False
    return isinstance(root, MatmulOp) or (root.layout.data == "NHWC" and len(shape_of(root.result)) in (3, 4))


def matrix_step(form: ContractionForm, target: CpuAttr) -> int:
    """Elements of the inner sum that products of tiles take at a time (see dialects/amx.py); 0: there are none.

    None for few rows. A step is the same everywhere, so it is a divisor of a tap's elements: half of a tile's at least.
    """
    root = form.root
    assert isinstance(root, MatmulOp | ConvOp)
    size = item_bytes(root.operands[0])
    counted = root.sums is not None or is_byte(element_type_of_value(root.operands[0]))
    if not counted or not target.multiplies_tiles(size) or form.blocks is not None:
        return 0
    if bounds_of(prod(shape_of(root.results[0])[:-1]))[1] <= PANELS_FEW_ROWS:
        return 0
    if isinstance(root, ConvOp):
        g = conv_geometry(root)
        run = g.channels // g.groups
    elif has_whole_rows(form):
        run = depth_of(root)
    else:
        return 0
    most, group = ROW_BYTES // size, PAIR if size == 2 else GROUP
    if not is_fixed(run):
        return 0
    return next((step for step in range(most, most // 2 - 1, -group) if run % step == 0), 0)


def pairs(root: Operation) -> bool:
    """Whether a product's columns j and N + j can be in one tile, if its right-hand side is a weight."""
    if not isinstance(root, MatmulOp) or not fits(root):
        return False
    return len(shape_of(root.rhs)) == 2 and element_type_of_value(root.result) in (f32, f64)


def _line(kernel: KernelOp, form: ContractionForm, nr: int) -> int:
    """Elements of a cache line of panels that are packed ahead and read in place; 0 for others."""
    packed = form.blocks is None and packed_operands(kernel, form, nr)
    return CpuAttr.CACHE_LINE // item_bytes(form.rhs) if packed else 0


def _next_fits(form: ContractionForm, nr: int, target: CpuAttr) -> bool:
    """Whether prefetching the next panel evicts nothing from the second-level cache that is still used.

    A convolution reads a panel of all taps again for each row of pixels. If two of them are too large it takes longer:
    3x3 of 512 channels to 14x14 pixels 4.9 instead of 3.9 ms, of 768 to 7x7 1.9 instead of 1.6 (Zen 5).
    """
    if not isinstance(form.root, ConvOp):
        return True
    panel = now(prod(shape_of(form.root.weight)[1:])) * nr * item_bytes(form.rhs)
    return 2 * panel <= target.l2.data


def _row_bytes(form: ContractionForm) -> int:
    """Stride in bytes of a tile's rows in a left-hand side without gaps."""
    root = form.root
    if isinstance(root, MatmulOp) and root.transpose_a is not None:
        return item_bytes(form.lhs)
    row = now(shape_of(form.lhs)[-1]) * item_bytes(form.lhs)
    return row * ints(root.strides)[-1] if isinstance(root, ConvOp) else row


def bytes_of_rows(root: MatmulOp | ConvOp) -> int:
    """Bytes of all rows that the root may read, each once."""
    if isinstance(root, ConvOp) and not conv_geometry(root).pointwise:
        return bounds_of(nbytes_of(type_of(root.x)))[1]
    rows = prod(shape_of(root.results[0])[:-1])
    return bounds_of(rows)[1] * now(depth_of(root)) * item_bytes(root.operands[0])


def runs_inline(form: ContractionForm) -> bool:
    """Whether the epilogue is short enough to run on the sums in registers."""
    return all(map(_is_short, form.epilogue)) and len(form.epilogue) <= PANELS_INLINE_EPILOGUE


def _is_short(op: Operation) -> bool:
    """Whether an op's code is short, as that of casts to bf16 is by an instruction, and from bf16 in any case."""
    if isinstance(op, CastOp) and {element_type_of_value(op.x), op.to} == {bf16, f32}:
        return op.flush is not None or op.to == f32
    if isinstance(op, CastOp) and (element_type_of_value(op.x), op.to) == (i32, f32):
        return True
    return isinstance(op, ElementwiseOp) and op.CODE == "short"


def _alike(root: MatmulOp | ConvOp) -> bool:
    """Whether the root's bytes are both signed, or both not."""
    return len({element_type_of_value(operand) for operand in root.operands[:2]}) == 1


def _beside_sums(root: MatmulOp | ConvOp, target: CpuAttr) -> int:
    """Registers that a tile needs besides its sums.

    Bytes without an instruction of their own are split in two halves; with ARM's, LLVM loads several rows ahead, and
    with fewer registers it spills sums.
    """
    bytes = is_byte(element_type_of_value(root.operands[0]))
    return 8 if bytes and target.byte_dot(_alike(root)) != "vpdpbusd" else beside_float_sums(target)


def beside_float_sums(target: CpuAttr) -> int:
    """Registers for two columns of the panel and one row; more on CPUs other than x86, where LLVM loads ahead.

    Those are the ones with more than 16 registers of less than 512 bits. With 14 x 8 for a Neoverse N1 a sum was
    spilled, and with contractions split into parts, half of the inner loop were register moves.
    """
    return 5 if target.registers.data > 16 and target.vector_bits.data < 512 else 3


def packed_operands(kernel: KernelOp, form: ContractionForm, nr: int) -> dict[int, Packing]:
    """The packing of a filter, or of a right-hand side that is a single weight matrix and no view."""
    root = form.root
    if form.blocks is not None:
        bits, block, _, _ = form.blocks.numbers
        weight, *others = (argument_index(kernel, _argument_of(operand)) for operand in form.blocks.parameters)
        beside = (PairedPanelPacking if form.halves else PanelPacking)(nr, transposed=True)
        words = BlockPanelPacking(nr, bits, block, paired=bool(form.halves))
        return {weight: words, **dict.fromkeys(others, beside)}
    bytes, in_pairs = is_byte(element_type_of_value(root.operands[1])), root.sums is not None
    if isinstance(root, ConvOp):
        packing = (ByteConvPacking if bytes else Bf16ConvPacking if in_pairs else ConvPacking)(
            nr, root.groups.value.data
        )
        return {argument_index(kernel, form.rhs): packing}
    weights = [kernel.arguments[position] for position in constant_operands(kernel)]
    if len(shape_of(root.rhs)) != 2 or form.rhs not in weights:
        return {}
    if in_pairs:
        panels = PairedBf16PanelPacking if form.halves else Bf16PanelPacking
    else:
        panels = BytePanelPacking if bytes else PairedPanelPacking if form.halves else PanelPacking
    return {argument_index(kernel, form.rhs): panels(nr, root.transpose_b is not None)}


def _argument_of(value: SSAValue) -> SSAValue:
    """The kernel argument of a weight, packed or not."""
    return value.owner.operands[0] if isinstance(value.owner, UnpackOp) else value


def depth_of(root: MatmulOp | ConvOp) -> int:
    """Length of the contracted dimension."""
    if isinstance(root, ConvOp):
        return prod(shape_of(root.weight)[1:])
    return shape_of(root.lhs)[-2 if root.transpose_a is not None else -1]
