"""An interpreter of GPU code in numpy: runs a kernel on a grid of blocks.

Blocks are run in batches, all threads of a batch in lockstep. With checks it finds errors that show up only
occasionally on a GPU: see checked_memory.py, races.py, warps.py, bulk_transfers.py and warpgroups.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ....dialects.errors import CompileError, KernelError
from ....dialects.gpu.kernels import FuncOp
from ....dialects.gpu.mbarriers import BulkCopyOp
from ....dialects.gpu.memory_spaces import PRIVATE, WORKGROUP
from ....dialects.gpu.tensor_maps import TensorLoadOp
from ....dialects.gpu.warpgroup import ProxyFenceOp, WarpgroupMmaOp
from ....dialects.graph.fixed_sizes import settled_attribute
from ....dialects.sizes.sizes import value_at
from . import checked_memory, memory, warps
from .batch import Batch, Sizes, Traffic
from .bulk_transfers import MBarriers
from .checked_memory import CheckedGlobal, CheckedShared, GlobalRange, Tracked
from .copies import Copies
from .memory import GlobalMemory, MemoryView, PrivateMemory, SharedMemory, Site, element_bytes, strides_of
from .races import GlobalRaces
from .thread_values import Mask, Value, joined, joined_lanes, merged, merged_lanes, split, trips
from .translate import translate
from .warpgroups import Products

MOST_THREADS = 1 << 16
"""Threads of a batch: their values should stay in a core's caches."""
HIGHEST_BIT = 1 << 31
"""Of a barrier's counter, which is turned over when all blocks have met."""
_STORES = ("memref.store", "vector.store")
_END = object()
_BUFFERS = (
    "memref.load",
    "vector.load",
    *_STORES,
    "nvgpu.device_async_copy",
    "nvgpu.bulk_async_copy",
    "nvgpu.cluster_load",
    "nvgpu.grid_barrier",
    "nvgpu.ldmatrix",
    "nvgpu.tma.create.descriptor",
    "nvgpu.tma.async.load",
    "nvgpu.warpgroup.mma",
)


class Kernel:
    """A gpu.func that can be run. Raises CompileError for one with an unsupported operation."""

    def __init__(self, function: FuncOp) -> None:
        self.name = function.sym_name.data
        self._types = [_buffer_type(argument) for argument in function.body.block.args[: function.buffers]]
        self._symbols = [*function.symbols]
        self._sizes = _access_sizes(function)
        self._stored = _stored_arguments(function)
        self._multiplies = any(isinstance(op, WarpgroupMmaOp) for op in function.walk())
        self._fences = any(isinstance(op, ProxyFenceOp) for op in function.walk())
        self._copies = any(isinstance(op, BulkCopyOp | TensorLoadOp) for op in function.walk())
        self._cluster = function.cluster
        self._cooperative = function.cooperative is not None
        self.text, self._given = translate(function)
        self._code = compile(self.text, f"<{self.name}>", "exec")

    @cached_property
    def _checked(self) -> Any:
        return self._loaded(checked_memory.load, checked_memory.store)

    @cached_property
    def _unchecked(self) -> Any:
        return self._loaded(memory.load, memory.store)

    def _loaded(self, load: Any, store: Any) -> Any:
        names: dict[str, Any] = {
            **self._given,
            "load": load,
            "store": store,
            "moved": memory.moved,
            "subview": memory.subview,
            "split": split,
            "trips": trips,
            "joined": joined,
            "joined_lanes": joined_lanes,
            "merged": merged,
            "merged_lanes": merged_lanes,
        }
        exec(self._code, names)
        return names["kernel"]

    def run(
        self,
        grid: Sizes,
        block: Sizes,
        shared: int,
        arguments: Sequence[GlobalRange],
        *,
        sizes: Sequence[int] = (),
        checked: bool = True,
        nodes: Sequence[str] = (),
        traffic: Traffic | None = None,
    ) -> None:
        """One launch, with `shared` bytes of shared memory per block. Raises KernelError if a check fails.

        `sizes` are the numbers behind the buffers. With `traffic`, bytes that are loaded and stored are added there.
        """
        values = dict(zip(self._symbols, sizes, strict=True))
        types = self._types
        if values:
            types = [settled_attribute(type, partial(value_at, values=values)) for type in types]
        blocks, threads = prod(grid), prod(block)
        if grid[0] % self._cluster:
            fact = f"{grid[0]} blocks along x are no whole number of clusters of {self._cluster}"
            raise KernelError(f"{self.name}: {fact}")
        together = max(1, min(blocks, MOST_THREADS // threads) // self._cluster) * self._cluster
        together = blocks if self._cooperative else together
        tracked = self._tracked(types, arguments) if checked else {}
        run = self._checked if checked else self._unchecked
        with np.errstate(all="ignore"):
            for first in range(0, blocks, together):
                count = min(together, blocks - first)
                batch = Batch(self.name, grid, block, first, count, nodes, traffic, self._cluster)
                windows = [
                    self._window(batch, type, place, checked, tracked)
                    for type, place in zip(types, arguments, strict=True)
                ]
                for each in tracked.values():
                    each.races.batch = batch
                space = self._shared_memory(batch, shared, checked)
                state = _Run(batch, space, tracked, checked)
                run(state, *windows, *sizes)
                state.finish()

    def _shared_memory(self, batch: Batch, nbytes: int, checked: bool) -> SharedMemory:
        if not checked:
            return SharedMemory(batch, nbytes)
        return CheckedShared(
            batch,
            nbytes,
            min(self._sizes.get("shared", {1})),
            products=self._multiplies,
            fences=self._fences,
            bulk=self._copies,
        )

    def _window(
        self, batch: Batch, type: MemRefType[Attribute], given: GlobalRange, checked: bool, tracked: dict[int, Tracked]
    ) -> MemoryView:
        size, sizes = element_bytes(type), type.get_shape()
        strides = cast("Sequence[int]", type.get_strides())
        high = given.offset + _extent(type)
        if given.offset % size:
            raise CompileError(f"{self.name}: an argument at byte {given.offset} is no multiple of {size}")
        if checked:
            space = CheckedGlobal(batch, given, high)
            of = tracked.get(given.allocation.ctypes.data)
            if of is not None and given.offset < of.high and of.low < high:
                space.tracked = of
        else:
            space = GlobalMemory(batch, given.allocation)
        return MemoryView(space, given.offset // size, sizes, strides, size)

    def _tracked(self, types: Sequence[MemRefType[Attribute]], arguments: Sequence[GlobalRange]) -> dict[int, Tracked]:
        """The ranges of allocations that the kernel may write."""
        ranges: dict[int, list[tuple[int, int]]] = {}
        for number, (type, given) in enumerate(zip(types, arguments, strict=True)):
            if number in self._stored:
                of = ranges.setdefault(given.allocation.ctypes.data, [])
                of.append((given.offset, given.offset + _extent(type)))
        cell = min(self._sizes.get("global", {1}))
        tracked: dict[int, Tracked] = {}
        for address, each in ranges.items():
            low, high = min(low for low, _ in each) // cell * cell, -(-max(high for _, high in each) // cell) * cell
            races = GlobalRaces(Batch(self.name, (1, 1, 1), (1, 1, 1), 0, 1), (high - low) // cell)
            tracked[address] = Tracked(low, high, cell, races)
        return tracked


class _Run:
    """The functions that a kernel's translated code calls."""

    def __init__(self, batch: Batch, space: SharedMemory, tracked: dict[int, Tracked], checked: bool) -> None:
        self._batch = batch
        self._tracked = tracked
        self._checked = checked
        self._space = space
        self.shared = MemoryView(space, 0, (space.nbytes,), (1,), 1)
        self.copies = Copies(batch, checked)
        orders = space.orders if isinstance(space, CheckedShared) else None
        self.barriers = MBarriers(batch, checked, orders)
        self.products = Products(batch, checked)
        self.id = batch.id

    def private(self, sizes: Sequence[int]) -> MemoryView:
        """memref.alloca"""
        return MemoryView(PrivateMemory(self._batch, prod(sizes)), 0, sizes, strides_of(sizes), 1)

    def viewed(
        self, op: Operation, window: MemoryView, shift: Value, sizes: Sequence[Value], size: int, mask: Mask
    ) -> MemoryView:
        """memref.view"""
        if self._checked:
            return checked_memory.viewed(op, window, shift, sizes, size, mask)
        return memory.viewed(window, shift, sizes, size)

    def shuffle(
        self, op: Operation, mode: str, value: Value, offset: Value, width: Value, mask: Mask
    ) -> tuple[Value, Value]:
        """gpu.shuffle"""
        return warps.shuffle(self._batch, op, mode, value, offset, width, mask, self._checked)

    def ldmatrix(self, row: Site, window: MemoryView, indices: Sequence[Value], mask: Mask) -> Value:
        """nvgpu.ldmatrix"""
        access = checked_memory if self._checked else memory

        def rows(pointing: Mask) -> Value:
            return access.load(row, window, indices, pointing)

        return warps.load_matrices(self._batch, row, rows, mask, self._checked)

    def sync(self, op: Operation, a: Value, b: Value, c: Value, mask: Mask) -> Value:
        """nvgpu.mma.sync"""
        return warps.product(self._batch, op, a, b, c, mask, self._checked)

    def barrier(self, op: Operation, mask: Mask) -> None:
        """gpu.barrier"""
        passed = warps.barrier(self._batch, op, mask) if self._checked else True
        self.barriers.passed(passed)
        if self._checked:
            self._pass(passed)

    def proxy_fence(self, op: Operation, mask: Mask) -> None:
        """nvgpu.proxy_fence"""
        del op
        if isinstance(self._space, CheckedShared):
            self._space.show(mask)

    def cluster_barrier(self, op: Operation, mask: Mask) -> None:
        """nvgpu.cluster_barrier"""
        passed = warps.cluster_barrier(self._batch, op, mask) if self._checked else True
        self.barriers.passed(passed)
        if isinstance(self._space, CheckedShared):
            self._space.barrier(passed)
            self._space.cluster_barrier(passed)

    def cluster_load(self, site: Site, window: MemoryView, indices: Sequence[Value], rank: Value, mask: Mask) -> Value:
        """nvgpu.cluster_load"""
        access = checked_memory if self._checked else memory
        return self._space.load_of(site, access.place(site, window, indices, mask), rank, mask)

    def grid_barrier(self, site: Site, counter: MemoryView, mask: Mask) -> None:
        """nvgpu.grid_barrier"""
        access = checked_memory if self._checked else memory
        if self._checked:
            warps.grid_barrier(self._batch, site.op, mask)
        first = (np.arange(self._batch.threads) == 0)[None]  # of each block, which counts it
        count = access.load(site, counter, (0,), first)
        if np.any(count & HIGHEST_BIT - 1):
            self._batch.fail(site.op, "the counter is {count}: an earlier launch must set it to 0", mask, count=count)
        self.barriers.passed(True)
        if self._checked:
            self._pass(True)
            for each in self._tracked.values():
                each.races.grid_barrier()
        assert isinstance(counter.space, GlobalMemory)
        turned = np.bitwise_xor(count, np.int32(-HIGHEST_BIT))
        GlobalMemory.store(counter.space, site, memory.place(site, counter, (0,), first), turned, first)

    def concurrently(self, *sides: Iterator[None]) -> None:
        """Sides of a branch, each up to where it waits; the one that waits for ever fails."""
        going = list(sides)
        while going:
            before, ended = self.barriers.changes, len(going)
            going = [each for each in going if next(each, _END) is None]
            self.barriers.stuck = bool(going) and (self.barriers.changes, len(going)) == (before, ended)

    def finish(self) -> None:
        """Final checks of the batch's blocks."""
        self.barriers.finish()
        self.products.finish()
        if self._checked:
            self._pass(True)
        if isinstance(self._space, CheckedShared):
            self._space.finish()

    def _pass(self, passed: Mask) -> None:
        if isinstance(self._space, CheckedShared):
            self._space.barrier(passed)
        for each in self._tracked.values():
            each.races.barrier(passed)


def _buffer_type(argument: SSAValue) -> MemRefType[Attribute]:
    type: Attribute = argument.type
    strides = cast("MemRefType[Attribute]", type).get_strides() if isinstance(type, MemRefType) else None
    if strides is None or None in strides:
        raise CompileError(f"an argument of a kernel is a buffer with known strides, not {type}")
    return cast("MemRefType[Attribute]", type)


def _extent(type: MemRefType[Attribute]) -> int:
    """Bytes from a buffer's first element to the end of its last."""
    sizes, strides = type.get_shape(), cast("Sequence[int]", type.get_strides())
    if 0 in sizes:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return (last + 1) * element_bytes(type)


def _access_sizes(function: FuncOp) -> dict[str, set[int]]:
    """Sizes in bytes of the accesses to global and to shared memory."""
    sizes: dict[str, set[int]] = {}
    for op in function.walk():
        for type in _accessed(op):
            if type.memory_space != PRIVATE:
                space = "shared" if type.memory_space == WORKGROUP else "global"
                sizes.setdefault(space, set()).add(element_bytes(type))
    return sizes


def _accessed(op: Operation) -> list[MemRefType[Attribute]]:
    """The types of the buffers that an op accesses."""
    types: list[Any] = list(op.operand_types) if op.name in _BUFFERS else []
    return [type for type in types if isinstance(type, MemRefType)]


def _stored_arguments(function: FuncOp) -> set[int]:
    """The numbers of the arguments that are written."""
    roots = (_root(op.operands[1]) for op in function.walk() if op.name in _STORES)
    return {root.index for root in roots if isinstance(root, BlockArgument)}


def _root(buffer: SSAValue) -> SSAValue:
    """The buffer at the start of a chain of views."""
    while isinstance(buffer.owner, Operation) and buffer.owner.operands:
        buffer = buffer.owner.operands[0]
    return buffer
