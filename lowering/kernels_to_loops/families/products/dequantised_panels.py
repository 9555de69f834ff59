"""Products by block-quantised matrices: dequantises one panel at a time in scratch, for all rows of the share.

    for panel:
        scratch[k, 0:nr] = (number - zero) * scale            numbers, zeros and scales lie in panels of their own
        for tile of the rows: tile(a, scratch, ...)

Every number is unpacked once, however many rows there are, and read from memory in its few bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import SSAValue

from .....dialects.graph.ops.block_weight import UI8, BlockWeightOp
from .....dialects.graph.packing.unpack import UnpackOp
from ....kernel_code.arithmetic import Arithmetic, convert, loaded
from ....kernel_code.loop_builder import Index, memref_type
from ...kernel_instance import KernelInstance
from .contraction_nest import argument_buffer
from .tile_calls import Site, TileCalls, tiles_of
from .tiled_product import product_of, tiling_of


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    form, epilogue = product_of(k)
    tiling, blocks = tiling_of(k, form, epilogue), form.blocks
    assert blocks is not None
    scratch = k.scratch_part("panel")
    k = k.placed(scratch)
    b, calls = k.b, TileCalls(k, tiling, form, epilogue)
    rows, tiles = tiling.nest.pixels[:-1], tiles_of(k.b, tiling.nest)
    unpacks = [operand.owner for operand in blocks.operands]
    panels = [argument_buffer(k, each.packed) for each in unpacks if isinstance(each, UnpackOp)]

    def share(panel: Index, first: Index, last: Index) -> None:
        _make_panel(k, blocks, panels, scratch, panel)
        if not rows:
            calls.strips(Site((), panel, (), k.places[-1], 0), first, last)
            return

        def row(number: Index, _: Sequence[SSAValue]) -> None:
            calls.strips(Site((), panel, tuple(b.delinearize(number, rows)), k.places[-1], 0), 0, tiles)

        b.loop(first, last, row)

    k.runs(tiling.panels, b.product(rows) if rows else tiles, share)


def _make_panel(
    k: KernelInstance, op: BlockWeightOp, panels: Sequence[SSAValue], scratch: SSAValue, panel: Index
) -> None:
    """Dequantises one panel of the matrix."""
    b = k.b
    bits, block, _, middle = op.numbers
    windows: list[SSAValue] = []
    for buffer in panels:
        _, depth, nr = memref_type(buffer).get_shape()
        windows.append(b.view(buffer, b.mul(panel, depth * nr), [depth, nr], [nr, 1]))
    weight, scales, *zeros = windows
    groups, nr = memref_type(scales).get_shape()
    held = block * bits // 8
    m = Arithmetic(b, VectorType(f32, [nr]))

    def group(number: Index, _: Sequence[SSAValue]) -> None:
        scale = b.vload(scales, [number, 0], nr)
        zero = m.constant(middle)
        if zeros:
            zero = convert(b, loaded(b, b.vload(zeros[0], [number, 0], nr)), UI8, f32)

        def bytes(byte: Index, _: Sequence[SSAValue]) -> None:
            there = loaded(b, b.vload(weight, [b.add(b.mul(number, held), byte), 0], nr))
            numbers = [there]
            if bits == 4:
                low, four = (b.constant(each, there.type) for each in (15, 4))
                numbers = [b.insert(arith.AndIOp(there, low)), b.insert(arith.ShRUIOp(there, four))]
            first = b.add(b.mul(number, block), b.mul(byte, len(numbers)))
            for place, each in enumerate(numbers):
                value = m.mul(m.sub(convert(b, each, UI8, f32), zero), scale)
                b.vstore(value, scratch, [b.add(first, place), 0])

        b.loop(0, held, bytes)

    b.loop(0, groups, group)
