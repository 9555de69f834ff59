"""Asynchronous copies: loaded when issued, stored only when their thread waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from . import checked_memory, memory
from .batch import Batch
from .memory import MemoryView, SharedMemory, Site
from .thread_values import Mask, Value, split, spread, where


@dataclass(frozen=True)
class _Copy:
    """A pending copy of the threads in the mask, part of the group of that number."""

    site: Site
    space: SharedMemory
    at: Value
    data: Value
    mask: Mask
    group: Value


class Copies:
    """The pending copies of a batch's threads."""

    def __init__(self, batch: Batch, checked: bool) -> None:
        self._batch = batch
        self._access = checked_memory if checked else memory
        self._pending: list[_Copy] = []
        self._groups: Value = 0  # number of groups that each thread has closed

    def begin(
        self,
        site: Site,
        source: MemoryView,
        source_indices: Sequence[Value],
        target: MemoryView,
        target_indices: Sequence[Value],
        valid: Value | None,
        mask: Mask,
    ) -> None:
        """nvgpu.device_async_copy; `valid` elements are loaded, the others are zeros."""
        space = target.space
        assert isinstance(space, SharedMemory)
        at = self._access.place(site, target, target_indices, mask)
        if isinstance(space, checked_memory.CheckedShared):
            space.begin_copy(site, at, mask)
        data = self._read(site, source, source_indices, site.lanes if valid is None else valid, mask)
        self._pending.append(_Copy(site, space, at, data, mask, self._groups))

    def _read(self, site: Site, source: MemoryView, indices: Sequence[Value], valid: Value, mask: Mask) -> Value:
        bad = checked_memory.outside(valid, site.lanes + 1, mask)
        if bad is not None:
            self._batch.fail(site.op, f"{{valid}} of {site.lanes} elements are valid", bad, valid=valid)
        whole, rest = split(valid == site.lanes, mask)
        some, _ = (False, mask) if rest is False else split(valid > 0, rest)
        data: Value = np.zeros((1, 1, site.lanes), site.kind)
        if whole is not False:
            found = self._access.load(site, source, indices, whole)
            data = found if whole is mask else where(spread(whole), found, data)
        if some is not False:
            data = self._some(site, source, indices, valid, some, data)
        return data

    def _some(
        self, site: Site, source: MemoryView, indices: Sequence[Value], valid: Value, mask: Mask, data: Value
    ) -> Value:
        """Loads the valid elements one by one, in threads where not all are valid."""
        single = replace(site, lanes=0, unit=site.stored)
        lanes = [data[..., lane] for lane in range(site.lanes)]
        for lane in range(site.lanes):
            inside, _ = split(valid > lane, mask)
            if inside is not False:
                at = [*indices[:-1], indices[-1] + lane]
                found = self._access.load(single, source, at, inside)
                lanes[lane] = found if inside is True else where(inside, found, lanes[lane])
        return np.stack([np.atleast_2d(each) for each in np.broadcast_arrays(*lanes)], axis=-1)

    def group(self, mask: Mask) -> None:
        """nvgpu.device_async_create_group"""
        self._groups = self._groups + (1 if mask is True else mask)

    def wait(self, groups: int, mask: Mask) -> None:
        """nvgpu.device_async_wait: stores all copies except those of the latest `groups` groups."""
        pending: list[_Copy] = []
        for copy in self._pending:
            ready, _ = split(copy.group < self._groups - groups, mask)
            done: Mask = False
            if ready is not False:
                done, rest = _both(ready, copy.mask)
            else:
                rest = copy.mask
            if done is not False:
                self._store(copy, done, rest is False)
            if rest is not False:
                pending.append(replace(copy, mask=rest))
        self._pending = pending

    def _store(self, copy: _Copy, mask: Mask, last: bool) -> None:
        if isinstance(copy.space, checked_memory.CheckedShared):
            copy.space.end_copy(copy.site, copy.at, mask, last)
        copy.space.store(copy.site, copy.at, copy.data, mask)


def _both(ready: Mask, mask: Mask) -> tuple[Mask, Mask]:
    """The threads of the mask that are ready, and the others."""
    return (mask, False) if ready is True else split(ready, mask)
