"""KernelInstance: one kernel being written as a function on buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.errors import CompileError
from ...dialects.graph import KernelOp, YieldOp, describe
from ...dialects.kernel import InterfaceAttr, TargetAttr
from ...passes.geometry.strided_views import StridedView, strided_view
from ...passes.kernels.schedules.schedule import Schedule
from .writing.builder import Index, LoopBuilder, define_function, memref_type, strides_of

S = TypeVar("S", bound=Schedule)


@dataclass
class KernelInstance:
    """What a code family needs to write one kernel.

    `operands` and `results` hold the memref of each kernel operand and result; a result that shares bytes with
    an operand is the same value. `thread` of `threads` is the caller's part of the work.
    """

    kernel: KernelOp
    target: TargetAttr
    schedule: Schedule
    name: str
    b: LoopBuilder
    operands: list[SSAValue]
    results: list[SSAValue]
    scratch: SSAValue | None
    thread: SSAValue
    threads: SSAValue
    helpers: list[func.FuncOp] = field(default_factory=list[func.FuncOp])

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

    def helper(self, suffix: str, arguments: Sequence[Attribute]) -> tuple[func.FuncOp, LoopBuilder]:
        """A function of its own beside the kernel, for a micro-kernel that several loops call."""
        function, builder = define_function(f"{self.name}_{suffix}", arguments, noinline=True)
        self.helpers.append(function)
        return function, builder

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
        for parts, start, room in (
            (layout.shared, 0, granted.scratch.data),
            (layout.own, granted.scratch.data, granted.per_thread.data),
        ):
            for part in parts:
                if part.name != name:
                    continue
                if part.end > room or self.scratch is None:
                    raise CompileError(f"{where} ends at byte {part.end}, but the interface asks for {room}")
                at: Index = start + part.offset
                if parts is layout.own:
                    at = self.b.add(self.b.mul(self.thread, room), at)
                type = MemRefType(part.element, part.shape)
                return self.b.insert(memref.ViewOp(self.scratch, self.b.index(at), [], type))
        raise CompileError(f"{where} is no part of the schedule '{self.schedule.name}'")
