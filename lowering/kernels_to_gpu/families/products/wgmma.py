"""Matrix products by warpgroups: the left operand through registers, the right one packed, copied in bulk.

for each tile of the depth:                     while the next ones are being copied
    for each step of it, of 8 or 16 depths:
        left = the thread's fragment of the warpgroup's 64 rows, rounded
        start sums += left * right[step]        one wgmma instruction, while the next fragment is read
    wait for the products

With a warp that copies (producer_warp.py), rows come as boxes of their tensor (row_boxes.py).

As 3xtf32, the tile's own sums start from zero, with the products of rounding errors; then follow those of the rounded
numbers, and the tile's sums are added to the others.

result[row][column] = epilogue(sums): each lane has two adjacent columns of two rows of each 64 x 8 piece
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from typing_extensions import override
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, SSAValue

from .....dialects.gpu.warpgroup import ROWS, WARPGROUP
from .....passes.kernels.forms.contraction import contraction_form
from .....passes.kernels.schedules.cuda.wgmma import Wgmma
from ....kernel_code.arithmetic import Arithmetic, convert
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP, ThreadBuilder
from .blocks import Blocks
from .bulk_copies import bulk_copy
from .cluster_sums import SharedWriter
from .operands import MatrixOperand
from .outputs import Output, Writer
from .producer_warp import Ring
from .row_boxes import BoxUnits, RowBoxes, fit_boxes
from .row_statistics import RowStatistics
from .tile_copies import TileCopy, write_pipeline


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    schedule = k.schedule_as(Wgmma)
    output = Output(k, contraction_form(k.kernel))
    blocks = Blocks(schedule.bm, schedule.bn, schedule.bk, schedule.splits, schedule.cluster, output)
    # Where rows are at other places than boxes can be, all warps copy them.
    by_boxes = schedule.producer and k.examine(lambda grid: fit_boxes(k, grid, blocks.here(k, grid).left))
    threads = schedule.threads + (schedule.copying if by_boxes else 0)
    blocks.launch(k, threads, lambda grid: _write(k, grid, schedule, blocks, by_boxes))


def _write(k: GpuKernel, grid: Grid, schedule: Wgmma, blocks: Blocks, by_boxes: bool) -> None:
    b, here = grid.b, blocks.here(k, grid)
    normalised, statistics = here.left_statistics, here.statistics
    narrow = schedule.half or schedule.brain
    if by_boxes:
        operand = here.left
        assert isinstance(operand, MatrixOperand)
        copy = RowBoxes(b, operand, schedule.bm, schedule.bk, schedule.stages, here.first_row)
    else:
        # Lanes read 8 rows and 4 depths, or pairs of them, at a time: padding of lines puts these into different banks.
        # There is no room for it where boxes were to be copied.
        pads = (0, 0) if schedule.producer else (8, 4) if narrow else (4, 8)
        copy = here.left_copy(schedule.stages, by_depth_pad=pads[0], by_row_pad=pads[1])
    panel = b.add(b.mul(here.product, blocks.grid[1]), b.block_id(1))
    bulk = bulk_copy(k, grid, blocks.output.form, panel, schedule.bk, schedule.stages)
    lane = b.named(b.rem(grid.lane, WARP), "lane")
    group, place = b.named(b.div(lane, 4), "group"), b.named(b.rem(lane, 4), "place")
    # Warps have 16 adjacent rows each, and four of them the 64 of a warpgroup.
    warp_row = b.mul(b.div(grid.lane, WARP), ROWS * WARP // WARPGROUP)
    top = b.named(b.add(warp_row, group), "warp_row")
    element = f16 if schedule.half else bf16 if schedule.brain else f32
    steps, chunks = schedule.bk // schedule.step, schedule.step // bulk.chunk
    paired = schedule.pairs(k.kernel)
    left = _Fragment(b, copy, element, steps, top, place, schedule.split, paired, normalised)
    if isinstance(copy, RowBoxes):
        units = BoxUnits(b, copy, warp_row, lane, 4 if paired else 2)
        left = _BoxFragment(b, copy, element, steps, top, place, schedule.split, paired, normalised, units)
    pieces = schedule.bn // 8
    sums = b.private(f32, (pieces, 4), "sums")
    own = b.private(f32, (pieces, 4), "tile_sums") if schedule.split else sums
    zero = b.constant(0.0, f32)

    def each_sum(body: Callable[[list[Index]], None]) -> None:
        b.unrolled(pieces, lambda j: b.unrolled(4, lambda e: body([j, e])))

    def start(stage: Index, step: Index, part: SSAValue, column: int = 0) -> None:
        b.warpgroup_mma(part, bulk.shared, [stage, b.mul(step, chunks), column, 0], own)

    def multiply(stage: Index) -> None:
        def one(step: Index) -> None:
            left.read(stage, step, b.mul(step, schedule.step))
            b.warpgroup_fence()
            start(stage, step, left.value(step))
            b.warpgroup_commit()

        b.unrolled(steps, one)
        b.warpgroup_wait(0)

    def multiply_split(stage: Index) -> None:
        def small(step: Index) -> None:
            left.read(stage, step, b.mul(step, schedule.step))
            b.warpgroup_fence()
            start(stage, step, left.small(step))
            start(stage, step, left.value(step), schedule.bn)
            b.warpgroup_commit()

        each_sum(lambda at: b.store(zero, own, at))
        b.unrolled(steps, small)
        b.warpgroup_fence()
        b.unrolled(steps, lambda step: start(stage, step, left.value(step)))
        b.warpgroup_commit()
        b.warpgroup_wait(0)
        each_sum(lambda at: b.store(Arithmetic(b, f32).add(b.load(sums, at), b.load(own, at)), sums, at))

    def share_statistics() -> None:
        for each in (*([] if normalised is None else [normalised]), *statistics):
            each.write()

    def combine_moments() -> None:
        share_statistics()
        if normalised is not None:
            b.barrier()
            left.read_statistics(here.first_row)

    compute = multiply_split if schedule.split else multiply
    first_row, first_column = here.corner

    def store(writer: Writer | SharedWriter, lanes: int, half: Index) -> None:
        row = b.named(b.add(first_row, b.add(top, b.mul(half, 8))), "row")

        def columns(j: Index) -> None:
            first = b.add(first_column, b.add(b.mul(j, 8), b.mul(place, 2)))

            def write(e: Index) -> None:
                column = b.named(b.add(first, e), "column")
                at = [j, b.add(b.mul(half, 2), e)]
                value = b.load(sums, at) if lanes == 1 else b.vload(sums, at, lanes)
                blocks.where_column(b, column, lambda: writer.write(row, column, value, lanes))

            b.unrolled(2 // lanes, write)

        blocks.where_row(b, row, lambda: b.unrolled(pieces, columns))

    def finish(where: SSAValue | None = None) -> None:
        writer, lanes = here.writer(2)
        b.where(where, lambda: b.unrolled(2, lambda half: store(writer, lanes, half)))
        here.finish(writer)

    each_sum(lambda at: b.store(zero, sums, at))
    if not isinstance(copy, RowBoxes):
        bulk.prepare()
        write_pipeline(b, [copy, bulk], here.first_depth, blocks.tiles, compute, combine_moments)
        finish()
        return
    ring = Ring(b, grid.lane, schedule, (copy, bulk), here.first_depth, blocks.tiles)
    ring.prepare(share_statistics)
    begin = None if normalised is None else lambda: left.read_statistics(here.first_row)
    if blocks.in_shared:  # where a block meets as a whole
        finish(ring.write(compute, begin, None))
    else:
        ring.write(compute, begin, finish)


@dataclass
class _Fragment:
    """A thread's part of `steps` pieces of 64 rows of the left operand's tile, rounded to `element`.

    Number e is in row `first` + 8 * (e % 2), at depth `place` + 4 * (e / 2). In 16 bits, it is a pair of adjacent
    depths, the first of them 2 * `place` + 8 * (e / 2); `paired`, at `place` + 8 * (e / 2) and four further on.
    """

    b: ThreadBuilder
    copy: TileCopy | RowBoxes
    element: Attribute
    steps: int
    first: Index
    place: Index
    split: bool
    paired: bool
    normalised: RowStatistics | None
    _held: SSAValue = field(init=False)
    _rest: SSAValue = field(init=False)
    _rows: SSAValue | None = field(init=False)

    def __post_init__(self) -> None:
        shape = (self.steps, 4 * self.pair)
        self._held = self.b.private(self.element, shape, "left_part")
        self._rest = self.b.private(f32, shape, "left_rest") if self.split else self._held
        self._rows = None if self.normalised is None else self.b.private(f32, (2, 2), "row_scale")

    @property
    def pair(self) -> int:
        """Adjacent depths that a thread holds."""
        return 1 if self.element == f32 else 2

    def read_statistics(self, first_row: Index) -> None:
        """Loads how the thread's rows are normalised: x * scale + shift, or to the last bit (x - mean) * scale."""
        b, m = self.b, Arithmetic(self.b, f32)
        assert self.normalised is not None and self._rows is not None
        for half in range(2):
            mean, scale = self.normalised.of(b.add(first_row, b.add(self.first, 8 * half)))
            b.store(scale, self._rows, [half, 0])
            b.store(mean if self.split else m.mul(m.neg(mean), scale), self._rows, [half, 1])

    def read(self, stage: Index, step: Index, depth: Index) -> None:
        """Loads and rounds the numbers of a step, whose depths start at `depth`."""
        b, pair = self.b, self.pair

        def one(e: Index) -> None:
            row = b.add(self.first, b.mul(b.rem(e, 2), 8))
            own = self.place if self.paired else b.mul(self.place, pair)
            at = b.add(depth, b.add(own, b.mul(b.div(e, 2), 4 * pair)))
            for number, value in enumerate(self._numbers(stage, row, at)):
                self._round(self._normalised(value, b.rem(e, 2)), [step, b.add(b.mul(e, pair), number)])

        b.unrolled(4, one)

    def _normalised(self, number: SSAValue, half: Index) -> SSAValue:
        if self._rows is None:
            return number
        m = Arithmetic(self.b, f32)
        scale, other = (self.b.load(self._rows, [half, part]) for part in range(2))
        return m.mul(m.sub(number, other), scale) if self.split else m.add(m.mul(number, scale), other)

    def _numbers(self, stage: Index, row: Index, depth: Index) -> list[SSAValue]:
        """The numbers of a row from `depth` on, as they are in shared memory."""
        assert isinstance(self.copy, TileCopy)
        b, shared, pair, apart = self.b, self.copy.shared, self.pair, 4 if self.paired else 1
        if not self.copy.by_depth:
            return [b.load(shared, [stage, b.add(depth, number * apart), row]) for number in range(pair)]
        if self.paired:
            return [b.load(shared, [stage, row, b.add(depth, number * apart)]) for number in range(pair)]
        if pair == 1:
            return [b.load(shared, [stage, row, depth])]
        both = b.vload(shared, [stage, row, depth], pair)
        return [b.extract(both, number) for number in range(pair)]

    def _round(self, number: SSAValue, at: list[Index]) -> None:
        b, element = self.b, self.copy.element
        if self.element != f32:
            b.store(convert(b, number, element, self.element), self._held, at)
            return
        number = convert(b, number, element, f32)
        rounded = b.to_tf32(number)
        b.store(rounded, self._held, at)
        if self.split:
            b.store(b.to_tf32(Arithmetic(b, f32).sub(number, rounded)), self._rest, at)

    def value(self, step: Index) -> SSAValue:
        """The rounded numbers of a step."""
        return self.b.vload(self._held, [step, 0], 4 * self.pair)

    def small(self, step: Index) -> SSAValue:
        """The rounding errors of a step's numbers (3xtf32)."""
        return self.b.vload(self._rest, [step, 0], 4)


@dataclass
class _BoxFragment(_Fragment):
    """The same, read from boxes by ldmatrix."""

    units: BoxUnits

    @override
    def read(self, stage: Index, step: Index, depth: Index) -> None:
        b = self.b
        if self.element != f32 and not self.paired:
            b.vstore(self.units.load(stage, step, 0), self._held, [step, 0])
            return
        for part in range(self.pair):
            loaded = self.units.load(stage, step, part)
            for number in range(4):
                at = number if self.pair == 1 else 2 * (number % 2 + 2 * part) + number // 2
                self._round(self._normalised(b.extract(loaded, number), number % 2), [step, at])
