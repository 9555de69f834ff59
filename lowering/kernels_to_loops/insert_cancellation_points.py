"""insert-cancellation-points: before each kernel call, a function returns if the run is to stop.

before:  func.func @main(%x: ..., %arena: ..., %weights: ..., %team: ...) {
           func.call @kernel_conv_0(%x, ...)
after:   func.func @main(%x: ..., %arena: ..., %weights: ..., %stop: memref<1xi64> {graph.role = "stop"}, %team: ...) {
           %0 = func.call @mini_infer_stopped(%stop) : (memref<1xi64>) -> i1
           kernel.return_if %0
           func.call @kernel_conv_0(%x, ...)

The word in %stop is 0 for a run without a limit, 1 for one to be stopped at once, or the time at which it is to stop
(runtime_ir.py). One thread runs `main`, and the shares of a stage don't wait for each other, so each may return by
itself, from within a loop or a branch too; what was computed is then undefined. Stages get the argument as well, and
look at it before each of their calls. A kernel is not interrupted. Needs lower-kernels; a module that takes a stop word
already is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, i1, i64
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.errors import CompileError
from ...dialects.kernel.calls import ReturnIfOp
from ...dialects.symbols import symbol_named
from ...passes.memory.analysis.buffers import add_argument
from ...passes.memory.share_threads import SHARE, STAGE, TEAM
from ..levels import argument_roles
from .lower_kernels import KERNEL

STOP = "stop"
STOP_TYPE = MemRefType(i64, [1])
STOPPED = "mini_infer_stopped"


@dataclass(frozen=True)
class InsertCancellationPoints(ModulePass):
    """Before each kernel call, a function returns if the run is to stop."""

    name = "insert-cancellation-points"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = symbol_named(op, "main")
        if not isinstance(main, func.FuncOp) or TEAM not in argument_roles(main):
            raise CompileError("insert-cancellation-points: @main has no team of threads; run lower-kernels first")
        roles = argument_roles(main)
        if STOP in roles:
            return
        position = roles.index("times" if "times" in roles else TEAM)
        stages = [each for each in op.ops if isinstance(each, func.FuncOp) and each.sym_name.data.startswith(STAGE)]
        found = False
        for function in (main, *stages):
            stop = add_argument(function, STOP_TYPE, STOP, position=position)
            for call in [each for each in function.walk() if isinstance(each, func.CallOp)]:
                if call.callee.string_value().startswith((KERNEL, SHARE)):
                    stopped = func.CallOp(STOPPED, [stop], [i1])
                    Rewriter.insert_op([stopped, ReturnIfOp(stopped.results[0])], InsertPoint.before(call))
                    found = True
        if found:
            op.body.block.add_op(func.FuncOp.external(STOPPED, [STOP_TYPE], [i1]))
