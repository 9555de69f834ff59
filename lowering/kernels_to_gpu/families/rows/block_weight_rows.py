"""Few rows times a block-quantised matrix: each warp reads the packed numbers of some columns once.

for each word of 4 bytes along the depth that is this lane's:
    numbers[column] = those of the word, less their zero point
    sums[row][column] += scale[column] * (left[row] * numbers[column])
the lanes of the warp are added by shuffles
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import ExtUIOp
from .....dialects.graph.ops.block_weight import BlockWeight
from .....dialects.graph.values import element_type_of_value
from .....passes.kernels.forms.contraction import contraction_form
from .....passes.kernels.schedules.cuda.vector_rows import BLOCK_UNROLLED, TOGETHER, WORD, VectorRows
from ....kernel_code.arithmetic import Arithmetic, convert, loaded
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP
from ...warp_reductions import add_lanes
from ..products.operands import Operand, left_operand, read_numbers
from ..products.outputs import Output

_WHOLE = 0x4B000000
"""The bits of 2^23 as f32, of which the last ones hold an integer below that."""


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
        words = _Words(grid, blocks, left_operand(k, grid, form, 0), sums, rows, column, columns)
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

    grid: Grid
    blocks: BlockWeight
    left: Operand
    sums: SSAValue
    rows: int
    column: Index
    columns: int

    def __post_init__(self) -> None:
        b = self.b = self.grid.b
        bits, self.block, depth, self.middle = self.blocks.numbers
        self.bits, self.count = bits, WORD * 8 // bits
        self.words = depth // self.count
        self.weight, self.scale = (self._buffer(each) for each in (self.blocks.weight, self.blocks.scale))
        self.zero = None if self.blocks.zero is None else self._buffer(self.blocks.zero)
        last = self.columns - 1
        self.at = [b.min(b.add(self.column, j), last) for j in range(TOGETHER)]

    def _buffer(self, value: SSAValue) -> SSAValue:
        buffer = self.grid.buffer_of(value)
        assert buffer is not None
        return buffer

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
        word = b.named(word, "word")
        first = b.mul(word, self.count)
        group = b.named(b.div(first, self.block), "group")
        scales = [self._number(self.blocks.scale, self.scale, [column, group]) for column in self.at]
        numbers = [self._numbers(column, word, group) for column in self.at]

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

    def _number(self, value: SSAValue, buffer: SSAValue, at: Sequence[Index]) -> SSAValue:
        """A scale or a zero point as f32."""
        element = element_type_of_value(value)
        return convert(self.b, loaded(self.b, self.b.load(buffer, at)), element, f32)

    def _numbers(self, column: Index, word: Index, group: Index) -> list[SSAValue]:
        """The numbers of a word, less their zero point: exactly, as floats between 2^23 and 2^24 less 2^23."""
        b, m, integers = self.b, Arithmetic(self.b, f32), Arithmetic(self.b, i32)
        taken = b.constant(float(2**23 + self.middle), f32)
        zero = None
        if self.blocks.zero is not None and self.zero is not None:
            zero = self._number(self.blocks.zero, self.zero, [column, group])
            taken = b.constant(float(2**23), f32)
        bytes_of_word = loaded(b, b.vload(self.weight, [column, b.mul(word, WORD)], WORD))
        found: list[SSAValue] = []
        for number in range(self.count):
            byte, place = divmod(number * self.bits, 8)
            value = b.insert(ExtUIOp(b.extract(bytes_of_word, byte), i32))
            if place:
                value = b.insert(arith.ShRUIOp(value, b.constant(place, i32)))
            if self.bits < 8:
                value = integers.binary("and", value, b.constant(2**self.bits - 1, i32))
            value = integers.binary("or", value, b.constant(_WHOLE, i32))
            value = m.sub(b.insert(arith.BitcastOp(value, f32)), taken)
            found.append(value if zero is None else m.sub(value, zero))
        return found
