"""Loops with a known number of turns, which tell their turn the graph ops within.

%number, %results = scf.for %i = %c0 to %turns step %c1 iter_args(%n = %zero, %values = %given) {
  ..
  scf.yield %n + 1, ..
}
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.graph.ops.elementwise import AddOp
from ....dialects.graph.ops.movement import BroadcastToOp
from ....dialects.graph.ops.structure import ConstantOp
from ....dialects.graph.values import element_type_of_value, numpy_dtype, shape_of


class GraphWriter:
    """Inserts ops at a place; those without a location get the given one."""

    def __init__(self, here: InsertPoint, location: LocationAttr) -> None:
        self.here = here
        self.location = location

    def insert(self, op: Operation) -> SSAValue:
        """Inserts an op; returns its first result."""
        op.location = op.location or self.location
        Rewriter.insert_op(op, self.here)
        return op.results[0]

    def number(self, value: int) -> SSAValue:
        """A constant of type i64."""
        return self.insert(ConstantOp.from_numpy(np.array(value, np.int64)))

    def zeros(self, like: SSAValue, shape: Sequence[int] | None = None) -> SSAValue:
        """A value of zeros, which others replace, of the type of another or of another shape."""
        nothing = self.insert(ConstantOp.from_numpy(np.zeros((), numpy_dtype(element_type_of_value(like)))))
        return self.insert(BroadcastToOp(nothing, shape_of(like) if shape is None else shape))


class CountedLoop:
    """A loop that is being written: what its writer inserts is in the loop until it is closed."""

    def __init__(self, writer: GraphWriter, turns: int, given: Sequence[SSAValue]) -> None:
        self.writer = writer
        self.given = [writer.number(0), *given]
        self.one = writer.number(1)
        self.bounds = [writer.insert(arith.ConstantOp(IntegerAttr(each, IndexType()))) for each in (0, turns, 1)]
        self.block = Block(arg_types=[IndexType(), *(value.type for value in self.given)])
        self.outside, writer.here = writer.here, InsertPoint.at_end(self.block)
        self.index, self.number, *self.values = self.block.args

    def close(self, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Ends a turn with the values for the next one; returns those of the last, behind the loop."""
        after = self.writer.insert(AddOp(self.number, self.one))
        self.block.add_op(scf.YieldOp(after, *values))
        self.writer.here = self.outside
        start, end, step = self.bounds
        loop = scf.ForOp(start, end, step, self.given, self.block)
        self.writer.insert(loop)
        return loop.results[1:]
