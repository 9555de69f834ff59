"""lower-kernels: every kernel becomes loops, one function per distinct kernel, strides and sharing.

before:  kernel.call @conv_0 ins(%x, %w : ...) outs(%b : ...) scratch(%s : ...)
         kernel.barrier
after:   func.call @conv_0(%x, %w, %b, %s, %thread, %threads)
         func.call @mini_infer_barrier(%sync, %threads)
         func.func private @conv_0(...) { scf/vector/memref/arith/math loops }

`main` gets three more arguments: the barrier's state, this thread's number and the number of threads. A
buffer that a call both reads and writes is one argument of the function. How a kernel is written is decided by
its schedule alone: the family's file in this folder carries it out. Needs choose-schedule, bufferize and
plan-arena to have run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    MemRefType,
    ModuleOp,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable

from ...dialects.errors import CompileError
from ...dialects.graph import KernelOp, describe
from ...dialects.kernel import BarrierOp, CallOp, InterfaceAttr, ScheduleAttr, TargetAttr, target_of
from ...passes.buffers import kernels_of
from .builder import define_function
from .instance import KernelInstance

# Each family is a file here with `lower(instance)`.
FAMILIES = ("attention", "contraction", "depthwise", "lrn", "map", "recurrence", "rows", "windows")
BARRIER = "mini_infer_barrier"
SYNC = MemRefType(i32, [16])

Key = tuple[str, tuple[Attribute, ...], tuple[int, ...]]


def _lowering(family: str) -> Callable[[KernelInstance], None]:
    module = import_module(f".{family}", __package__)
    return cast("Callable[[KernelInstance], None]", module.lower)


def _build(
    kernel: KernelOp, call: CallOp, name: str, target: TargetAttr, sharing: tuple[int, ...]
) -> list[func.FuncOp]:
    """The kernel's function for this call's buffer types, and the functions it calls."""
    schedule = kernel.schedule
    interface = kernel.interface
    if not isinstance(schedule, ScheduleAttr) or not isinstance(interface, InterfaceAttr):
        raise CompileError(f"{describe(call)} @{kernel.sym_name.data}: no schedule; run choose-schedule first")
    if schedule.family.data not in FAMILIES:
        raise CompileError(f"{describe(call)} @{kernel.sym_name.data}: no code family '{schedule.family.data}'")
    buffers = [*call.ins, *call.outs]
    distinct = [i for i in range(len(buffers)) if sharing[i] == i]
    types = [buffers[i].type for i in distinct] + [value.type for value in call.scratch]
    # Inlined, a kernel would be optimised again for each of its calls, in a main that grows with the graph.
    function, builder = define_function(name, [*types, IndexType(), IndexType()], noinline=True)
    arguments = list(function.body.block.args)
    of = dict(zip(distinct, arguments, strict=False))
    mapped: list[SSAValue] = [of[sharing[i]] for i in range(len(buffers))]
    instance = KernelInstance(
        kernel=kernel,
        target=target,
        schedule=schedule,
        name=name,
        b=builder,
        operands=mapped[: len(call.ins)],
        results=mapped[len(call.ins) :],
        scratch=arguments[len(distinct)] if call.scratch else None,
        thread=arguments[-2],
        threads=arguments[-1],
        shared_scratch=interface.scratch.data,
        scratch_per_thread=interface.per_thread.data,
    )
    _lowering(schedule.family.data)(instance)
    builder.ret()
    return [*instance.helpers, function]


def _sharing(call: CallOp) -> tuple[int, ...]:
    """For each operand and result the first one that is the same buffer."""
    buffers = [*call.ins, *call.outs]
    outs = set(call.outs)
    first: dict[SSAValue, int] = {}
    sharing: list[int] = []
    for i, buffer in enumerate(buffers):
        # An operand given twice is read twice and needs no merging; only what is written must be one argument.
        sharing.append(first.setdefault(buffer, i) if buffer in outs else i)
    return tuple(sharing)


@dataclass(frozen=True)
class LowerKernels(ModulePass):
    """Every kernel becomes loops."""

    name = "lower-kernels"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        main = SymbolTable.lookup_symbol(op, "main")
        if not isinstance(main, func.FuncOp):
            raise CompileError("lower-kernels: the module has no function @main")
        sync, thread, threads = _add_thread_arguments(main)
        kernels = kernels_of(op)
        functions: dict[Key, func.FuncOp] = {}
        taken: set[str] = set()
        for inner in list(main.body.walk()):
            if isinstance(inner, BarrierOp):
                Rewriter.replace_op(inner, func.CallOp(BARRIER, [sync, threads], ()))
            if not isinstance(inner, CallOp):
                continue
            kernel = kernels[inner.callee.string_value()]
            sharing = _sharing(inner)
            buffers = [*inner.ins, *inner.outs, *inner.scratch]
            key = (kernel.sym_name.data, tuple(value.type for value in buffers), sharing)
            if key not in functions:
                name = _fresh(kernel.sym_name.data, taken)
                built = _build(kernel, inner, name, target, sharing)
                for function in built:
                    op.body.block.add_op(function)
                functions[key] = built[-1]
            passed = [value for i, value in enumerate([*inner.ins, *inner.outs]) if sharing[i] == i]
            arguments = [*passed, *inner.scratch, thread, threads]
            call = func.CallOp(functions[key].sym_name.data, arguments, ())
            call.location = inner.location
            Rewriter.replace_op(inner, call, [])
        _finish(op)


def _fresh(name: str, taken: set[str]) -> str:
    candidate, count = f"kernel_{name}", 1
    while candidate in taken:
        count += 1
        candidate = f"kernel_{name}_{count}"
    taken.add(candidate)
    return candidate


def _add_thread_arguments(main: func.FuncOp) -> tuple[SSAValue, SSAValue, SSAValue]:
    block = main.body.block
    added = [block.insert_arg(type, len(block.args)) for type in (SYNC, IndexType(), IndexType())]
    inputs = [argument.type for argument in block.args]
    main.function_type = FunctionType.from_lists(inputs, list(main.function_type.outputs))
    if main.arg_attrs is not None:
        main.arg_attrs = ArrayAttr([*main.arg_attrs, *(DictionaryAttr({}) for _ in added)])
    return added[0], added[1], added[2]


def _finish(module: ModuleOp) -> None:
    """Kernels are gone; the barrier is declared."""
    for op in list(module.body.block.ops):
        if isinstance(op, KernelOp):
            Rewriter.erase_op(op)
    barrier = func.FuncOp.external(BARRIER, [SYNC, IndexType()], [])
    first = module.body.block.first_op
    point = InsertPoint.before(first) if first is not None else InsertPoint.at_end(module.body.block)
    Rewriter.insert_op(barrier, point)
