"""insert-barriers: a barrier between two calls of which one touches bytes that the other writes.

before:  kernel.call @conv_0 ins(%x) outs(%a)
         kernel.call @conv_1 ins(%x) outs(%b)     // other bytes than the call above: no barrier
         kernel.call @add_0 ins(%a, %b) outs(%c)
after:   kernel.call @conv_0 ins(%x) outs(%a)
         kernel.call @conv_1 ins(%x) outs(%b)
         kernel.barrier
         kernel.call @add_0 ins(%a, %b) outs(%c)

Every thread runs all calls and does its share of each, so without a barrier a fast thread may be calls
ahead of a slow one. What conflicts is bytes: a read of what another call writes, and, as the arena is used
again and again, a write over what another call reads or writes, scratch included. Parts of one buffer that
share no byte (the children of a concatenation) don't conflict.

One scan forward: a barrier goes in front of the first call that conflicts with any since the last barrier,
which makes their number minimal. Around a loop or a branch, and at the end of a loop's body, there is one
always. A scalar that main reads from a buffer, to decide about a loop or a branch, is read like by a call. Needs
plan-arena.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ...dialects.errors import PlanError
from ...dialects.graph.host import inner_blocks, main_of
from ...dialects.kernel.calls import BarrierOp
from ..statistics import count
from .analysis.buffers import Places, argument_with_role
from .analysis.host import Step
from .analysis.touched import Touched


@dataclass(frozen=True)
class InsertBarriers(ModulePass):
    """A barrier between two calls of which one touches bytes that the other writes."""

    name = "insert-barriers"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        if argument_with_role(main, "arena") is None:
            raise PlanError("insert-barriers: main has no argument with the role 'arena'; run plan-arena first")
        scan = _Scan()
        scan.block(main.body.block)
        count(ctx, self.name, "barrier", scan.inserted)


class _Scan:
    def __init__(self) -> None:
        self.places = Places()
        self.pending = Touched()  # since the last barrier
        self.inserted = 0

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            if isinstance(op, BarrierOp):
                self.pending = Touched()
            elif isinstance(op, Step):
                touched = Touched.by(op, self.places)
                if self.pending.conflicts(touched):
                    self.barrier(op)
                self.pending.add(touched)
            elif op.regions:
                self.around(op)

    def around(self, op: Operation) -> None:
        """A loop or a branch stands between barriers, and so does each turn of it."""
        self.barrier(op)
        for inner in inner_blocks(op):
            self.pending = Touched()
            self.block(inner)
            last = inner.last_op
            assert last is not None
            self.barrier(last)

    def barrier(self, place: Operation) -> None:
        """A barrier in front of `place`; nothing is pending behind it."""
        block = place.parent
        assert block is not None
        block.insert_op_before(BarrierOp.create(), place)
        self.pending = Touched()
        self.inserted += 1
