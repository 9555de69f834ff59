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
        moved, needed = 0, None
        for program in self._read(op):
            if not (order := self._better_order(program)):
                continue
            # Reordering an outer block may have reordered the loops in it, and so their blocks.
            now = blocks_of(main_of(op, self.name), self.name)
            number = next(place for place, block in enumerate(now) if block is program.ops[0].parent)
            needed = self._bytes_needed(ctx, op, budget=0) if needed is None else needed
            if (reordered := self._bytes_needed(ctx, op, number, order, budget=0)) > needed:
                continue
            _reorder(program, order)
            needed = reordered
            moved += sum(task != step for step, task in enumerate(order))
        if not moved:
            return
        # Orders of blocks were compared without the search for copies that had better stay.
        found, needed = [list(block.ops) for block in blocks], self._bytes_needed(ctx, op)
        _arrange(blocks, given)
        if needed <= self._bytes_needed(ctx, op):
            _arrange(blocks, found)
            count(ctx, self.name, "moved-calls", moved)

    def _better_order(self, program: Program) -> Sequence[int]:
        """An order of the tasks of a block of main, in which each loop and each branch is one, with a lower peak."""
        if not program.ops:
            return ()
        order = best_order(program, self.budget, self.exhaustive)
        return order if share(program, order).peak < share(program, range(len(program.tasks))).peak else ()

    def _read(self, module: ModuleOp) -> list[Program]:
        threads, disabled = target_of(module).threads.data, disabled_ops(self.name, self.disable)
        blocks = blocks_of(main_of(module, self.name), self.name)
        return read_programs(blocks, kernels_of(module), threads, disabled, self.alignment)

    def _bytes_needed(
        self, ctx: Context, module: ModuleOp, number: int = 0, order: Sequence[int] = (), **elision: int
    ) -> int:
        """The peak of live bytes after the passes up to plan-arena, tried on a copy of the module.

        `order` is one of the block of that number, if any; `elision` are options of elide-copies.
        """
        trial, apart = module.clone(), ctx.clone()
        if order:
            _reorder(self._read(trial)[number], order)
        for each in (MarkInplace(self.disable), Bufferize(), ElideCopies(self.alignment, **elision)):
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
