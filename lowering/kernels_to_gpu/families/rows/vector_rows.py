"""Matrix-vector products: every thread sums part of the depth for some columns, then lanes and warps are reduced.

Right-hand sides that are contiguous along columns, for each thread:

    for its depths: sums[row][column] += left[row] * (four columns of the right-hand side, one load)
    lanes of a warp with the same columns are added by shuffles, warps through shared memory

and those that are contiguous along the depth:

    for its depths, four at a time: sums[row] += ...
    the lanes that share a column are adjacent, and are added by shuffles

Block-quantised ones are in block_weight_rows.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import vector as vector_ops
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from .....passes.kernels.forms.contraction import contraction_form
from .....passes.kernels.schedules.cuda.vector_rows import UNROLLED, VectorRows
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP, ThreadBuilder
from ...warp_reductions import add_lanes
from ..products.operands import Operand, left_operand, read_numbers, right_operand
from ..products.outputs import Output, OutputWriter
from . import block_weight_rows


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    schedule, form = k.schedule_as(VectorRows), contraction_form(k.kernel)
    if form.blocks is not None:
        block_weight_rows.lower(k)
        return
    output = Output(k, form)
    batch, rows, columns = output.sizes
    lanes = output.lanes(4)

    def write(grid: Grid) -> None:
        b = grid.b
        product: Index = b.block_id(1) if batch != 1 else 0
        left, right = left_operand(k, grid, form, product), right_operand(k, grid, form, product)
        together = 1 if right.by_depth else right.vector
        across = schedule.columns // together
        along = schedule.block // across
        slot, part = (
            (b.div(grid.lane, along), b.rem(grid.lane, along))
            if right.by_depth
            else (b.rem(grid.lane, across), b.div(grid.lane, across))
        )
        slot, part = b.named(slot, "slot"), b.named(part, "part")
        column = b.add(b.mul(b.block_id(0), schedule.columns), b.mul(slot, together))
        sums = b.private(f32, (rows, together), "sums")
        _each(b, rows, together, lambda i, j: b.store(b.constant(0.0, f32), sums, [i, j]))
        _Sums(b, left, right, sums, rows, together, b.named(column, "column"), columns).add_up(part, along)
        writer = output.writer(grid, product)
        if right.by_depth:
            assert along <= WARP
            add_lanes(b, sums, rows, together, [along >> i for i in range(1, along.bit_length())], along)
            mine = b.conjunction(b.compare("eq", part, 0), b.compare("slt", column, columns))
            b.when(mine, lambda: _write(b, writer, sums, rows, column, together, lanes))
        else:
            assert across <= WARP
            add_lanes(b, sums, rows, together, [1 << i for i in range(4, across.bit_length() - 2, -1)], WARP)
            _add_warps(b, grid, sums, rows, together, across)
            mine = b.conjunction(b.compare("slt", grid.lane, across), b.compare("slt", column, columns))
            b.when(mine, lambda: _write(b, writer, sums, rows, column, together, lanes))

    blocks = -(-columns // schedule.columns)
    k.launch((blocks, batch, 1), schedule.block, write)


def _each(b: ThreadBuilder, rows: int, columns: int, body: Callable[[Index, Index], None]) -> None:
    b.unrolled(rows, lambda i: b.unrolled(columns, lambda j: body(i, j)))


@dataclass
class _Sums:
    """The sums of one thread: `rows` by `together` columns from `column` on."""

    b: ThreadBuilder
    left: Operand
    right: Operand
    sums: SSAValue
    rows: int
    together: int
    column: Index
    columns: int

    def add_up(self, part: Index, parts: int) -> None:
        """Accumulates every `parts`-th piece of the depth, from piece `part` on."""
        b, piece = self.b, self.right.vector if self.right.by_depth else 1
        last = self.columns - self.together
        self._right_row = self.right.row(b, b.min(self.column, last))
        pieces = self.right.depth // piece
        whole = pieces // (parts * UNROLLED)

        def several(i: Index, _: Sequence[SSAValue]) -> None:
            def one(j: Index) -> None:
                number = b.add(b.mul(b.add(b.mul(i, UNROLLED), j), parts), part)
                self._add(b.mul(number, piece), piece)

            b.unrolled(UNROLLED, one)

        b.loop(0, whole, several)

        def single(i: Index, _: Sequence[SSAValue]) -> None:
            number = b.add(b.mul(i, parts), part)
            inside = b.compare("slt", number, pieces)
            b.when(inside, lambda: self._add(b.mul(number, piece), piece))

        b.loop(whole * UNROLLED, -(-pieces // parts), single)

    def _add(self, depth: Index, piece: int) -> None:
        """Adds the products of `piece` depths."""
        b, m = self.b, Arithmetic(self.b, f32)
        depth = b.named(depth, "depth")
        tap = self.right.tap(b, depth)
        weights = read_numbers(b, self.right, self._right_row, tap, self.right.vector)
        wide = piece > 1 and self.left.by_depth and self.left.vector >= piece
        taps = self.left.tap(b, depth)

        def row(i: Index) -> None:
            state = self.left.row(b, i)
            if wide:
                numbers = read_numbers(b, self.left, state, taps, piece)
                self._along(i, [self._lane(numbers, lane) for lane in range(piece)], weights)
            elif piece > 1:
                each = [self.left.tap(b, b.add(depth, lane)) for lane in range(piece)]
                self._along(i, [read_numbers(b, self.left, state, tap, 1) for tap in each], weights)
            else:
                number = read_numbers(b, self.left, state, taps, 1)
                for lane in range(self.together):
                    weight = weights if self.together == 1 else self._lane(weights, lane)
                    total = b.load(self.sums, [i, lane])
                    b.store(m.add(total, m.mul(number, weight)), self.sums, [i, lane])

        b.unrolled(self.rows, row)

    def _along(self, i: Index, numbers: Sequence[SSAValue], weights: SSAValue) -> None:
        b, m = self.b, Arithmetic(self.b, f32)
        total = b.load(self.sums, [i, 0])
        for lane, number in enumerate(numbers):
            total = m.add(total, m.mul(number, self._lane(weights, lane)))
        b.store(total, self.sums, [i, 0])

    def _lane(self, value: SSAValue, lane: int) -> SSAValue:
        return self.b.insert(vector_ops.ExtractOp(value, [lane], f32))


def _add_warps(b: ThreadBuilder, grid: Grid, sums: SSAValue, rows: int, together: int, across: int) -> None:
    """Reduces over all warps in order; the first threads get the result."""
    warps = grid.block // WARP
    if warps == 1:
        return
    warp, lane = b.div(grid.lane, WARP), b.rem(grid.lane, WARP)
    shared = b.shared(f32, (warps, rows, together, across), "warp_sums")

    def put() -> None:
        _each(b, rows, together, lambda i, j: b.store(b.load(sums, [i, j]), shared, [warp, i, j, lane]))

    b.when(b.compare("slt", lane, across), put)
    b.barrier()

    def take(i: Index, j: Index) -> None:
        def add(each: Index, carried: Sequence[SSAValue]) -> list[SSAValue]:
            return [Arithmetic(b, f32).add(carried[0], b.load(shared, [each, i, j, grid.lane]))]

        (total,) = b.loop(1, warps, add, carried=[b.load(shared, [0, i, j, grid.lane])])
        b.store(total, sums, [i, j])

    b.when(b.compare("slt", grid.lane, across), lambda: _each(b, rows, together, take))


def _write(
    b: ThreadBuilder, writer: OutputWriter, sums: SSAValue, rows: int, column: Index, together: int, lanes: int
) -> None:
    lanes = min(lanes, together)

    def row(i: Index) -> None:
        def group(j: Index) -> None:
            first = b.mul(j, lanes)
            value = b.load(sums, [i, first]) if lanes == 1 else b.vload(sums, [i, first], lanes)
            writer.write(i, b.add(column, first), value, lanes)

        b.unrolled(together // lanes, group)

    b.unrolled(rows, row)
