"""GpuKernel: one kernel being lowered to launches; Grid: one of these launches, from the view of a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeVar

from typing_extensions import override
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects.gpu.kernels import FuncOp, ReturnOp
from ...dialects.graph.fixed_sizes import sizes_in
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.graph.values import numpy_dtype
from ...dialects.kernel.targets import GpuAttr
from ...dialects.sizes.polynomials import Symbol
from ...dialects.sizes.sizes import bounds_of, is_fixed, size_of, symbols_of
from ...passes.kernels.schedules import AnySchedule
from ..kernel_code.instance_base import InstanceBase
from ..kernel_code.loop_builder import Index
from .thread_builder import ThreadBuilder

S = TypeVar("S", bound=AnySchedule)
T = TypeVar("T")
Sizes = tuple[int, int, int]


@dataclass
class Grid(InstanceBase[ThreadBuilder]):
    """A launch being built: the code of every thread of `blocks` x `block` threads.

    `thread` of `threads` is the thread's index in the grid, `lane` that in its block, `number` that of its block, all
    along x.
    """

    target: GpuAttr
    blocks: Sizes
    block: int
    lane: SSAValue
    number: SSAValue
    windows: Sequence[SSAValue] = ()
    """The launch's arguments besides the kernel's buffers; see LaunchWindow."""

    @override
    def part(self, total: Index) -> tuple[Index, Index]:
        if self._suffice(total):
            return self.b.min(self.thread, total), self.b.min(self.b.add(self.thread, 1), total)
        return super().part(total)

    def _suffice(self, total: Index) -> bool:
        """Whether there is a thread for each of `total` items, at all shapes."""
        return isinstance(total, int) and isinstance(self.threads, int) and bounds_of(self.threads - total)[0] >= 0

    @override
    def items(self, total: Index, body: Callable[[Index], None]) -> None:
        if not self._suffice(total):
            super().items(total, body)
        elif total == self.threads:
            body(self.thread)
        else:
            self.b.when(self.b.compare("ult", self.thread, total), lambda: body(self.thread))


@dataclass(frozen=True)
class LaunchWindow:
    """A dense part of a buffer that is passed to one launch of several: `sizes` elements from element `offset` on.

    The buffer is one of the kernel's distinct ones; for scratch, `offset` is in bytes.
    """

    buffer: int
    offset: int
    element: Attribute
    sizes: tuple[int, ...]

    @property
    def type(self) -> MemRefType[Attribute]:
        """Its type in the function, independent of the offset."""
        strides = [prod(self.sizes[axis + 1 :]) for axis in range(len(self.sizes))]
        return MemRefType(self.element, self.sizes, StridedLayoutAttr(strides, NoneAttr()))


@dataclass(frozen=True)
class BuiltLaunch:
    """A launch: function, grid, and its arguments: the kernel's buffers, windows, and sizes of run time."""

    function: FuncOp
    grid: Sizes
    block: Sizes
    shared: int
    arguments: tuple[int, ...]
    windows: tuple[LaunchWindow, ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass
class GpuKernel:
    """A kernel being lowered, as its code family sees it.

    `types` are those of its distinct buffers; `operands`, `results`, `scratch` and `status` are indices into them.
    `aligned` is the known alignment of each buffer's address in bytes, up to 16; `symbols` are those of the module's
    sizes of run time, with their current values.
    """

    kernel: KernelOp
    target: GpuAttr
    schedule: AnySchedule
    name: str
    types: Sequence[Attribute]
    operands: Sequence[int]
    results: Sequence[int]
    scratch: int | None
    status: int | None
    aligned: Sequence[int]
    fresh: Callable[[str], str]
    symbols: Mapping[Symbol, int] = field(default_factory=dict[Symbol, int])
    launches: list[BuiltLaunch] = field(default_factory=list[BuiltLaunch])

    def schedule_as(self, kind: type[S]) -> S:
        """The schedule as an instance of the dataclass of its kind."""
        assert isinstance(self.schedule, kind)
        return self.schedule

    def scratch_window(self, name: str, index: int) -> LaunchWindow:
        """Entry `index`, along the first axis, of a scratch part that all threads share."""
        assert self.scratch is not None
        part = next(each for each in self.schedule.scratch(self.kernel).shared if each.name == name)
        sizes = part.shape[1:]
        step = prod(sizes) * numpy_dtype(part.element).itemsize
        return LaunchWindow(self.scratch, part.offset + index * step, part.element, sizes)

    def repeat(self, launch: BuiltLaunch, windows: Sequence[LaunchWindow]) -> None:
        """Launches the same function again, on other windows of the same types."""
        assert [each.type for each in windows] == [each.type for each in launch.windows]
        self.launches.append(replace(launch, windows=tuple(windows)))

    def launch(
        self,
        blocks: int | Sizes,
        block: int,
        write: Callable[[Grid], None],
        *,
        part: str = "",
        windows: Sequence[LaunchWindow] = (),
        cluster: int = 1,
        cooperative: bool = False,
    ) -> BuiltLaunch:
        """Appends a launch: `write` builds its thread's code; `part` names it where a kernel has several.

        Launches run one after the other, so each sees what earlier ones wrote. `windows` are what differs between
        launches of one function; so many adjacent blocks along x form a `cluster`. Blocks of
        a `cooperative` launch run at the same time.
        """
        sizes = (blocks, 1, 1) if isinstance(blocks, int) else blocks
        entry = Block(arg_types=[*self.types, *(each.type for each in windows)])
        b = ThreadBuilder(entry)
        write(self._grid(entry, b, sizes, block))
        b.do(ReturnOp([]))
        for op in reversed(list(entry.ops)):
            if is_side_effect_free(op) and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
        used = [i for i, argument in enumerate(entry.args) if argument.uses]
        for argument in reversed([each for each in entry.args if not each.uses]):
            entry.erase_arg(argument)
        name = self.fresh(f"{self.name}_{part}" if part else self.name)
        function = FuncOp(
            name,
            ([argument.type for argument in entry.args], []),
            Region(entry),
            kernel=True,
            known_block_size=(block, 1, 1),
            known_grid_size=sizes if is_fixed(*sizes) else None,
            known_cluster_size=(cluster, 1, 1) if cluster > 1 else None,
            cooperative=cooperative,
        )
        function.location = self.kernel.location
        given = self._sizes_of(function)
        if given:
            function.take_sizes(given)
        self.launches.append(
            BuiltLaunch(function, sizes, (block, 1, 1), b.shared_bytes, tuple(used), tuple(windows), tuple(given))
        )
        return self.launches[-1]

    def examine(self, look: Callable[[Grid], T]) -> T:
        """What `look` finds in a grid that is not launched."""
        entry = Block(arg_types=self.types)
        return look(self._grid(entry, ThreadBuilder(entry), (1, 1, 1), 1))

    def _grid(self, entry: Block, b: ThreadBuilder, sizes: Sizes, block: int) -> Grid:
        at = [entry.args[i] for i in range(len(self.types))]
        lane, first = b.thread_id(), b.block_id()
        lane.name_hint, first.name_hint = "thread", "block"
        return Grid(
            kernel=self.kernel,
            schedule=self.schedule,
            name=self.name,
            b=b,
            operands=[at[i] for i in self.operands],
            results=[at[i] for i in self.results],
            scratch=None if self.scratch is None else at[self.scratch],
            thread=(number := b.index(b.add(b.mul(first, block), lane))),
            threads=sizes[0] * block,
            seat=number,
            target=self.target,
            blocks=sizes,
            block=block,
            lane=lane,
            number=first,
            windows=entry.args[len(self.types) :],
        )

    def _sizes_of(self, function: FuncOp) -> list[int]:
        """The symbols of all sizes of run time in a function, in the order of the module's."""
        if not self.symbols:
            return []
        read = {symbol for size in sizes_in(function) for symbol in symbols_of(size)}
        return [size_of(symbol, value) for symbol, value in self.symbols.items() if symbol in read]
