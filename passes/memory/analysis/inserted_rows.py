"""Whether rows that are inserted into a value replace those that are read of it as it was before."""

from __future__ import annotations

from collections.abc import Iterator

from ....dialects.graph.ops.rows import ExtractRowsOp, InsertRowsOp
from ....dialects.graph.values import shape_of
from .turn_numbers import numbers_of


def replaces_read_rows(insert: InsertRowsOp) -> bool:
    """Whether in some turn of the loops around it rows are inserted in the place of some that are read in this turn.

    The reads may be made after the rows that are inserted, in whichever order calls are.
    """
    for extract in _extracts_before(insert):
        written, read = numbers_of(insert.row, extract.row)
        end = written + shape_of(insert.new)[insert.axis.value.data]
        if bool(((written < read + extract.size.value.data) & (read < end)).any()):
            return True
    return False


def _extracts_before(insert: InsertRowsOp) -> Iterator[ExtractRowsOp]:
    """The rows that are read of the value as it was before, or any time before in its block."""
    value = insert.into
    while True:
        yield from (use.operation for use in value.uses if isinstance(use.operation, ExtractRowsOp))
        if not isinstance(value.owner, InsertRowsOp) or value.owner.parent is not insert.parent:
            return
        value = value.owner.into
