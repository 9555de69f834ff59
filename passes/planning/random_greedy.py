"""Repeated greedy placement in compiled code, with random pushes: thousands of rounds in a second.

It differs from repeated_greedy.py in two ways that matter where the goal is out of reach. A round aims just below the
best plan so far instead of at the goal: few buffers end above that and move ahead, so that most of the order stays. And
how far a buffer moves is random, since equal pushes come back to the same orders.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .budget import Budget
from .greedy import by_area, by_breadth, by_length
from .jit import compiled, compiled_entry
from .planning_instance import Instance, part
from .search_tables import Ints, Tables, make_tables

PUSH = 0.02  # how far a buffer moves ahead at least, as a fraction of the number of buffers; at most twice that
ROUNDS = 250  # from each order: of equal numbers of rounds in all, many restarts are better than few
PATIENCE = 2  # times that all orders may go without a gain before the search ends
VISITS = 2000  # pairs of neighbours that rounds look at in about the time of a step of the exact search


def improve_at_random(instance: Instance, offsets: list[int], goal: int, budget: Budget, steps: int) -> list[int]:
    """The best offsets found within about `steps` steps, or the given ones.

    Orders to start from are those by breadth, length and area, and that in which the buffers of the best plan lie.
    """
    some = part(instance, members := [index for index, size in enumerate(instance.sizes) if size])
    free = [index for index in members if instance.pinned[index] < 0]
    tables = make_tables(some)
    pairs = len(tables.neighbours)
    last = budget.used + steps
    orders = (by_breadth(some), by_length(some), by_area(some), None, None, None)
    number = {index: position for position, index in enumerate(i for i in range(len(some)) if some.pinned[i] < 0)}
    best = height = instance.height(offsets)
    found = np.array([offsets[index] for index in free], dtype=np.int64)
    seed = fruitless = 0
    while fruitless < PATIENCE and best > goal and pairs:
        before = best
        for order in orders:
            rounds = min(ROUNDS, (last - budget.used) * VISITS // pairs)
            start = np.argsort(found, kind="stable") if order is None else np.array([number[i] for i in order])
            best, taken = random_greedy(tables, start, rounds, goal, best, found, seed)
            budget.spend(-(-taken * pairs // VISITS))
            seed += 1
        fruitless = fruitless + 1 if best == before else 0
    if best == height:
        return offsets
    result = list(offsets)
    for index, offset in zip(free, found, strict=True):
        result[index] = int(offset)
    return result


@compiled_entry
def random_greedy(
    tables: Tables, order: Ints, rounds: int, goal: int, best: int, offset: Ints, seed: int
) -> tuple[int, int]:
    """The least height found, no more than `best`, and the rounds taken; where it is less, `offset` is the plan.

    `order` is the order of the first round, and is changed.
    """
    np.random.seed(seed)
    count = len(order)
    priority = np.empty(count)
    for position in range(count):
        priority[order[position]] = position
    found = np.empty(count, np.int64)
    ranges = np.empty((count + len(tables.blocks) // 2, 2), np.int64)
    for number in range(rounds):
        height = _place(tables, order, found, ranges)
        if height < best:
            best = height
            offset[:] = found
            if best <= goal:
                return best, number + 1
        aim = best - 1
        for buffer in range(count):
            if found[buffer] + tables.size[buffer] > aim:
                priority[buffer] -= PUSH * count * (1 + np.random.random())
        _sort(order, priority)
    return best, rounds


@compiled
def _place(tables: Tables, order: Ints, offset: Ints, ranges: Ints) -> int:
    """First fit of all buffers in the order; the result is the height."""
    offset[:] = -1
    height = 0
    for position in range(len(order)):
        buffer: int = order[position]
        offset[buffer] = _lowest(tables, buffer, offset, ranges)
        height = max(height, offset[buffer] + tables.size[buffer])
    return height


@compiled
def _lowest(tables: Tables, buffer: int, offset: Ints, ranges: Ints) -> int:
    """The lowest offset at which the buffer is clear of those already placed."""
    count = 0
    for k in range(tables.neighbour_start[buffer], tables.neighbour_start[buffer + 1]):
        other: int = tables.neighbours[k]
        if offset[other] >= 0:
            _insert(ranges, count, offset[other], offset[other] + tables.size[other])
            count += 1
    for block in range(tables.block_start[buffer], tables.block_start[buffer + 1], 2):
        _insert(ranges, count, tables.blocks[block], tables.blocks[block + 1])
        count += 1
    size, unit = tables.size[buffer], tables.align[buffer]
    place = 0
    for k in range(count):
        if place + size <= ranges[k, 0]:
            break
        place = max(place, (ranges[k, 1] + unit - 1) // unit * unit)
    return place


@compiled
def _insert(ranges: Ints, count: int, low: int, high: int) -> None:
    """Inserts a range among the first `count`, which are sorted by their lower ends."""
    while count > 0 and ranges[count - 1, 0] > low:
        ranges[count, 0], ranges[count, 1] = ranges[count - 1, 0], ranges[count - 1, 1]
        count -= 1
    ranges[count, 0], ranges[count, 1] = low, high


@compiled
def _sort(order: Ints, priority: npt.NDArray[np.float64]) -> None:
    """Insertion sort: hardly anything is out of order, and numba's sort takes long to compile."""
    for position in range(1, len(order)):
        buffer = order[position]
        while position > 0 and priority[order[position - 1]] > priority[buffer]:
            order[position] = order[position - 1]
            position -= 1
        order[position] = buffer
