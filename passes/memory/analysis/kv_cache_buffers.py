"""The places of a key-value cache's past and present in their shared buffer, and the part a kernel appends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from ....dialects.graph.kv_cache_attributes import CacheAttr
from ....dialects.graph.values import AnyTensor
from ...geometry.boxes import Box, placed, row_major
from .buffers import Place
from .main_steps import Move


def part_of(cache: CacheAttr, type: AnyTensor) -> Box:
    """The box of a cache's past or present in its buffer."""
    return Box(0, type.get_shape(), row_major(cache.room.get_shape()))


class Appended(NamedTuple):
    """A box of an operand that is copied to a box of the cache's buffer."""

    root: SSAValue
    source: Box
    target: Box


def appended_to(room: Place, moves: Sequence[Move], operands: Sequence[Place]) -> list[Appended] | None:
    """The copies that append to a cache. None where a kernel also moves the past, or computes other elements."""
    added: list[Appended] = []
    for move in moves:
        place = operands[move.operand]
        source, target = placed(move.source, place.box), placed(move.target, room.box)
        if source is None or target is None:
            return None
        if place.root is not room.root:
            added.append(Appended(place.root, source, target))
        elif source != target or source.count != place.box.count:
            return None
    return added if len(added) < len(moves) else None
