"""Checked memory accesses: bounds, alignment, races, uninitialised bytes, pending asynchronous copies, clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import cast

import numpy as np
from typing_extensions import override
from xdsl.ir import Operation

from ...device import Array
from .batch import Batch, active
from .copy_orders import CopyOrders
from .marks import Marks, StoredMarks
from .memory import GlobalMemory, MemoryView, PrivateMemory, SharedMemory, Site
from .memory import viewed as unchecked_view
from .races import Access, GlobalRaces, Races
from .thread_values import Mask, Value, broadcast_to, varies


@dataclass(frozen=True)
class GlobalRange:
    """Bytes of an allocation from `offset` on, passed to a kernel.

    `written` has a byte for each of the allocation's, 1 where it is initialised; None if all are. The status, which
    records errors, may be written by several threads: any of their values is valid.
    """

    allocation: Array
    offset: int = 0
    written: Array | None = None
    is_status: bool = False

    def behind(self, offset: int) -> GlobalRange:
        """The place `offset` bytes further."""
        return replace(self, offset=self.offset + offset)


@dataclass(frozen=True)
class Tracked:
    """A byte range of an allocation whose accesses are checked for races, in cells of `cell` bytes."""

    low: int
    high: int
    cell: int
    races: GlobalRaces


def load(site: Site, window: MemoryView, indices: Sequence[Value], mask: Mask) -> Value:
    """memref.load and vector.load"""
    if isinstance(window.space, PrivateMemory):
        at = known_place(window, indices)
        if at >= 0 and not site.lanes:
            value = window.space.slots[at]
            if value is not None:
                return value
    return window.space.load(site, place(site, window, indices, mask), mask)


def store(site: Site, value: Value, window: MemoryView, indices: Sequence[Value], mask: Mask) -> None:
    """memref.store and vector.store"""
    if mask is True and isinstance(window.space, PrivateMemory):
        at = known_place(window, indices)
        if at >= 0 and not site.lanes:
            window.space.slots[at] = value
            return
    window.space.store(site, place(site, window, indices, mask), value, mask)


def known_place(window: MemoryView, indices: Sequence[Value]) -> int:
    """The position of a buffer's element if it is the same in all threads and in bounds, else -1."""
    at = window.offset
    for index, size, stride in zip(indices, window.sizes, window.strides, strict=True):
        if type(index) is not int or not 0 <= index < size:
            return -1
        at += index * stride
    return at if type(at) is int else -1


def place(site: Site, window: MemoryView, indices: Sequence[Value], mask: Mask) -> Value:
    """The position of a buffer's element, checked to be in bounds."""
    at = window.offset
    last = len(indices) - 1
    for axis, (index, size, stride) in enumerate(zip(indices, window.sizes, window.strides, strict=True)):
        end = size - max(site.lanes - 1, 0) if axis == last else size
        bad = outside(index, end, mask)
        if bad is not None:
            what = f" with {site.lanes} lanes" if site.lanes and axis == last else ""
            window.space.fail(
                site.op,
                f"index {{index}}{what} is outside of dimension {axis} of {{size}}",
                bad,
                index=index,
                size=size,
            )
        at = at + index * stride
    return at


def viewed(
    op: Operation, window: MemoryView, shift: Value, sizes: Sequence[Value], itemsize: int, mask: Mask
) -> MemoryView:
    """memref.view, whose elements must be aligned to their size."""
    start = window.offset + shift
    bad = _active(start % itemsize != 0, mask)
    if bad is not None:
        window.space.fail(op, f"byte {{start}} is no multiple of {itemsize}", bad, start=start)
    return unchecked_view(window, shift, sizes, itemsize)


def outside(index: Value, size: Value, mask: Mask) -> Mask | None:
    """The threads of a mask whose index isn't in [0, size); None if there are none."""
    if not varies(index):
        if not varies(size):
            return None if 0 <= index < size else mask
    elif not varies(size) and index.view(np.uint64).max() < max(size, 0):
        return None
    return _active((index < 0) | (index >= size), mask)


def _active(bad: Value, mask: Mask) -> Mask | None:
    if not varies(bad):
        return mask if bad else None
    return active(cast("Array", bad), mask)


class CheckedGlobal(GlobalMemory):
    """One argument of a kernel: bytes of an allocation up to `high`."""

    def __init__(self, batch: Batch, given: GlobalRange, high: int) -> None:
        super().__init__(batch, given.allocation)
        self._low, self._high = given.offset, min(high, len(given.allocation))
        self._given = given
        self.tracked: Tracked | None = None
        whole = given.written is None or bool(given.written[given.offset : high].all())
        self._written = None if whole else given.written
        self._maps: dict[int, Array] = {}

    @override
    def load(self, site: Site, at: Value, mask: Mask) -> Value:
        self._check(site, at, mask)
        if self._written is not None:
            found = self._map(self._written, site).take(_each(site, at), mode="clip")
            bad = _active((found != _ones(site)).any(axis=-1), mask)
            if bad is not None:
                self.fail(site.op, "reads bytes of global memory that are uninitialised", bad)
        if self.tracked is not None:
            self._note(site, at, mask, False)
        return super().load(site, at, mask)

    @override
    def store(self, site: Site, at: Value, value: Value, mask: Mask) -> None:
        self._check(site, at, mask)
        if not self.data.flags.writeable:
            self.fail(site.op, "writes memory that may only be read", mask)
        if self._written is not None:
            places = broadcast_to(_each(site, at), (*self.batch.shape, site.elements))
            chosen = places if mask is True else places[broadcast_to(mask, self.batch.shape)]
            self._map(self._written, site)[chosen] = _ones(site)
        if self.tracked is not None and not self._given.is_status:
            self._note(site, at, mask, True)
        super().store(site, at, value, mask)

    @override
    def gathered(self, site: Site, at: Array, inside: Array, by: Array) -> Array:
        size = site.stored.itemsize
        bad = inside & ((at * size < self._low) | ((at + 1) * size > self._high))
        fact = "the tensor lies outside of the argument's bytes"
        if not bad.any() and self._written is not None:
            one = replace(site, lanes=0)
            bad = inside & (self._map(self._written, one).take(at, mode="clip") != _ones(one))
            fact = "reads bytes of global memory that are uninitialised"
        if bad.any():
            by = by.copy()
            by[by.any(axis=1)] &= bad.any(axis=1, keepdims=True)
            self.fail(site.op, fact, by)
        if self.tracked is not None:
            starts, cells = np.zeros((self.batch.blocks, 1), np.int64), size // self.tracked.cell
            rows = by.any(axis=1)
            for number in range(at.shape[1]):
                starts[rows, 0] = at[:, number] * cells - self.tracked.low // self.tracked.cell
                within = by.copy()
                within[rows] &= inside[:, number : number + 1]
                self.tracked.races.note(Access(site.op, starts.copy(), cells, within, False))
        return super().gathered(site, at, inside, by)

    def _map(self, written: Array, site: Site) -> Array:
        """Which elements of a type were initialised, all bytes of an element as one number."""
        size = site.stored.itemsize
        if size not in self._maps:
            self._maps[size] = written[: len(written) // size * size].view(f"u{size}")
        return self._maps[size]

    def _check(self, site: Site, at: Value, mask: Mask) -> None:
        size = site.stored.itemsize
        low, high = -(-self._low // size), self._high // size - site.elements + 1
        bad = outside(at - low, high - low, mask)
        if bad is not None:
            self.fail(
                site.op,
                f"byte {{byte}} is outside of the argument's {max(0, self._high - self._low)} bytes",
                bad,
                byte=at * size - self._low,
            )
        check_aligned(self, site, at, mask)

    def _note(self, site: Site, at: Value, mask: Mask, writes: bool) -> None:
        tracked = self.tracked
        assert tracked is not None
        cells = site.stored.itemsize // tracked.cell
        first = at * cells - tracked.low // tracked.cell
        tracked.races.note(Access(site.op, first, cells * site.elements, mask, writes))


def check_aligned(space: GlobalMemory | SharedMemory, site: Site, at: Value, mask: Mask) -> None:
    """Checks that a vector access is aligned to its size."""
    if site.lanes > 1 and site.unit is not None:
        bad = _active(at % site.lanes != 0, mask)
        if bad is not None:
            space.fail(site.op, f"byte {{byte}} is no multiple of {site.nbytes}", bad, byte=at * site.stored.itemsize)


def _each(site: Site, at: Value) -> Array:
    """The positions of all elements of an access, along an additional dimension."""
    return (at[..., None] if varies(at) else at) + np.arange(site.elements)


def _ones(site: Site) -> int:
    """An integer whose bytes are all 1."""
    return int.from_bytes(b"\1" * site.stored.itemsize, "little")


class CheckedShared(SharedMemory):
    """The shared memory of each block, in cells of the size of the smallest access."""

    def __init__(
        self,
        batch: Batch,
        nbytes: int,
        cell: int,
        *,
        products: bool = False,
        fences: bool = False,
        bulk: bool = False,
    ) -> None:
        """`products` by warpgroups may read it, which see what ordinary stores write behind `fences` only.

        `bulk`: there are bulk copies.
        """
        super().__init__(batch, nbytes)
        self.cell = cell
        count = -(-nbytes // cell)
        self._stored = StoredMarks(batch, count, fences) if products else None
        self.races = Races(batch, count)
        self.orders = CopyOrders(batch) if bulk else None
        self._written = Marks(batch, count)
        self._copied = Marks(batch, count)
        self._copies = 0
        self._read = Marks(batch, count)
        self._reads = False
        """Whether products are in flight, whose operands are marked."""
        self._fresh = Marks(batch, count)
        """Written since the last barrier of the cluster."""
        self._lent = Marks(batch, count)
        """Read by another block since then."""
        self._borrower: Operation | None = None

    def _cells(self, site: Site, at: Value) -> tuple[Value, int]:
        """The first cell of an access, and the number of cells."""
        scale = site.stored.itemsize // self.cell
        return at * scale, scale * site.elements

    def _check(self, site: Site, at: Value, mask: Mask, rows: Array | None = None) -> None:
        bad = outside(at, self.nbytes // site.stored.itemsize - site.elements + 1, mask)
        if bad is not None:
            byte = at * site.stored.itemsize
            self.fail(site.op, f"byte {{byte}} is outside of {self.nbytes} bytes of shared memory", bad, byte=byte)
        check_aligned(self, site, at, mask)
        if self._copies:
            bad = self._copied.any(*self._cells(site, at), mask, rows)
            if bad is not None:
                self.fail(site.op, "accesses bytes of shared memory that are still being copied", bad)

    @override
    def load(self, site: Site, at: Value, mask: Mask) -> Value:
        self._check(site, at, mask)
        first, count = self._cells(site, at)
        bad = self._written.missing(first, count, mask)
        if bad is not None:
            self.fail(site.op, "reads bytes of shared memory that are uninitialised", bad)
        self._note(Access(site.op, first, count, mask, False))
        return super().load(site, at, mask)

    @override
    def load_of(self, site: Site, at: Value, rank: Value, mask: Mask) -> Value:
        cluster = self.batch.cluster
        if (bad := outside(rank, cluster, mask)) is not None:
            self.fail(site.op, f"there is no block {{rank}} in a cluster of {cluster}", bad, rank=rank)
        rows = self.batch.row_of(rank)
        self._check(site, at, mask, rows)
        first, count = self._cells(site, at)
        own = rows == self.batch.rows
        others = np.logical_not(own) & mask
        if (bad := self._fresh.any(first, count, others, rows)) is not None:
            self.fail(site.op, "reads what another block has written with no barrier of the cluster since", bad)
        if (bad := self._written.missing(first, count, mask, rows)) is not None:
            self.fail(site.op, "reads bytes of another block's shared memory that are uninitialised", bad)
        self._lent.set(first, count, others, True, rows)
        self._borrower = site.op
        self.races.note(Access(site.op, first, count, own & mask, False))
        return super().load_of(site, at, rank, mask)

    def show(self, mask: Mask) -> None:
        """A fence: what these threads have stored may be read by products behind the next barrier."""
        if self._stored is not None:
            self._stored.fence(mask)

    def barrier(self, passed: Mask) -> None:
        """All threads of some blocks have met."""
        self.races.barrier(passed)
        if self._stored is not None:
            self._stored.barrier(passed)
        if self.orders is not None:
            self.orders.barrier(passed)

    def cluster_barrier(self, passed: Mask) -> None:
        """All threads of some blocks' clusters have met."""
        self._fresh.clear(passed)
        self._lent.clear(passed)

    def finish(self) -> None:
        """The end of the kernel."""
        if self._borrower is not None and (rows := self._lent.found()) is not None:
            self.fail(
                self._borrower, "another block may end before it reads, with no barrier of the cluster since", rows
            )

    @override
    def store(self, site: Site, at: Value, value: Value, mask: Mask) -> None:
        self._check(site, at, mask)
        first, count = self._cells(site, at)
        self._check_writable(site.op, first, count, mask)
        self._written.set(first, count, mask, True)
        if self._stored is not None:
            self._stored.store(first, count, mask)
        self._note(Access(site.op, first, count, mask, True))
        super().store(site, at, value, mask)

    def begin_copy(self, site: Site, at: Value, mask: Mask) -> None:
        """Marks bytes as the target of a pending copy, which may write them at any time."""
        self._check(site, at, mask)
        first, count = self._cells(site, at)
        self._check_writable(site.op, first, count, mask)
        self._note(Access(site.op, first, count, mask, True))
        self._copied.set(first, count, mask, True)
        self._copies += 1

    def end_copy(self, site: Site, at: Value, mask: Mask, last: bool) -> None:
        """A pending copy is about to be stored; `last` if no thread has another one pending."""
        self._copied.set(*self._cells(site, at), mask, False)
        self._copies -= last

    def _check_writable(self, op: Operation, first: Value, count: int, mask: Mask) -> None:
        if self._reads and (bad := self._read.any(first, count, mask)) is not None:
            self.fail(op, "writes bytes of shared memory that a product in flight may still read", bad)
        if self.batch.cluster > 1:
            if (bad := self._lent.any(first, count, mask)) is not None:
                self.fail(op, "writes bytes of shared memory that another block of the cluster may still read", bad)
            self._fresh.set(first, count, mask, True)

    def begin_bulk(self, site: Site, at: Array, rows: Array, threads: Array) -> None:
        """The same of a bulk copy to positions `at` of some blocks, by one of each one's threads."""
        starts, mask = self._by_block(at, rows)
        self._check(site, starts, mask)
        first, count = self._cells(site, starts)
        self._check_writable(site.op, first, count, mask)
        by = np.zeros(self.batch.shape, bool)
        by[rows, threads] = True
        assert self.orders is not None
        self.orders.begin(site.op, first, count, mask, by)
        self._copied.set(first, count, mask, True)
        self._copies += 1

    def end_bulk(self, site: Site, at: Array, rows: Array, waiting: Mask) -> None:
        """The bytes of a bulk copy are there, as threads of these blocks know that have waited for it."""
        starts, mask = self._by_block(at, rows)
        self._copied.set(*self._cells(site, starts), mask, False)
        self._written.set(*self._cells(site, starts), mask, True)
        if self._stored is not None:
            self._stored.set(*self._cells(site, starts), mask, False)
        assert self.orders is not None
        self.orders.end(*self._cells(site, starts), mask, waiting)

    def _note(self, access: Access) -> None:
        self.races.note(access)
        if self.orders is not None:
            self.orders.access(access)

    def _by_block(self, at: Array, rows: Array) -> tuple[Value, Mask]:
        """Positions of some blocks, as a value and a mask."""
        if len(rows) == self.batch.blocks and (at == at[0]).all():
            return int(at[0]), True
        starts, mask = np.zeros((self.batch.blocks, 1), np.int64), np.zeros((self.batch.blocks, 1), bool)
        starts[rows, 0], mask[rows, 0] = at, True
        return starts, mask

    def begin_read(self, op: Operation, parts: Sequence[tuple[Value, int]], mask: Mask) -> None:
        """Marks bytes, from a start on so many, as the operand of a product, which may be read until its end."""
        blocks = _blocks(mask)
        for at, nbytes in parts:
            if outside(at, self.nbytes - nbytes + 1, blocks) is not None:
                self.fail(op, f"{nbytes} bytes from byte {{at}} on are outside of shared memory", blocks, at=at)
            first, count = at // self.cell, nbytes // self.cell
            if (bad := self._copied.any(first, count, blocks)) is not None:
                self.fail(op, "reads bytes of shared memory that are still being copied", bad)
            if (bad := self._written.missing(first, count, blocks)) is not None:
                self.fail(op, "reads bytes of shared memory that are uninitialised", bad)
            if self._stored is not None and (bad := self._stored.any(first, count, blocks)) is not None:
                self.fail(op, "reads bytes of shared memory that ordinary stores wrote, which it need not see", bad)
            self._note_read(op, first, count, mask)
            self._read.set(first, count, blocks, True)
        self._reads = True

    def end_reads(
        self,
        done: Sequence[tuple[Operation, Sequence[tuple[Value, int]]]],
        rest: Sequence[Sequence[tuple[Value, int]]],
        mask: Mask,
    ) -> None:
        """Products are done, of which some bytes were operands until now; those of the rest still are."""
        blocks = _blocks(mask)
        for op, parts in done:
            for at, nbytes in parts:
                self._note_read(op, at // self.cell, nbytes // self.cell, mask)
                self._read.set(at // self.cell, nbytes // self.cell, blocks, False)
        for at, nbytes in (part for parts in rest for part in parts):
            self._read.set(at // self.cell, nbytes // self.cell, blocks, True)
        self._reads = bool(rest)

    def _note_read(self, op: Operation, first: Value, count: int, mask: Mask) -> None:
        """Records a read by all threads of a mask, each of an equal part: any other one that writes races with it.

        For copies each of them reads it all.
        """
        if self.orders is not None:
            self.orders.access(Access(op, first, count, mask, False))
        active = broadcast_to(mask, (1 if isinstance(mask, bool) else len(mask), self.batch.threads))
        readers, thread = gcd(count, int(active.sum(axis=1).max())), active.cumsum(axis=1) - 1
        part = count // readers
        self.races.note(Access(op, first + thread % readers * part, part, active & (thread < readers), False))


def _blocks(mask: Mask) -> Mask:
    """The blocks of which any thread is in a mask."""
    return mask if isinstance(mask, bool) else np.asarray(mask.any(axis=1, keepdims=True))
