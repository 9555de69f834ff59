"""Output forms of mini-opt: IR text, LLVM IR, assembly, CUDA C++, launches, the memory plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.kernel.targets import cpu_of
from ...lowering.module_text import print_module
from ...lowering.registry import Level
from .opt_options import TargetName


@dataclass(frozen=True)
class Target:
    """An output form: its function, and the level that the module must have (None: any)."""

    emit: Callable[[Context, ModuleOp], str]
    level: Level | None


def _mlir(ctx: Context, module: ModuleOp) -> str:
    return print_module(ctx, module)


def _llvm_ir(ctx: Context, module: ModuleOp) -> str:
    from ...lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir

    return f"; target: {cpu_of(module)}\n{emit_llvm_ir(module)}"


def _assembly(ctx: Context, module: ModuleOp) -> str:
    from ...lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
    from ...runtime.native.cpu_targets import machine_of
    from ...runtime.native.llvmlite_calls import emit_assembly

    target = cpu_of(module)
    # Every assembler knows block comments, while line comments start differently for each CPU.
    return f"/* target: {target} */\n{emit_assembly(emit_llvm_ir(module), machine_of(target))}"


def _cuda(ctx: Context, module: ModuleOp) -> str:
    from ...lowering.gpu_to_cuda.cuda_text import cuda_text

    return cuda_text(module)


def _launches(ctx: Context, module: ModuleOp) -> str:
    from .launch_table import launch_table

    return launch_table(module)


def _memory_plan(ctx: Context, module: ModuleOp) -> str:
    from ...passes.memory.report.memory_report import memory_plan
    from ..reports import plan_table

    return plan_table(memory_plan(module))


def _check(ctx: Context, module: ModuleOp) -> str:
    from .check_results import check_results

    return check_results(ctx, module)


TARGETS: dict[TargetName, Target] = {
    "mlir": Target(_mlir, None),
    "llvm-ir": Target(_llvm_ir, "llvm"),
    "asm": Target(_assembly, "llvm"),
    "cuda": Target(_cuda, "launches"),
    "launches": Target(_launches, "launches"),
    "memory-plan": Target(_memory_plan, "arena"),
    "check": Target(_check, None),
}
