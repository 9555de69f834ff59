"""Asynchronous products by warpgroups: operands in shared memory are read only when the products are waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.ir import Operation

from ....dialects.gpu.warpgroup import WARPGROUP, WarpgroupMmaOp
from ...device import Array
from . import checked_memory, memory
from .batch import Batch
from .memory import MemoryView, PrivateMemory, SharedMemory, Site
from .thread_values import Mask, Value, broadcast_to, varies, where
from .warps import cut, left_matrix, toward_zero


@dataclass(frozen=True)
class _Product:
    """A pending product; `at` is the position of b in bytes, the same in all threads of a block."""

    op: WarpgroupMmaOp
    site: Site
    a: Value
    space: SharedMemory
    at: Value
    sums: PrivateMemory
    group: int

    @property
    def parts(self) -> list[tuple[Value, int]]:
        """Where b lies: the bytes of each chunk, by their start and number."""
        return [(self.at + chunk * 16 * self.op.line, 16 * self.op.columns) for chunk in range(2)]


class Products:
    """The pending products of a batch's threads. Whole warpgroups take part in each operation.

    The same ones do from the fence before a product to the wait for it.
    """

    def __init__(self, batch: Batch, checked: bool) -> None:
        self._batch = batch
        self._access = checked_memory if checked else memory
        self._pending: list[_Product] = []
        self._sums: dict[PrivateMemory, list[Value]] = {}  # of which products are in flight
        self._groups = 0
        self._fenced = False
        self._part: Mask = True
        """The threads that take part."""

    def fence(self, op: Operation, mask: Mask) -> None:
        """nvgpu.warpgroup.fence"""
        self._all(op, mask)
        self._fenced = True

    def commit(self, op: Operation, mask: Mask) -> None:
        """nvgpu.warpgroup.commit"""
        self._all(op, mask)
        self._groups += 1
        self._fenced = False

    def start(
        self, site: Site, a: Value, b: MemoryView, indices: Sequence[Value], sums: MemoryView, mask: Mask
    ) -> None:
        """nvgpu.warpgroup.mma"""
        op, space, own = cast("WarpgroupMmaOp", site.op), b.space, sums.space
        assert isinstance(space, SharedMemory) and isinstance(own, PrivateMemory)
        self._all(op, mask)
        if not self._fenced:
            self._batch.fail(op, "there is no fence before the first product of its group")
        chunk, column, zero = indices[-3:]
        bad = (zero != 0) | (column % 8 != 0) | (column + op.columns > op.line) | (chunk + 2 > b.sizes[-3])
        if np.any(bad & self._part):
            self._batch.fail(op, f"b starts inside of a core matrix, or ends outside of its {b.sizes[-3]} chunks")
        at = self._access.place(site, b, indices, mask) * site.stored.itemsize
        if varies(at) or self._part is not True:
            first = where(self._part, at, 0).max(axis=1, keepdims=True)
            if np.any((at != first) & self._part):
                self._batch.fail(op, "threads of a block read b from different places")
            at = first
        if np.any(at % 16):
            self._batch.fail(op, "byte {byte} is no multiple of 16", byte=at)
        if own not in self._sums:
            if any(slot is None for slot in own.slots):
                self._batch.fail(op, "its sums were not written")
            self._sums[own], own.slots = own.slots, [None] * len(own.slots)
            own.in_flight = True
        product = _Product(op, site, a, space, at, own, self._groups)
        if isinstance(space, checked_memory.CheckedShared):
            space.begin_read(op, product.parts, self._part)
        self._pending.append(product)

    def wait(self, op: Operation, groups: int, mask: Mask) -> None:
        """nvgpu.warpgroup.wait: performs all products except those of the latest `groups` groups."""
        self._all(op, mask)
        done = [each for each in self._pending if each.group < self._groups - groups]
        self._pending = self._pending[len(done) :]
        for each in done:
            before = self._sums[each.sums]
            made = _multiplied(self._batch, each, before)
            if self._part is not True:
                made = [where(self._part, new, old) for new, old in zip(made, before, strict=True)]
            self._sums[each.sums] = made
        for space in {each.space for each in done}:
            if isinstance(space, checked_memory.CheckedShared):
                own = [(each.op, each.parts) for each in done if each.space is space]
                rest = [each.parts for each in self._pending if each.space is space]
                space.end_reads(own, rest, self._part)
                if space.orders is not None:
                    space.orders.synchronise()
        for sums in {each.sums for each in done} - {each.sums for each in self._pending}:
            if any(slot is not None for slot in sums.slots):
                self._batch.fail(done[-1].op, "its sums were written while it was in flight")
            sums.slots, sums.in_flight = self._sums.pop(sums), False

    def finish(self) -> None:
        """The end of the kernel."""
        if self._pending:
            self._batch.fail(self._pending[0].op, "nobody waits for the product")

    def whole(self, op: Operation, mask: Mask) -> Array:
        """Checks that whole warpgroups take part."""
        each = broadcast_to(mask, (np.shape(mask)[0] if varies(mask) else 1, self._batch.threads))
        whole = self._batch.threads // WARPGROUP * WARPGROUP
        if np.any(each[:, whole:]):
            self._batch.fail(op, f"a block of {self._batch.threads} threads has an incomplete warpgroup", mask)
        groups = each[:, :whole].reshape(len(each), -1, WARPGROUP)
        if not np.all(groups == groups[..., :1]):
            self._batch.fail(op, "some threads of a warpgroup take no part", mask)
        return each

    def _all(self, op: Operation, mask: Mask) -> None:
        each = self.whole(op, mask)
        part = True if each.all() else each
        if (self._pending or self._fenced) and (other := np.asarray(part != self._part)).any():
            self._batch.fail(op, "other threads take part than before", other)
        self._part = part


def _multiplied(batch: Batch, product: _Product, sums: list[Value]) -> list[Value]:
    """The sums with a product added: a value for each of a thread's."""
    rows, threads, columns = batch.blocks, batch.threads, product.op.columns
    a = broadcast_to(product.a, (rows, threads, product.a.shape[-1]))
    stored = product.site.stored
    b = np.ascontiguousarray(_bytes(product, rows)).view(stored).reshape(rows, 2, columns, -1)
    left, b = left_matrix(cut(a)), cut(b)
    right = b.astype(np.float64).transpose(0, 1, 3, 2).reshape(rows, -1, columns)
    left = left.astype(np.float64).reshape(rows, threads // 2, -1)  # 16 rows for each of 32 threads
    made = np.matmul(left, right)
    # [warp, row half, g, piece, t, column in pair] -> [warp, g, t, piece, row half, column in pair]
    parts = made.reshape(rows, threads // 32, 2, 8, columns // 8, 4, 2).transpose(0, 1, 3, 5, 4, 2, 6)
    parts = parts.reshape(rows, threads, columns // 2)
    return [toward_zero(parts[..., number] + each) for number, each in enumerate(sums)]


def _bytes(product: _Product, rows: int) -> Array:
    """b of each block, one chunk behind the other."""
    return np.concatenate([_part(product.space.data, at, size, rows) for at, size in product.parts], axis=1)


def _part(data: Array, at: Value, size: int, rows: int) -> Array:
    if not varies(at):
        return data[:, at : at + size]
    return np.take_along_axis(data, broadcast_to(at, (rows, 1)) + np.arange(size), axis=1)
