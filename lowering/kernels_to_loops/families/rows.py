"""Reductions, softmax and normalisations: a row in a few passes, each thread its share of the rows.

    for each row:                                  lanes along the row, or across rows where these are
    innermost
        pass 1: x of the row is evaluated (and kept in scratch unless x is an operand); sum, or maximum
        pass 2: squares of deviations summed; or exponentials, kept and summed
        pass 3: results, and what is fused behind them, are stored

Sums run in the lanes of several registers and are put together at the end, which is both fast and exact.
What a pass does for each kind of root is in row_ops.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ....dialects.graph.movement import ReshapeOp, TransposeOp
from ....dialects.graph.reduction import CumsumOp
from ....dialects.graph.values import element_type_of_value, ints, shape_of
from ....passes.geometry.boxes import row_major
from ....passes.kernels.forms.rows import RowForm, the_row_form
from ....passes.kernels.schedules.cpu.rows import Rows
from ..elements.rules import element_values
from ..elements.values import Values, aligned
from ..instance import KernelInstance
from ..lanes.domain import Canvas, Domain, Trial, domain_for
from ..lanes.nests import Lanes, write_nest
from ..writing.arithmetic import convert, signless, wide_float
from ..writing.builder import memref_type, strides_of
from ..writing.index_expr import Expr, delinearize, linear
from ..writing.lane_access import NotVectorisable
from ..writing.reductions import Reduction
from .row_ops import Row, result_at, write_row
from .row_sweep import Sweep


def lower(k: KernelInstance) -> None:
    """Write the kernel's loops."""
    form = the_row_form(k.kernel)
    if all(0 not in shape_of(value) for value in k.yielded):
        _RowWriter(k, form).write()


class _RowWriter:
    """Plans the loops of one kernel and writes them."""

    def __init__(self, k: KernelInstance, form: RowForm) -> None:
        self.k = k
        self.form = form
        shape = shape_of(form.root.x)
        self.outer_axes = [axis for axis in range(len(shape)) if axis not in form.axes]
        self.outer_shape = [shape[axis] for axis in self.outer_axes]
        self.inner_shape = [shape[axis] for axis in form.axes]

    def write(self) -> None:
        """The loops over rows, and over each row's elements."""
        k, form = self.k, self.form
        domain, lanes = self._loops()
        values = element_values(k.b, k.kernel, k.operands)
        values.lanes_are_settled = form.along and lanes is not None
        canvas = Canvas(values, [values.line(buffer) for buffer in k.results])
        kept = k.scratch_part("row") if form.keeps_row else None
        along = lanes if form.along else None
        rows, row = domain.part(0), domain.part(1)
        sweep = Sweep(values, row.groups[0], row.pieces(), along, kept)

        def every(canvas: Canvas, index: list[Expr]) -> None:
            self._row(canvas, sweep, index[0])

        write_nest(k, canvas, rows, every, None if form.along else lanes)

    def _loops(self) -> tuple[Domain, Lanes | None]:
        """The loops over rows, as the buffers allow, and over a row, as dense buffers would.

        How a row is walked says in which order its elements are added, and where a buffer lies may not change that.
        """
        k, sizes = self.k, [self.outer_shape, self.inner_shape]
        given = [memref_type(value) for value in (*k.operands, *k.results)]
        dense = [MemRefType(type.element_type, type.get_shape()) for type in given]
        count = len(k.operands)
        plain = Trial(k.kernel, dense[:count], dense[count:])
        domain = domain_for(plain, sizes, self._once)
        if all(strides_of(a) == strides_of(b) for a, b in zip(given, dense, strict=True)):
            return domain, self._lanes(plain, domain)
        actual = Trial(k.kernel, given[:count], given[count:])
        mixed = domain_for(actual, sizes, self._once).with_part(1, domain)
        return mixed, self._lanes(plain, domain) if self.form.along else self._lanes(actual, mixed)

    def _lanes(self, trial: Trial, domain: Domain) -> Lanes | None:
        """Lanes along the last axis of the row, or of the rows; None where elements need their own code."""
        k, form = self.k, self.form
        rows = len(domain.groups[0])
        last = len(domain.axes()) - 1 if form.along else rows - 1
        options = k.schedule_as(Rows)
        if isinstance(form.root, CumsumOp) and form.along:
            return None
        if domain.size(domain.axes()[last]) < 2:
            return None
        try:
            written = trial.write(domain, self._once, vector=last, lanes=2)
        except NotVectorisable:
            return None
        if any(values.lanes.one_by_one for _, values in written):
            return None
        return Lanes(last - rows if form.along else last, options.lanes, options.vector)

    def _x_index(self, outer: Expr, position: Expr) -> list[Expr]:
        """An index of x from a row's number and a position in the row."""
        result = [Expr()] * (len(self.outer_axes) + len(self.form.axes))
        for axes, sizes, flat in (
            (self.outer_axes, self.outer_shape, outer),
            (self.form.axes, self.inner_shape, position),
        ):
            for axis, i in zip(axes, delinearize(flat, sizes), strict=True):
                result[axis] = i
        return result

    def _root_index(self, outer: Expr, position: Expr | None) -> list[Expr]:
        """The index of the root's result."""
        if position is not None:
            return self._x_index(outer, position)
        shape = shape_of(self.form.root.result)
        own = delinearize(outer, self.outer_shape)
        if len(shape) == len(own):
            return own
        result = [Expr()] * len(shape)
        for axis, i in zip(self.outer_axes, own, strict=True):
            result[axis] = i
        return result

    def _once(self, canvas: Canvas, index: list[Expr]) -> None:
        """All accesses of one element, for the planner."""
        v, root = canvas.values, self.form.root
        outer, position = index
        element = signless(wide_float(element_type_of_value(root.x)))
        value = v.at(root.x, self._x_index(outer, position))
        if not self.form.keeps_shape:
            self._emit(canvas, outer, None, v.b.constant(0, signless(element_type_of_value(root.result))))
            return
        row = Row(v, self.form, _NoPasses(), lambda p: self._x_index(outer, p), lambda _, __: None)
        value = convert(v.b, value, element_type_of_value(root.x), element)
        self._emit(canvas, outer, position, result_at(row, position, value))

    def _row(self, canvas: Canvas, sweep: Sweep, outer: Expr) -> None:
        """One row, or a vector of rows."""

        def emit(position: Expr | None, value: SSAValue) -> None:
            self._emit(canvas, outer, position, value)

        write_row(Row(canvas.values, self.form, sweep, lambda p: self._x_index(outer, p), emit))

    def _emit(self, canvas: Canvas, outer: Expr, position: Expr | None, value: SSAValue) -> None:
        """Store every result whose element this is, given the root's (wide) element."""
        v, root = canvas.values, self.form.root
        target = element_type_of_value(root.result)
        value = convert(v.b, value, wide_float(target), target)
        known = self._forward(v, self._root_index(outer, position), value)
        places = [
            known[result] if result in known else self._x_index(outer, _given(position)) for result in self.k.yielded
        ]
        computed = [v.at(result, place) for result, place in zip(self.k.yielded, places, strict=True)]
        for element, place, buffer in zip(computed, places, canvas.results, strict=True):
            v.store(element, buffer, linear(place, buffer.strides))

    def _forward(self, v: Values, index: Sequence[Expr], value: SSAValue) -> dict[SSAValue, list[Expr]]:
        """Where the root's element `value` at `index` goes in each value behind the root.

        It is made known at all those places. Asked for under another index it would be computed again, from a row
        that may have been written over.
        """
        root = self.form.root.result
        known: dict[SSAValue, list[Expr]] = {root: aligned(index, shape_of(root))}
        v.seed(root, known[root], value)
        for op in self.k.body:
            source = next((operand for operand in op.operands if operand in known), None)
            if source is None:
                continue
            result = op.results[0]
            known[result] = aligned(_moved(op, known[source]), shape_of(result))
            if isinstance(op, TransposeOp | ReshapeOp):
                v.seed(result, known[result], v.at(source, known[source]))
        return known


def _moved(op: Operation, index: list[Expr]) -> list[Expr]:
    """Where an operand's element goes in the result of an op behind a row root."""
    if isinstance(op, TransposeOp):
        return [index[axis] for axis in ints(op.permutation)]
    if isinstance(op, ReshapeOp):
        return delinearize(linear(index, row_major(shape_of(op.x))), shape_of(op.result))
    return index


def _given(position: Expr | None) -> Expr:
    assert position is not None
    return position


class _NoPasses:
    """Stands in where only single elements are asked for."""

    def run(self, reductions: Sequence[Reduction], body: Callable[[Expr], Sequence[SSAValue]]) -> list[SSAValue]:
        raise AssertionError

    def keep(self, position: Expr, value: SSAValue) -> None:
        raise AssertionError

    def kept_at(self, position: Expr) -> SSAValue:
        raise AssertionError
