"""Matrix products on tensor cores: operands in shared memory, warps compute 16 x 8 sums over 8 to 32 depths at a time.

for each tile of the depth:                     while the next ones are being copied
    for each step of it:
        left[wm / 16] and right[wn / 8] = the warp's fragments of both tiles, rounded
        sums[i][j] += left[i] * right[j]        one mma instruction
result[row][column] = epilogue(sums): each lane has two adjacent columns of two rows of each 16 x 8 piece
"""

from __future__ import annotations

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, SSAValue

from .....passes.kernels.forms.contraction import contraction_form
from .....passes.kernels.schedules.cuda.mma import Mma
from .....passes.kernels.schedules.cuda.products import multiplies_bytes
from ....kernel_code.arithmetic import bits_of
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import ACCESS, WARP, ThreadBuilder
from .blocks import Blocks
from .operand_fragments import COLUMNS, ROWS, OperandFragment
from .outputs import Output
from .tile_copies import in_pairs, write_pipeline

ELEMENTS: dict[str, Attribute] = {"tf32": f32, "3xtf32": f32, "fp16": f16, "bf16": bf16}
"""Element type of shared memory, by precision; bytes stay what they are."""


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    schedule = k.schedule_as(Mma)
    output = Output(k, contraction_form(k.kernel))
    blocks = Blocks(schedule.bm, schedule.bn, schedule.bk, schedule.splits, schedule.cluster, output)
    blocks.launch(k, schedule.threads, lambda grid: _write(k, grid, schedule, blocks))


def _write(k: GpuKernel, grid: Grid, schedule: Mma, blocks: Blocks) -> None:
    b, precision = grid.b, k.target.precision.data
    element = None if multiplies_bytes(blocks.output.form) else ELEMENTS[precision]
    size = 1 if element is None else bits_of(element) // 8
    # Lanes read 8 lines of 16 bytes at a time, or 4 depths of 8 rows: padding of lines puts these into different banks.
    here = blocks.here(k, grid, ACCESS // size)
    copies = here.copies(element, schedule.stages, by_depth_pad=ACCESS // size, by_row_pad=8)
    piece = 32 // size
    warp, lane = b.named(b.div(grid.lane, WARP), "warp"), b.named(b.rem(grid.lane, WARP), "lane")
    across = schedule.bn // schedule.wn
    y, x = b.div(warp, across), b.rem(warp, across)
    top, start = b.named(b.mul(y, schedule.wm), "warp_row"), b.named(b.mul(x, schedule.wn), "warp_column")
    down, along = schedule.wm // ROWS, schedule.wn // COLUMNS
    split = precision == "3xtf32" and element is not None
    left = OperandFragment(b, copies[0], top, down, lane, is_left=True, split=split)
    right = OperandFragment(b, copies[1], start, schedule.wn // ROWS, lane, split=split, rounded=schedule.tf32)
    sums = b.private(blocks.output.sums, (down, along, 4), "sums")
    zero = b.constant(0, blocks.output.sums)
    b.unrolled(down, lambda i: b.unrolled(along, lambda j: b.unrolled(4, lambda e: b.store(zero, sums, [i, j, e]))))

    def multiply(stage: Index) -> None:
        def one(number: Index) -> None:
            depth = b.mul(number, piece)
            left.read(stage, depth)
            right.read(stage, depth)
            b.unrolled(down, lambda i: b.unrolled(along, lambda j: _multiply(b, sums, left, right, i, j)))

        in_pairs(b, schedule.bk // piece, one)

    write_pipeline(b, copies, here.first_depth, blocks.tiles, multiply)
    writer, lanes = here.writer(2)
    first_row, first_column = here.corner
    group, place = b.named(b.div(lane, 4), "group"), b.named(b.rem(lane, 4), "place")

    def store(i: Index, half: Index) -> None:
        row = b.add(b.add(b.add(first_row, top), b.add(b.mul(i, ROWS), group)), b.mul(half, 8))
        row = b.named(row, "row")

        def columns(j: Index) -> None:
            first = b.add(b.add(b.add(first_column, start), b.mul(j, COLUMNS)), b.mul(place, 2))

            def write(e: Index) -> None:
                column = b.named(b.add(first, e), "column")
                at = [i, j, b.add(b.mul(half, 2), e)]
                value = b.load(sums, at) if lanes == 1 else b.vload(sums, at, lanes)
                blocks.where_column(b, column, lambda: writer.write(row, column, value, lanes))

            b.unrolled(2 // lanes, write)

        blocks.where_row(b, row, lambda: b.unrolled(along, columns))

    b.unrolled(down, lambda i: b.unrolled(2, lambda half: store(i, half)))
    here.finish(writer)


def _multiply(
    b: ThreadBuilder, sums: SSAValue, left: OperandFragment, right: OperandFragment, i: Index, j: Index
) -> None:
    """Adds the product of two fragments."""
    total = b.vload(sums, [i, j, 0], 4)
    if left.split:
        total = b.mma_of_parts((left.large(i), left.small(i)), (right.large(j), right.small(j)), total)
    else:
        total = b.mma(left.large(i), right.large(j), total)
    b.vstore(total, sums, [i, j, 0])
