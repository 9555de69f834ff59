"""share-threads: outlines the calls between two barriers as a stage, whose shares are distributed over threads.

before:  func.func @main(%x: ..., %y: ..., %arena: ...) {
           kernel.call @conv_0 ins(%x : ...) outs(%a : ...)
           kernel.barrier
           kernel.call @add_0 ins(%a : ...) outs(%y : ...)
after:   func.func @main(%x: ..., %y: ..., %arena: ..., %team: memref<2xi64> {graph.role = "team"}) {
           func.call @share_stage_0(%team, %c8, %c2)                   // 8 shares, 2 threads; returns when all are done
           kernel.call @add_0 ins(%a : ...) outs(%y : ...)             // little work: by the caller alone
         func.func @stage_0(%x: ..., %y: ..., %arena: ..., %share: index, %shares: index, %seat: index) {
           kernel.call @conv_0 ins(%x : ...) outs(%a : ...)

One thread runs `main`. The shares of a stage are scheduled dynamically: whichever thread is free takes the next, so a
thread without a processor delays nobody unless it has started a share. A stage uses one thread for each `grain`
nanoseconds of work, as passes/cost_model.py estimates it, and at most the target's number. Stages with much more work
are divided further, into shares of at least `chunk` nanoseconds, so that a temporarily slow thread does fewer of them.
`share_stage_0` is a function of the runtime that calls `stage_0` for every share; where buffers are windows that loops
move, both take the numbers of the turns, too. With `apart` every call is a stage of
its own. A call of the runtime, such as those of advise-weights, parts stages as a barrier does. Needs insert-barriers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.errors import PlanError
from ...dialects.graph.host import kernels_of, main_of
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.kernel.calls import CallOp, WindowOp
from ...dialects.kernel.kernel_attributes import InterfaceAttr
from ...dialects.kernel.targets import cpu_of
from ...dialects.sizes.size_attributes import SIZES
from ..cost_model import CHUNK_GRAIN, MOST_CHUNKS, PIECES, STAGE_GRAIN, nanoseconds, seats_of
from ..statistics import count
from .analysis.buffers import VIEWS, IndexConstants, add_argument, argument_with_role, give_role, insert_before
from .analysis.main_steps import stages_of

_PLACES = (memref.ViewOp, WindowOp, arith.ConstantOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.RemSIOp, *VIEWS)
"""Ops that compute where buffers lie."""
TEAM = "team"
TEAM_TYPE = MemRefType(i64, [2])
STAGE = "stage_"
SHARE = "share_"  # prefix of the runtime's function that runs the stage of that name


@dataclass(frozen=True)
class ShareThreads(ModulePass):
    """Outlines the calls between two barriers as a stage, whose shares are distributed over threads."""

    name = "share-threads"

    grain: int = STAGE_GRAIN
    """Nanoseconds of work for each thread; 0: always all threads."""
    chunk: int = CHUNK_GRAIN
    """Nanoseconds of work for each share where a thread takes several; 0: one share per thread."""
    apart: bool = False
    """Whether every call is a stage of its own, so that it can be timed."""
    watched: bool = False
    """Whether work done by one thread is a stage, too, so that an observer of stages sees all calls."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        if argument_with_role(main, "arena") is None:
            raise PlanError("share-threads: main has no argument with the role 'arena'; run plan-arena first")
        target, kernels = cpu_of(op), kernels_of(op)
        threads = target.threads.data
        team = add_argument(main, TEAM_TYPE, TEAM)
        constants = IndexConstants(main)
        made = 0
        for stage in list(stages_of(main.body.block, self.apart)) if threads > 1 or self.watched else ():
            called = [kernels[call.callee.string_value()] for call in stage]
            work = sum(nanoseconds(kernel, target) for kernel in called)
            seats = seats_of(work, threads, self.grain)
            if seats > 1 or self.watched:
                name = f"{STAGE}{made}"
                indices = _turns_read(stage)
                shares = constants[self._shares(seats, work, called)]
                share = func.CallOp(SHARE + name, [team, shares, constants[seats], *indices], ())
                insert_before(share, stage[0])
                op.body.block.add_op(_outlined(main, name, stage, indices))
                types = [TEAM_TYPE, *[IndexType()] * (2 + len(indices))]
                op.body.block.add_op(func.FuncOp.external(SHARE + name, types, []))
                made += 1
        _sweep(main)
        count(ctx, self.name, "stage", made)

    def _shares(self, seats: int, work: int, called: Sequence[KernelOp]) -> int:
        """The number of shares for a stage's work: a multiple of the number of threads."""
        if not self.chunk:
            return seats
        interfaces = (kernel.interface for kernel in called)
        pieces = [each.pieces.data for each in interfaces if isinstance(each, InterfaceAttr) and each.pieces.data]
        most = min([MOST_CHUNKS, *(count // (seats * PIECES) for count in pieces)])
        return seats * max(1, min(most, work // (seats * self.chunk)))


def _turns_read(stage: list[CallOp]) -> list[SSAValue]:
    """The induction variables on which places of a stage's buffers depend."""
    pending, found = [value for call in stage for value in call.operands], dict[SSAValue, None]()
    for value in pending:
        if isinstance(value.owner, Operation):
            pending += value.owner.operands
        elif isinstance(value.owner.parent_op(), scf.ForOp) and isinstance(value.type, IndexType):
            found[value] = None
    return [*found]


def _outlined(main: func.FuncOp, name: str, stage: list[CallOp], indices: list[SSAValue]) -> func.FuncOp:
    """A function that makes the calls of a stage.

    Arguments: main's, numbers of turns, a share, the number of shares, a seat.
    """
    given = [*main.args[:-1], *indices]
    function = func.FuncOp(name, ([*(argument.type for argument in given), *[IndexType()] * 3], []))
    if (sizes := argument_with_role(main, SIZES)) is not None:
        give_role(function, sizes.index, SIZES)
    block = function.body.block
    inside: dict[SSAValue, SSAValue] = dict(zip(given, block.args, strict=False))

    def bring(value: SSAValue) -> None:
        """Clones the ops that define `value` into the function, once."""
        made = value.owner
        if value in inside:
            return
        if not isinstance(made, _PLACES):
            raise PlanError(f"share-threads: a buffer of @{name} depends on what {_what(made)} computes")
        for operand in made.operands:
            bring(operand)
        block.add_op(made.clone(inside))

    for call in stage:
        for operand in call.operands:
            bring(operand)
        block.add_op(call.clone(inside))
        call.detach()
        call.erase()
    block.add_op(func.ReturnOp())
    return function


def _what(made: Operation | Block) -> str:
    return made.name if isinstance(made, Operation) else "a loop"


def _sweep(main: func.FuncOp) -> None:
    """Erases unused views of main."""
    for op in reversed(list(main.body.walk())):
        if isinstance(op, _PLACES) and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
