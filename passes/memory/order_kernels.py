"""order-kernels: reorders the calls of main for a lower peak of live bytes.

before:  %a = graph.call @wide_a(%x)      // both wide values are live at once
         %b = graph.call @wide_b(%x)
         %c = graph.call @narrow_a(%a)
         %d = graph.call @narrow_b(%b)
after:   %a = graph.call @wide_a(%x)
         %c = graph.call @narrow_a(%a)    // %a is dead before %b is made
         %b = graph.call @wide_b(%x)
         %d = graph.call @narrow_b(%b)

A beam search finds an order, and a search through all sets of executed tasks goes on from there; mostly it proves at
once that no order is better. Orders are scored with the in-place results, views and scratch that mark-inplace would
choose for them, in bytes as plan-arena counts them: `disable` and `alignment` are those of these passes. A new order is
taken only where its peak is lower than that of the given one, and no higher once elide-copies has run on both;
otherwise nothing changes. The body of a loop or a branch is ordered separately; in the enclosing block it is one task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.graph.host import blocks_of, kernels_of, main_of
from ...dialects.kernel.targets import target_of
from ..statistics import count
from .analysis.aliasing import Program, disabled_ops, read_programs, share
from .analysis.buffers import ALIGNMENT, check_alignment
from .analysis.order_search import BUDGET
from .analysis.program_order import EXHAUSTIVE, best_order
from .bufferize import Bufferize
from .elide_copies import ElideCopies
from .mark_inplace import MarkInplace
from .plan_arena import most_live


@dataclass(frozen=True)
class OrderKernels(ModulePass):
    """Reorders the calls of main for a lower peak of live bytes."""

    name = "order-kernels"
    budget: int = BUDGET
    """Number of tasks that the beam search may try."""
    exhaustive: int = EXHAUSTIVE
    """Number of steps that the search through all sets of executed tasks may try after it."""
    disable: tuple[str, ...] = ()
    """Graph ops whose kernels never work in place, as for mark-inplace."""
    alignment: int = ALIGNMENT
    """Bytes: plan-arena's alignment."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_alignment(self.name, self.alignment)
        for program in self._read(op):
            if program.ops:
                self._order(ctx, op, program)

    def _order(self, ctx: Context, op: ModuleOp, program: Program) -> None:
        """Orders the tasks of a block of main, in which each loop and each branch is one task."""
        order = best_order(program, self.budget, self.exhaustive)
        given = range(len(program.tasks))
        if share(program, order).peak >= share(program, given).peak:
            return
        # Reordering an outer block may have reordered the loops in it, and so their blocks.
        blocks = blocks_of(main_of(op, self.name), self.name)
        number = next(place for place, block in enumerate(blocks) if block is program.ops[0].parent)
        if self._bytes_needed(ctx, op, number, order) <= self._bytes_needed(ctx, op, number, given):
            _reorder(program, order)
            moved = sum(task != step for step, task in enumerate(order))
            count(ctx, self.name, "moved-calls", moved)

    def _read(self, module: ModuleOp) -> list[Program]:
        threads, disabled = target_of(module).threads.data, disabled_ops(self.name, self.disable)
        blocks = blocks_of(main_of(module, self.name), self.name)
        return read_programs(blocks, kernels_of(module), threads, disabled, self.alignment)

    def _bytes_needed(self, ctx: Context, module: ModuleOp, number: int, order: Sequence[int]) -> int:
        """The peak of live bytes after the passes up to plan-arena, tried with this order on a copy of the module."""
        trial, apart = module.clone(), ctx.clone()
        _reorder(self._read(trial)[number], order)
        for each in (MarkInplace(self.disable), Bufferize(), ElideCopies(self.alignment)):
            each.apply(apart, trial)
        return most_live(main_of(trial, self.name), self.alignment)


def _reorder(program: Program, order: Sequence[int]) -> None:
    """Reorders the tasks of a block; reshapes and scalar ops follow their operands."""
    block = program.ops[0].parent
    assert block is not None and block.last_op is not None
    *ops, last = block.ops
    position = {program.ops[task]: step for step, task in enumerate(order)}
    followers: list[list[Operation]] = [[] for _ in range(len(order) + 1)]  # the last list: ops before all tasks
    for op in ops:
        if op not in position:
            makers = (value.owner for value in op.operands)
            position[op] = max((position.get(each, -1) for each in makers if isinstance(each, Operation)), default=-1)
            followers[position[op]].append(op)
    tasks = [[program.ops[task], *followers[step]] for step, task in enumerate(order)]
    for op in [*followers[-1], *(each for group in tasks for each in group)]:
        op.detach()
        block.insert_op_before(op, last)
