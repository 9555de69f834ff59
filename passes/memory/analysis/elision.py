"""The model with which elide-copies decides which buffers may become parts of others.

Main's buffers are read as accesses: the step, the box that it reads or writes, and whether the kernel accepts strided
memory there. A move (a copy from one buffer to another) vanishes when one of the two buffers becomes a part of the
other. `Elision.merge` does so in the model, if
- boxes remain boxes: once the smaller buffer is placed in the larger, each of its accesses has constant strides and
  dense rows, with strides that its kernel accepts;
- no live value is overwritten: nothing accesses the copy's target bytes before the copy, and after it nobody writes the
  shared bytes through one buffer while the other is still read.

Compare `peak` before and after a merge for its effect on memory; `undo` reverts merges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from ....dialects.kernel.calls import WindowOp
from ...geometry.boxes import Box, placed


@dataclass(frozen=True)
class BoxAccess:
    """An access of one step to a box, in elements of the buffer that lists it."""

    step: int
    box: Box
    writes: bool
    strided: bool  # whether the kernel accepts strided memory, or an offset into the caller's
    value: SSAValue | None  # the view that is the call's operand; None for accesses of the caller
    move: int = -1  # the number of the move that the access belongs to

    @property
    def is_window(self) -> bool:
        """Whether it is to a dense part that lies somewhere in the box."""
        return self.value is not None and isinstance(self.value.owner, WindowOp)


@dataclass
class RootBuffer:
    """A root buffer; inputs, weights and outputs are the caller's memory and take no bytes of the arena."""

    root: SSAValue
    nbytes: int  # bytes in the arena, padded to the alignment
    element: object  # buffers of different element types never merge
    sizes: tuple[int, ...]
    given: Box | None  # the box that the caller writes before the run
    kept: Box | None  # the box that the caller reads after the run; None for a buffer of the arena
    accesses: list[BoxAccess] = field(default_factory=list[BoxAccess])
    part_of: SSAValue | None = None
    home: Box | None = None  # the place of its elements in `part_of`
    merged_by: int = -1  # the move that made it a part
    own: list[BoxAccess] = field(default_factory=list[BoxAccess])  # without those of its parts

    @property
    def in_arena(self) -> bool:
        """Whether it lies in the arena."""
        return self.kept is None


@dataclass(frozen=True)
class _Undo:
    child: RootBuffer
    parent: RootBuffer
    move: int
    child_accesses: list[BoxAccess]
    parent_accesses: list[BoxAccess]


class Elision:
    """The buffers and moves of a main of `steps` steps, with `scratch` bytes at each step.

    What a loop does to a buffer defined outside of it must be listed at the loop's first step and at its last.
    """

    def __init__(self, scratch: list[int]) -> None:
        self.steps = len(scratch)
        self.live = list(scratch)
        self.buffers: dict[SSAValue, RootBuffer] = {}
        self.moves: dict[int, tuple[SSAValue, SSAValue]] = {}  # the roots of a move's source and target
        self.journal: list[_Undo] = []
        self._known: dict[tuple[int, int], tuple[BoxAccess, Box, BoxAccess | None]] = {}

    def add(self, buffer: RootBuffer) -> None:
        """Adds a buffer with its accesses; for the caller's memory, accesses at entry and exit are appended."""
        self.buffers[buffer.root] = buffer
        if buffer.kept is not None:
            buffer.accesses.append(BoxAccess(self.steps, buffer.kept, False, True, None))
        if buffer.given is not None:
            buffer.accesses.insert(0, BoxAccess(-1, buffer.given, True, True, None))
        buffer.own = buffer.accesses
        self._count(buffer, 1)

    def add_move(self, move: int, source: SSAValue, target: SSAValue) -> None:
        """Adds a move from a box of one root to a box of another; its accesses bear the move's number."""
        self.moves[move] = (source, target)

    @property
    def peak(self) -> int:
        """The peak of live bytes."""
        return max(self.live, default=0)

    def locate(self, root: SSAValue, box: Box) -> tuple[RootBuffer, Box] | None:
        """The buffer that a root has become a part of, and the given box of the root in that buffer.

        None where the image is no box. That is possible only for boxes larger than any access.
        """
        buffer = self.buffers[root]
        while buffer.part_of is not None and buffer.home is not None:
            moved = placed(box, buffer.home)
            if moved is None:
                return None
            buffer, box = self.buffers[buffer.part_of], moved
        return buffer, box

    def stretch(self, move: int) -> int:
        """By how many steps a lifetime grows if both sides of the move become one buffer."""
        (source, _), (target, _) = self.side(move, writes=False), self.side(move, writes=True)
        return target.accesses[-1].step - source.accesses[0].step

    def is_plain(self, move: int) -> bool:
        """Whether a copy kernel without strides could carry out the move between the present places of its sides."""
        return all(
            _acceptable(replace(access, strided=False), access.box, buffer)
            for buffer, access in (self.side(move, writes=False), self.side(move, writes=True))
        )

    def merge(self, move: int) -> bool:
        """Merges the buffers of a move's two sides if that is sound; returns whether it did."""
        (reader, read), (writer, written) = self.side(move, writes=False), self.side(move, writes=True)
        if reader is writer:
            return read.box == written.box and self._drop(reader, move)
        if _is_whole(writer, written.box) and self._join(writer, reader, read.box, move, child_is_target=True):
            return True
        return _is_whole(reader, read.box) and self._join(reader, writer, written.box, move, child_is_target=False)

    def hoist(self, move: int, step: int) -> int | None:
        """Lets a move happen just before an earlier step; the peak of live bytes then, None where it can't be done.

        Nothing may access the source from that step on, nor the target's bytes before the move's own step.
        """
        (reader, read), (writer, written) = self.side(move, writes=False), self.side(move, writes=True)
        others = [access for access in reader.accesses if access is not read]
        between = [access for access in writer.accesses if step <= access.step < written.step]
        if reader is writer or any(access.step >= step for access in others):
            return None
        if any(access.box.overlaps(written.box) for access in between):
            return None
        self._move(reader, read, step - 1)
        self._move(writer, written, step)
        crossing = (each for each in self.buffers.values() if each in (reader, writer) or _is_live_before(each, step))
        return max(self.peak, sum(each.nbytes for each in crossing if each.in_arena))

    def unhoist(self, move: int, step: int) -> None:
        """Lets a move happen at its own step again."""
        for writes in (False, True):
            self._move(*self.side(move, writes=writes), step)

    def _move(self, buffer: RootBuffer, access: BoxAccess, step: int) -> None:
        """Lets an access be one of another step."""
        self._count(buffer, -1)
        accesses = (replace(each, step=step) if each is access else each for each in buffer.accesses)
        buffer.accesses = sorted(accesses, key=lambda each: each.step)
        self._count(buffer, 1)

    def undo(self, mark: int) -> None:
        """Reverts all merges after the first `mark`."""
        while len(self.journal) > mark:
            last = self.journal.pop()
            self._count(last.parent, -1)
            last.parent.accesses = last.parent_accesses
            last.child.accesses = last.child_accesses
            last.child.part_of = last.child.home = None
            self._count(last.parent, 1)
            if last.child is not last.parent:
                self._count(last.child, 1)

    def costly(self, step: int) -> list[int]:
        """The merged moves without which fewer bytes would be live at a step, that of the most bytes first."""
        gone = {each.move for each in self.journal}
        groups: dict[SSAValue, list[RootBuffer]] = {}
        for buffer in self.buffers.values():
            groups.setdefault(self._whole(buffer).root, []).append(buffer)

        def is_live(buffers: list[RootBuffer], move: int) -> bool:
            """Whether buffers would be live at the step if the move were a copy."""
            accesses = (each for buffer in buffers for each in buffer.own if each.move == move or each.move not in gone)
            steps = [each.step for each in accesses]
            return bool(steps) and min(steps) <= step <= max(steps)

        saved: list[tuple[int, int]] = []
        for root, members in groups.items():
            whole = self.buffers[root]
            if not whole.in_arena or len(members) < 2 or not is_live(members, -1):
                continue
            for part in members:
                if part is not whole:
                    below = [each for each in members if self._whole(each, part) is part]
                    others = [each for each in members if each not in below]
                    apart = part.nbytes * is_live(below, part.merged_by) + whole.nbytes * is_live(
                        others, part.merged_by
                    )
                    saved.append((whole.nbytes - apart, part.merged_by))
        return [move for nbytes, move in sorted(saved, reverse=True) if nbytes > 0]

    def _whole(self, buffer: RootBuffer, end: RootBuffer | None = None) -> RootBuffer:
        """What a buffer is a part of, directly or not: the last such buffer, or `end`."""
        while buffer is not end and buffer.part_of is not None:
            buffer = self.buffers[buffer.part_of]
        return buffer

    def side(self, move: int, *, writes: bool) -> tuple[RootBuffer, BoxAccess]:
        """The buffer and the access of a move's source or target."""
        buffer = self._whole(self.buffers[self.moves[move][writes]])
        accesses = (each for each in buffer.accesses if each.move == move and each.writes == writes)
        return buffer, next(accesses)

    def _drop(self, buffer: RootBuffer, move: int) -> bool:
        """Removes the accesses of a move that became a copy of a box onto itself."""
        self.journal.append(_Undo(buffer, buffer, move, buffer.accesses, buffer.accesses))
        self._count(buffer, -1)
        buffer.accesses = [access for access in buffer.accesses if access.move != move]
        self._count(buffer, 1)
        return True

    def _join(self, child: RootBuffer, parent: RootBuffer, home: Box, move: int, *, child_is_target: bool) -> bool:
        if not child.in_arena or child.element != parent.element:
            return False
        moved: list[BoxAccess] = []
        for access in child.accesses:
            there = self._placed(access, home) if access.move != move else replace(access, box=home)
            if there is None or not (access.move == move or _acceptable(access, there.box, parent)):
                return False
            moved.append(there)
        step = next(access.step for access in moved if access.move == move)
        child_side = [access for access in moved if access.move != move]
        parent_side = [access for access in parent.accesses if access.move != move]
        sides = (parent_side, child_side) if child_is_target else (child_side, parent_side)
        if not _undisturbed(*sides, step, home):
            return False
        self.journal.append(_Undo(child, parent, move, child.accesses, parent.accesses))
        self._count(child, -1)
        self._count(parent, -1)
        parent.accesses = sorted(parent_side + child_side, key=lambda access: access.step)
        child.accesses = []
        child.part_of, child.home, child.merged_by = parent.root, home, move
        self._count(parent, 1)
        return True

    def _placed(self, access: BoxAccess, home: Box) -> BoxAccess | None:
        """The access of an element of `home`'s buffer instead; None where it is to no box.

        Known by the identity of its arguments: merges that were undone are tried again with most of them.
        """
        key = (id(access), id(home))
        if key not in self._known:
            box = placed(access.box, home)
            self._known[key] = access, home, None if box is None else replace(access, box=box)
        return self._known[key][2]

    def _count(self, buffer: RootBuffer, sign: int) -> None:
        """Adds (sign 1) or removes (-1) the buffer's bytes at the steps of its lifetime."""
        steps = [access.step for access in buffer.accesses if 0 <= access.step < self.steps]
        if buffer.in_arena and steps:
            amount = sign * buffer.nbytes
            for step in range(min(steps), max(steps) + 1):
                self.live[step] += amount


def _is_live_before(buffer: RootBuffer, step: int) -> bool:
    """Whether a buffer is accessed both before a step and from it on."""
    return bool(buffer.accesses) and buffer.accesses[0].step < step <= buffer.accesses[-1].step


def _count(sizes: tuple[int, ...]) -> int:
    return Box.dense(sizes).count


def _is_whole(buffer: RootBuffer, box: Box) -> bool:
    return box.is_dense and box.offset == 0 and box.count == _count(buffer.sizes)


def _acceptable(access: BoxAccess, box: Box, parent: RootBuffer) -> bool:
    """Whether the call accepts this box; a dense box of the arena is a plain buffer to any kernel, as a window is."""
    if access.is_window:
        return box.is_dense
    plain = box.is_dense and (box.offset == 0 or parent.in_arena)
    return plain or (access.strided and box.rows_are_dense)


def _undisturbed(source: list[BoxAccess], target: list[BoxAccess], step: int, home: Box) -> bool:
    """Whether two buffers may be the same bytes, given that the source is copied to the target at this step."""

    def touching(side: list[BoxAccess], which: Callable[[BoxAccess], bool]) -> list[BoxAccess]:
        return [access for access in side if which(access) and access.box.overlaps(home)]

    if touching(target, lambda access: access.step <= step):
        return False
    for writers, readers in ((source, target), (target, source)):
        for write in touching(writers, lambda access: access.writes and access.step >= step):
            if any(not read.writes and read.step >= write.step and read.box.overlaps(write.box) for read in readers):
                return False
    return True
