"""order-kernels: the calls of main in an order that needs less memory at its worst step.

before:  %a = graph.call @wide_a(%x)      // both wide values are live at once
         %b = graph.call @wide_b(%x)
         %c = graph.call @narrow_a(%a)
         %d = graph.call @narrow_b(%b)
after:   %a = graph.call @wide_a(%x)
         %c = graph.call @narrow_a(%a)    // %a is dead before %b is made
         %b = graph.call @wide_b(%x)
         %d = graph.call @narrow_b(%b)

Orders are scored with in-place results, views and scratch as mark-inplace would decide them for that order, in
bytes as plan-arena counts them: `disable` and `alignment` are those of these passes. The new order is taken only
where its peak is lower than that of the given one, and no higher once elide-copies has run on both; otherwise
nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ...dialects.graph import CallOp, ReshapeOp
from ...dialects.kernel import target_of
from ..statistics import count
from .analysis.aliasing import Program, disabled_ops, read_program, share
from .analysis.buffers import ALIGNMENT, check_alignment, kernels_of, main_of
from .analysis.order_search import BUDGET, better_order
from .bufferize import Bufferize
from .elide_copies import ElideCopies
from .mark_inplace import MarkInplace
from .plan_arena import most_live


@dataclass(frozen=True)
class OrderKernels(ModulePass):
    """The calls of main in an order that needs less memory at its worst step."""

    name = "order-kernels"
    budget: int = BUDGET
    """How many times the search may try a task."""
    disable: tuple[str, ...] = ()
    """Graph ops whose kernels never work in place, as mark-inplace is told."""
    alignment: int = ALIGNMENT
    """Bytes; that of plan-arena."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        check_alignment(self.name, self.alignment)
        program = self._read(op)
        order = better_order(program, self.budget)
        given = range(len(program.tasks))
        if order is None or share(program, order).peak >= share(program, given).peak:
            return
        if self._bytes_needed(ctx, op, order) <= self._bytes_needed(ctx, op, given):
            _reorder(main, program, order)
            moved = sum(task != step for step, task in enumerate(order))
            count(ctx, self.name, "moved-calls", moved)

    def _read(self, module: ModuleOp) -> Program:
        threads, disabled = target_of(module).threads.data, disabled_ops(self.name, self.disable)
        return read_program(main_of(module, self.name), kernels_of(module), threads, disabled, self.alignment)

    def _bytes_needed(self, ctx: Context, module: ModuleOp, order: Sequence[int]) -> int:
        """The most bytes live at one step once the passes up to plan-arena have run on the order: tried on a copy."""
        trial, apart = module.clone(), ctx.clone()
        main = main_of(trial, self.name)
        _reorder(main, self._read(trial), order)
        for each in (MarkInplace(self.disable), Bufferize(), ElideCopies(self.alignment)):
            each.apply(apart, trial)
        return most_live(main, self.alignment)


def _reorder(main: func.FuncOp, program: Program, order: Sequence[int]) -> None:
    """Puts the calls into the order; each reshape follows what it reshapes, the rest stays in front."""
    block = main.body.block
    last = block.last_op
    assert last is not None
    for task in order:
        call = program.calls[task]
        call.detach()
        block.insert_op_before(call, last)
    _follow_operands(block)


def _follow_operands(block: Block) -> None:
    """Moves reshapes of call results directly behind the op that makes their operand."""
    for op in [op for op in block.ops if isinstance(op, ReshapeOp)]:
        maker = op.x.owner
        if isinstance(maker, CallOp | ReshapeOp):
            op.detach()
            block.insert_op_after(op, maker)
