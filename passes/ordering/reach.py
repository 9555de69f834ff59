"""The sets of executed calls that can be reached with fewer live bytes than a limit: branch and bound, depth first.

A state is the set of calls that have run: what is live after them does not depend on their order, so each set is
visited once, as in SERENITY (Ahn et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks
for Edge Devices", MLSys 2020). A step that needs the limit or more is not taken. Either the set of all calls is
reached, by an order below the limit; or the sets that were visited prove that there is none.

A free call (one after which no more is live, below the limit itself) runs at once: moving it to the front of any order
that is left lowers no step's need, as its operands only die earlier and its results are not needed before. So chains
cost no states.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .calls_and_values import OrderProof
from .window import State, Window

MOST_SETS = 20_000  # of one proof; a search that meets more gives up


@dataclass
class Allowance:
    """Steps that may still be tried, and sets that one search may visit."""

    steps: int
    sets: int = MOST_SETS


@dataclass(frozen=True)
class _Node:
    state: State
    ready: tuple[int, ...]
    ran: _Ran | None


@dataclass(frozen=True)
class _Ran:
    place: int
    before: _Ran | None


def reach(window: Window, limit: int, allowance: Allowance) -> OrderProof | list[int] | None:
    """A proof that no order of the window stays below the limit, or such an order of its calls.

    None where the allowance does not suffice.
    """
    first = _settled(window, _Node(window.start(), tuple(window.first), None), limit, allowance)
    met = {first.state.done}
    stack = [first]
    while stack:
        node = stack.pop()
        if node.state.done == window.all:
            return _order(window, node.ran)
        if allowance.steps <= 0 or len(met) > allowance.sets:
            return None
        found: list[tuple[int, int, _Node]] = []
        allowance.steps -= len(node.ready)
        for place in node.ready:
            step = window.step(place, node.state)
            if step.bytes < limit:
                new = _settled(window, _after(window, node, place, step.after), limit, allowance)
                if new.state.done not in met:
                    met.add(new.state.done)
                    found.append((step.bytes, new.state.live, new))
        found.sort(key=lambda each: each[:2], reverse=True)
        stack += [new for _, _, new in found]
    return OrderProof(limit, window.calls, frozenset(met))


def _after(window: Window, node: _Node, place: int, state: State) -> _Node:
    return _Node(state, tuple(window.ready_after(place, node.ready, state.done)), _Ran(place, node.ran))


def _settled(window: Window, node: _Node, limit: int, allowance: Allowance) -> _Node:
    """The node once no call is free."""
    moved = True
    while moved:
        moved = False
        for place in node.ready:
            allowance.steps -= 1
            step = window.step(place, node.state)
            if step.is_free and step.bytes < limit:
                node = _after(window, node, place, step.after)
                moved = True
                break
    return node


def peak(window: Window, order: Iterable[int]) -> list[int]:
    """The bytes live at each step of an order of the window's calls."""
    state, found = window.start(), list[int]()
    for call in order:
        step = window.step(window.position[call], state)
        found.append(step.bytes)
        state = step.after
    return found


def _order(window: Window, ran: _Ran | None) -> list[int]:
    order: list[int] = []
    while ran is not None:
        order.append(window.calls[ran.place])
        ran = ran.before
    return order[::-1]
