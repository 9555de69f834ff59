"""Liveness of buffers: half-open lifetimes in steps of main.

Steps are those of main_steps.py: calls, and loads of scalars that control loops and branches. A buffer is born at its
first access and dead one step after its last; an access to a view is an access to its root. Inside its lifetime it has
a gap from its last read to a call that overwrites all of it without reading it.
- A buffer from outside of a loop that the loop accesses is live throughout the loop.
- The branches of an scf.if exclude each other. Their steps are numbered one after the other, so buffers that are live
  only in one may share bytes with buffers that are live only in the other.
- A memref yielded by a branch or carried by a loop (yield, iter_args) may be any of its incoming buffers: these form
  one alias group and are live together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.errors import PlanError
from ....dialects.graph.host import Loop, carried_of, initial_of, turn_of
from .buffers import Places, is_memref
from .main_steps import Step, read_by, scratch_of, touches_nothing, written_by


@dataclass(frozen=True)
class Lifetime:
    """Steps [birth, death) in which a buffer's bytes are live, except for the gaps [from, to)."""

    birth: int
    death: int
    gaps: tuple[tuple[int, int], ...] = ()


@dataclass
class Liveness:
    """The lifetimes of main's buffers by root (allocation, argument, weight)."""

    lifetimes: dict[SSAValue, Lifetime] = field(default_factory=dict[SSAValue, Lifetime])


@dataclass
class _Uses:
    """Accesses to one root, as found by the walk."""

    first: int
    last: int
    depth: int  # number of loops around the root's definition
    gaps: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


class _Walk:
    def __init__(self, places: Places) -> None:
        self.places = places
        self.step = 0
        self.loops = 0
        self.uses: dict[SSAValue, _Uses] = {}
        self.made_at: dict[SSAValue, int] = {}
        self.group: dict[SSAValue, SSAValue] = {}  # union-find over roots that may be the same buffer

    def block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, Step):
                self.access(op)
            elif isinstance(op, scf.IfOp):
                self.branches(op)
            elif isinstance(op, Loop):
                self.loop(op)
            elif op.regions:
                raise PlanError(f"{op.name} in main: lifetimes are known for scf.for, scf.while and scf.if only")
            elif touches_nothing(op):
                for result in op.results:
                    if is_memref(result):
                        self.made_at.setdefault(result, self.loops)
            elif any(map(is_memref, op.operands)):
                raise PlanError(f"{op.name} in main touches a buffer: only kernel.call and memref.load may")

    def access(self, op: Step) -> None:
        written = {self.places[value].root for value in written_by(op) if self.covers(value)}
        overwritten = written - {self.places[value].root for value in read_by(op)}
        for value in (*read_by(op), *written_by(op), *scratch_of(op)):
            root = self.places[value].root
            uses = self.uses.get(root)
            if uses is None:
                self.uses[root] = _Uses(self.step, self.step, self.made_at.get(root, 0))
                continue
            if root in overwritten and uses.last + 1 < self.step:
                uses.gaps.append((uses.last + 1, self.step))
            uses.last = self.step
        self.step += 1

    def covers(self, value: SSAValue) -> bool:
        """Whether the value covers its whole root, so that writing it overwrites everything there."""
        place = self.places[value]
        return place.exact and place.box.is_dense and place.box.count == self.places[place.root].box.count

    def branches(self, op: scf.IfOp) -> None:
        for region in op.regions:
            if not region.blocks:
                continue
            start = self.step
            self.block(region.block)
            self.hand_on(op.results, _yielded(region.block))
            # What one branch overwrites is still live if the other branch is taken.
            for uses in self.uses.values():
                uses.gaps = [gap for gap in uses.gaps if gap[1] < start or gap[0] > start]

    def loop(self, op: Loop) -> None:
        start = self.step
        self.loops += 1
        turn = turn_of(op)
        self.block(turn)
        self.loops -= 1
        for values in (initial_of(op), carried_of(op), _yielded(turn)):
            self.hand_on(op.results, values)
        if start == self.step:
            return
        for uses in self.uses.values():
            if uses.last >= start and uses.depth <= self.loops:
                uses.first = min(uses.first, start)
                uses.last = self.step - 1
                uses.gaps = [gap for gap in uses.gaps if gap[1] < start]

    def hand_on(self, results: Sequence[SSAValue], values: Iterable[SSAValue]) -> None:
        for result, value in zip(results, values, strict=True):
            if is_memref(value):
                self.group[self.find(self.places[value].root)] = self.find(result)

    def find(self, root: SSAValue) -> SSAValue:
        while (above := self.group.get(root, root)) is not root:
            root = above
        return root


def _yielded(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    return last.operands if isinstance(last, Operation) and isinstance(last, scf.YieldOp) else ()


def liveness(main: func.FuncOp, places: Places | None = None) -> Liveness:
    """The lifetimes of all roots that main's calls access.

    Raises PlanError for an op whose effect on buffers is unknown.
    """
    walk = _Walk(places or Places())
    walk.block(main.body.block)
    grouped: dict[SSAValue, list[SSAValue]] = {}
    for root in {**walk.made_at, **walk.uses}:
        if root in walk.group:
            grouped.setdefault(walk.find(root), []).append(root)
    for top, members in grouped.items():
        together = [walk.uses[root] for root in (*members, top) if root in walk.uses]
        for root in members if together else ():
            own = walk.uses.setdefault(root, _Uses(together[0].first, together[0].last, 0))
            own.first = min(uses.first for uses in together)
            own.last = max(uses.last for uses in together)
            own.gaps = []
    lifetimes = {root: Lifetime(uses.first, uses.last + 1, tuple(uses.gaps)) for root, uses in walk.uses.items()}
    return Liveness(lifetimes)
