"""profile-kernels: `main` accumulates the time and the number of runs of each kernel call.

before:  func.call @share_stage_0(%team, %c16, %c2) after:   %t = func.call @mini_infer_clock() : () -> i64
         func.call @share_stage_0(%team, %c16, %c2)
         %u = func.call @mini_infer_clock() : () -> i64
         %times[0, 0] += %u - %t
         %times[0, 1] += 1

`main` gets another buffer, %times: memref<(calls)x2xi64> with role "times", before the team; it must be all 0 before a
run. A call in a loop may run any number of times, one in a branch perhaps never. Needs lower-kernels, after
share-threads{apart=true}: then each stage is one kernel call.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.errors import CompileError
from ...dialects.symbols import symbol_named
from ...passes.memory.analysis.buffers import add_argument
from ...passes.memory.share_threads import SHARE, TEAM
from ..levels import argument_roles
from .lower_kernels import KERNEL

CLOCK = "mini_infer_clock"


@dataclass(frozen=True)
class ProfileKernels(ModulePass):
    """`main` accumulates the time and the number of runs of each kernel call."""

    name = "profile-kernels"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = symbol_named(op, "main")
        if not isinstance(main, func.FuncOp) or TEAM not in argument_roles(main):
            raise CompileError("profile-kernels: @main has no team of threads; run lower-kernels first")
        calls = [
            call
            for call in main.walk()
            if isinstance(call, func.CallOp) and call.callee.string_value().startswith((KERNEL, SHARE))
        ]
        times = add_argument(main, MemRefType(i64, [len(calls), 2]), "times", position=len(main.args) - 1)
        for number, call in enumerate(calls):
            before = func.CallOp(CLOCK, [], [i64])
            Rewriter.insert_op(before, InsertPoint.before(call))
            Rewriter.insert_op(_noted(times, number, before.results[0]), InsertPoint.after(call))
        op.body.block.add_op(func.FuncOp.external(CLOCK, [], [i64]))


def _noted(times: SSAValue, number: int, before: SSAValue) -> list[Operation]:
    """times[number] += [the time since `before`, 1]."""
    now = func.CallOp(CLOCK, [], [i64])
    taken = arith.SubiOp(now.results[0], before)
    once = arith.ConstantOp(IntegerAttr(1, i64))
    call = arith.ConstantOp(IntegerAttr(number, IndexType()))
    ops: list[Operation] = [now, taken, once, call]
    for column, more in enumerate((taken.result, once.result)):
        index = arith.ConstantOp(IntegerAttr(column, IndexType()))
        place = [call.result, index.result]
        so_far = memref.LoadOp.get(times, place)
        summed = arith.AddiOp(so_far.results[0], more)
        ops += [index, so_far, summed, memref.StoreOp.get(summed.result, times, place)]
    return ops
