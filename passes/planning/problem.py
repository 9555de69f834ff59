"""The planning problem and its answer: buffers with lifetimes, and a plan with offsets and a certificate.

Conventions. Times are steps, lifetimes half-open `[birth, death)`. Sizes, offsets and heights are bytes. A buffer
occupies whole units of the problem's alignment, so every offset and every height is a multiple of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from ...dialects.arguments import check_kind, checked_sequence, is_integer, wrong
from ...dialects.errors import PlanError

Id = int | str
Role = Literal["intermediate", "scratch"]
Interval = tuple[int, int]


@dataclass(frozen=True)
class Buffer:
    """A range of memory whose contents must be kept while it is live."""

    id: Id
    size: int  # bytes
    birth: int  # the first step at which it is live
    death: int  # the step from which it is dead
    alignment: int = 1  # bytes, a power of two; overrides the problem's where larger
    offset: int | None = None  # bytes: a fixed offset
    gaps: tuple[Interval, ...] = ()  # half-open step intervals in which its bytes are free for others
    name: str = ""  # for messages and reports; "" for the id
    role: Role = "intermediate"

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.id), str) and not is_integer(self.id):
            raise wrong("a buffer's id", self.id, "a string or an integer", PlanError)
        if not isinstance(cast("object", self.name), str):
            raise wrong(f"the name of buffer {self.id}", self.name, "a string", PlanError)
        if not self.name:
            object.__setattr__(self, "name", str(self.id))
        self._check_numbers()
        if self.size < 0:
            raise PlanError(f"{self.name}: size {self.size} is negative", [self.name])
        if self.birth >= self.death:
            raise PlanError(f"{self.name}: lifetime [{self.birth}, {self.death}) is empty", [self.name])
        if not _is_power_of_two(self.alignment):
            raise PlanError(f"{self.name}: alignment {self.alignment} is not a power of two", [self.name])
        if self.offset is not None and self.offset < 0:
            raise PlanError(f"{self.name}: pinned offset {self.offset} is negative", [self.name])
        if self.offset is not None and self.offset % self.alignment:
            raise PlanError(
                f"{self.name}: pinned offset {self.offset} is not a multiple of {self.alignment}", [self.name]
            )
        end = self.birth
        for low, high in self.gaps:
            if not end < low < high < self.death:
                raise PlanError(
                    f"{self.name}: gap [{low}, {high}) is empty, out of order or not inside "
                    f"[{self.birth}, {self.death})",
                    [self.name],
                )
            end = high

    def _check_numbers(self) -> None:
        for what in ("size", "birth", "death", "alignment", "offset"):
            value = getattr(self, what)
            if not is_integer(value) and not (what == "offset" and value is None):
                raise wrong(f"{self.name}: {what}", value, "an integer", PlanError)
        for gap in checked_sequence(f"{self.name}: gaps", self.gaps, "pairs of steps", PlanError):
            steps = checked_sequence(f"{self.name}: a gap", gap, "two steps", PlanError)
            if [*map(is_integer, steps)] != [True, True]:
                raise wrong(f"{self.name}: a gap", gap, "two steps", PlanError)

    @property
    def live(self) -> tuple[Interval, ...]:
        """The lifetime without its gaps: disjoint intervals in order."""
        if not self.gaps:
            return ((self.birth, self.death),)
        edges = [self.birth, *(edge for gap in self.gaps for edge in gap), self.death]
        return tuple(zip(edges[::2], edges[1::2], strict=True))


@dataclass(frozen=True)
class Problem:
    """Buffers to be placed in one arena."""

    buffers: tuple[Buffer, ...] = field(repr=False)
    capacity: int | None = None  # bytes: the largest height allowed
    alignment: int = 256  # bytes, a power of two: alignment of all offsets; sizes are rounded up to it

    def __post_init__(self) -> None:
        if not is_integer(self.alignment):
            raise wrong("alignment", self.alignment, "an integer", PlanError)
        if not _is_power_of_two(self.alignment):
            raise PlanError(f"alignment {self.alignment} is not a power of two")
        if self.capacity is not None and not is_integer(self.capacity):
            raise wrong("capacity", self.capacity, "an integer", PlanError)
        if self.capacity is not None and self.capacity < 0:
            raise PlanError(f"capacity {self.capacity} is negative")
        seen: set[Id] = set()
        for buffer in self.buffers:
            check_kind("one of the buffers", buffer, Buffer, PlanError)
            if buffer.id in seen:
                raise PlanError(f"{buffer.name}: another buffer has the same id {buffer.id!r}", [buffer.name])
            seen.add(buffer.id)
            if buffer.offset is not None and buffer.offset % self.alignment:
                raise PlanError(
                    f"{buffer.name}: pinned offset {buffer.offset} is not a multiple of {self.alignment}",
                    [buffer.name],
                )

    def padded(self, buffer: Buffer) -> int:
        """Bytes that the buffer occupies in the arena."""
        return -(-buffer.size // self.alignment) * self.alignment


def _is_power_of_two(number: int) -> bool:
    return number > 0 and not number & (number - 1)


@dataclass(frozen=True)
class Bound:
    """A lower bound: at `step` the buffers `live` need `height` bytes at once."""

    height: int  # bytes
    step: int
    live: tuple[Id, ...] = field(repr=False)


@dataclass(frozen=True)
class Pool:
    """A range of the arena that its members use one after another (pool strategies only)."""

    id: int
    offset: int  # bytes
    size: int  # bytes: the size of its largest member
    members: tuple[Id, ...] = field(repr=False)  # in order of placement


@dataclass(frozen=True)
class Plan:
    """Offsets for a problem's buffers, with the certificate of their quality."""

    offsets: Mapping[Id, int] = field(repr=False)  # bytes
    height: int  # bytes: the size of the arena
    bound: Bound
    optimal: bool  # proven: no plan of this problem is lower
    strategy: str  # the requested strategy
    method: str  # the planner that computed the offsets: for `auto`, the winner of its portfolio
    steps: int  # placements tried by search and planners together; deterministic
    proven_bound: int  # bytes: `bound.height`, or more where search proved a higher bound
    exhausted: str = ""  # what ended the search before a definite answer: "budget", "time limit", or ""
    pools: tuple[Pool, ...] = field(default=(), repr=False)

    @property
    def lower_bound(self) -> int:
        """Bytes: the peak of live bytes."""
        return self.bound.height

    @property
    def ratio(self) -> float:
        """Height as a multiple of the lower bound; 1.0 is optimal."""
        return self.height / self.lower_bound if self.lower_bound else 1.0
