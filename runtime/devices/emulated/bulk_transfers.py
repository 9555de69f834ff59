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
from .copy_orders import Arrival, CopyOrders
from .memory import GlobalMemory, MemoryView, SharedMemory, Site
from .thread_values import Mask, Value, broadcast_to, varies

_BY_BLOCK = ("rows", "barrier", "at", "data")


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


@dataclass(frozen=True)
class _Arrival:
    """Threads that have arrived, at one barrier in each of some blocks, which were in these phases."""

    group: BarrierGroup
    rows: Array
    barrier: Array
    phase: Array
    arrival: Arrival


class MBarriers:
    """The barriers of a batch's blocks and the copies that they wait for."""

    def __init__(self, batch: Batch, checked: bool, orders: CopyOrders | None = None) -> None:
        self._batch, self._orders = batch, orders
        self._arrivals: list[_Arrival] = []
        self.changes = 0
        """How often something has happened that a wait may end by."""
        self.stuck = False
        """Whether all that run concurrently wait."""
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
        group.expected[rows, at] += self._of(nbytes, rows, threads)
        self._arrive(op, group, at, rows, threads, np.ones(len(rows), np.int64), mask)

    def arrive(self, op: Operation, group: BarrierGroup, index: Value, mask: Mask) -> None:
        """nvgpu.mbarrier.arrive, by any number of threads."""
        each = broadcast_to(mask, self._batch.shape)
        rows, threads = self._first(mask)
        at = self._ready(op, group, index, rows, threads)
        self._same(op, index, rows, threads, mask)
        self._arrive(op, group, at, rows, threads, each.sum(axis=1)[rows], mask)

    def _arrive(
        self, op: Operation, group: BarrierGroup, at: Array, rows: Array, threads: Array, count: Array, mask: Mask
    ) -> None:
        """So many arrivals in each of some blocks."""
        full = (group.arrived[rows, at] == group.arrivals[rows, at]) & (group.expected[rows, at] == 0)
        group.arrived[rows[full], at[full]] = 0
        group.phases[rows[full], at[full]] += 1
        if self._orders is not None:
            phase = group.phases[rows, at]
            self._arrivals.append(_Arrival(group, rows, at, phase, self._orders.arrive(mask)))
        group.arrived[rows, at] += count
        self.changes += 1
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

    def is_over(self, group: BarrierGroup, index: Value, parity: Value, mask: Mask) -> bool:
        """Whether a wait for these phases ends by what was started before, or won't ever."""
        rows, threads = self._first(mask)
        at = self._of(index, rows, threads)
        waits = group.phases[rows, at] % 2 == self._of(parity, rows, threads)
        arrived = group.arrived[rows, at] == group.arrivals[rows, at]
        copied = self._copied(group, at, rows) == group.expected[rows, at]
        return self.stuck or not np.any(waits & ~(arrived & copied))

    def wait(self, op: Operation, group: BarrierGroup, index: Value, parity: Value, _: Value, mask: Mask) -> None:
        """nvgpu.mbarrier.try_wait.parity: the phase must be completed by what was started before."""
        rows, threads = self._first(mask)
        for value in (index, parity):
            self._same(op, value, rows, threads, mask)
        at = self._ready(op, group, index, rows, threads)
        now = group.phases[rows, at] % 2 == self._of(parity, rows, threads)
        copied = self._copied(group, at, rows)
        arrived, arrivals, expected = (each[rows, at] for each in (group.arrived, group.arrivals, group.expected))
        bad = now & ((arrived != arrivals) | (copied != expected))
        if bad.any():
            first = int(bad.argmax())
            self._batch.fail(
                op,
                f"waits for a phase that is never complete, with {arrived[first]} of {arrivals[first]} arrivals and "
                f"{copied[first]} of {expected[first]} bytes",
                self._mask(rows[bad], threads[bad]),
            )
        place = np.full(self._batch.blocks, -1)
        place[rows[now]] = at[now]
        left: list[_Copy] = []
        for each in self._pending:
            done = (place[each.rows] == each.barrier) & (each.group is group)
            if done.any():
                self._store(each, done, mask)
            if not done.all():
                left.append(replace(each, **{name: getattr(each, name)[~done] for name in _BY_BLOCK}))
        self._pending = left
        group.phases[rows[now], at[now]] += 1
        group.arrived[rows[now], at[now]] = group.expected[rows[now], at[now]] = 0
        self.changes += 1
        self._learn(group, rows, at, mask)

    def _copied(self, group: BarrierGroup, at: Array, rows: Array) -> Array:
        """The bytes of pending copies for a barrier in each of some blocks."""
        found = np.zeros((self._batch.blocks, group.size), np.int64)
        for each in self._pending:
            if each.group is group:
                found[each.rows, each.barrier] += each.site.nbytes
        return cast("Array", found[rows, at])

    def _learn(self, group: BarrierGroup, rows: Array, at: Array, mask: Mask) -> None:
        """The threads that have waited know what came before the phase that is over."""
        if self._orders is None:
            return
        place = np.full(self._batch.blocks, -1)
        place[rows] = at
        over = [
            each
            for each in self._arrivals
            if each.group is group
            and bool((place[each.rows] == each.barrier).all())
            and bool((each.phase < group.phases[each.rows, each.barrier]).all())
        ]
        self._orders.learn([each.arrival for each in over], mask)
        self._arrivals = [each for each in self._arrivals if all(each is not one for one in over)]

    def finish(self) -> None:
        """The end of the kernel, whose shared memory is another block's then."""
        if self._pending:
            copy = self._pending[0]
            self._batch.fail(copy.site.op, "nobody waits for the copy", self._mask(copy.rows, np.zeros_like(copy.rows)))

    def _store(self, copy: _Copy, done: Array, waiting: Mask) -> None:
        size = copy.site.nbytes
        bytes = np.ascontiguousarray(copy.data[done].astype(copy.site.stored)).view(np.uint8)
        starts = copy.at[done] * copy.site.stored.itemsize
        for row, start, each in zip(copy.rows[done], starts, bytes, strict=True):
            copy.space.data[row, start : start + size] = each
        if isinstance(copy.space, checked_memory.CheckedShared):
            copy.space.end_bulk(copy.site, copy.at[done], copy.rows[done], waiting)

    def _one_thread(self, op: Operation, mask: Mask) -> tuple[Array, Array]:
        """The blocks in which a thread is active, and that thread, of which there is one."""
        each = broadcast_to(mask, self._batch.shape)
        several = each & (each.sum(axis=1, keepdims=True) > 1)
        if several.any():
            self._batch.fail(op, "several threads of a block execute it", several)
        return self._first(mask)

    def _first(self, mask: Mask) -> tuple[Array, Array]:
        """The blocks in which threads are active, and the first of these threads."""
        each = broadcast_to(mask, self._batch.shape)
        rows = np.flatnonzero(each.any(axis=1))
        return rows, each[rows].argmax(axis=1)

    def _same(self, op: Operation, value: Value, rows: Array, threads: Array, mask: Mask) -> None:
        """Checks that a value is the same in all active threads of a block."""
        if varies(value) and value.shape[1] > 1:
            each = broadcast_to(value, self._batch.shape)[rows]
            active = broadcast_to(mask, self._batch.shape)[rows]
            if (active & (each != self._of(value, rows, threads)[:, None])).any():
                self._batch.fail(op, "threads of a block wait for different phases", mask)

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
