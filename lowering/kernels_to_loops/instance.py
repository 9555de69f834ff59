"""KernelInstance: one kernel being written as a function on buffers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeAlias, TypeVar

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.errors import CompileError
from ...dialects.graph.base import describe
from ...dialects.graph.sizes import SIZES
from ...dialects.graph.structure import KernelOp, YieldOp
from ...dialects.kernel import AS_WRITTEN
from ...dialects.kernel_attributes import InterfaceAttr
from ...dialects.targets import CpuAttr
from ...passes.geometry.strided_views import StridedView, strided_view
from ...passes.kernels.schedules import AnySchedule
from ...passes.memory.analysis.buffers import give_role
from ..kernel_code.builder import Index, LoopBuilder, define_function, memref_type, strides_of
from ..kernel_code.extents import lifted, skeleton

T = TypeVar("T")


@dataclass
class CommonFunctions:
    """Functions that kernels of one module have in common, each written when it is first asked for."""

    taken: set[str] = field(default_factory=set[str])
    functions: list[func.FuncOp] = field(default_factory=list[func.FuncOp])
    _known: dict[Hashable, func.FuncOp] = field(default_factory=dict[Hashable, func.FuncOp])

    def call(self, b: LoopBuilder, stem: str, key: Hashable, facts: T, write: Callable[[LoopBuilder, T], None]) -> None:
        """Call what `write(builder, facts)` writes, once for all facts that differ in what is told only (extents.py).

        `key` says what else the code hangs on.
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

    def fresh(self, stem: str) -> str:
        """A name that no function of the module has yet."""
        name, count = stem, 1
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        return name


@dataclass(frozen=True)
class _Share:
    """What `KernelInstance.outlined` tells of a kernel: the places of its buffers, and the share of the work."""

    buffer: tuple[SSAValue, ...]
    thread: Index
    threads: Index
    seat: Index


S = TypeVar("S", bound=AnySchedule)


B = TypeVar("B", bound=LoopBuilder)


@dataclass
class Instance(Generic[B]):
    """A kernel being written, and the share of its work that this code does.

    `operands` and `results` hold the memref of each kernel operand and result; a result that shares bytes with
    an operand is the same value. `thread` of `threads` is the caller's part of the work, `seat` which part of the
    scratch is its own meanwhile.
    """

    kernel: KernelOp
    schedule: AnySchedule
    name: str
    b: B
    operands: list[SSAValue]
    results: list[SSAValue]
    scratch: SSAValue | None
    thread: Index
    threads: Index
    seat: Index

    @property
    def body(self) -> list[Operation]:
        """The kernel's ops in order, without the yield."""
        return [op for op in self.kernel.body.block.ops if not isinstance(op, YieldOp)]

    @property
    def yielded(self) -> list[SSAValue]:
        """The values the kernel returns."""
        last = self.kernel.body.block.last_op
        assert isinstance(last, YieldOp)
        return list(last.operands)

    @property
    def buffers(self) -> list[SSAValue]:
        """The distinct memrefs among operands and results, in order."""
        return list(dict.fromkeys((*self.operands, *self.results)))

    def runs(self, outer: Index, inner: Index, body: Callable[[Index, Index, Index], None]) -> None:
        """`body(item, first, last)` for the parts of `outer` items of `inner` pieces each that this share has.

        A share may begin and end within an item.
        """
        b = self.b
        low, high = self.part(b.mul(outer, inner))

        def run(item: Index, _: Sequence[SSAValue]) -> None:
            start = b.mul(item, inner)
            body(item, b.max(b.sub(low, start), 0), b.min(b.sub(high, start), inner))

        b.loop(b.div(low, inner), b.div(b.add(high, b.sub(inner, 1)), inner), run)

    def buffer_of(self, value: SSAValue) -> SSAValue | None:
        """The memref of a kernel argument; None for a value computed in the body."""
        for argument, buffer in zip(self.kernel.arguments, self.operands, strict=True):
            if argument is value:
                return buffer
        return None

    def window(self, value: SSAValue) -> StridedView:
        """A body value as a window on a buffer; CompileError where it is no argument seen through views."""
        view = strided_view(value)
        buffer = self.buffer_of(view.base)
        if buffer is None:
            raise CompileError(f"{describe(self.kernel)} @{self.name}: an operand is no window on an argument")
        strides = strides_of(memref_type(buffer)) if view.base is value else view.strides
        return StridedView(buffer, view.offset, view.sizes, strides)

    def part(self, total: Index) -> tuple[Index, Index]:
        """[first, last): which of `total` items this share of the work has, where a family must know it."""
        first = self.b.div(self.b.mul(self.thread, total), self.threads)
        return first, self.b.div(self.b.mul(self.b.add(self.thread, 1), total), self.threads)

    def items(self, total: Index, body: Callable[[Index], None]) -> None:
        """`body(item)` for every item of this share of `total` ones, in order.

        Work is handed out here alone: what is written by different items lies in different bytes, and no item reads
        what another one writes.
        """
        self.b.loop(*self.part(total), lambda item, _: body(item))

    def schedule_as(self, kind: type[S]) -> S:
        """The schedule, which is of the kind that the code is for."""
        assert isinstance(self.schedule, kind)
        return self.schedule

    def scratch_part(self, name: str) -> SSAValue:
        """A part of the scratch as the schedule lays it out; CompileError where the interface asked for too little."""
        assert isinstance(self.kernel.interface, InterfaceAttr)
        layout, granted = self.schedule.scratch(self.kernel), self.kernel.interface
        where = f"{describe(self.kernel)} @{self.name}: scratch '{name}'"
        for parts, needed, start, room in (
            (layout.shared, layout.together, 0, granted.scratch.data),
            (layout.own, layout.per_thread, granted.scratch.data, granted.per_thread.data),
        ):
            for part in parts:
                if part.name != name:
                    continue
                if (needed > room and part.end > room) or self.scratch is None:
                    raise CompileError(f"{where} ends at byte {part.end}, but the interface asks for {room}")
                at: Index = start + part.offset
                if parts is layout.own:
                    at = self.b.add(self.b.mul(self.seat, room), at)
                type = MemRefType(part.element, part.shape)
                return self.b.insert(memref.ViewOp(self.scratch, self.b.index(at), [], type))
        raise CompileError(f"{where} is no part of the schedule '{self.schedule.name}'")


AnyInstance: TypeAlias = Instance[Any]


@dataclass
class KernelInstance(Instance[LoopBuilder]):
    """What a code family needs to write one kernel for a CPU."""

    target: CpuAttr
    common: CommonFunctions = field(default_factory=CommonFunctions)
    places: Sequence[SSAValue] = ()  # of `buffers`, and at the end of scratch: see `outlined`
    helpers: list[func.FuncOp] = field(default_factory=list[func.FuncOp])
    sizes: SSAValue | None = None  # the table of sizes of run time, where the kernel's shapes hang on any

    def placed(self, scratch: SSAValue | None = None) -> KernelInstance:
        """The same with the places of its buffers, and of a part of scratch behind them."""
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
        """Call what `write(kernel, facts)` writes, once for all kernels whose facts differ in extents only.

        `key` says what else the code hangs on. In it buffers are places, and extents are arguments.
        """
        told = (_Share(tuple(self.placed(scratch).places), self.thread, self.threads, self.seat), facts)

        def body(b: LoopBuilder, told: tuple[_Share, T]) -> None:
            share, facts = told
            shared = replace(self, thread=share.thread, threads=share.threads, seat=share.seat)
            write(replace(shared, b=b, places=share.buffer), facts)

        self.common.call(self.b, stem, key, told, body)

    def helper(self, suffix: str, arguments: Sequence[Attribute]) -> tuple[func.FuncOp, LoopBuilder]:
        """A function of its own beside the kernel, for a micro-kernel that several loops call."""
        given = [*arguments, *([] if self.sizes is None else [self.sizes.type])]
        function, builder = define_function(f"{self.name}_{suffix}", given, noinline=True)
        if self.sizes is not None:
            give_role(function, len(arguments), SIZES)
        self.helpers.append(function)
        return function, builder

    def call_helper(self, function: func.FuncOp, arguments: Sequence[Index]) -> None:
        """Call such a function."""
        self.b.call(function, [*arguments, *([] if self.sizes is None else [self.sizes])])
