"""Barriers that count bytes, and bulk copies: loaded when issued, stored only when their barrier is waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from xdsl.ir import Operation

from ....dialects.gpu.mbarriers import UNIT
from ....dialects.gpu.tensor_maps import TensorLoadOp, alignment_of, swizzled
from ...device import Array
from . import checked_memory, memory
from .batch import Batch
from .memory import GlobalMemory, MemoryView, SharedMemory, Site
from .thread_values import Mask, Value, broadcast_to, varies
from .warps import barrier


class BarrierGroup:
    """The barriers of one group in each block: arrays [block][barrier]."""

    def __init__(self, blocks: int, count: int) -> None:
        self.size = count
        self.arrivals = np.zeros((blocks, count), np.int64)
        """Those that complete a phase; 0 if the barrier isn't initialised."""
        self.arrived = np.zeros((blocks, count), np.int64)
        self.expected = np.zeros((blocks, count), np.int64)
        """Bytes that arrivals have announced for the current phase."""
        self.phases = np.zeros((blocks, count), np.int64)
        """Completed phases."""
        self.fenced = np.zeros((blocks, count), bool)
        """Whether bulk copies see the initialised barrier."""
        self.shared = np.zeros((blocks, count), bool)
        """Whether all threads of the block do."""


@dataclass(frozen=True)
class _Copy:
    """Pending copies, one in each of some blocks: arrays with an entry for each of these."""

    site: Site
    space: SharedMemory
    group: BarrierGroup
    rows: Array
    barrier: Array
    at: Array
    data: Array


class MBarriers:
    """The barriers of a batch's blocks and the copies that they wait for."""

    def __init__(self, batch: Batch, checked: bool) -> None:
        self._batch = batch
        self._access = checked_memory if checked else memory
        self._groups: list[BarrierGroup] = []
        self._pending: list[_Copy] = []

    def create(self, count: int) -> BarrierGroup:
        """nvgpu.mbarrier.create"""
        self._groups.append(BarrierGroup(self._batch.blocks, count))
        return self._groups[-1]

    def passed(self, passed: Mask) -> None:
        """A gpu.barrier that some blocks have passed: all their threads see what was initialised."""
        rows = slice(None) if isinstance(passed, bool) else passed[:, 0]
        for group in self._groups if passed is not False else ():
            group.shared[rows] |= group.arrivals[rows] > 0

    def init(self, op: Operation, group: BarrierGroup, index: Value, count: Value, mask: Mask) -> None:
        """nvgpu.mbarrier.init"""
        rows, threads = self._one_thread(op, mask)
        at = self._barrier(op, group, index, rows, threads)
        group.arrivals[rows, at] = self._of(count, rows, threads)
        for each in (group.arrived, group.expected, group.phases):
            each[rows, at] = 0
        group.fenced[rows, at] = group.shared[rows, at] = False

    def fence(self, mask: Mask) -> None:
        """nvgpu.mbarrier.fence, by the threads that have initialised them."""
        rows = broadcast_to(mask, self._batch.shape).any(axis=1)
        for group in self._groups:
            group.fenced[rows] |= group.arrivals[rows] > 0

    def expect(self, op: Operation, group: BarrierGroup, index: Value, nbytes: Value, mask: Mask) -> None:
        """nvgpu.mbarrier.arrive.expect_tx"""
        rows, threads = self._one_thread(op, mask)
        at = self._ready(op, group, index, rows, threads)
        group.arrived[rows, at] += 1
        group.expected[rows, at] += self._of(nbytes, rows, threads)
        bad = group.arrived[rows, at] > group.arrivals[rows, at]
        if bad.any():
            fact = "arrives once more than the phase takes; nobody has waited for it"
            self._batch.fail(op, fact, self._mask(rows[bad], threads[bad]))

    def copy(
        self,
        site: Site,
        source: MemoryView,
        source_indices: Sequence[Value],
        target: MemoryView,
        target_indices: Sequence[Value],
        group: BarrierGroup,
        index: Value,
        mask: Mask,
    ) -> None:
        """nvgpu.bulk_async_copy"""
        rows, threads = self._one_thread(site.op, mask)
        one = replace(site, lanes=0, unit=site.stored)
        place = self._access.place(one, source, source_indices, mask)
        self._check_aligned(site, place, UNIT, rows, threads)

        def read() -> Array:
            data = np.asarray(source.space.load(site, place, mask))
            whole = broadcast_to(data, (*np.broadcast_shapes(data.shape[:2], self._batch.shape), site.lanes))
            return np.array(whole[rows, threads])

        self._begin(site, read, target, target_indices, UNIT, group, index, rows, threads, mask)

    def copy_box(
        self,
        site: Site,
        source: MemoryView,
        coordinates: Sequence[Value],
        target: MemoryView,
        target_indices: Sequence[Value],
        group: BarrierGroup,
        index: Value,
        mask: Mask,
    ) -> None:
        """nvgpu.tma.async.load: elements outside of the tensor are zeros; units of 16 bytes are swizzled."""
        map, space = cast("TensorLoadOp", site.op).map, source.space
        assert isinstance(space, GlobalMemory)
        rows, threads = self._one_thread(site.op, mask)
        self._check_aligned(site, source.offset, UNIT, rows, threads)
        box = map.box.get_shape()
        at = np.zeros((len(rows), 1), np.int64) + source.offset
        inside = np.ones((len(rows), 1), bool)
        for axis, steps in enumerate(np.indices(box).reshape(len(box), -1)):
            place = self._of(coordinates[axis], rows, threads)[:, None] + steps
            inside = inside & (place >= 0) & (place < source.sizes[axis])
            at = at + place * source.strides[axis]
        to = swizzled(np.arange(site.lanes) * site.stored.itemsize, map.line) // site.stored.itemsize

        def read() -> Array:
            data = np.empty(at.shape, site.stored)
            data[:, to] = space.gathered(site, at, inside, self._mask(rows, threads))
            return data

        aligned = alignment_of(map.line)
        self._begin(site, read, target, target_indices, aligned, group, index, rows, threads, mask)

    def _begin(
        self,
        site: Site,
        read: Callable[[], Array],
        target: MemoryView,
        target_indices: Sequence[Value],
        aligned: int,
        group: BarrierGroup,
        index: Value,
        rows: Array,
        threads: Array,
        mask: Mask,
    ) -> None:
        """Starts a copy of what is read, by one thread of each of some blocks, to a multiple of so many bytes."""
        space = target.space
        assert isinstance(space, SharedMemory)
        barrier = self._ready(site.op, group, index, rows, threads)
        if not group.fenced[rows, barrier].all():
            self._batch.fail(site.op, "the barrier was initialised, but not fenced since", mask)
        place = self._access.place(replace(site, lanes=0, unit=site.stored), target, target_indices, mask)
        self._check_aligned(site, place, aligned, rows, threads)
        at = self._of(place, rows, threads)
        if isinstance(space, checked_memory.CheckedShared):
            space.begin_bulk(site, at, rows, threads)
        self._pending.append(_Copy(site, space, group, rows, barrier, at, read()))

    def _check_aligned(self, site: Site, place: Value, aligned: int, rows: Array, threads: Array) -> None:
        """Checks that a position is a multiple of so many bytes."""
        odd = np.asarray(self._of(place, rows, threads) * site.stored.itemsize % aligned != 0)
        if odd.any():
            where = self._mask(rows[odd], threads[odd])
            byte = place * site.stored.itemsize
            self._batch.fail(site.op, f"byte {{byte}} is no multiple of {aligned}", where, byte=byte)

    def wait(self, op: Operation, group: BarrierGroup, index: Value, parity: Value, _: Value, mask: Mask) -> None:
        """nvgpu.mbarrier.try_wait.parity: the phase must be completed by what was started before."""
        waiting = broadcast_to(barrier(self._batch, op, mask), (self._batch.blocks, 1))
        rows = np.flatnonzero(waiting)
        for value in (index, parity):
            if varies(value) and (value != value[:, :1]).any():
                self._batch.fail(op, "threads of a block wait for different phases", mask)
        threads = np.zeros_like(rows)
        at = self._ready(op, group, index, rows, threads)
        now = group.phases[rows, at] % 2 == self._of(parity, rows, threads)
        rows, at = rows[now], at[now]
        copied = np.zeros(len(rows), np.int64)
        place = np.full(self._batch.blocks, -1)
        place[rows] = at
        position = np.zeros(self._batch.blocks, np.int64)
        position[rows] = np.arange(len(rows))
        left: list[_Copy] = []
        for each in self._pending:
            done = (place[each.rows] == each.barrier) if each.group is group else np.zeros(len(each.rows), bool)
            if done.any():
                self._store(each, done)
                copied[position[each.rows[done]]] += each.site.nbytes
            if not done.all():
                parts = (each.rows, each.barrier, each.at, each.data)
                left.append(_Copy(each.site, each.space, group, *(part[~done] for part in parts)))
        self._pending = left
        arrived, arrivals, expected = (each[rows, at] for each in (group.arrived, group.arrivals, group.expected))
        bad = (arrived != arrivals) | (copied != expected)
        if bad.any():
            first = int(bad.argmax())
            self._batch.fail(
                op,
                f"waits for a phase that is never complete, with {arrived[first]} of {arrivals[first]} arrivals and "
                f"{copied[first]} of {expected[first]} bytes",
                self._mask(rows[bad], np.zeros(int(bad.sum()), np.int64)),
            )
        group.phases[rows, at] += 1
        group.arrived[rows, at] = group.expected[rows, at] = 0

    def finish(self) -> None:
        """The end of the kernel, whose shared memory is another block's then."""
        if self._pending:
            copy = self._pending[0]
            self._batch.fail(copy.site.op, "nobody waits for the copy", self._mask(copy.rows, np.zeros_like(copy.rows)))

    def _store(self, copy: _Copy, done: Array) -> None:
        size = copy.site.nbytes
        bytes = np.ascontiguousarray(copy.data[done].astype(copy.site.stored)).view(np.uint8)
        starts = copy.at[done] * copy.site.stored.itemsize
        for row, start, each in zip(copy.rows[done], starts, bytes, strict=True):
            copy.space.data[row, start : start + size] = each
        if isinstance(copy.space, checked_memory.CheckedShared):
            copy.space.end_bulk(copy.site, copy.at[done], copy.rows[done])

    def _one_thread(self, op: Operation, mask: Mask) -> tuple[Array, Array]:
        """The blocks in which a thread is active, and that thread, of which there is one."""
        each = broadcast_to(mask, self._batch.shape)
        several = each & (each.sum(axis=1, keepdims=True) > 1)
        if several.any():
            self._batch.fail(op, "several threads of a block execute it", several)
        rows = np.flatnonzero(each.any(axis=1))
        return rows, each[rows].argmax(axis=1)

    def _of(self, value: Value, rows: Array, threads: Array) -> Array:
        """The value in some threads."""
        return cast("Array", broadcast_to(value, self._batch.shape)[rows, threads])

    def _mask(self, rows: Array, threads: Array) -> Array:
        mask = np.zeros(self._batch.shape, bool)
        mask[rows, threads] = True
        return mask

    def _barrier(self, op: Operation, group: BarrierGroup, index: Value, rows: Array, threads: Array) -> Array:
        """The number of the barrier, checked to be one of the group."""
        at = self._of(index, rows, threads)
        bad = (at < 0) | (at >= group.size)
        if bad.any():
            where = self._mask(rows[bad], threads[bad])
            self._batch.fail(op, f"there is no barrier {{index}} of {group.size}", where, index=index)
        return at

    def _ready(self, op: Operation, group: BarrierGroup, index: Value, rows: Array, threads: Array) -> Array:
        """The same of a barrier that is initialised, and known to all threads."""
        at = self._barrier(op, group, index, rows, threads)
        for known, fact in (
            (group.arrivals[rows, at] > 0, "the barrier is not initialised"),
            (group.shared[rows, at], "the barrier was initialised with no gpu.barrier since"),
        ):
            if not known.all():
                self._batch.fail(op, fact, self._mask(rows[~known], threads[~known]))
        return at
