"""insert-barriers: a barrier between calls with conflicting accesses, at least one of them a write.

before:  kernel.call @conv_0 ins(%x) outs(%a)
         kernel.call @conv_1 ins(%x) outs(%b)     // disjoint from the call above: no barrier
         kernel.call @add_0 ins(%a, %b) outs(%c)
after:   kernel.call @conv_0 ins(%x) outs(%a)
         kernel.call @conv_1 ins(%x) outs(%b)
         kernel.barrier
         kernel.call @add_0 ins(%a, %b) outs(%c)

Every thread runs all calls and does its share of each, so without a barrier a fast thread may be calls ahead of a slow
one. Conflicts are between bytes: read after write and, since the arena's bytes are reused, write after read and write
after write, scratch included. Disjoint parts of one buffer (the operands of a concatenation) don't conflict.

One forward scan places a barrier before the first call that conflicts with any call since the last barrier, which makes
their number minimal. There is always one before and after a loop or a branch, and at the end of a loop's body. A scalar
that main reads to control a loop or a branch counts as a call's read. Needs plan-arena.
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
from .analysis.access_sets import AccessSets
from .analysis.buffers import Places, argument_with_role
from .analysis.main_steps import Step


@dataclass(frozen=True)
class InsertBarriers(ModulePass):
    """A barrier between calls with conflicting accesses, at least one of them a write."""

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
        self.pending = AccessSets()  # accesses since the last barrier
        self.inserted = 0

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            if isinstance(op, BarrierOp):
                self.pending = AccessSets()
            elif isinstance(op, Step):
                touched = AccessSets.by(op, self.places)
                if self.pending.conflicts(touched):
                    self.barrier(op)
                self.pending.add(touched)
            elif op.regions:
                self.around(op)

    def around(self, op: Operation) -> None:
        """Surrounds a loop or a branch with barriers, and separates a loop's iterations by one."""
        self.barrier(op)
        for inner in inner_blocks(op):
            self.pending = AccessSets()
            self.block(inner)
            last = inner.last_op
            assert last is not None
            self.barrier(last)

    def barrier(self, place: Operation) -> None:
        """Inserts a barrier before `place` and forgets the accesses before it."""
        block = place.parent
        assert block is not None
        block.insert_op_before(BarrierOp.create(), place)
        self.pending = AccessSets()
        self.inserted += 1
