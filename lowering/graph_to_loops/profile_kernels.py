"""profile-kernels: `main` notes the time before its first kernel call and after each.

before:  func.call @kernel_conv_0(...)
after:   func.call @kernel_conv_0(...)
         %t = func.call @mini_infer_clock() : () -> i64     (the first thread stores %t to %times[i + 1])

`main` gets one more buffer, %times: memref<(calls + 1)xi64> with role "times", before the barrier's state. Needs
lower-kernels to have run.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
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
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable

from ...dialects.errors import CompileError
from ...dialects.extensions import CmpiOp

CLOCK = "mini_infer_clock"
TRAILING = 3  # the barrier's state, this thread, the number of threads


@dataclass(frozen=True)
class ProfileKernels(ModulePass):
    """`main` notes the time before its first kernel call and after each."""

    name = "profile-kernels"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = SymbolTable.lookup_symbol(op, "main")
        if not isinstance(main, func.FuncOp) or len(main.body.block.args) < TRAILING:
            raise CompileError("profile-kernels: @main has no thread arguments; run lower-kernels first")
        block = main.body.block
        kernels = [
            call
            for call in block.ops
            if isinstance(call, func.CallOp) and call.callee.string_value().startswith("kernel_")
        ]
        times = _add_times_argument(main, len(kernels) + 1)
        zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
        first = CmpiOp(block.args[-2], zero.result, "eq")
        start = block.first_op
        assert start is not None
        Rewriter.insert_op([zero, first], InsertPoint.before(start))
        Rewriter.insert_op(_note(times, first.results[0], 0), InsertPoint.after(first))
        for index, call in enumerate(kernels):
            Rewriter.insert_op(_note(times, first.results[0], index + 1), InsertPoint.after(call))
        op.body.block.add_op(func.FuncOp.external(CLOCK, [], [i64]))


def _add_times_argument(main: func.FuncOp, count: int) -> SSAValue:
    block = main.body.block
    position = len(block.args) - TRAILING
    times = block.insert_arg(MemRefType(i64, [count]), position)
    main.function_type = FunctionType.from_lists([a.type for a in block.args], list(main.function_type.outputs))
    if main.arg_attrs is not None:
        attributes = list(main.arg_attrs)
        attributes.insert(position, DictionaryAttr({"graph.role": StringAttr("times")}))
        main.arg_attrs = ArrayAttr(attributes)
    return times


def _note(times: SSAValue, is_first: SSAValue, index: int) -> list[Operation]:
    """times[index] = the time now, on the first thread."""
    position = arith.ConstantOp(IntegerAttr(index, IndexType()))
    now = func.CallOp(CLOCK, [], [i64])
    store = memref.StoreOp.get(now.results[0], times, [position.result])
    body = Region(Block([position, now, store, scf.YieldOp()]))
    return [scf.IfOp(is_first, [], body)]
