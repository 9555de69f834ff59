"""Lower bounds on the arena, and the buffers to name when a bound exceeds the capacity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...dialects.errors import PlanError
from .problem import Bound, Buffer, Problem


def lower_bound(problem: Problem) -> Bound:
    """The peak of live bytes, or the end of the highest pinned buffer if that is larger."""
    changes: dict[int, int] = {}
    for buffer in problem.buffers:
        size = problem.padded(buffer)
        for low, high in buffer.live:
            changes[low] = changes.get(low, 0) + size
            changes[high] = changes.get(high, 0) - size
    best, best_step, level = 0, min(changes, default=0), 0
    for step in sorted(changes):
        level += changes[step]
        if level > best:
            best, best_step = level, step
    for buffer in problem.buffers:
        if buffer.offset is not None and buffer.size and buffer.offset + problem.padded(buffer) > best:
            best, best_step = buffer.offset + problem.padded(buffer), buffer.birth
    return Bound(best, best_step, tuple(b.id for b in live_at(problem.buffers, best_step)))


MOST_BYTES = 2**62


def live_at(buffers: Sequence[Buffer], step: int) -> list[Buffer]:
    """The buffers that are live at the step, in the given order."""
    return [b for b in buffers if any(low <= step < high for low, high in b.live)]


def refuse_hopeless(problem: Problem) -> None:
    """Raises PlanError where pinned buffers collide, or live bytes exceed the capacity or 64-bit addresses.

    The error names a smallest set of buffers that can't be placed together.
    """
    end = sum(map(problem.padded, problem.buffers)) + max((b.offset or 0 for b in problem.buffers), default=0)
    if end > MOST_BYTES:
        raise PlanError(f"buffers of {end} bytes in all are too large for 64-bit addresses")
    _refuse_pinned(problem)
    capacity = problem.capacity
    if capacity is None:
        return
    fewest: list[Buffer] | None = None
    fewest_step = 0
    for step, live in _overfull_steps(problem, capacity):
        culprits = _fewest_above(problem, live, capacity)
        if fewest is None or len(culprits) < len(fewest):
            fewest, fewest_step = culprits, step
    if fewest is None:
        return
    names = [b.name for b in fewest]
    total = sum(problem.padded(b) for b in fewest)
    parts = ", ".join(f"{b.name} ({problem.padded(b)})" for b in fewest)
    raise PlanError(
        f"{parts} {'are live together' if len(fewest) > 1 else 'is live'} at step {fewest_step}: "
        f"{total} bytes, the capacity is {capacity}",
        names,
    )


def _refuse_pinned(problem: Problem) -> None:
    pinned = sorted((b for b in problem.buffers if b.offset is not None and b.size), key=lambda b: b.birth)
    active: list[Buffer] = []
    for buffer in pinned:
        start = buffer.offset or 0
        end = start + problem.padded(buffer)
        if problem.capacity is not None and end > problem.capacity:
            raise PlanError(
                f"{buffer.name}: pinned to [{start}, {end}), the capacity is {problem.capacity}",
                [buffer.name],
            )
        active = [b for b in active if b.death > buffer.birth]
        for other in active:
            other_start = other.offset or 0
            shared = start < other_start + problem.padded(other) and other_start < end
            if shared and _meet(buffer, other):
                raise PlanError(
                    f"{other.name} and {buffer.name} are pinned to the same bytes and live together",
                    [other.name, buffer.name],
                )
        active.append(buffer)


def _meet(a: Buffer, b: Buffer) -> bool:
    return any(la < hb and lb < ha for la, ha in a.live for lb, hb in b.live)


def _overfull_steps(problem: Problem, capacity: int) -> Iterator[tuple[int, list[Buffer]]]:
    """The steps whose live bytes exceed the capacity, limited to steps at which a buffer is born."""
    events: dict[int, tuple[list[Buffer], list[Buffer]]] = {}
    for buffer in problem.buffers:
        for low, high in buffer.live:
            events.setdefault(low, ([], []))[0].append(buffer)
            events.setdefault(high, ([], []))[1].append(buffer)
    live: dict[int | str, Buffer] = {}
    level = 0
    for step in sorted(events):
        born, died = events[step]
        for buffer in died:
            del live[buffer.id]
            level -= problem.padded(buffer)
        for buffer in born:
            live[buffer.id] = buffer
            level += problem.padded(buffer)
        if born and level > capacity:
            yield step, list(live.values())


def _fewest_above(problem: Problem, live: Sequence[Buffer], capacity: int) -> list[Buffer]:
    """The largest buffers until they exceed the capacity: a smallest such set."""
    chosen: list[Buffer] = []
    total = 0
    for buffer in sorted(live, key=lambda b: (-b.size, b.birth, str(b.id))):
        chosen.append(buffer)
        total += problem.padded(buffer)
        if total > capacity:
            break
    return chosen
