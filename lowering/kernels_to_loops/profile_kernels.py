"""profile-kernels: `main` notes the time before its first kernel call and after each.

before:  func.call @share_stage_0(%team, %c16, %c2)
         func.call @kernel_conv_1(...)
after:   func.call @share_stage_0(%team, %c16, %c2)
         %t = func.call @mini_infer_clock() : () -> i64     stored to %times[1]
         func.call @kernel_conv_1(...)
         %u = func.call @mini_infer_clock() : () -> i64     stored to %times[2]

`main` gets one more buffer, %times: memref<(calls + 1)xi64> with role "times", before the team. Needs lower-kernels,
and before it share-threads{apart=true}: then each stage is one call of a kernel. A call in a loop or a branch is
refused: it may be made any number of times, and there is one time per call.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.errors import CompileError, UnsupportedError
from ...dialects.graph.base import describe
from ...dialects.graph.host_code import ROLE, attributes_of_arguments
from ...dialects.symbols import symbol_named
from ...passes.memory.share_threads import SHARE, TEAM
from ..levels import argument_roles
from .lower_kernels import KERNEL

CLOCK = "mini_infer_clock"


@dataclass(frozen=True)
class ProfileKernels(ModulePass):
    """`main` notes the time before its first kernel call and after each."""

    name = "profile-kernels"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = symbol_named(op, "main")
        if not isinstance(main, func.FuncOp) or TEAM not in argument_roles(main):
            raise CompileError("profile-kernels: @main has no team of threads; run lower-kernels first")
        block = main.body.block
        calls = [
            call
            for call in main.walk()
            if isinstance(call, func.CallOp) and call.callee.string_value().startswith((KERNEL, SHARE))
        ]
        for call in calls:
            if call.parent is not block:
                raise UnsupportedError(f"profile-kernels: {describe(call)}: no call in a loop or branch is timed")
        times = _add_times_argument(main, len(calls) + 1)
        start = block.first_op
        assert start is not None
        Rewriter.insert_op(_note(times, 0), InsertPoint.before(start))
        for index, call in enumerate(calls):
            Rewriter.insert_op(_note(times, index + 1), InsertPoint.after(call))
        op.body.block.add_op(func.FuncOp.external(CLOCK, [], [i64]))


def _add_times_argument(main: func.FuncOp, count: int) -> SSAValue:
    block = main.body.block
    position = len(block.args) - 1
    attributes = attributes_of_arguments(main)
    times = block.insert_arg(MemRefType(i64, [count]), position)
    main.function_type = FunctionType.from_lists([a.type for a in block.args], list(main.function_type.outputs))
    attributes.insert(position, DictionaryAttr({ROLE: StringAttr("times")}))
    main.arg_attrs = ArrayAttr(attributes)
    return times


def _note(times: SSAValue, index: int) -> list[Operation]:
    """times[index] = the time now."""
    position = arith.ConstantOp(IntegerAttr(index, IndexType()))
    now = func.CallOp(CLOCK, [], [i64])
    return [position, now, memref.StoreOp.get(now.results[0], times, [position.result])]
