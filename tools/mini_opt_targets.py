"""The forms in which mini-opt gives out a module: IR text, LLVM IR, assembly, the memory plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import Literal

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, UnknownLoc
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from ..lowering.registry import Level

ELIDED_ABOVE = 16  # elements of a constant


@dataclass(frozen=True)
class Target:
    """A form of output: how to make it, and the level that a module must be at (None: any)."""

    emit: Callable[[Context, ModuleOp], str]
    level: Level | None


def _is_long(constant: DenseIntOrFPElementsAttr) -> bool:
    return len(constant) > ELIDED_ABOVE and not constant.is_splat()


class _ModulePrinter(Printer):
    """Prints the locations that are known, and none that are not; with `elide`, no constants of many elements."""

    def __init__(self, stream: StringIO, *, generic: bool, elide: bool) -> None:
        super().__init__(stream, print_generic_format=generic)
        self._elide = elide

    @override
    def print_attribute(self, attribute: Attribute) -> None:
        if self._elide and isa(attribute, DenseIntOrFPElementsAttr) and _is_long(attribute):
            self.print_string("dense_resource<__elided__> : ")
            super().print_attribute(attribute.type)
        else:
            super().print_attribute(attribute)

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


def print_module(ctx: Context, module: ModuleOp, *, generic: bool = False, elide: bool = False) -> str:
    """The module as text that parses back, unless long constants are left out of it."""
    stream = StringIO()
    printer = _ModulePrinter(stream, generic=generic, elide=elide)
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
    from ..dialects.targets import cpu_of
    from ..runtime.cpu import emit_assembly
    from ..runtime.targets import machine_of

    return emit_assembly(_llvm_ir(ctx, module), machine_of(cpu_of(module)))


def _cuda(ctx: Context, module: ModuleOp) -> str:
    from ..lowering.gpu_to_cuda.cuda_text import cuda_text

    return cuda_text(module)


def _memory_plan(ctx: Context, module: ModuleOp) -> str:
    from ..passes.memory.report.memory_report import memory_plan
    from .reports import plan_table

    return plan_table(memory_plan(module))


def _check(ctx: Context, module: ModuleOp) -> str:
    from .check_results import check_results

    return check_results(ctx, module)


TargetName = Literal["mlir", "llvm-ir", "asm", "cuda", "memory-plan", "check"]
TARGETS: dict[TargetName, Target] = {
    "mlir": Target(_mlir, None),
    "llvm-ir": Target(_llvm_ir, "llvm"),
    "asm": Target(_assembly, "llvm"),
    "cuda": Target(_cuda, None),
    "memory-plan": Target(_memory_plan, "arena"),
    "check": Target(_check, None),
}
