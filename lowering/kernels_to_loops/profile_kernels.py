"""profile-kernels: `main` notes each kernel call, with its begin and its time.

before:  func.call @share_stage_0(%team, %c16, %c2) after:   %t = func.call @mini_infer_clock() : () -> i64
                                                             func.call @share_stage_0(%team, %c16, %c2)
                                                             func.call @mini_infer_note_call(%times, %c0, %c3, %t)

`main` gets another buffer before the team, with role "times"; call_times.py has its layout. %c0 is the call's number of
%c3. Needs lower-kernels, after share-threads{apart=true}: then each stage is one kernel call.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, i64
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.errors import CompileError
from ...dialects.symbols import symbol_named
from ...passes.memory.analysis.buffers import add_argument
from ...passes.memory.share_threads import SHARE, TEAM
from ..call_times import CLOCK, NOTE, length
from ..levels import argument_roles
from .lower_kernels import KERNEL


@dataclass(frozen=True)
class ProfileKernels(ModulePass):
    """`main` notes each kernel call, with its begin and its time."""

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
        type = MemRefType(i64, [length(len(calls))])
        times = add_argument(main, type, "times", position=len(main.args) - 1)
        for number, call in enumerate(calls):
            begin = func.CallOp(CLOCK, [], [i64])
            numbers = [arith.ConstantOp(IntegerAttr(each, IndexType())) for each in (number, len(calls))]
            noted = func.CallOp(NOTE, [times, *(each.result for each in numbers), begin.results[0]], [])
            Rewriter.insert_op(begin, InsertPoint.before(call))
            Rewriter.insert_op([*numbers, noted], InsertPoint.after(call))
        op.body.block.add_op(func.FuncOp.external(CLOCK, [], [i64]))
        op.body.block.add_op(func.FuncOp.external(NOTE, [type, IndexType(), IndexType(), i64], []))
