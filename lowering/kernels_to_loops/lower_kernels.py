"""lower-kernels: kernels become loops, one function for each distinct kernel and sharing.

before:  func.func @stage_0(%x: ..., %arena: ..., %share: index, %shares: index, %seat: index) {
           kernel.call @conv_0 ins(%x, %w : ...) outs(%b : ...) scratch(%s : ...)
after:   func.func @stage_0(%x: ..., %arena: ..., %share: index, %shares: index, %seat: index) {
           func.call @kernel_conv_0(%x, %w, %b, %s, %share, %shares, %seat)
         func.func private @kernel_conv_0(...) { scf/vector/memref/arith/math loops }

A call in `main` itself, which one thread runs, is share 0 of 1; if all calls are in `main`, the code is specialised for
that. A buffer that a call both reads and writes is one argument of the function. The schedule alone selects the code:
the file of its name in families/. Calls that differ only in strides use one function that takes strides as arguments,
if its code is valid for them (stride_arguments.py). Needs choose-schedule, bufferize and plan-arena; without
share-threads, the thread that calls `main` does all work.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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
from ...dialects.kernel.calls import BarrierOp, CallOp
from ...dialects.kernel.kernel_attributes import FormAttr, InterfaceAttr
from ...dialects.kernel.targets import CpuAttr, cpu_of
from ...dialects.modules import module_named
from ...dialects.sizes.guards import Guards
from ...dialects.sizes.polynomials import Symbol
from ...dialects.sizes.size_attributes import SIZES
from ...dialects.sizes.sizes import LostSizeError, pinned, size_of
from ...dialects.symbols import symbol_named
from ...passes.kernels.emptiness import note_empty_operands
from ...passes.kernels.schedules import schedule_of
from ...passes.memory.analysis.buffers import IndexConstants, add_argument, argument_with_role, give_role
from ...passes.memory.share_threads import TEAM, TEAM_TYPE
from ..kernel_code.call_types import anywhere, cast_before, sharing_of
from ..kernel_code.elements.run_checks import write_checks
from ..kernel_code.lane_access import NotVectorisable
from ..kernel_code.loop_builder import INDEX, define_function
from .kernel_instance import CommonFunctions, KernelInstance
from .stride_arguments import CallLayout, NumbersNeededError, StrideVariants, write_arguments

KERNEL = "kernel_"  # prefix of a kernel's function


def code_of(schedule: str) -> Callable[[KernelInstance], None]:
    """The function `lower` of the file in families/ that is named like the schedule."""
    return cast("Callable[[KernelInstance], None]", module_named(f"{__package__}.families", schedule).lower)


@dataclass(frozen=True)
class _Site:
    """A call of a kernel, the types of all its buffers, and which of them are one (`sharing_of`)."""

    call: CallOp
    kernel: KernelOp
    sharing: tuple[int, ...]
    types: tuple[Attribute, ...]
    layout: CallLayout

    @classmethod
    def of(cls, call: CallOp, kernel: KernelOp) -> _Site:
        buffers = [*call.ins, *call.outs, *call.scratch, *call.status]
        sharing, types = sharing_of(call), tuple(anywhere(value.type) for value in buffers)
        return cls(call, kernel, sharing, types, CallLayout.of(kernel.sym_name.data, types, sharing))

    @property
    def key(self) -> Hashable:
        """Equal for calls that run the same code with the same strides."""
        return self.kernel.sym_name.data, self.types, self.sharing

    @property
    def distinct(self) -> list[int]:
        """Operands and results that are arguments of the function."""
        return [i for i, first in enumerate(self.sharing) if first == i]

    @property
    def arguments(self) -> list[SSAValue]:
        """The buffers that are passed to the function."""
        buffers = [*self.call.ins, *self.call.outs]
        return [*(buffers[i] for i in self.distinct), *self.call.scratch, *self.call.status]


@dataclass
class _Functions:
    """The functions of a module's kernels, each built at its first use."""

    module: ModuleOp
    target: CpuAttr
    alone: bool
    strides: StrideVariants
    common: CommonFunctions = field(default_factory=CommonFunctions)
    _known: dict[Hashable, func.FuncOp] = field(default_factory=dict[Hashable, func.FuncOp])

    def of(self, site: _Site, sizes: SSAValue | None) -> tuple[func.FuncOp, Sequence[int]]:
        """The function for a call, and the strides to pass."""
        if sizes is None and (known := self.strides.find(site.layout) or self._for_strides(site)) is not None:
            return known
        if site.key not in self._known:
            name = self.common.fresh(KERNEL + site.kernel.sym_name.data)
            self._known[site.key] = self._add(_build(site, site.types, name, self, sizes))
        return self._known[site.key], ()

    def _for_strides(self, site: _Site) -> tuple[func.FuncOp, Sequence[int]] | None:
        """A new function that takes strides; None if only this call could use it."""
        told = self.strides.wanted(site.layout)
        if told is None:
            return None
        count, name = len(self.common.functions), self.common.fresh(KERNEL + site.kernel.sym_name.data)
        built, guards = list[func.FuncOp](), Guards()
        with suppress(NumbersNeededError, NotVectorisable, LostSizeError), guards.collecting():
            built = _build(site, site.layout.types(told.strides), name, self, None, told.symbols)
            for shared in self.common.functions[count:]:
                if shared.body.blocks:
                    write_arguments(shared, (), 0)  # is told all that it depends on
        if not built or not self.strides.add(site.layout, told, guards, built[-1]):
            self.strides.by_numbers.add(site.layout.key)
            self.common.forget(count, name)
            return None
        self._add(built)
        return self.strides.find(site.layout)

    def _add(self, built: Sequence[func.FuncOp]) -> func.FuncOp:
        self.module.body.block.add_ops(built)
        return built[-1]


def _build(
    site: _Site,
    given_types: Sequence[Attribute],
    name: str,
    functions: _Functions,
    sizes: SSAValue | None,
    symbols: Sequence[Symbol] = (),
    for_all_shapes: bool = True,
) -> list[func.FuncOp]:
    """The kernel's function for buffers of the given types, preceded by its helpers.

    `symbols` of sizes in these types are arguments.
    """
    call, kernel = site.call, site.kernel
    schedule = schedule_of(kernel, functions.target.device)
    note_empty_operands(kernel, elementwise=kernel.form == FormAttr.of("map"))
    number: Callable[[Attribute], Attribute] = _as_it_is
    if sizes is not None and not for_all_shapes:
        kernel, number = _pinned(kernel)
    if not isinstance(kernel.interface, InterfaceAttr):
        raise CompileError(f"{describe(call)} @{kernel.sym_name.data}: no interface; run choose-schedule first")
    buffers = [*call.ins, *call.outs]
    distinct = site.distinct
    types = [number(given_types[i]) for i in (*distinct, *range(len(buffers), len(given_types)))]
    types += [] if sizes is None else [sizes.type]
    # Inlining would optimise a kernel again for each of its calls, in a main that grows with the graph.
    function, builder = define_function(name, [*types, *[INDEX for _ in symbols], INDEX, INDEX, INDEX], noinline=True)
    arguments = list(function.body.block.args)
    of = dict(zip(distinct, arguments, strict=False))
    mapped: list[SSAValue] = [of[first] for first in site.sharing]
    told = len(types)
    instance = KernelInstance(
        kernel=kernel,
        target=functions.target,
        schedule=schedule,
        name=name,
        b=builder,
        operands=mapped[: len(call.ins)],
        results=mapped[len(call.ins) :],
        scratch=arguments[len(distinct)] if call.scratch else None,
        thread=0 if functions.alone else arguments[-3],
        threads=1 if functions.alone else arguments[-2],
        seat=0 if functions.alone else arguments[-1],
        common=functions.common,
        sizes=None if sizes is None else arguments[told - 1],
        told=[size_of(symbol, symbol.low) for symbol in symbols],
    )
    if call.status:
        write_checks(instance, arguments[told - 1 if sizes is None else told - 2])
    try:
        code_of(schedule.name)(instance)
    except NotVectorisable:  # what trials found for the current sizes does not hold for all
        if sizes is None or not for_all_shapes:
            raise
        return _build(site, given_types, name, functions, sizes, for_all_shapes=False)
    builder.ret()
    if sizes is not None:
        give_role(function, told - 1, SIZES)
    if symbols:
        write_arguments(function, symbols, told)
        for helper in instance.helpers:
            write_arguments(helper, symbols, len(helper.args) - len(symbols))
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
        calls = [each for caller in callers for each in caller.walk() if isinstance(each, CallOp)]
        sites = {call: _Site.of(call, kernels[call.callee.string_value()]) for call in calls}
        functions = _Functions(op, target, alone, StrideVariants.of(site.layout for site in sites.values()))
        for caller in callers:
            constants = IndexConstants(caller)
            sizes = argument_with_role(caller, SIZES)
            for inner in list(caller.body.walk()):
                if isinstance(inner, BarrierOp):
                    Rewriter.erase_op(inner)
                if not isinstance(inner, CallOp):
                    continue
                share = (constants[0], constants[1], constants[0]) if caller is main else caller.args[-3:]
                site = sites[inner]
                function, strides = functions.of(site, sizes)
                # The code may be valid at any offset in a buffer, for other strides, and for the current sizes only.
                types = function.function_type.inputs.data
                passed = [cast_before(inner, value, type) for value, type in zip(site.arguments, types, strict=False)]
                passed += [*([] if sizes is None else [sizes]), *(constants[each] for each in strides), *share]
                call = func.CallOp(function.sym_name.data, passed, ())
                call.location = inner.location
                Rewriter.replace_op(inner, call, [])
        op.body.block.add_ops(functions.common.functions)
        for kernel in kernels.values():
            Rewriter.erase_op(kernel)
        state_level(op, "loops")
