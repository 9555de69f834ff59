"""Marks on the cells of shared memory: what was written, is being copied, or is not seen by products yet."""

from __future__ import annotations

import numpy as np

from ...device import Array
from .batch import Batch, active
from .thread_values import Mask, Value, broadcast_to


class Marks:
    """A mark on each cell of each block; one row serves all blocks while they agree."""

    def __init__(self, batch: Batch, cells: int) -> None:
        self._batch = batch
        self._marks = np.zeros((1, cells), bool)

    def set(self, first: Value, count: int, mask: Mask, mark: bool, rows: Array | None = None) -> None:
        """Sets or clears the marks of `count` cells from the first on, of each block or of some `rows`."""
        rows, cells = self._places(first, count, mask, rows)
        if mask is not True:
            chosen = broadcast_to(mask, cells.shape[:2])
            rows, cells = broadcast_to(rows, cells.shape)[chosen], cells[chosen]
        self._marks[rows, cells] = mark

    def clear(self, rows: Mask) -> None:
        """Clears all marks of some blocks."""
        if rows is True:
            self._marks[...] = False
        elif rows is not False:
            self._marks = np.where(rows, False, self._marks)

    def found(self) -> Array | None:
        """The blocks of which some cell is marked; None if there are none."""
        return active(np.asarray(self._marks.any(axis=1, keepdims=True)), True)

    def any(self, first: Value, count: int, mask: Mask, rows: Array | None = None) -> Mask | None:
        """Threads for which some cell is marked."""
        rows, cells = self._places(first, count, mask, rows)
        return active(np.asarray(self._found(rows, cells).any(axis=-1)), mask)

    def missing(self, first: Value, count: int, mask: Mask, rows: Array | None = None) -> Mask | None:
        """Threads for which some cell isn't marked."""
        rows, cells = self._places(first, count, mask, rows)
        return active(np.logical_not(self._found(rows, cells).all(axis=-1)), mask)

    def _found(self, rows: Array, cells: Array) -> Array:
        flat = cells + rows * self._marks.shape[1]
        return self._marks.reshape(-1).take(flat, mode="clip")

    def _places(self, first: Value, count: int, mask: Mask, given: Array | None = None) -> tuple[Array, Array]:
        """Row and column of all cells: arrays over blocks, threads and cells. Rows are split where blocks differ."""
        cells = np.atleast_2d(first)[..., None] + np.arange(count)
        shape = np.broadcast_shapes(cells.shape[:2], np.shape(mask), () if given is None else given.shape)
        differ = shape[0] > 1
        if differ and len(self._marks) == 1:
            self._marks = self._marks.repeat(self._batch.blocks, axis=0)
        cells = broadcast_to(cells, (*shape, count))
        if given is not None:
            return given[..., None], cells
        if len(self._marks) == 1:
            return np.zeros((1, 1, 1), np.int64), cells
        return np.arange(self._batch.blocks)[:, None, None], broadcast_to(cells, (self._batch.blocks, *cells.shape[1:]))


class StoredMarks(Marks):
    """Cells that ordinary stores wrote, and that products don't see yet.

    They see them once each thread has fenced what it stored itself, and a barrier of the block has followed.
    """

    def __init__(self, batch: Batch, cells: int, fences: bool) -> None:
        """`fences`: whether the kernel has any; without, nothing that is stored is ever seen."""
        super().__init__(batch, cells)
        self._fences = fences
        self._stores: list[tuple[Value, int, Mask]] = []
        self._fenced: list[tuple[Value, int, Mask]] = []

    def store(self, first: Value, count: int, mask: Mask) -> None:
        """Threads of a mask store `count` cells from the first on."""
        self.set(first, count, mask, True)
        if self._fences:
            self._stores.append((first, count, mask))

    def fence(self, mask: Mask) -> None:
        """nvgpu.proxy_fence of the threads of a mask."""
        own, self._stores = self._stores, []
        for first, count, stored in own:
            self._fenced.append((first, count, stored if mask is True else stored & mask))
            if mask is not True:
                self._stores.append((first, count, stored & np.logical_not(mask)))

    def barrier(self, passed: Mask) -> None:
        """All threads of some blocks have met."""
        fenced, self._fenced = self._fenced, []
        for first, count, mask in fenced:
            self.set(first, count, mask if passed is True else mask & passed, False)
            if passed is not True:
                self._fenced.append((first, count, mask & np.logical_not(passed)))
