"""Where the past and the present of a cache lie in its room, and what a kernel adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from ....dialects.graph.cache_attributes import CacheAttr
from ....dialects.graph.values import AnyTensor
from ...geometry.boxes import Box, placed, row_major
from .buffers import Place
from .host import Move


def part_of(cache: CacheAttr, type: AnyTensor) -> Box:
    """Where the past or the present of a cache lies in its room."""
    return Box(0, type.get_shape(), row_major(cache.room.get_shape()))


class Added(NamedTuple):
    """A box of a buffer that goes to a box of a room."""

    root: SSAValue
    source: Box
    target: Box


def added_to(room: Place, moves: Sequence[Move], operands: Sequence[Place]) -> list[Added] | None:
    """What moves from the operands put beside a past that stays where it is; None where it doesn't, or isn't moved."""
    added: list[Added] = []
    for move in moves:
        place = operands[move.operand]
        source, target = placed(move.source, place.box), placed(move.target, room.box)
        if source is None or target is None:
            return None
        if place.root is not room.root:
            added.append(Added(place.root, source, target))
        elif source != target or source.count != place.box.count:
            return None
    return added if len(added) < len(moves) else None
