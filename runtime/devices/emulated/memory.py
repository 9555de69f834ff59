"""Memory of emulated GPU code and views of it, with unchecked accesses.

The unit of an access is an element, or an aligned vector of 2, 4, 8 or 16 bytes. Other vectors are accessed element by
element.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

from ....dialects.extensions.replace import scalar_of
from ...device import Array
from .batch import Batch
from .thread_values import Mask, Value, broadcast_to, dtype_of, lanes_of, select, spread, stored_dtype, varies, where

_UNITS = {2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64), 16: np.dtype(np.complex128)}
"""The numpy type of a vector's size; vectors are only moved, never computed with."""


@dataclass(frozen=True, eq=False)
class Site:
    """A memory access: the operation, and the type and number of elements that it loads or stores."""

    op: Operation
    kind: Any  # numpy type of the value's elements
    stored: Any  # numpy type of the elements in memory
    lanes: int  # lanes of a vector; 0 for a scalar
    unit: Any  # numpy type of the whole access in memory; None if it is done element by element

    @property
    def elements(self) -> int:
        """Number of elements accessed."""
        return self.lanes or 1

    @property
    def nbytes(self) -> int:
        """Number of bytes accessed."""
        return self.elements * self.stored.itemsize


def site_of(op: Operation, type: Attribute, lanes: int | None = None) -> Site:
    """The site of an op that loads or stores a value of the type, or `lanes` lanes of it."""
    lanes = lanes_of(type) if lanes is None else lanes
    stored = stored_dtype(type)
    unit = stored if not lanes else stored if lanes == 1 else _UNITS.get(lanes * stored.itemsize)
    return Site(op, dtype_of(type), stored, lanes, unit)


class MemorySpace(ABC):
    """A memory space of buffers. Positions are in elements of the accessed type."""

    @abstractmethod
    def load(self, site: Site, at: Value, mask: Mask) -> Value:
        """The value at a position."""

    @abstractmethod
    def store(self, site: Site, at: Value, value: Value, mask: Mask) -> None:
        """Stores a value at a position, in the threads of a mask."""

    @abstractmethod
    def fail(self, op: Operation, fact: str, where: Mask, **numbers: Value) -> None:
        """Raises KernelError."""


@dataclass(frozen=True, eq=False)
class MemoryView:
    """A buffer: the position of its first element, its sizes and its strides in elements."""

    space: MemorySpace
    offset: Value
    sizes: Sequence[Value]
    strides: Sequence[Value]
    itemsize: int


def strides_of(sizes: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides."""
    strides: list[int] = []
    stride = 1
    for size in reversed(sizes):
        strides.insert(0, stride)
        stride *= size
    return tuple(strides)


def place(site: Site, window: MemoryView, indices: Sequence[Value], mask: Mask) -> Value:
    """The position of a buffer's element."""
    at = window.offset
    for index, stride in zip(indices, window.strides, strict=True):
        at = at + index * stride
    return at


def load(site: Site, window: MemoryView, indices: Sequence[Value], mask: Mask) -> Value:
    """memref.load and vector.load"""
    return window.space.load(site, place(site, window, indices, mask), mask)


def store(site: Site, value: Value, window: MemoryView, indices: Sequence[Value], mask: Mask) -> None:
    """memref.store and vector.store"""
    window.space.store(site, place(site, window, indices, mask), value, mask)


# Windows on windows


def moved(window: MemoryView, offset: Value, sizes: Sequence[Value], strides: Sequence[Value]) -> MemoryView:
    """A window that starts `offset` elements further."""
    return MemoryView(window.space, window.offset + offset, sizes, strides, window.itemsize)


def viewed(window: MemoryView, shift: Value, sizes: Sequence[Value], itemsize: int) -> MemoryView:
    """memref.view: bytes as elements of another type. The shift is in bytes."""
    return MemoryView(window.space, (window.offset + shift) // itemsize, sizes, strides_of(sizes), itemsize)


def subview(window: MemoryView, offsets: Sequence[Value], sizes: Sequence[Value], steps: Sequence[int]) -> MemoryView:
    """memref.subview of all dimensions."""
    strides = [stride * step for stride, step in zip(window.strides, steps, strict=True)]
    shift: Value = 0
    for offset, stride in zip(offsets, window.strides, strict=True):
        shift = shift + offset * stride
    return moved(window, shift, sizes, strides)


# From units to values and back


def _value(site: Site, found: Any) -> Value:
    """Loaded data as a value; `found` consists of units or of elements."""
    if not site.lanes:
        return found != 0 if site.kind == np.bool_ else found
    if site.unit is not None:
        whole = np.ascontiguousarray(found) if varies(found) else np.array([[found]])
        found = whole[..., None].view(site.stored)
    elif cast("Array", found).ndim == 1:
        found = found[None, None]
    return found != 0 if site.kind == np.bool_ else found


def _units(site: Site, value: Value) -> Value:
    """A value in the form in which it is stored."""
    if site.stored != site.kind:
        value = np.asarray(value).astype(site.stored)
    if not site.lanes or site.unit is None:
        return value
    return np.ascontiguousarray(value).view(site.unit)[..., 0]


def _scaled(site: Site, at: Value) -> Value:
    """A position in units, from one in elements; with a dimension for lanes that are accessed one by one."""
    if site.lanes < 2:
        return at
    if site.unit is not None:
        return at // site.lanes
    return (at[..., None] if varies(at) else at) + np.arange(site.lanes)


class Bytes(MemorySpace):
    """Bytes shared by all threads of a batch, or by the threads of each block: one row for each."""

    def __init__(self, batch: Batch, data: Array) -> None:
        self.batch = batch
        self.data = data
        self._views: dict[Any, Array] = {}

    def view(self, unit: Any) -> Array:
        """The bytes as an array of whole elements of a type."""
        known = self._views.get(unit)
        if known is None:
            whole = self.data.shape[-1] // unit.itemsize * unit.itemsize
            known = self._views[unit] = self.data[..., :whole].view(unit)
        return known

    @override
    def fail(self, op: Operation, fact: str, where: Mask, **numbers: Value) -> None:
        self.batch.fail(op, fact, where, **numbers)


class GlobalMemory(Bytes):
    """One allocation: a single row of bytes."""

    @override
    def load(self, site: Site, at: Value, mask: Mask) -> Value:
        if self.batch.traffic is not None:
            self.batch.traffic.loaded += site.nbytes * self.batch.count(mask)
        units = self.view(site.unit or site.stored)
        return _value(site, units.take(_scaled(site, at), mode="clip"))

    @override
    def store(self, site: Site, at: Value, value: Value, mask: Mask) -> None:
        if self.batch.traffic is not None:
            self.batch.traffic.stored += site.nbytes * self.batch.count(mask)
        units = self.view(site.unit or site.stored)
        _put(units, _scaled(site, at), _units(site, value), mask, site.lanes > 1 and site.unit is None)

    def gathered(self, site: Site, at: Array, inside: Array, by: Array) -> Array:
        """The elements at positions [block][element], zero where not `inside`; of the blocks of the threads `by`."""
        del by
        if self.batch.traffic is not None:
            self.batch.traffic.loaded += site.stored.itemsize * int(inside.sum())
        return np.where(inside, self.view(site.stored).take(at, mode="clip"), site.stored.type(0))


def _put(units: Array, at: Value, value: Value, mask: Mask, by_lane: bool) -> None:
    if mask is True:
        if np.shape(at) != np.shape(value):
            at, value = np.broadcast_arrays(at, value)
        units[at] = value
        return
    at, value, mask = np.broadcast_arrays(at, value, spread(mask) if by_lane else mask)
    units[at[mask]] = value[mask]


class SharedMemory(Bytes):
    """A row of bytes for each block."""

    def __init__(self, batch: Batch, nbytes: int) -> None:
        super().__init__(batch, np.zeros((batch.blocks, -(-nbytes // 16) * 16), np.uint8))
        self.nbytes = nbytes

    def _rows(self, units: Array) -> Array:
        return (np.arange(len(units)) * units.shape[1])[:, None]

    @override
    def load(self, site: Site, at: Value, mask: Mask) -> Value:
        units = self.view(site.unit or site.stored)
        place = _scaled(site, at)
        if not varies(at):
            found = units[:, place : place + 1].copy() if not np.ndim(place) else units.take(place, axis=1)[:, None]
        elif len(at) == 1:
            found = units.take(place[0], axis=1, mode="clip")
        else:
            rows = self._rows(units)
            found = units.reshape(-1).take(place + (rows if place.ndim == 2 else rows[..., None]), mode="clip")
        return _value(site, found)

    def load_of(self, site: Site, at: Value, rank: Value, mask: Mask) -> Value:
        """The value at a position in the memory of the block of that rank in each one's cluster."""
        units = self.view(site.unit or site.stored)
        first = self.batch.row_of(rank) * units.shape[1]
        return _value(site, units.reshape(-1).take(_scaled(site, at) + first, mode="clip"))

    @override
    def store(self, site: Site, at: Value, value: Value, mask: Mask) -> None:
        units = self.view(site.unit or site.stored)
        place, new = _scaled(site, at), _units(site, value)
        by_lane = site.lanes > 1 and site.unit is None
        same = varies(at) and len(at) == 1 and (mask is True or len(cast("Array", mask)) == 1)
        if same and not by_lane:
            shape = np.broadcast_shapes(place.shape, np.shape(new), np.shape(mask))
            new = broadcast_to(new, (len(units), *shape[1:]))
            place = broadcast_to(place, (1, *shape[1:]))[0]
            if mask is True:
                units[:, place] = new
            else:
                chosen = broadcast_to(cast("Array", mask), (1, *shape[1:]))[0]
                units[:, place[chosen]] = new[:, chosen]
            return
        rows = self._rows(units)
        _put(units.reshape(-1), place + (rows[..., None] if by_lane else rows), new, mask, by_lane)


class PrivateMemory(MemorySpace):
    """A thread-local array, stored as values: most indices are constant after unrolling."""

    def __init__(self, batch: Batch, count: int) -> None:
        self.batch = batch
        self.slots: list[Value | None] = [None] * count
        self.in_flight = False
        """Whether a product by a warpgroup may write it at any time; then its slots are empty."""

    @override
    def load(self, site: Site, at: Value, mask: Mask) -> Value:
        if not varies(at):
            if not site.lanes:
                return self._slot(site, at, mask)
            return _stacked([self._slot(site, at + lane, mask) for lane in range(site.lanes)])
        if site.lanes:
            return _stacked([self._chosen(site, at + lane, mask) for lane in range(site.lanes)])
        return self._chosen(site, at, mask)

    def _slot(self, site: Site, at: int, mask: Mask) -> Value:
        value = self.slots[at]
        if value is None:
            what = "is in flight" if self.in_flight else "was not written"
            self.batch.fail(site.op, f"element {at} of a private array {what}", mask)
        return value

    def _chosen(self, site: Site, at: Array, mask: Mask) -> Value:
        """The element that each thread selects."""
        found: Value = None
        for number, value in enumerate(self.slots):
            if value is None:
                unwritten = (at == number) if mask is True else (at == number) & mask
                if unwritten.any():
                    self.batch.fail(site.op, f"element {number} of a private array was not written", unwritten)
            else:
                found = value if found is None else select(_like(at == number, value), value, found)
        return found

    @override
    def store(self, site: Site, at: Value, value: Value, mask: Mask) -> None:
        lanes = [value[..., lane] for lane in range(site.lanes)] if site.lanes else [value]
        for lane, each in enumerate(lanes):
            if not varies(at):
                self._put(at + lane, each, mask)
            else:
                for number in range(len(self.slots)):
                    chosen = (at + lane == number) if mask is True else (at + lane == number) & mask
                    if chosen.any():
                        self._put(number, each, chosen)

    def _put(self, number: int, value: Value, mask: Mask) -> None:
        old = self.slots[number]
        if mask is True or old is None:
            self.slots[number] = value
        else:
            self.slots[number] = where(_like(mask, value, old), value, old)

    @override
    def fail(self, op: Operation, fact: str, where: Mask, **numbers: Value) -> None:
        self.batch.fail(op, fact, where, **numbers)


def _like(mask: Mask, *values: Value) -> Any:
    """A mask reshaped to broadcast with scalars or vectors."""
    return spread(mask) if any(np.ndim(value) == 3 for value in values) else mask


def _stacked(values: list[Value]) -> Value:
    return np.stack([np.atleast_2d(each) for each in np.broadcast_arrays(*values)], axis=-1)


def element_bytes(type: MemRefType[Attribute]) -> int:
    """Bytes of one element in memory."""
    return stored_dtype(scalar_of(type.element_type)).itemsize
