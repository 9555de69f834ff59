"""Buffers that may become parts of each other: the model with which elide-copies decides.

Main's buffers are read into accesses: at which step which box of a buffer is read or written, and whether the
kernel takes strided memory there. A move (a copy from one buffer to another) vanishes when one of the buffers
becomes a part of the other. `Elision.merge` does that in the model, if

- the boxes remain boxes: every access of the smaller buffer is one with constant strides, dense rows, and
  strides that its kernel takes, once the buffer lies where it would;
- nothing is overwritten too early: before the copy nobody touches the bytes it goes to, and after it nobody
  writes them through one buffer and reads the old value through the other.

Whether the bytes live at the worst step rise is seen from `peak` before and after; `undo` takes merges back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from ...geometry.boxes import Box, placed


@dataclass(frozen=True)
class BoxAccess:
    """A step touches a box (elements of the buffer it is listed under)."""

    step: int
    box: Box
    writes: bool
    strided: bool  # whether the kernel takes memory with holes, or at an offset into the caller's
    value: SSAValue | None  # the view that the call is given; None for what the caller does
    move: int = -1  # the number of the move that the access belongs to


@dataclass
class RootBuffer:
    """A root: inputs (weights too) and outputs are the caller's memory, which takes no bytes of the arena."""

    root: SSAValue
    nbytes: int  # as the arena will count them
    element: object  # buffers of different element types never merge
    sizes: tuple[int, ...]
    given: Box | None  # what the caller has written before
    kept: Box | None  # what is the caller's at the end; None for a buffer of the arena
    accesses: list[BoxAccess] = field(default_factory=list[BoxAccess])
    part_of: SSAValue | None = None
    home: Box | None = None  # where its elements lie in `part_of`

    @property
    def in_arena(self) -> bool:
        """Whether its bytes are the arena's."""
        return self.kept is None


@dataclass(frozen=True)
class _Undo:
    child: RootBuffer
    parent: RootBuffer
    child_accesses: list[BoxAccess]
    parent_accesses: list[BoxAccess]


class Elision:
    """The buffers of a main of so many steps, with `scratch` bytes at each.

    What a loop does to a buffer from outside of it must be listed at the loop's first step and its last as well.
    """

    def __init__(self, scratch: list[int]) -> None:
        self.steps = len(scratch)
        self.live = list(scratch)
        self.buffers: dict[SSAValue, RootBuffer] = {}
        self.moves: dict[int, tuple[SSAValue, SSAValue]] = {}  # the roots of a move's source and target
        self.journal: list[_Undo] = []

    def add(self, buffer: RootBuffer) -> None:
        """A buffer with all its accesses, to which those of the caller are added."""
        self.buffers[buffer.root] = buffer
        if buffer.kept is not None:
            buffer.accesses.append(BoxAccess(self.steps, buffer.kept, False, True, None))
        if buffer.given is not None:
            buffer.accesses.insert(0, BoxAccess(-1, buffer.given, True, True, None))
        self._count(buffer, 1)

    def add_move(self, move: int, source: SSAValue, target: SSAValue) -> None:
        """A move from a box of one root to a box of another, whose accesses bear its number."""
        self.moves[move] = (source, target)

    @property
    def peak(self) -> int:
        """The most bytes live at one step."""
        return max(self.live, default=0)

    def locate(self, root: SSAValue, box: Box) -> tuple[RootBuffer, Box] | None:
        """The buffer that a root is now part of, and where in it a box of the root lies.

        None where it is no box any more, which no access is, but more of the buffer than is accessed may be.
        """
        buffer = self.buffers[root]
        while buffer.part_of is not None and buffer.home is not None:
            moved = placed(box, buffer.home)
            if moved is None:
                return None
            buffer, box = self.buffers[buffer.part_of], moved
        return buffer, box

    def stretch(self, move: int) -> int:
        """By how many steps a buffer would live longer if the two sides of the move were one."""
        (source, _), (target, _) = self.side(move, writes=False), self.side(move, writes=True)
        return target.accesses[-1].step - source.accesses[0].step

    def is_plain(self, move: int) -> bool:
        """Whether a copy kernel that takes no strides could carry out the move where its sides now lie."""
        return all(
            _acceptable(replace(access, strided=False), access.box, buffer)
            for buffer, access in (self.side(move, writes=False), self.side(move, writes=True))
        )

    def merge(self, move: int) -> bool:
        """Makes the buffers of a move's two sides one, where that is sound; says whether it did."""
        (reader, read), (writer, written) = self.side(move, writes=False), self.side(move, writes=True)
        if reader is writer:
            return read.box == written.box and self._drop(reader, move)
        if _is_whole(writer, written.box) and self._join(writer, reader, read.box, move, child_is_target=True):
            return True
        return _is_whole(reader, read.box) and self._join(reader, writer, written.box, move, child_is_target=False)

    def undo(self, mark: int) -> None:
        """Takes back all merges but the first `mark`."""
        while len(self.journal) > mark:
            last = self.journal.pop()
            self._count(last.parent, -1)
            last.parent.accesses = last.parent_accesses
            last.child.accesses = last.child_accesses
            last.child.part_of = last.child.home = None
            self._count(last.parent, 1)
            if last.child is not last.parent:
                self._count(last.child, 1)

    def side(self, move: int, *, writes: bool) -> tuple[RootBuffer, BoxAccess]:
        """The buffer and the access on the source or the target side of a move that has not vanished."""
        buffer = self.buffers[self.moves[move][writes]]
        while buffer.part_of is not None:
            buffer = self.buffers[buffer.part_of]
        accesses = (each for each in buffer.accesses if each.move == move and each.writes == writes)
        return buffer, next(accesses)

    def _drop(self, buffer: RootBuffer, move: int) -> bool:
        """A copy of a box onto itself is no access any more."""
        self.journal.append(_Undo(buffer, buffer, buffer.accesses, buffer.accesses))
        self._count(buffer, -1)
        buffer.accesses = [access for access in buffer.accesses if access.move != move]
        self._count(buffer, 1)
        return True

    def _join(self, child: RootBuffer, parent: RootBuffer, home: Box, move: int, *, child_is_target: bool) -> bool:
        if not child.in_arena or child.element != parent.element:
            return False
        moved: list[BoxAccess] = []
        for access in child.accesses:
            box = placed(access.box, home) if access.move != move else home
            if box is None or not (access.move == move or _acceptable(access, box, parent)):
                return False
            moved.append(replace(access, box=box))
        step = next(access.step for access in moved if access.move == move)
        child_side = [access for access in moved if access.move != move]
        parent_side = [access for access in parent.accesses if access.move != move]
        sides = (parent_side, child_side) if child_is_target else (child_side, parent_side)
        if not _undisturbed(*sides, step, home):
            return False
        self.journal.append(_Undo(child, parent, child.accesses, parent.accesses))
        self._count(child, -1)
        self._count(parent, -1)
        parent.accesses = sorted(parent_side + child_side, key=lambda access: access.step)
        child.accesses = []
        child.part_of, child.home = parent.root, home
        self._count(parent, 1)
        return True

    def _count(self, buffer: RootBuffer, sign: int) -> None:
        """Adds the buffer's bytes to the steps of its life, or takes them away."""
        steps = [access.step for access in buffer.accesses if 0 <= access.step < self.steps]
        if buffer.in_arena and steps:
            amount = sign * buffer.nbytes
            for step in range(min(steps), max(steps) + 1):
                self.live[step] += amount


def _count(sizes: tuple[int, ...]) -> int:
    return Box.dense(sizes).count


def _is_whole(buffer: RootBuffer, box: Box) -> bool:
    return box.is_dense and box.offset == 0 and box.count == _count(buffer.sizes)


def _acceptable(access: BoxAccess, box: Box, parent: RootBuffer) -> bool:
    """Whether the call takes this box. What is dense in the arena will be a buffer like any other there."""
    plain = box.is_dense and (box.offset == 0 or parent.in_arena)
    return plain or (access.strided and box.rows_are_dense)


def _undisturbed(source: list[BoxAccess], target: list[BoxAccess], step: int, home: Box) -> bool:
    """Whether two buffers can be the same bytes, the source being copied to the target at this step."""

    def touching(side: list[BoxAccess], which: Callable[[BoxAccess], bool]) -> list[BoxAccess]:
        return [access for access in side if which(access) and access.box.overlaps(home)]

    if touching(target, lambda access: access.step <= step):
        return False
    for writers, readers in ((source, target), (target, source)):
        for write in touching(writers, lambda access: access.writes and access.step >= step):
            if any(not read.writes and read.step >= write.step and read.box.overlaps(write.box) for read in readers):
                return False
    return True
