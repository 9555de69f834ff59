"""Few rows times a block-quantised matrix: each warp reads the packed numbers of some columns once.

for each word of 4 bytes along the depth that is this lane's:
    numbers[column] = those of the word, less their zero point
    sums[row][column] += scale[column] * (left[row] * numbers[column])
the lanes of the warp are added by shuffles
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from .....passes.kernels.forms.contraction import contraction_form
from .....passes.kernels.schedules.cuda.vector_rows import BLOCK_UNROLLED, TOGETHER, VectorRows
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP, ThreadBuilder
from ...warp_reductions import add_lanes
from ..products.block_operand import BlockOperand, block_operand
from ..products.operands import Operand, left_operand, read_numbers
from ..products.outputs import Output


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    schedule, form = k.schedule_as(VectorRows), contraction_form(k.kernel)
    blocks, output = form.blocks, Output(k, form)
    assert blocks is not None and schedule.block == schedule.columns // TOGETHER * WARP
    _, rows, columns = output.sizes
    lanes = output.lanes(TOGETHER)

    def write(grid: Grid) -> None:
        b = grid.b
        lane = b.named(b.rem(grid.lane, WARP), "lane")
        slot = b.add(b.mul(b.block_id(0), schedule.block // WARP), b.div(grid.lane, WARP))
        column = b.named(b.mul(slot, TOGETHER), "column")
        sums = b.private(f32, (rows, TOGETHER), "sums")
        b.unrolled(rows, lambda i: b.unrolled(TOGETHER, lambda j: b.store(b.constant(0.0, f32), sums, [i, j])))
        left, right = left_operand(k, grid, form, 0), block_operand(grid, blocks)
        words = _Words(b, left, right, sums, rows, column)
        words.add_up(lane)
        add_lanes(b, sums, rows, TOGETHER, [WARP >> i for i in range(1, WARP.bit_length())], WARP)
        writer = output.writer(grid, 0)

        def put(i: Index, j: Index) -> None:
            first = b.mul(j, lanes)
            value = b.load(sums, [i, first]) if lanes == 1 else b.vload(sums, [i, first], lanes)
            at = b.named(b.add(column, first), "at")
            b.when(b.compare("slt", at, columns), lambda: writer.write(i, at, value, lanes))

        each = TOGETHER // lanes
        b.when(b.compare("eq", lane, 0), lambda: b.unrolled(rows, lambda i: b.unrolled(each, lambda j: put(i, j))))

    k.launch(-(-columns // schedule.columns), schedule.block, write)


@dataclass
class _Words:
    """A lane's words of the columns from `column` on, and what they add to its sums."""

    b: ThreadBuilder
    left: Operand
    right: BlockOperand
    sums: SSAValue
    rows: int
    column: Index

    def __post_init__(self) -> None:
        b, last = self.b, self.right.rows - 1
        self.count = self.right.vector
        self.words = self.right.depth // self.count
        self.at = [self.right.row(b, b.min(b.add(self.column, j), last)) for j in range(TOGETHER)]

    def add_up(self, lane: Index) -> None:
        """Adds every word whose number is `lane` modulo a warp."""
        b = self.b
        whole = self.words // (WARP * BLOCK_UNROLLED)

        def several(i: Index, _: Sequence[SSAValue]) -> None:
            def one(j: Index) -> None:
                self._add(b.add(b.mul(b.add(b.mul(i, BLOCK_UNROLLED), j), WARP), lane))

            b.unrolled(BLOCK_UNROLLED, one)

        b.loop(0, whole, several)

        def single(i: Index, _: Sequence[SSAValue]) -> None:
            word = b.add(b.mul(i, WARP), lane)
            b.when(b.compare("slt", word, self.words), lambda: self._add(word))

        b.loop(whole * BLOCK_UNROLLED, -(-self.words // WARP), single)

    def _add(self, word: Index) -> None:
        b, m = self.b, Arithmetic(self.b, f32)
        first = b.named(b.mul(word, self.count), "first")
        places = [self.right.place(b, column, self.right.tap(b, first))[0] for column in self.at]
        scales, numbers = list[SSAValue](), list[list[SSAValue]]()
        for place in places:
            scale, *zero = self.right.parameters(b, place)
            scales.append(scale)
            numbers.append(self.right.numbers(b, self.right.word(b, place), zero))

        def row(i: Index) -> None:
            values = self._row(i, first)
            for j in range(TOGETHER):
                total = m.mul(values[0], numbers[j][0])
                for value, number in zip(values[1:], numbers[j][1:], strict=True):
                    total = m.add(total, m.mul(value, number))
                at = [i, j]
                b.store(m.add(b.load(self.sums, at), m.mul(total, scales[j])), self.sums, at)

        b.unrolled(self.rows, row)

    def _row(self, row: Index, first: Index) -> list[SSAValue]:
        """The left-hand side's numbers under a word."""
        b, lanes = self.b, self.left.vector if self.left.by_depth else 1
        found: list[SSAValue] = []
        for start in range(0, self.count, lanes):
            tap = self.left.tap(b, b.add(first, start))
            numbers = read_numbers(b, self.left, self.left.row(b, row), tap, lanes)
            found += [numbers] if lanes == 1 else [b.extract(numbers, lane) for lane in range(lanes)]
        return found
