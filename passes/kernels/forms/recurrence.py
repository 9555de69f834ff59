"""The form "recurrence": its states between steps, for any device."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue

from ....dialects.errors import CompileError
from ....dialects.graph.base import describe
from ....dialects.graph.ops.recurrence import GruOp, LstmOp, RecurrenceOp
from ....dialects.graph.values import element_type_of_value


def check_recurrence(op: RecurrenceOp) -> None:
    """Raises CompileError for a recurrence with unsupported types."""
    check_floats(op, op.y)


def check_floats(op: Operation, value: SSAValue) -> None:
    """Raises CompileError for an op whose states have an unsupported type."""
    element = element_type_of_value(value)
    if element not in (f32, f64):
        raise CompileError(f"{describe(op)}: a recurrence on {element} is not supported; only f32 and f64 are")


def states_of(op: RecurrenceOp) -> tuple[str, ...]:
    """The states carried from step to step, in the order of the initial and final states."""
    return ("h", "c") if isinstance(op, LstmOp) else ("h",)


def between_phases(op: RecurrenceOp) -> tuple[str, ...]:
    """Values that a cell's first phase passes to its second."""
    return ("update", "reset_h") if isinstance(op, GruOp) and op.linear_before_reset is None else ()
