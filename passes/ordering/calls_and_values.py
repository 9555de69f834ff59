"""What is to be ordered: calls, and the values that they hand on. Sizes are bytes. No IR here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class InPlace:
    """A permission: a call's result of so many bytes may be written over these values, which the call reads."""

    result: int  # the number of the result; it is written over one operand at most
    bytes: int
    over: tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """A kernel call: the calls that it waits for, its scratch, and where its results may be written."""

    after: tuple[int, ...]
    scratch: int = 0
    inplace: tuple[InPlace, ...] = ()


@dataclass(frozen=True)
class Slot:
    """Memory in which values may lie, of so many bytes: that of the caller, or another value's.

    What lies in it takes no bytes of its own. Another value's memory is there once the call that makes it has run.
    """

    bytes: int
    opener: int | None = None  # the call that makes the other value


@dataclass(frozen=True)
class Value:
    """Bytes that are live from the call that makes them to the last of those that read them, whatever the order."""

    bytes: int
    maker: int
    readers: tuple[int, ...] = ()
    kept: bool = False  # live to the end: an output
    slot: int | None = None  # the memory in which it may lie


@dataclass(frozen=True)
class OrderProblem:
    """Calls in some order in which they may run, their values, and memory in which some of these may lie.

    At any step the live values of a slot take up to its bytes less. The live bytes of a plan are a multiple of
    `alignment`.
    """

    calls: tuple[Call, ...]
    values: tuple[Value, ...]
    slots: tuple[Slot, ...] = ()
    alignment: int = 1

    @cached_property
    def ancestors(self) -> tuple[int, ...]:
        """For each call, the bit set of the calls that precede it in every order."""
        found: list[int] = []
        for call in self.calls:
            found.append(union(found[other] | 1 << other for other in call.after))
        return tuple(found)

    @cached_property
    def descendants(self) -> tuple[int, ...]:
        """For each call, the bit set of the calls that follow it in every order."""
        found = [0] * len(self.calls)
        for number in range(len(self.calls) - 1, -1, -1):
            for other in self.calls[number].after:
                found[other] |= found[number] | 1 << number
        return tuple(found)

    def rounded(self, nbytes: int) -> int:
        """The least multiple of the alignment that is no smaller."""
        return -(-nbytes // self.alignment) * self.alignment


@dataclass(frozen=True)
class OrderProof:
    """That no order has fewer than `bound` live bytes at every step.

    Only the order of the calls of `window` among each other is looked at. `sets` are the bit sets, by position in
    `window`, of those of its calls that may have run while fewer than `bound` bytes have been live: every step from
    one of them needs `bound` bytes or leads to another one, and the whole window is not among them. Sets in which a
    free call is ready are left out. A call is free if the bytes that are live do not grow by it, and fewer than
    `bound` are live while it runs: it may as well run at once, the first of several first.
    """

    bound: int
    window: tuple[int, ...]
    sets: frozenset[int] = frozenset({0})


def union(masks: Iterable[int]) -> int:
    """The union of bit sets."""
    found = 0
    for mask in masks:
        found |= mask
    return found


def bits(mask: int) -> Iterator[int]:
    """The members of a bit set, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
