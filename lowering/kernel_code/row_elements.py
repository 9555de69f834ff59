"""Indices of a row kernel's elements: those of x, of the root's result, and of the values computed from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...dialects.graph.ops.movement import ReshapeOp, TransposeOp
from ...dialects.graph.ops.structure import KernelOp, YieldOp
from ...dialects.graph.values import element_type_of_value, ints, shape_of
from ...passes.geometry.boxes import row_major
from ...passes.kernels.forms.rows import RowForm
from .arithmetic import convert, signless, wide_float
from .domain import Canvas
from .elements.element_values import Values, aligned
from .index_expr import Expr, delinearize, linear
from .row_ops import NoPasses, Passes, Row, result_at


@dataclass(frozen=True)
class RowElements:
    """The elements of a kernel, each by the number of its row and, for values per element, its position."""

    kernel: KernelOp
    form: RowForm

    @property
    def outer_axes(self) -> list[int]:
        """The axes of x over which rows are enumerated."""
        return [axis for axis in range(len(shape_of(self.form.root.x))) if axis not in self.form.axes]

    @property
    def outer_shape(self) -> list[int]:
        """Their sizes."""
        return [shape_of(self.form.root.x)[axis] for axis in self.outer_axes]

    @property
    def inner_shape(self) -> list[int]:
        """The sizes of the axes within a row."""
        return [shape_of(self.form.root.x)[axis] for axis in self.form.axes]

    def x_index(self, outer: Expr, position: Expr) -> list[Expr]:
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
            return self.x_index(outer, position)
        shape = shape_of(self.form.root.result)
        own = delinearize(outer, self.outer_shape)
        if len(shape) == len(own):
            return own
        result = [Expr()] * len(shape)
        for axis, i in zip(self.outer_axes, own, strict=True):
            result[axis] = i
        return result

    def once(self, canvas: Canvas, index: list[Expr]) -> None:
        """All accesses of one element, for the loop planner."""
        v, root = canvas.values, self.form.root
        outer, position = index
        element = signless(wide_float(element_type_of_value(root.x)))
        value = v.at(root.x, self.x_index(outer, position))
        if not self.form.keeps_shape:
            self.emit(canvas, outer, None, v.b.constant(0, signless(element_type_of_value(root.result))))
            return
        value = convert(v.b, value, element_type_of_value(root.x), element)
        self.emit(canvas, outer, position, result_at(self.row(canvas, NoPasses(), outer), position, value))

    def row(self, canvas: Canvas, passes: Passes, outer: Expr, *, keeps: bool = False) -> Row:
        """One row, or a vector of rows, whose results are stored as they are computed."""

        def emit(position: Expr | None, value: SSAValue) -> None:
            self.emit(canvas, outer, position, value)

        return Row(canvas.values, self.form, passes, lambda position: self.x_index(outer, position), emit, keeps)

    def emit(self, canvas: Canvas, outer: Expr, position: Expr | None, value: SSAValue) -> None:
        """Stores every result at this element, given the root's element in the wide type."""
        v, root, yielded = canvas.values, self.form.root, self.kernel.terminator.operands
        target = element_type_of_value(root.result)
        value = convert(v.b, value, wide_float(target), target)
        known = self._forward(v, self._root_index(outer, position), value)
        places = [known[result] if result in known else self.x_index(outer, _given(position)) for result in yielded]
        computed = [v.at(result, place) for result, place in zip(yielded, places, strict=True)]
        for element, place, buffer in zip(computed, places, canvas.results, strict=True):
            v.store(element, buffer, linear(place, buffer.strides))

    def _forward(self, v: Values, index: Sequence[Expr], value: SSAValue) -> dict[SSAValue, list[Expr]]:
        """The index of the root's element `value` at `index` in each value computed from it.

        It is bound at all those indices. At another index it would be recomputed, from a row that may have been
        overwritten.
        """
        root = self.form.root.result
        known: dict[SSAValue, list[Expr]] = {root: aligned(index, shape_of(root))}
        v.seed(root, known[root], value)
        for op in self.kernel.body.block.ops:
            source = next((operand for operand in op.operands if operand in known), None)
            if source is None or isinstance(op, YieldOp):
                continue
            result = op.results[0]
            known[result] = aligned(_moved(op, known[source]), shape_of(result))
            if isinstance(op, TransposeOp | ReshapeOp):
                v.seed(result, known[result], v.at(source, known[source]))
        return known


def _moved(op: Operation, index: list[Expr]) -> list[Expr]:
    """The index of an operand's element in the result of an op that follows a row root."""
    if isinstance(op, TransposeOp):
        return [index[axis] for axis in ints(op.permutation)]
    if isinstance(op, ReshapeOp):
        return delinearize(linear(index, row_major(shape_of(op.x))), shape_of(op.result))
    return index


def _given(position: Expr | None) -> Expr:
    assert position is not None
    return position
