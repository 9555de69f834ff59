"""InstanceBase: a kernel being lowered for any device, with its buffers, its scratch, and this code's share of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from ...dialects.errors import CompileError
from ...dialects.graph.base import describe
from ...dialects.graph.ops.structure import KernelOp, YieldOp
from ...dialects.kernel.kernel_attributes import InterfaceAttr
from ...passes.geometry.strided_views import StridedView, strided_view
from ...passes.kernels.schedules import AnySchedule
from .loop_builder import Index, LoopBuilder, memref_type, strides_of

S = TypeVar("S", bound=AnySchedule)

B = TypeVar("B", bound=LoopBuilder)


@dataclass
class InstanceBase(Generic[B]):
    """A kernel being lowered, and the share of its work that this code does.

    `operands` and `results` hold the memref of each kernel operand and result; a result that shares bytes with an
    operand is the same value. `thread` of `threads` identifies the caller's share of the work, `seat` its part of the
    scratch.
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
        """The values that the kernel returns."""
        last = self.kernel.body.block.last_op
        assert isinstance(last, YieldOp)
        return list(last.operands)

    @property
    def buffers(self) -> list[SSAValue]:
        """The distinct memrefs among operands and results, in order."""
        return list(dict.fromkeys((*self.operands, *self.results)))

    def runs(self, outer: Index, inner: Index, body: Callable[[Index, Index, Index], None]) -> None:
        """`body(item, first, last)` for this share's pieces of `outer` items of `inner` pieces each.

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

    def argument(self, value: SSAValue) -> SSAValue:
        """The memref of a kernel argument. Raises CompileError for a value computed in the body."""
        buffer = self.buffer_of(value)
        if buffer is None:
            raise CompileError(f"{describe(self.kernel)} @{self.name}: an operand is no argument of the kernel")
        return buffer

    def result_of(self, value: SSAValue) -> SSAValue | None:
        """The memref of a value that the kernel returns; None for any other."""
        return dict(zip(self.yielded, self.results, strict=True)).get(value)

    def window(self, value: SSAValue) -> StridedView:
        """A body value as a window on a buffer. Raises CompileError unless it is an argument seen through views."""
        view = strided_view(value)
        buffer = self.buffer_of(view.base)
        if buffer is None:
            raise CompileError(f"{describe(self.kernel)} @{self.name}: an operand is not a strided view of an argument")
        strides = strides_of(memref_type(buffer)) if view.base is value else view.strides
        return StridedView(buffer, view.offset, view.sizes, strides)

    def part(self, total: Index) -> tuple[Index, Index]:
        """[first, last): this share's range of `total` items, for families that need it explicitly."""
        first = self.b.div(self.b.mul(self.thread, total), self.threads)
        return first, self.b.div(self.b.mul(self.b.add(self.thread, 1), total), self.threads)

    def items(self, total: Index, body: Callable[[Index], None]) -> None:
        """`body(item)` for every item of this share of `total` items, in order.

        The only place that distributes work: different items must write disjoint bytes, and no item may read what
        another one writes.
        """
        self.b.loop(*self.part(total), lambda item, _: body(item))

    def schedule_as(self, kind: type[S]) -> S:
        """The schedule as an instance of the dataclass of its kind."""
        assert isinstance(self.schedule, kind)
        return self.schedule

    def scratch_part(self, name: str) -> SSAValue:
        """A part of the scratch in the schedule's layout. Raises CompileError if the interface requested too little."""
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


AnyInstance: TypeAlias = InstanceBase[Any]
