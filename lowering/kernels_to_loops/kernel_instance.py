"""KernelInstance: one kernel being lowered to a function on buffers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue

from ...dialects.kernel.calls import AS_WRITTEN
from ...dialects.kernel.targets import CpuAttr
from ...dialects.sizes.size_attributes import SIZES
from ...passes.memory.analysis.buffers import give_role
from ..kernel_code.extents import lifted, skeleton
from ..kernel_code.instance_base import InstanceBase
from ..kernel_code.loop_builder import INDEX, Index, LoopBuilder, define_function

T = TypeVar("T")


@dataclass
class CommonFunctions:
    """Functions shared by the kernels of one module, each built at its first use."""

    taken: set[str] = field(default_factory=set[str])
    functions: list[func.FuncOp] = field(default_factory=list[func.FuncOp])
    _known: dict[Hashable, func.FuncOp] = field(default_factory=dict[Hashable, func.FuncOp])

    def call(self, b: LoopBuilder, stem: str, key: Hashable, facts: T, write: Callable[[LoopBuilder, T], None]) -> None:
        """Calls the function that `write(builder, facts)` builds; facts that differ only in extents share one.

        Extents (extents.py) become arguments. `key` identifies everything else that the code depends on.
        """
        shape, told = skeleton(facts)
        values = [b.index(value) if isinstance(value, int) else value for value, _ in told]
        types = [value.type for value in values]
        whole = (stem, shape, key, *types)
        if whole not in self._known:
            function, inner = define_function(self.fresh(stem), types, noinline=True)
            function.attributes[AS_WRITTEN] = UnitAttr()
            self._known[whole] = function
            for argument, (_, name) in zip(function.body.block.args, told, strict=True):
                argument.name_hint = name
            arguments = iter(function.body.block.args)
            write(inner, lifted(facts, lambda _, __: next(arguments)))
            inner.ret()
            self.functions.append(function)
        b.call(self._known[whole], values)

    def declared(self, name: str, types: Sequence[Attribute], attributes: Mapping[str, Attribute]) -> func.FuncOp:
        """A function without results that is defined outside of the module."""
        key = ("declared", name)
        if key not in self._known:
            function = func.FuncOp.external(name, types, [])
            function.attributes.update(attributes)
            self._known[key] = function
            self.taken.add(name)
            self.functions.append(function)
        return self._known[key]

    def forget(self, count: int, name: str) -> None:
        """Removes all functions but the first `count`, and frees their names and that of their kernel."""
        dropped = self.functions[count:]
        self._known = {key: function for key, function in self._known.items() if function not in dropped}
        self.taken -= {name, *(each.sym_name.data for each in dropped)}
        del self.functions[count:]

    def fresh(self, stem: str) -> str:
        """A function name that is unused in the module."""
        name, count = stem, 1
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        return name


@dataclass(frozen=True)
class _Share:
    """Arguments of an outlined function: the addresses of the kernel's buffers, and the share of the work."""

    buffer: tuple[SSAValue, ...]
    thread: Index
    threads: Index
    seat: Index


@dataclass
class KernelInstance(InstanceBase[LoopBuilder]):
    """A CPU kernel being lowered, as its code family sees it."""

    target: CpuAttr
    common: CommonFunctions = field(default_factory=CommonFunctions)
    places: Sequence[SSAValue] = ()  # addresses of `buffers`, then that of scratch: see `outlined`
    helpers: list[func.FuncOp] = field(default_factory=list[func.FuncOp])
    sizes: SSAValue | None = None  # the table of run-time sizes, if the kernel's shapes are symbolic
    told: Sequence[int] = ()  # sizes that are arguments of the function: see stride_arguments.py

    def placed(self, scratch: SSAValue | None = None) -> KernelInstance:
        """The same instance with the addresses of its buffers, followed by that of a part of scratch."""
        buffers = [*self.buffers, *([] if scratch is None else [scratch])]
        return replace(self, places=[self.b.place(buffer, 0) for buffer in buffers])

    def outlined(
        self,
        stem: str,
        facts: T,
        key: Hashable,
        write: Callable[[KernelInstance, T], None],
        scratch: SSAValue | None = None,
    ) -> None:
        """Calls the function that `write(kernel, facts)` builds; facts that differ only in extents share one.

        `key` identifies everything else that the code depends on. In the function, buffers are addresses and extents
        are arguments.
        """
        told = (_Share(tuple(self.placed(scratch).places), self.thread, self.threads, self.seat), facts)

        def body(b: LoopBuilder, told: tuple[_Share, T]) -> None:
            share, facts = told
            shared = replace(self, thread=share.thread, threads=share.threads, seat=share.seat)
            write(replace(shared, b=b, places=share.buffer), facts)

        self.common.call(self.b, stem, key, told, body)

    def helper(self, suffix: str, arguments: Sequence[Attribute]) -> tuple[func.FuncOp, LoopBuilder]:
        """A function beside the kernel, for a micro-kernel that several loops call."""
        given = [*arguments, *([] if self.sizes is None else [self.sizes.type]), *[INDEX for _ in self.told]]
        function, builder = define_function(f"{self.name}_{suffix}", given, noinline=True)
        if self.sizes is not None:
            give_role(function, len(arguments), SIZES)
        self.helpers.append(function)
        return function, builder

    def call_helper(self, function: func.FuncOp, arguments: Sequence[Index]) -> None:
        """Calls a helper function."""
        self.b.call(function, [*arguments, *([] if self.sizes is None else [self.sizes]), *self.told])
