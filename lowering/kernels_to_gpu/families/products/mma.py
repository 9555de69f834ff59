"""Matrix products on tensor cores: operands in shared memory, warps compute 16 x 8 sums over 8 or 16 depths at a time.

for each tile of the depth:                     while the next ones are being copied
    for each step of it:
        left[wm / 16] and right[wn / 8] = the warp's fragments of both tiles, rounded
        sums[i][j] += left[i] * right[j]        one mma instruction
result[row][column] = epilogue(sums): each lane has two adjacent columns of two rows of each 16 x 8 piece
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, SSAValue

from .....passes.kernels.forms.contraction import contraction_form
from .....passes.kernels.schedules.cuda.mma import Mma
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP, ThreadBuilder
from .blocks import Blocks
from .outputs import Output, add_partials
from .tile_copies import TileCopy, in_pairs, write_pipeline

ELEMENTS: dict[str, Attribute] = {"tf32": f32, "3xtf32": f32, "fp16": f16, "bf16": bf16}
"""Element type of shared memory, by precision."""
ROWS, COLUMNS = 16, 8  # of a piece


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch, and a second one under split-K."""
    schedule = k.schedule_as(Mma)
    output = Output(k, contraction_form(k.kernel))
    blocks = Blocks(schedule.bm, schedule.bn, schedule.bk, schedule.splits, output)
    k.launch(blocks.grid, schedule.threads, lambda grid: _write(k, grid, schedule, blocks))
    if schedule.splits > 1:
        add_partials(k, output, schedule.splits)


def _write(k: GpuKernel, grid: Grid, schedule: Mma, blocks: Blocks) -> None:
    b, precision = grid.b, k.target.precision.data
    element = ELEMENTS[precision]
    narrow = element != f32
    # Lanes read 8 rows and 4 depths at a time: padding of lines puts these into different banks.
    here = blocks.here(k, grid)
    copies = here.copies(element, schedule.stages, by_depth_pad=8 if narrow else 4, by_row_pad=8)
    piece = 16 if narrow else 8
    warp, lane = b.named(b.div(grid.lane, WARP), "warp"), b.named(b.rem(grid.lane, WARP), "lane")
    across = schedule.bn // schedule.wn
    y, x = b.div(warp, across), b.rem(warp, across)
    group, place = b.named(b.div(lane, 4), "group"), b.named(b.rem(lane, 4), "place")
    top, start = b.named(b.mul(y, schedule.wm), "warp_row"), b.named(b.mul(x, schedule.wn), "warp_column")
    down, along = schedule.wm // ROWS, schedule.wn // COLUMNS
    split = precision == "3xtf32"
    left = _Fragment(b, copies[0], b.add(top, group), down, ROWS, 4 if not narrow else 8, place, split)
    right = _Fragment(b, copies[1], b.add(start, group), along, COLUMNS, 2 if not narrow else 4, place, split)
    sums = b.private(f32, (down, along, 4), "sums")
    zero = b.constant(0.0, f32)
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

    def store(i: Index, half: Index) -> None:
        row = b.add(b.add(b.add(here.first_row, top), b.add(b.mul(i, ROWS), group)), b.mul(half, 8))
        row = b.named(row, "row")

        def columns(j: Index) -> None:
            first = b.add(b.add(b.add(here.first_column, start), b.mul(j, COLUMNS)), b.mul(place, 2))

            def write(e: Index) -> None:
                column = b.named(b.add(first, e), "column")
                at = [i, j, b.add(b.mul(half, 2), e)]
                value = b.load(sums, at) if lanes == 1 else b.vload(sums, at, lanes)
                blocks.where_column(b, column, lambda: writer.write(row, column, value, lanes))

            b.unrolled(2 // lanes, write)

        blocks.where_row(b, row, lambda: b.unrolled(along, columns))

    b.unrolled(down, lambda i: b.unrolled(2, lambda half: store(i, half)))


def _multiply(b: ThreadBuilder, sums: SSAValue, left: _Fragment, right: _Fragment, i: Index, j: Index) -> None:
    """Adds the product of two fragments."""
    total = b.vload(sums, [i, j, 0], 4)
    if left.split:
        total = b.mma_of_parts((left.large(i), left.small(i)), (right.large(j), right.small(j)), total)
    else:
        total = b.mma(left.large(i), right.large(j), total)
    b.vstore(total, sums, [i, j, 0])


@dataclass
class _Fragment:
    """A lane's share of `count` pieces of `rows` rows of a tile: `held` numbers of each piece.

    In 32 bits, number e of the left operand is in row `first` + 8 * (e % 2), of the right one in row `first`; depths
    are `place` + 4 * (the remaining bits of e). In 16 bits, numbers are pairs of depths, and pair e is at depth 2 *
    `place` + 8 * (the remaining bits of e).
    """

    b: ThreadBuilder
    copy: TileCopy
    first: Index
    count: int
    rows: int
    held: int
    place: Index
    split: bool

    def __post_init__(self) -> None:
        b, shape = self.b, (self.count, self.held)
        self._large = b.private(self.copy.element, shape, f"{self.copy.name}_part")
        self._small = b.private(f32, shape, f"{self.copy.name}_rest") if self.split else self._large

    @property
    def narrow(self) -> bool:
        """Whether numbers have 16 bits."""
        return self.copy.element != f32

    def read(self, stage: Index, depth: Index) -> None:
        """Loads the numbers of all pieces from `depth` on."""
        b, pair = self.b, 2 if self.narrow else 1
        halves = 2 if self.rows == ROWS else 1  # rows 8 apart

        def one(i: Index, e: Index) -> None:
            row = b.add(b.add(self.first, b.mul(i, self.rows)), b.mul(b.rem(e, halves), 8))
            at = b.add(depth, b.add(b.mul(self.place, pair), b.mul(b.div(e, halves), 4 * pair)))
            if self.narrow:
                self._read_pair(stage, row, at, i, b.mul(e, 2))
            else:
                self._round(b.load(self.copy.shared, self._at(stage, row, at)), [i, e])

        b.unrolled(self.count, lambda i: b.unrolled(self.held // pair, lambda e: one(i, e)))

    def _at(self, stage: Index, row: Index, depth: Index) -> list[Index]:
        return [stage, row, depth] if self.copy.by_depth else [stage, depth, row]

    def _read_pair(self, stage: Index, row: Index, depth: Index, i: Index, e: Index) -> None:
        b, shared = self.b, self.copy.shared
        if self.copy.by_depth:
            b.vstore(b.vload(shared, [stage, row, depth], 2), self._large, [i, e])
            return
        for number in range(2):
            b.store(b.load(shared, [stage, b.add(depth, number), row]), self._large, [i, b.add(e, number)])

    def _round(self, value: SSAValue, at: list[Index]) -> None:
        b, large = self.b, self.b.to_tf32(value)
        b.store(large, self._large, at)
        if self.split:
            b.store(b.to_tf32(Arithmetic(b, f32).sub(value, large)), self._small, at)

    def large(self, i: Index) -> SSAValue:
        """Piece i, rounded."""
        return self.b.vload(self._large, [i, 0], self.held)

    def small(self, i: Index) -> SSAValue:
        """The rounding error of piece i (3xtf32)."""
        return self.b.vload(self._small, [i, 0], self.held)
