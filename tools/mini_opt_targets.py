"""The forms in which mini-opt gives out a module: IR text, LLVM IR, assembly, the memory plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import BlockArgument, Operation
from xdsl.printer import Printer

from ..lowering.levels import Level


@dataclass(frozen=True)
class Target:
    """A form of output: how to make it, and the level that a module must be at (None: any)."""

    emit: Callable[[Context, ModuleOp], str]
    level: Level | None


class _LocatedPrinter(Printer):
    """Prints the locations that are known, and none that are not."""

    @override
    def print_op(self, op: Operation) -> None:
        outer, self.print_debuginfo = self.print_debuginfo, not isinstance(op.location, UnknownLoc)
        super().print_op(op)
        self.print_debuginfo = outer

    @override
    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        outer, self.print_debuginfo = self.print_debuginfo, not isinstance(arg.location, UnknownLoc)
        super().print_block_argument(arg, print_type)
        self.print_debuginfo = outer


def print_module(ctx: Context, module: ModuleOp, *, generic: bool = False) -> str:
    """The module as text that parses back."""
    stream = StringIO()
    printer = _LocatedPrinter(stream, print_generic_format=generic)
    printer.print_op(module)
    printer.print_metadata(ctx.loaded_dialects)
    stream.write("\n")
    return stream.getvalue()


def _mlir(ctx: Context, module: ModuleOp) -> str:
    return print_module(ctx, module)


def _llvm_ir(ctx: Context, module: ModuleOp) -> str:
    from ..lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir

    return emit_llvm_ir(module)


def _assembly(ctx: Context, module: ModuleOp) -> str:
    from ..dialects.kernel import target_of
    from ..runtime.cpu import emit_assembly

    return emit_assembly(_llvm_ir(ctx, module), target_of(module).cpu.data, features="")


def _memory_plan(ctx: Context, module: ModuleOp) -> str:
    from ..passes.memory_report import memory_plan
    from .reports import plan_table

    return plan_table(memory_plan(module))


def _check(ctx: Context, module: ModuleOp) -> str:
    from .check_results import check_results

    return check_results(ctx, module)


TARGETS = {
    "mlir": Target(_mlir, None),
    "llvm-ir": Target(_llvm_ir, "llvm"),
    "asm": Target(_assembly, "llvm"),
    "memory-plan": Target(_memory_plan, "arena"),
    "check": Target(_check, None),
}
