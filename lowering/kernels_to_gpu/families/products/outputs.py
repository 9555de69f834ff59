"""Epilogues of products: bias, fused ops and the store; for split-K, partial sums and the launch that adds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Block, SSAValue

from .....dialects.graph.ops.contraction import ConvOp
from .....dialects.graph.ops.normalization import NormalizeOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....passes.kernels.forms.contraction import ContractionForm
from .....passes.kernels.forms.product import product_shape
from .....passes.kernels.schedules.cuda.products import PARTIALS, sums_of
from ....kernel_code.arithmetic import Arithmetic, bits_of, convert
from ....kernel_code.elements.element_values import Values, aligned
from ....kernel_code.elements.moment_rules import know_statistics
from ....kernel_code.index_expr import Expr, Var, delinearize, linear
from ....kernel_code.lane_access import Line, NotVectorisable, Vector
from ....kernel_code.loop_builder import Index, LoopBuilder
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import ACCESS, ThreadBuilder
from .row_statistics import MomentsWriter, RowStatistics

Known: TypeAlias = Mapping[NormalizeOp, tuple[SSAValue, SSAValue]]
"""The mean and the scale of a row, for each op that normalises rows."""


@dataclass
class Output:
    """The kernel's result, indexed by product, row and column of the sums."""

    k: GpuKernel
    form: ContractionForm

    @cached_property
    def sizes(self) -> tuple[int, int, int]:
        """Number of products, rows and columns."""
        shape = product_shape(self.form.root)
        return shape.batch, shape.rows, shape.columns

    @property
    def sums(self) -> Attribute:
        """The type of the sums."""
        return sums_of(self.form)

    @property
    def depth(self) -> int:
        """Length of each dot product."""
        return product_shape(self.form.root).depth

    def lanes(self, most: int) -> int:
        """The number of adjacent columns stored at once, up to `most`: all accesses of the epilogue are vectors."""
        elements = (*self.k.kernel.arguments, *self.k.kernel.terminator.operands)
        lanes = min(most, ACCESS * 8 // max(32, *(bits_of(element_type_of_value(value)) for value in elements)))
        if min(self.k.aligned) < ACCESS:
            return 1
        while lanes > 1 and not (self.sizes[2] % lanes == 0 and self._runs(lanes)):
            lanes //= 2
        return lanes

    def _runs(self, lanes: int) -> bool:
        block = Block(arg_types=self.k.types)
        b = LoopBuilder(block)
        values = Values(b, self.k.kernel, [block.args[i] for i in self.k.operands], on_demand=True)
        line = values.line(block.args[self.k.results[0]])
        sums = b.constant(0, self.sums)
        at = [Var(b.index(0), 0, size - 1) for size in self.sizes]
        try:
            with values.vectorised(Vector(at[2], lanes, lanes)):
                zero = b.constant(0.0, f32)
                known = dict.fromkeys(self.form.normalises, (zero, zero))
                self._write(values, line, [Expr.of(each) for each in at], b.splat(sums, lanes), known)
        except NotVectorisable:
            return False
        return not values.lanes.one_by_one and all(_is_aligned(each, at[2], lanes) for each in values.touched)

    def writer(self, grid: Grid, batch: Index, statistics: Sequence[RowStatistics] = ()) -> OutputWriter:
        """The writer of one product's sums from registers, for this launch, with `statistics` of rows."""
        values = Values(grid.b, self.k.kernel, grid.operands)
        op = self.form.moments
        moments = None if op is None else MomentsWriter(grid, op, self.sizes[1])
        return OutputWriter(self, grid.b, values, values.line(grid.results[0]), batch, statistics, moments)

    def _write(
        self,
        values: Values,
        line: Line,
        at: Sequence[Expr],
        sums: SSAValue,
        known: Known,
        inside: SSAValue | None = None,
    ) -> SSAValue:
        """Applies the epilogue to sums at (product, row, column) and stores the result, where it is `inside`."""
        root, shape = self.form.root, product_shape(self.form.root)
        product, row, column = at
        inner = delinearize(row, shape.inner_sizes)
        if isinstance(root, ConvOp):
            index = [*inner, product * shape.columns + column]
        else:
            by_axis = dict(zip(shape.outer, delinearize(product, shape.outer_sizes), strict=True))
            by_axis |= dict(zip(shape.inner, inner, strict=True))
            index = [*(by_axis[axis] for axis in range(len(by_axis))), column]
        index = aligned(index, shape_of(root.results[0]))  # as `sums` is looked up
        b, element = values.b, element_type_of_value(root.results[0])
        if self.form.bias is not None:
            bias = convert(b, values.at(self.form.bias, [index[-1]]), element_type_of_value(self.form.bias), self.sums)
            sums, bias = values.alike([sums, bias])
            sums = Arithmetic(b, sums.type).add(sums, bias)
        values.seed(root.results[0], index, convert(b, sums, self.sums, element))
        for op, statistics in known.items():
            know_statistics(op, values, tuple(index[:-1]), *statistics)
        value = values.spread(values.at(self.k.kernel.terminator.operands[0], index))
        place = linear(index, line.strides)
        if inside is None:
            values.store(value, line, place)
        else:
            b.when(inside, lambda: values.store(value, line, place))
        return value

    def write(
        self,
        values: Values,
        line: Line,
        at: Sequence[Index],
        sums: SSAValue,
        lanes: int,
        known: Known | None = None,
        inside: SSAValue | None = None,
    ) -> SSAValue:
        """The same at an index; `sums` are those of `lanes` columns, `known` are means and scales of the row."""
        known = known or {}
        with values.scope():
            where = [
                Expr.of(i) if isinstance(i, int) else Expr.of(Var(i, 0, size - 1))
                for i, size in zip(at, self.sizes, strict=True)
            ]
            if lanes == 1:
                return self._write(values, line, where, sums, known, inside)
            along = Var(at[2], 0, self.sizes[2] - 1)
            with values.vectorised(Vector(along, lanes, lanes)):
                return self._write(values, line, [*where[:2], Expr.of(along)], sums, known, inside)


def _is_aligned(place: Expr, along: Var, lanes: int) -> bool:
    """Whether a position is the same for all lanes, or the first lane's is a multiple of `lanes`."""
    step = place.coefficient(along)
    if step == 0:
        return True
    others = [factor for atom, factor in place.terms if atom is not along]
    return step == 1 and all(each % lanes == 0 for each in (*others, place.constant))


@dataclass
class OutputWriter:
    """Applies the epilogue to a thread's sums of one product and stores the result."""

    output: Output
    b: ThreadBuilder
    values: Values
    line: Line
    batch: Index
    statistics: Sequence[RowStatistics] = ()
    moments: MomentsWriter | None = None

    def write(self, row: Index, column: Index, sums: SSAValue, lanes: int, inside: SSAValue | None = None) -> None:
        """Writes the results of `lanes` columns, which must all be in range, if the row is `inside`."""
        known = {each.op: each.of(row) for each in self.statistics}
        value = self.output.write(self.values, self.line, (self.batch, row, column), sums, lanes, known, inside)
        if self.moments is not None:
            self.moments.write(row, column, value, lanes, inside)


@dataclass
class PartialWriter:
    """Stores partial sums over a part of the depth unchanged."""

    output: Output
    b: ThreadBuilder
    partials: SSAValue
    split: Index
    batch: Index

    def write(self, row: Index, column: Index, sums: SSAValue, lanes: int) -> None:
        """Stores the sums of `lanes` columns."""
        place = [self.split, self.batch, row, column]
        if lanes == 1:
            self.b.store(sums, self.partials, place)
        else:
            self.b.vstore(sums, self.partials, place)


Writer = OutputWriter | PartialWriter
ADDING = 256  # threads of a block of the launch that adds partial sums


def add_partials(k: GpuKernel, output: Output, splits: int) -> None:
    """A launch that adds the partial sums in order of the depth and applies the epilogue."""
    batch, rows, columns = output.sizes
    lanes = output.lanes(4)
    items = batch * rows * (columns // lanes)
    blocks = -(-items // ADDING)

    def write(grid: Grid) -> None:
        b, partials = grid.b, grid.scratch_part(PARTIALS)
        values = Values(b, k.kernel, grid.operands)
        line = values.line(grid.results[0])

        def one(item: Index) -> None:
            product, row, group = b.delinearize(item, (batch, rows, columns // lanes))
            at = [product, row, b.mul(group, lanes)]

            def part(split: Index) -> SSAValue:
                place = [split, *at]
                return b.load(partials, place) if lanes == 1 else b.vload(partials, place, lanes)

            def add(split: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
                return [Arithmetic(b, sums[0].type).add(sums[0], part(split))]

            (sums,) = b.loop(1, splits, add, carried=[part(0)])
            output.write(values, line, at, sums, lanes)

        grid.items(items, one)

    k.launch(blocks, ADDING, write, part="sum")
