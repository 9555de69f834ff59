"""The rows schedule: scratch for one row where it is computed once and read in several passes.

Lanes run along the row where the row is innermost in memory, so that a row is kept as it is; else they run
across rows, and a kept row is as many vectors as it has elements.
"""

from __future__ import annotations

from .....dialects.graph import KernelOp, element_type_of_value
from .....dialects.graph.values import numpy_dtype
from .....dialects.kernel import InterfaceAttr, ScheduleAttr, TargetAttr
from ...element_flow import same_place_pairs
from ...forms.rows import RowForm, row_form

# Registers that one vector takes: 4 keep enough sums in flight to hide the additions' latency. Where many values of
# each row are alive, and a row is kept for each lane, it is 2.
SUMMING, KEEPING = 4, 2


def schedule(kernel: KernelOp, target: TargetAttr) -> tuple[ScheduleAttr, InterfaceAttr]:
    """Whole rows at a time where the body allows it (`rows` = 1), else element by element."""
    form = row_form(kernel)
    per_thread = 0
    if form is None:
        inplace: list[tuple[int, int]] = []
        chosen = ScheduleAttr.of("rows", rows=0)
    else:
        native = target.lanes(8 * _item_bytes(form))
        lanes = native * (KEEPING if form.keeps_row and not form.along else SUMMING)
        if form.keeps_row:
            elements = form.length if form.along else form.length * lanes
            per_thread = -(-elements * _item_bytes(form) // 64) * 64  # whole cache lines, so whole registers
        inplace = same_place_pairs(kernel, (form.root,) if form.keeps_shape else ())
        chosen = ScheduleAttr.of("rows", rows=1, native=native, lanes=lanes)
    interface = InterfaceAttr.of(
        inplace=inplace,
        strided_operands=list(range(len(kernel.arguments))),
        strided_results=list(range(len(kernel.terminator.arguments))),
        per_thread=per_thread,
    )
    return chosen, interface


def _item_bytes(form: RowForm) -> int:
    """Bytes of a number as it is computed: 16-bit floats as 32 bits."""
    return max(4, numpy_dtype(element_type_of_value(form.root.x)).itemsize)
