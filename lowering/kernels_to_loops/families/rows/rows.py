"""Reductions, softmax and normalisations: a few passes per row, with rows distributed over threads.

    for each row:                                  lanes along the row, or across rows if these are innermost
        pass 1: x of the row is evaluated (and kept in scratch unless x is an operand); sum, or maximum
        pass 2: squares of deviations summed; or exponentials, kept and summed
        pass 3: results with their epilogue are stored

Sums are accumulated in the lanes of several registers and combined at the end, which is both fast and accurate. The
passes of each kind of root are in row_ops.py.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType

from .....dialects.graph.ops.reduction import CumulativeOp
from .....dialects.graph.values import shape_of
from .....dialects.sizes.sizes import bounds_of
from .....passes.kernels.forms.rows import RowForm, the_row_form
from .....passes.kernels.schedules.cpu.rows import Rows
from ....kernel_code.domain import Canvas, Domain, Trial, domain_for
from ....kernel_code.elements.element_values import Values
from ....kernel_code.index_expr import Expr
from ....kernel_code.lane_access import NotVectorisable
from ....kernel_code.loop_builder import memref_type, strides_of
from ....kernel_code.row_elements import RowElements
from ....kernel_code.row_ops import write_row
from ...kernel_instance import KernelInstance
from ...nests import Lanes, write_nest
from .row_sweep import Sweep


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    form = the_row_form(k.kernel)
    if all(0 not in shape_of(value) for value in k.yielded):
        _RowWriter(k, form).write()


class _RowWriter:
    """Plans and builds the loops of one kernel."""

    def __init__(self, k: KernelInstance, form: RowForm) -> None:
        self.k = k
        self.form = form
        self.elements = RowElements(k.kernel, form)

    def write(self) -> None:
        """Builds the loops over rows, and over each row's elements."""
        k, form = self.k, self.form
        domain, lanes = self._loops()
        values = Values(k.b, k.kernel, k.operands)
        values.lanes_are_settled = form.along and lanes is not None
        canvas = Canvas(values, [values.line(buffer) for buffer in k.results])
        kept = k.scratch_part("row") if form.keeps_row else None
        along = lanes if form.along else None
        rows, row = domain.part(0), domain.part(1)
        sweep = Sweep(values, row.groups[0], row.pieces(), along, kept)

        def every(canvas: Canvas, index: list[Expr]) -> None:
            write_row(self.elements.row(canvas, sweep, index[0], keeps=form.keeps_row and not form.plain))

        write_nest(k, canvas, rows, every, None if form.along else lanes)

    def _loops(self) -> tuple[Domain, Lanes | None]:
        """The loops over rows, merged as the buffers allow, and over a row, as dense buffers would.

        The order in which a row's elements are added must not depend on the layout of buffers.
        """
        k, sizes = self.k, [self.elements.outer_shape, self.elements.inner_shape]
        given = [memref_type(value) for value in (*k.operands, *k.results)]
        dense = [MemRefType(type.element_type, type.get_shape()) for type in given]
        count = len(k.operands)
        plain = Trial(k.kernel, dense[:count], dense[count:])
        domain = domain_for(plain, sizes, self.elements.once)
        if all(strides_of(a) == strides_of(b) for a, b in zip(given, dense, strict=True)):
            return domain, self._lanes(plain, domain)
        actual = Trial(k.kernel, given[:count], given[count:])
        mixed = domain_for(actual, sizes, self.elements.once).with_part(1, domain)
        return mixed, self._lanes(plain, domain) if self.form.along else self._lanes(actual, mixed)

    def _lanes(self, trial: Trial, domain: Domain) -> Lanes | None:
        """Lanes along the last axis of the row, or across rows; None where elements need scalar code."""
        k, form = self.k, self.form
        rows = len(domain.groups[0])
        last = len(domain.axes()) - 1 if form.along else rows - 1
        options = k.schedule_as(Rows)
        if isinstance(form.root, CumulativeOp) and form.along:
            return None
        if bounds_of(domain.size(domain.axes()[last]))[1] < 2:
            return None
        try:
            written = trial.write(domain, self.elements.once, vector=last, lanes=2)
        except NotVectorisable:
            return None
        if any(values.lanes.one_by_one for _, values in written):
            return None
        return Lanes(last - rows if form.along else last, options.lanes, options.vector)
