"""What orders bulk copies and other accesses of shared memory: barriers of the block, and those that count.

A copy may begin where whoever accessed its bytes before has met the thread that starts it: at a barrier of the block,
or by arriving at a barrier (mbarrier) for whose phase that thread has waited. Its bytes may be accessed by threads that
have waited for its own phase, and by all behind a barrier of the block.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation

from ...device import Array
from .batch import Batch, op_text
from .races import Access
from .thread_values import Mask, Value, broadcast_to
from .warps import WARP


@dataclass
class _Earlier:
    """An access since the last barrier of the block, and the threads that it is known to be over for."""

    time: int
    access: Access
    over_for: Mask = False


@dataclass(frozen=True)
class Arrival:
    """Threads that have arrived at a barrier. Each warp's accesses up to its last wait for products are over, too."""

    time: int
    synchronised: int
    threads: Mask


@dataclass
class _Copied:
    """Bytes of a copy that is done, and the threads that know."""

    first: Value
    count: int
    rows: Mask
    known: Mask


@dataclass
class CopyOrders:
    """The accesses and copies of a batch's blocks. Masks and places are values over blocks and threads."""

    batch: Batch
    _time: int = 0
    _synchronised: int = 0
    _earlier: list[_Earlier] = field(default_factory=list[_Earlier])
    _copied: list[_Copied] = field(default_factory=list[_Copied])

    def access(self, access: Access) -> None:
        """An access by ordinary instructions, or of a product's operand."""
        for each in self._copied:
            bad = _meet(access.at, access.count, each.first, each.count) & access.mask & each.rows & _not(each.known)
            if np.any(bad):
                self.batch.fail(access.op, "accesses what was copied, but its thread has not waited for it", bad)
        self._time += 1
        self._earlier.append(_Earlier(self._time, access))

    def begin(self, op: Operation, first: Value, count: int, rows: Mask, by: Array) -> None:
        """A copy to some cells of some blocks begins, started by one thread of each."""
        for each in self._earlier:
            access = each.access
            met = _meet(access.at, access.count, first, count) & access.mask & rows
            others = met & _not(by)
            if not np.any(others):
                continue
            ready = broadcast_to(each.over_for, self.batch.shape)[by].reshape(-1, 1)
            late = others.copy() if len(others) == self.batch.blocks else broadcast_to(others, self.batch.shape).copy()
            late[by.any(axis=1)] &= ~ready
            if late.any():
                what = op_text(access.op).replace("{", "{{").replace("}", "}}")
                self.batch.fail(
                    op, f"writes bytes that other threads may still access, as nothing orders it: {what}", by
                )
        self._earlier = [each for each in self._earlier if not self._is_over(each, first, count, rows)]
        self._copied = [
            each for each in self._copied if not np.any(_meet(each.first, each.count, first, count) & each.rows & rows)
        ]

    def _is_over(self, each: _Earlier, first: Value, count: int, rows: Mask) -> bool:
        """Whether an access was of bytes that are being copied to: what follows meets the copy."""
        met = _meet(each.access.at, each.access.count, first, count) & each.access.mask
        return bool(np.any(met)) and rows is True

    def end(self, first: Value, count: int, rows: Mask, waiting: Mask) -> None:
        """A copy is done, as threads that have waited for it know."""
        if waiting is not True:
            self._copied.append(_Copied(first, count, rows, waiting))

    def arrive(self, mask: Mask) -> Arrival:
        """Threads arrive at a barrier."""
        return Arrival(self._time, self._synchronised, mask)

    def synchronise(self) -> None:
        """A wait for products: all threads of a warp have come so far."""
        self._synchronised = self._time

    def learn(self, arrivals: list[Arrival], waiting: Mask) -> None:
        """Threads have waited for a phase, which these arrivals have completed."""
        for each in self._earlier:
            there: Mask = False
            for arrival in arrivals:
                if each.time <= arrival.synchronised:
                    there = there | self._warps(arrival.threads)
                elif each.time <= arrival.time:
                    there = there | arrival.threads
            if not np.any(each.access.mask & _not(there)):
                each.over_for = each.over_for | waiting

    def _warps(self, threads: Mask) -> Mask:
        """All threads of the warps of some."""
        if isinstance(threads, bool):
            return threads
        whole = broadcast_to(threads, (len(threads), self.batch.threads)).reshape(len(threads), -1, WARP)
        return broadcast_to(whole.any(axis=-1, keepdims=True), whole.shape).reshape(len(threads), -1)

    def barrier(self, passed: Mask) -> None:
        """All threads of some blocks have met."""
        if passed is True:
            self._earlier.clear()
            self._copied.clear()
            return
        for each in self._earlier:
            each.over_for = each.over_for | passed
        for each in self._copied:
            each.known = each.known | passed


def _not(mask: Mask) -> Mask:
    return not mask if isinstance(mask, bool) else ~mask


def _meet(first: Value, count: int, other: Value, others: int) -> Array:
    """Where two runs of cells have some in common."""
    return np.asarray((first < other + others) & (first + count > other))
