"""lower-kernels: kernels become loops, one function for each distinct kernel, strides and sharing.

before:  func.func @stage_0(%x: ..., %arena: ..., %share: index, %shares: index, %seat: index) {
           kernel.call @conv_0 ins(%x, %w : ...) outs(%b : ...) scratch(%s : ...)
after:   func.func @stage_0(%x: ..., %arena: ..., %share: index, %shares: index, %seat: index) {
           func.call @kernel_conv_0(%x, %w, %b, %s, %share, %shares, %seat)
         func.func private @kernel_conv_0(...) { scf/vector/memref/arith/math loops }

A call in `main` itself, which one thread runs, is share 0 of 1; if all calls are in `main`, the code is specialised for
that. A buffer that a call both reads and writes is one argument of the function. The schedule alone selects the code:
the file of its name in families/. Needs choose-schedule, bufferize and plan-arena; without share-threads, the thread
that calls `main` does all work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.errors import CompileError
from ...dialects.graph.base import describe
from ...dialects.graph.fixed_sizes import settle
from ...dialects.graph.host import kernels_of, state_level
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.graph.values import shape_of
from ...dialects.kernel.attributes import FormAttr, InterfaceAttr
from ...dialects.kernel.calls import BarrierOp, CallOp
from ...dialects.kernel.targets import CpuAttr, cpu_of
from ...dialects.modules import module_named
from ...dialects.sizes.attributes import SIZES
from ...dialects.sizes.sizes import pinned
from ...dialects.symbols import symbol_named
from ...passes.kernels.emptiness import note_empty_operands
from ...passes.kernels.schedules import schedule_of
from ...passes.memory.analysis.buffers import IndexConstants, add_argument, argument_with_role, give_role
from ...passes.memory.share_threads import TEAM, TEAM_TYPE
from ..kernel_code.builder import INDEX, define_function
from ..kernel_code.call_types import anywhere, cast_before, sharing_of
from ..kernel_code.elements.run_checks import write_checks
from ..kernel_code.lane_access import NotVectorisable
from .instance import CommonFunctions, KernelInstance

KERNEL = "kernel_"  # prefix of a kernel's function

Key = tuple[str, tuple[Attribute, ...], tuple[int, ...]]


def code_of(schedule: str) -> Callable[[KernelInstance], None]:
    """The function `lower` of the file in families/ that is named like the schedule."""
    return cast("Callable[[KernelInstance], None]", module_named(f"{__package__}.families", schedule).lower)


def _build(
    kernel: KernelOp,
    call: CallOp,
    name: str,
    target: CpuAttr,
    sharing: tuple[int, ...],
    common: CommonFunctions,
    alone: bool,
    sizes: SSAValue | None,
    for_all_shapes: bool = True,
) -> list[func.FuncOp]:
    """The kernel's function for this call's buffer types, and the functions it calls."""
    given = kernel
    schedule = schedule_of(kernel, target.device)
    note_empty_operands(kernel, elementwise=kernel.form == FormAttr.of("map"))
    number: Callable[[Attribute], Attribute] = _as_it_is
    if sizes is not None and not for_all_shapes:
        kernel, number = _pinned(kernel)
    if not isinstance(kernel.interface, InterfaceAttr):
        raise CompileError(f"{describe(call)} @{kernel.sym_name.data}: no interface; run choose-schedule first")
    buffers = [*call.ins, *call.outs]
    distinct = [i for i in range(len(buffers)) if sharing[i] == i]
    types = [anywhere(number(buffers[i].type)) for i in distinct]
    types += [number(value.type) for value in (*call.scratch, *call.status)]
    types += [] if sizes is None else [sizes.type]
    # Inlining would optimise a kernel again for each of its calls, in a main that grows with the graph.
    function, builder = define_function(name, [*types, INDEX, INDEX, INDEX], noinline=True)
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
        thread=0 if alone else arguments[-3],
        threads=1 if alone else arguments[-2],
        seat=0 if alone else arguments[-1],
        common=common,
        sizes=None if sizes is None else arguments[-4],
    )
    if call.status:
        write_checks(instance, arguments[-4 if sizes is None else -5])
    try:
        code_of(schedule.name)(instance)
    except NotVectorisable:  # what trials found for the current sizes does not hold for all
        if sizes is None or not for_all_shapes:
            raise
        return _build(given, call, name, target, sharing, common, alone, sizes, for_all_shapes=False)
    builder.ret()
    if sizes is not None:
        give_role(function, len(arguments) - 4, SIZES)
    return [*instance.helpers, function]


def _as_it_is(attribute: Attribute) -> Attribute:
    return attribute


def _pinned(kernel: KernelOp) -> tuple[KernelOp, Callable[[Attribute], Attribute]]:
    """The kernel with current sizes as constants, valid for these only; and the same conversion for attributes."""
    ops = list(kernel.body.block.ops)
    for value in (*kernel.arguments, *(result for op in ops for result in op.results)):
        for size in shape_of(value):
            pinned(size)
    made = kernel.clone()
    return made, settle(made)


@dataclass(frozen=True)
class LowerKernels(ModulePass):
    """Kernels become loops."""

    name = "lower-kernels"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = cpu_of(op)
        main = symbol_named(op, "main")
        if not isinstance(main, func.FuncOp):
            raise CompileError("lower-kernels: the module has no function @main")
        if argument_with_role(main, TEAM) is None:
            add_argument(main, TEAM_TYPE, TEAM)
        callers = [each for each in op.ops if isinstance(each, func.FuncOp) and each.body.blocks]
        alone = callers == [main]
        kernels = kernels_of(op)
        functions: dict[Key, func.FuncOp] = {}
        common = CommonFunctions()
        for caller in callers:
            constants = IndexConstants(caller)
            sizes = argument_with_role(caller, SIZES)
            for inner in list(caller.body.walk()):
                if isinstance(inner, BarrierOp):
                    Rewriter.erase_op(inner)
                if not isinstance(inner, CallOp):
                    continue
                share = (constants[0], constants[1], constants[0]) if caller is main else caller.args[-3:]
                kernel = kernels[inner.callee.string_value()]
                sharing = sharing_of(inner)
                buffers = [*inner.ins, *inner.outs, *inner.scratch, *inner.status]
                key = (kernel.sym_name.data, tuple(anywhere(value.type) for value in buffers), sharing)
                if key not in functions:
                    name = common.fresh(KERNEL + kernel.sym_name.data)
                    built = _build(kernel, inner, name, target, sharing, common, alone, sizes)
                    for function in built:
                        op.body.block.add_op(function)
                    functions[key] = built[-1]
                passed = [value for i, value in enumerate([*inner.ins, *inner.outs]) if sharing[i] == i]
                passed += [*inner.scratch, *inner.status]
                # The code may be valid at any offset in a buffer, and for the current sizes only.
                types = functions[key].function_type.inputs.data
                passed = [cast_before(inner, value, type) for value, type in zip(passed, types, strict=False)]
                passed += [*([] if sizes is None else [sizes]), *share]
                call = func.CallOp(functions[key].sym_name.data, passed, ())
                call.location = inner.location
                Rewriter.replace_op(inner, call, [])
        op.body.block.add_ops(common.functions)
        for kernel in kernels.values():
            Rewriter.erase_op(kernel)
        state_level(op, "loops")
