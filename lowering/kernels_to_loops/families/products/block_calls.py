"""Calls of register tiles on block-quantised weights: the addresses of each strip."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .....dialects.byte_dot import GROUP
from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.ops.block_weight import BlockWeight, StackedBlockWeightOp
from .....dialects.graph.packing.unpack import UnpackOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.sizes.sizes import pinned
from .....passes.kernels.forms.contraction import ContractionForm
from ....kernel_code.extents import Extent
from ....kernel_code.loop_builder import INDEX, Index
from ...kernel_instance import KernelInstance
from ...tiles.block_panel import WRITTEN_OUT, BlockNumbers, PanelPlaces
from ...tiles.block_tile import BlockStrip, BlockTile, RoundedRows, call_block_tiles
from ...tiles.fused_ops import FusedOps
from ...tiles.tile_classes import TileClass
from ...tiles.tile_results import MemoryRows
from .contraction_nest import Access, argument_buffer
from .tile_calls import TileCalls, Tiling


def numbers_of(op: BlockWeight) -> BlockNumbers:
    """What code of a block weight is specialised for."""
    bits, block, depth, middle = op.numbers
    zero = None if op.zero is None else element_type_of_value(op.zero)
    return BlockNumbers(bits, block, pinned(depth % block), middle, element_type_of_value(op.scale), zero)


def _first_panel(k: KernelInstance, op: BlockWeight, nr: int) -> Index:
    """The first panel of a matrix among those of a stack."""
    if not isinstance(op, StackedBlockWeightOp):
        return 0
    b = k.b
    which = b.insert(IndexCastOp(b.load(argument_buffer(k, op.which), []), INDEX))
    return b.mul(b.max(b.min(which, op.count - 1), 0), op.rows.value.data // nr)


class BlockCalls(TileCalls):
    """Builds calls of strips of block tiles; `k.places` are the addresses of the nest's buffers."""

    def __init__(self, k: KernelInstance, tiling: Tiling, form: ContractionForm, epilogue: FusedOps) -> None:
        super().__init__(k, tiling, form, epilogue)
        assert form.blocks is not None
        self.numbers, self.halves = numbers_of(form.blocks), bool(form.halves)
        self.blocks = shape_of(form.blocks.scale)[1]
        unpacks = [operand.owner for operand in form.blocks.parameters]
        self.first = _first_panel(k, form.blocks, tiling.nr)
        self.weight = [
            k.places[k.buffers.index(argument_buffer(k, each.packed))] for each in unpacks if isinstance(each, UnpackOp)
        ]
        # Instructions for bytes of one signedness only: those of the weight become signed, too.
        # Without one that adds to sums, LLVM computes all rows' products of what is written out first, and spills.
        dot = k.target.byte_dot(alike=False, narrow=self.numbers.bits < 8)
        self.written_out = 0 if dot.startswith("pm") else WRITTEN_OUT
        self.signed = self.numbers.bits == 8 and not k.target.byte_dot(alike=False) and k.target.has("sdot")

    def places_of(self, panel: Index) -> PanelPlaces:
        """Where a panel's words, scales and zero points are."""
        b, nr = self.b, self.tiling.nr
        first = b.mul(b.add(self.first, panel), self.blocks)
        at = [b.mul(b.mul(first, self.numbers.words), nr * GROUP), *[b.mul(first, nr)] * (len(self.weight) - 1)]
        words, scales, *zeros = [b.place(*each) for each in zip(self.weight, at, strict=True)]
        return PanelPlaces(words, scales, zeros[0] if zeros else None)

    def panel(
        self,
        panel: Index,
        row: Sequence[Index],
        start: Index,
        classes: Sequence[TileClass],
        rows: Callable[[Index], tuple[MemoryRows, RoundedRows | None]],
    ) -> None:
        """The tiles of `classes` on one panel, for the row of pixels `row` from its pixel `start` on.

        `rows` gives the left-hand side's rows from a pixel on, counted from there.
        """
        b, nest, nr = self.b, self.nest, self.tiling.nr
        places, column = self.places_of(panel), b.mul(panel, self.tiling.columns)

        def memory(access: Access, pixel: Index) -> MemoryRows:
            place = b.linear([*row, b.add(start, pixel)], access.pixels, access.offset)
            return MemoryRows(
                b.place(self.k.places[access.buffer], b.add(place, b.mul(column, access.column))), access.pixels[-1]
            )

        def tiles(each: TileClass, valid: int) -> None:
            a, rounded = rows(each.start)
            tile = BlockTile(
                each.rows,
                nr // self.tiling.lanes,
                self.tiling.lanes,
                valid,
                self.halves,
                self.numbers,
                rounded is not None,
                rounded is not None and self.signed,
                self.written_out,
                tuple(self.operand(nest, operand) for operand in nest.operands),
            )
            whole = self.blocks if rounded is not None else self.blocks - (self.numbers.tail > 0)
            strip = BlockStrip(
                each.count,
                Extent(whole),
                a,
                rounded,
                places,
                memory(nest.out, each.start),
                tuple(
                    None if operand.buffer == nest.out.buffer else memory(operand, each.start)
                    for operand in nest.operands
                ),
                0 if valid else self.tiling.tail,
            )
            call_block_tiles(self.k, tile, self.epilogue, strip)

        for each in classes:

            def there(each: TileClass = each) -> None:
                self.by_width(panel, lambda width: tiles(each, width.valid))

            if isinstance(each.count, int):
                there()
            else:
                b.when(b.compare("sgt", each.count, 0), there)
