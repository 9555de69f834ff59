"""Compiles a module on an arena to machine code, in parts, by workers in parallel with lowering."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.errors import CompileError
from ...dialects.graph.base import node_name
from ...dialects.graph.blobs import MiniContext
from ...dialects.kernel.targets import CPU_FEATURES, CpuAttr, cpu_of
from ...dialects.sizes.size_attributes import symbols_of_module
from ...dialects.symbols import symbol_named
from ...lowering.kernels_to_loops.insert_cancellation_points import STOP
from ...lowering.kernels_to_loops.lower_kernels import KERNEL
from ...lowering.levels import argument_roles, level_of
from ...lowering.loops_to_llvm.split_module import ModulePart, split_module
from ...lowering.pipelines import Observer, PassRun, Phase, parse_passes, run_passes, run_phases
from ...passes.memory.advise_weights import MAP
from ...passes.memory.insert_checks import STATUS
from ...passes.memory.share_threads import SHARE, STAGE
from ...passes.pass_counts import PassStatistics, take
from ...passes.statistics import pass_statistics, timed
from ..specs import Compilation, KernelCall
from .cpu_targets import cpu_target
from .llvm_processes import Compilers
from .llvm_worker import Part
from .llvmlite_calls import code_of, part_of
from .user_objects import DeclaredKernel, declared_kernels, objects_of


@dataclass(frozen=True, kw_only=True)
class MachineCode(Compilation):
    """A module being compiled by LLVM, part by part."""

    parts: Sequence[Part]
    kernels: Sequence[DeclaredKernel] = ()
    """Users' kernels that the parts call."""


def start_compiling(
    ctx: MiniContext,
    module: ModuleOp,
    phases: Sequence[Phase],
    observer: Observer | None,
    compilers: Compilers | None,
) -> MachineCode:
    """Lowers a module part by part to LLVM and starts compiling each; the module is left with `main` alone.

    `phases` are the remaining ones; the observer is notified about LLVM's when all is done.
    """
    from ...lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
    from ...lowering.loops_to_llvm.runtime_ir import runtime_ir

    # Loops are many ops: LLVM's own verifier checks the result, which is far faster.
    run_phases(ctx, module, [phase for phase in phases if phase.level != "llvm"], observer, verify=False)
    main = symbol_named(module, "main")
    assert main is not None  # check_signature tells of a module without
    roles = argument_roles(main)
    calls = tuple(KernelCall(_callee(op).removeprefix(KERNEL), node_name(op)) for op in kernel_calls(module, main))
    profiled, cancellable = "times" in roles, STOP in roles
    pages_weights = symbol_named(module, MAP) is not None
    # Beside the tensors, the arena and weights, and what there is only for some: see ROLES in module_interface.py.
    pointers = sum(role in ("input", "cache", "output") for role in roles)
    pointers += 2 + bool(symbols_of_module(module)) + (STATUS in roles) + cancellable + profiled
    target, compilers = cpu_of(module), compilers or Compilers(1)
    cpu = cpu_target(target.cpu.data).narrowed(target.vector_bits.data)
    lacking = [name for name in CPU_FEATURES if target.has(name) and name not in cpu.features]
    passes = [each for phase in phases if phase.level == "llvm" for each in parse_passes(phase.passes)]
    seconds = [0.0] * len(passes)
    kernels = declared_kernels(module.ops)
    with timed(ctx, "users' kernels"):
        made = objects_of(kernels, cpu.machine)
    with timed(ctx, "split-module"):
        split = split_module(module) if level_of(module) == "loops" else [ModulePart(module, frozenset())]
    parts: list[Part] = []
    for piece in split:
        for index, each in enumerate(passes):
            seconds[index] += _run(ctx, piece.module, each)
        with timed(ctx, "LLVM: text"):
            link: list[str] = []
            if piece.module is module:
                stages = stages_of(module)
                link = [runtime_ir(pointers, stages, profiled=profiled, stops=cancellable, advises=pages_weights)]
            sources: list[Operation | None] = []
            listed = compilers.listing is not None
            text = emit_llvm_ir(piece.module, piece.shared, sources if listed else None)
            if compilers.listing is not None:
                compilers.listing.add_llvm_ir(text, sources)
            _check_instructions(text, lacking, target)
            parts.append(part_of(text, cpu.machine, link=link, as_written=piece.as_written, listed=listed))
            compilers.add(parts[-1])
    if observer is not None:
        for each, taken in zip(passes, seconds, strict=True):
            observer(PassRun(each.name, taken), module)
    threads = target.threads.data if stages_of(module) else 1
    shared = frozenset({each.name for each in kernels}).union(*(piece.shared for piece in split))
    objects = partial(_objects, compilers, parts, shared, pass_statistics(ctx), made)
    return MachineCode(
        calls=calls,
        objects=objects,
        threads=threads,
        profiled=profiled,
        cancellable=cancellable,
        pages_weights=pages_weights,
        parts=parts,
        kernels=kernels,
    )


def _objects(
    compilers: Compilers,
    parts: Sequence[Part],
    shared: frozenset[str],
    statistics: PassStatistics,
    kernels: Sequence[bytes],
) -> Sequence[bytes]:
    """The object code of all parts, then that of users' kernels.

    Raises CompileError for LLVM's errors and for calls that are not allowed."""
    start = time.perf_counter()
    results = compilers.results()
    waited = time.perf_counter() - start
    for result in results:
        seconds = statistics.seconds_beside if result.beside else statistics.seconds
        for step in ("parse", "optimize", "generate"):
            take(seconds, f"LLVM: {step}", getattr(result, step))
        waited -= 0 if result.beside else result.parse + result.optimize + result.generate
    take(statistics.seconds, "LLVM: other processes", waited)
    if compilers.listing is not None:
        for number, result in enumerate(results):
            compilers.listing.add_assembly(number, result.assembly)
    return [*(code_of(*each, shared) for each in zip(results, parts, strict=True)), *kernels]


def kernel_calls(module: ModuleOp, function: Operation) -> Iterator[Operation]:
    """A function's kernel calls at the loops or the llvm level, in order, those of stages included."""
    functions = {
        str(name.data): op for op in module.ops if isinstance(name := op.properties.get("sym_name"), StringAttr)
    }

    def calls(function: Operation) -> Iterator[Operation]:
        for op in function.walk():
            name = _callee(op)
            if name.startswith(KERNEL):
                yield op
            elif name.startswith(SHARE):
                yield from calls(functions[name.removeprefix(SHARE)])

    return calls(function)


def _callee(op: Operation) -> str:
    callee = op.properties.get("callee")
    return callee.string_value() if isinstance(callee, SymbolRefAttr) else ""


def _check_instructions(text: str, lacking: Sequence[str], target: CpuAttr) -> None:
    """Raises CompileError if the text has instructions, of those `lacking`, that the target CPU doesn't have."""
    from ...lowering.loops_to_llvm.products import INTRINSICS

    for name in lacking:
        if any(each in text for each in INTRINSICS.get(name, ())):
            raise CompileError(
                f"the module's kernels are for a CPU that has {name} with {target.vector_bits.data} bits, and "
                f"{target.cpu.data} hasn't: compile the model for it again"
            )


def _run(ctx: MiniContext, module: ModuleOp, each: ModulePass) -> float:
    start = time.perf_counter()
    run_passes(ctx, module, [each])
    return time.perf_counter() - start


def stages_of(module: ModuleOp) -> dict[str, tuple[int, int]]:
    """The stages of a module at the llvm level, each with its numbers of buffers and of turns of loops."""
    functions = {op.sym_name.data: op.function_type for op in module.ops if isinstance(op, llvm.FuncOp)}
    stages = {name: [*type.inputs] for name, type in functions.items() if name.startswith(STAGE)}
    buffers = {name: sum(isinstance(each, llvm.LLVMPointerType) for each in types) for name, types in stages.items()}
    return {name: (buffers[name], len(types) - buffers[name] - 3) for name, types in stages.items()}
