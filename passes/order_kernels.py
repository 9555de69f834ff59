"""order-kernels: the calls of main in an order that needs less memory at its worst step.

before:  %a = graph.call @wide_a(%x)      // both wide values are live at once
         %b = graph.call @wide_b(%x)
         %c = graph.call @narrow_a(%a)
         %d = graph.call @narrow_b(%b)
after:   %a = graph.call @wide_a(%x)
         %c = graph.call @narrow_a(%a)    // %a is dead before %b is made
         %b = graph.call @wide_b(%x)
         %d = graph.call @narrow_b(%b)

Orders are scored with in-place results, views and scratch as mark-inplace would decide them for that order.
The new order is taken only where its peak is lower than that of the given one; otherwise nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ..dialects.graph import CallOp, ReshapeOp
from ..dialects.kernel import target_of
from .aliasing import Program, read_program, share
from .buffers import kernels_of, main_of
from .order_search import BUDGET, better_order
from .statistics import count


@dataclass(frozen=True)
class OrderKernels(ModulePass):
    """The calls of main in an order that needs less memory at its worst step."""

    name = "order-kernels"
    budget: int = BUDGET
    """How many times the search may try a task."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        program = read_program(main, kernels_of(op), target_of(op).threads.data)
        order = better_order(program, self.budget)
        if order is None:
            return
        given = share(program, range(len(program.tasks)))
        if share(program, order).peak < given.peak:
            _reorder(main, program, order)
            moved = sum(task != step for step, task in enumerate(order))
            count(ctx, self.name, "moved-calls", moved)


def _reorder(main: func.FuncOp, program: Program, order: list[int]) -> None:
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
