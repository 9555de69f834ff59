"""Data race detection: accesses are recorded, and compared at the barrier that ends their interval.

Memory is divided into cells of the size of the smallest access. Two accesses to a cell race if one of them writes,
different threads made them, and no barrier of the block separates them; accesses of different blocks race at any time,
unless a barrier of the grid separates them. Between barriers their order is irrelevant: no GPU guarantees one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from typing_extensions import override
from xdsl.ir import Operation

from ...device import Array
from .batch import Batch, op_text
from .thread_values import Mask, Value

MANY = -1  # mark of a cell that several blocks read


@dataclass(frozen=True)
class Access:
    """Cells accessed by threads: `count` adjacent ones from `at` on."""

    op: Operation
    at: Value
    count: int
    mask: Mask
    writes: bool


def _quoted(op: Operation) -> str:
    """An op's text, escaped for a format string."""
    return op_text(op).replace("{", "{{").replace("}", "}}")


class Races:
    """Accesses to the shared memory of each block since its last barrier."""

    what = "shared memory"
    keeps_reads = False
    """Whether accesses are compared even where none writes: reads count against later writes."""

    def __init__(self, batch: Batch, cells: int) -> None:
        self.batch = batch
        self._cells = cells
        self._noted: list[Access] = []
        self._owners = np.zeros(0, np.int32)

    def note(self, access: Access) -> None:
        """Records an access until the next barrier."""
        self._noted.append(access)

    def barrier(self, passed: Mask) -> None:
        """Compares the recorded accesses of blocks that pass the barrier. Raises KernelError."""
        noted, self._noted = self._noted, []
        if noted and (self.keeps_reads or any(access.writes for access in noted)):
            self._compare(noted)
        if passed is not True:
            self._noted = [replace(access, mask=access.mask & np.logical_not(passed)) for access in noted]

    def _compare(self, noted: list[Access]) -> None:
        rows = self._rows(noted)
        if len(self._owners) < self._size(rows):
            self._owners = np.zeros(self._size(rows), np.int32)
        owners = self._owners
        flat = [(access, *self._threads(access, rows)) for access in noted]
        for access, cells, threads in flat:
            if access.writes:
                owners[cells] = threads
        for access, cells, threads in flat:
            other = owners[cells]
            bad = other != threads
            if not access.writes:
                bad &= other != 0
            if bad.any():
                first = int(bad.argmax())
                self._fail(access, int(cells[first]), int(threads[first]), int(other[first]), flat)
        for access, cells, _ in flat:
            if access.writes:
                owners[cells] = 0
        self._finish(flat)

    def _finish(self, flat: list[tuple[Access, Array, Array]]) -> None:
        """Handles accesses without races within their blocks."""

    def _rows(self, noted: list[Access]) -> int:
        """1 if all blocks make the same accesses, which are then compared once; else the number of blocks."""
        shapes = (np.shape(value) for access in noted for value in (access.at, access.mask))
        return self.batch.blocks if any(shape and shape[0] > 1 for shape in shapes) else 1

    def _threads(self, access: Access, rows: int) -> tuple[Array, Array]:
        """The cells of an access, and for each the number of its thread, from 1 on."""
        shape = (rows, self.batch.threads)
        threads = np.arange(1, rows * self.batch.threads + 1, dtype=np.int32).reshape(shape)
        cells = np.broadcast_to(self._flat(access.at, rows), shape)
        if access.mask is True:
            cells, threads = cells.ravel(), threads.ravel()
        else:
            mask = np.broadcast_to(access.mask, shape)
            cells, threads = cells[mask], threads[mask]
        if access.count > 1:
            cells = (cells[:, None] + np.arange(access.count)).ravel()
            threads = threads.repeat(access.count)
        return cells, threads

    def _size(self, rows: int) -> int:
        return rows * self._cells

    def _flat(self, at: Value, rows: int) -> Value:
        return at if rows == 1 else at + (np.arange(rows) * self._cells)[:, None]

    def _fail(
        self, access: Access, cell: int, thread: int, other: int, flat: list[tuple[Access, Array, Array]]
    ) -> None:
        """Raises KernelError naming both accesses and both threads."""
        writer = next(
            each for each, cells, threads in flat if each.writes and ((cells == cell) & (threads == other)).any()
        )
        row, number = divmod(other - 1, self.batch.threads)
        whose = f"thread {number} of block {self.batch.first + row}, counted flat,"
        what = "writes bytes" if access.writes else "reads bytes"
        mine = np.zeros(self.batch.shape, bool)
        mine.flat[thread - 1] = True
        how = f"writes too, with no barrier between: {_quoted(writer.op)}"
        self.batch.fail(access.op, f"{what} of {self.what} that {whose} {how}", mine)


class GlobalRaces(Races):
    """Accesses to a range of global memory that some argument of the kernel may write."""

    what = "global memory"
    keeps_reads = True

    def __init__(self, batch: Batch, cells: int) -> None:
        super().__init__(batch, cells)
        self._written = np.zeros(cells, np.int32)  # the block that wrote a cell, numbered from 1 in the whole launch
        self._read = np.zeros(cells, np.int32)

    @override
    def _rows(self, noted: list[Access]) -> int:
        return self.batch.blocks

    @override
    def _size(self, rows: int) -> int:
        return self._cells

    @override
    def _flat(self, at: Value, rows: int) -> Value:
        return at

    @override
    def _threads(self, access: Access, rows: int) -> tuple[Array, Array]:
        """The same, without cells outside of the range, which are never written."""
        cells, threads = super()._threads(access, rows)
        inside = (cells >= 0) & (cells < self._cells)
        return (cells, threads) if inside.all() else (cells[inside], threads[inside])

    @override
    def _finish(self, flat: list[tuple[Access, Array, Array]]) -> None:
        for access, cells, threads in flat:
            blocks = (threads - 1) // self.batch.threads + (self.batch.first + 1)
            for shadow, verb in self._others(access):
                other = shadow[cells]
                bad = (other != 0) & (other != blocks)
                if bad.any():
                    first = int(bad.argmax())
                    self._fail_between(access, int(threads[first]), int(other[first]), verb)
            if access.writes:
                self._written[cells] = blocks
            else:
                other = self._read[cells]
                blocks = np.where((other == 0) | (other == blocks), blocks, MANY)
                self._read[cells] = blocks
                self._read[cells[self._read[cells] != blocks]] = MANY

    def grid_barrier(self) -> None:
        """All blocks of the launch have met: what they did before is no matter from now on."""
        self._written[:] = self._read[:] = 0

    def _others(self, access: Access) -> Iterator[tuple[Array, str]]:
        yield self._written, "writes"
        if access.writes:
            yield self._read, "reads"

    def _fail_between(self, access: Access, thread: int, other: int, verb: str) -> None:
        mine = np.zeros(self.batch.shape, bool)
        mine.flat[thread - 1] = True
        whose = f"block {other - 1}, counted flat, {verb}" if other != MANY else f"several blocks {verb[:-1]}"
        what = "writes bytes" if access.writes else "reads bytes"
        self.batch.fail(access.op, f"{what} of {self.what} that {whose} too, in the same launch", mine)
