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
otherwise nothing changes. The body of a loop or a branch is ordered separately; in the
enclosing block it is one task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
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
        blocks = blocks_of(main_of(op, self.name), self.name)
        given = [list(block.ops) for block in blocks]
        moved = sum(self._order(ctx, op, program) for program in self._read(op) if program.ops)
        if not moved:
            return
        # Orders of blocks were compared without the search for copies that had better stay.
        found, needed = [list(block.ops) for block in blocks], self._bytes_needed(ctx, op)
        _arrange(blocks, given)
        if needed <= self._bytes_needed(ctx, op):
            _arrange(blocks, found)
            count(ctx, self.name, "moved-calls", moved)

    def _order(self, ctx: Context, op: ModuleOp, program: Program) -> int:
        """Orders the tasks of a block of main, in which each loop and each branch is one; how many it moves."""
        order = best_order(program, self.budget, self.exhaustive)
        given = range(len(program.tasks))
        if share(program, order).peak >= share(program, given).peak:
            return 0
        # Reordering an outer block may have reordered the loops in it, and so their blocks.
        blocks = blocks_of(main_of(op, self.name), self.name)
        number = next(place for place, block in enumerate(blocks) if block is program.ops[0].parent)
        if self._bytes_needed(ctx, op, number, order) > self._bytes_needed(ctx, op, number, given):
            return 0
        _reorder(program, order)
        return sum(task != step for step, task in enumerate(order))

    def _read(self, module: ModuleOp) -> list[Program]:
        threads, disabled = target_of(module).threads.data, disabled_ops(self.name, self.disable)
        blocks = blocks_of(main_of(module, self.name), self.name)
        return read_programs(blocks, kernels_of(module), threads, disabled, self.alignment)

    def _bytes_needed(
        self, ctx: Context, module: ModuleOp, number: int | None = None, order: Sequence[int] = ()
    ) -> int:
        """The peak of live bytes after the passes up to plan-arena, tried on a copy of the module.

        With an order of a block by its number, the copies that elide-copies would rather keep are not looked for.
        """
        trial, apart = module.clone(), ctx.clone()
        elide = ElideCopies(self.alignment)
        if number is not None:
            _reorder(self._read(trial)[number], order)
            elide = ElideCopies(self.alignment, budget=0)
        for each in (MarkInplace(self.disable), Bufferize(), elide):
            each.apply(apart, trial)
        return most_live(main_of(trial, self.name), self.alignment)


def _arrange(blocks: Sequence[Block], orders: Sequence[Sequence[Operation]]) -> None:
    """Gives blocks their ops in other orders."""
    for block, order in zip(blocks, orders, strict=True):
        for op in order:
            op.detach()
            block.add_op(op)


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
