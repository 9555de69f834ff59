"""One row times a matrix that is no weight, whose elements are read once, in the order of memory.

for item in this thread's share:              item = (product, register of columns), or (product, block of columns)
    columns' elements side by side along the contracted dimension:
        a register of sums for each column; transposed and added, they are the columns' results
    elements of the matrix' rows side by side:
        scratch = 0;   for some rows at a time: scratch += sum of row[k] * matrix[k, block]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import SSAValue

from .....dialects.graph.ops.contraction import MatmulOp
from .....dialects.graph.values import shape_of
from .....dialects.sizes.sizes import is_fixed
from .....passes.geometry.strided_views import StridedView
from .....passes.kernels.forms.contraction import contraction_form
from .....passes.kernels.schedules.cpu.products.one_row import (
    OneRow,
    contiguous_along,
    depth_and_column,
    depth_of_row,
)
from .....passes.kernels.schedules.cpu.products.tiled_product import depth_of
from .....passes.kernels.schedules.cpu.tuning import ONE_ROW_COLUMNS
from ....kernel_code.arithmetic import Arithmetic, loaded, stored
from ....kernel_code.loop_builder import Index, memref_type, strides_of
from ....kernel_code.register_transposes import transposed
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import FusedOps
from .contraction_nest import aligned_strides, argument_buffer

_STREAMS, _PARTS = 4, 4  # columns that are read at a time, each in parts: 16 sums, which hide the latency of additions
_ROWS = 8  # of the matrix that are added at a time: streams that are read ahead, and fewer stores of sums


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    _OneRow(k).write()


class _OneRow:
    """The code of one kernel."""

    def __init__(self, k: KernelInstance) -> None:
        self.k, self.b, self.lanes = k, k.b, k.schedule_as(OneRow).lanes
        form = contraction_form(k.kernel)
        assert isinstance(form.root, MatmulOp)
        self.root, self.epilogue = form.root, FusedOps.of(k, form, True)
        *self.outer, self.columns = shape_of(form.root.result)
        self.depth = depth_of(form.root)
        self.vector = VectorType(f32, [self.lanes])
        self.m = Arithmetic(self.b, self.vector)

    def write(self) -> None:
        """All items."""
        b, along = self.b, contiguous_along(self.root)
        size = self.lanes if along == "depth" else max(ONE_ROW_COLUMNS, self.lanes)
        blocks = -(-self.columns // size)

        def item(i: Index) -> None:
            group, block = b.delinearize(i, [prod(self.outer), blocks])
            index, first = b.delinearize(group, self.outer), b.mul(block, size)
            left, right = self.k.window(self.root.lhs), self.k.window(self.root.rhs)
            step = depth_of_row(tuple(left.strides), self.root)
            steps = depth_and_column(tuple(right.strides), self.root)
            row = b.view(self._place(left, index), 0, [self.depth], [step])
            matrix = b.view(self._place(right, index), 0, [self.depth, self.columns], steps)
            if along == "depth":
                matrix = b.view(matrix, 0, [self.columns, self.depth], [steps[1], 1])
                self._dots(index, row, matrix, first)
            else:
                self._sums(index, row, matrix, first, b.min(b.sub(self.columns, first), size))

        self.k.items(prod(self.outer) * blocks, item)

    def _place(self, view: StridedView, index: Sequence[Index]) -> SSAValue:
        """The address of an operand's matrix of a product."""
        own = [0 if size == 1 else stride for size, stride in zip(view.sizes, view.strides, strict=True)][:-2]
        batch = index[:-1]
        return self.b.place(view.base, self.b.linear(batch[len(batch) - len(own) :], own, view.offset))

    def _dots(self, index: Sequence[Index], row: SSAValue, matrix: SSAValue, first: Index) -> None:
        """A register of columns, [column, depth] in memory; those beyond the last one are that one again."""
        b, lanes = self.b, self.lanes
        numbers = [b.min(b.add(first, lane), self.columns - 1) for lane in range(lanes)]
        sums = [
            s for at in range(0, lanes, _STREAMS) for s in self._some_dots(row, matrix, numbers[at : at + _STREAMS])
        ]
        columns = transposed(b, sums)
        while len(columns) > 1:
            half = len(columns) // 2
            columns = [self.m.add(x, y) for x, y in zip(columns[:half], columns[half:], strict=True)]
        self._store(index, columns[0], first, self._valid(b.sub(self.columns, first)))

    def _some_dots(self, row: SSAValue, matrix: SSAValue, numbers: Sequence[Index]) -> list[SSAValue]:
        """For each of a few columns a register of sums."""
        b, lanes, depth = self.b, self.lanes, self.depth
        zero, parts = self.m.constant(0), range(_PARTS)

        def add(at: Index, sums: Sequence[SSAValue], valid: Index | None = None) -> list[SSAValue]:
            factor = b.vload(row, [at], lanes, valid)
            return [
                b.fma(b.vload(matrix, [n, at], lanes, valid), factor, s) for n, s in zip(numbers, sums, strict=True)
            ]

        def several(at: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
            count = len(numbers)
            each = [add(b.add(at, part * lanes), sums[part * count : (part + 1) * count]) for part in parts]
            return [s for some in each for s in some]

        long = depth // (lanes * _PARTS) * (lanes * _PARTS)
        all = b.loop(0, long, several, step=lanes * _PARTS, carried=[zero] * (_PARTS * len(numbers)))
        sums: Sequence[SSAValue] = [reduce(self.m.add, all[n :: len(numbers)]) for n in range(len(numbers))]
        whole = depth // lanes * lanes
        sums = b.loop(long, whole, add, step=lanes, carried=sums)
        return add(whole, sums, depth - whole) if not is_fixed(depth) or whole < depth else list(sums)

    def _valid(self, left: Index) -> Index:
        """How many of a register's columns there are, of those that are left."""
        whole = is_fixed(self.columns) and self.columns % self.lanes == 0
        return self.lanes if whole else self.b.min(left, self.lanes)

    def _sums(self, index: Sequence[Index], row: SSAValue, matrix: SSAValue, first: Index, count: Index) -> None:
        """A block of columns, [depth, column] in memory."""
        b, lanes = self.b, self.lanes
        sums = self.k.scratch_part("sums")
        b.loop(0, count, lambda j, _: b.vstore(self.m.constant(0), sums, [j]), step=lanes)

        def rows(number: int, at: Index) -> None:
            factors = [b.splat(b.load(row, [b.add(at, each)]), lanes) for each in range(number)]

            def register(j: Index, _: Sequence[SSAValue]) -> None:
                valid, column = self._valid(b.sub(count, j)), b.add(first, j)
                vectors = [b.vload(matrix, [b.add(at, each), column], lanes, valid) for each in range(number)]
                pairs = zip(vectors, factors, strict=True)
                b.vstore(reduce(lambda s, pair: b.fma(*pair, s), pairs, b.vload(sums, [j], lanes)), sums, [j])

            b.loop(0, count, register, step=lanes)

        whole = self.depth // _ROWS * _ROWS
        b.loop(0, whole, lambda at, _: rows(_ROWS, at), step=_ROWS)
        b.loop(whole, self.depth, lambda at, _: rows(1, at))

        def store(j: Index, _: Sequence[SSAValue]) -> None:
            self._store(index, b.vload(sums, [j], lanes), b.add(first, j), self._valid(b.sub(count, j)))

        b.loop(0, count, store, step=lanes)

    def _store(self, index: Sequence[Index], total: SSAValue, column: Index, valid: Index) -> None:
        """Stores a register of the result's columns, with what is fused."""
        b, k, lanes = self.b, self.k, self.lanes
        at = [*index, column]

        def load(value: SSAValue) -> SSAValue:
            steps = aligned_strides(k, value, len(at))
            place = b.place(argument_buffer(k, value), b.linear(at, steps))
            if steps[-1] == 0:
                return b.splat(loaded(b, b.load(place, [])), lanes)
            return loaded(b, b.vload(b.view(place, 0, [lanes], [1]), [0], lanes, valid))

        result = self.epilogue.emit(b, total, lanes, load)
        type = memref_type(k.results[0])
        target = b.view(b.place(k.results[0], b.linear(at, strides_of(type))), 0, [lanes], [1])
        b.vstore(stored(b, result, type.element_type), target, [0], valid)
