"""Solvers of memory problems, for the table: those of this repository, and the rules of others, written anew.

Offsets. TFLite: buffers by size, each into the tightest gap among those placed (Pisarchyk and Lee, 2020). XLA's heap
simulator: decreasing size, and decreasing lifetime, each into the smallest chunk that is free throughout its life; the
better of both (GlobalDecreasingSizeBestFitHeap, spatial and temporal). MiniMalloc: the strategy `exact`.

Orders. `beam` is the first search of order-kernels, `best_order` both of them; `sets` goes through sets of executed
tasks, the one with the lowest peak first, as SERENITY's dynamic programming does (Ahn et al., MLSys 2020), so that it
finds the least of all orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import TypeAlias

from mini_infer.passes.memory.analysis.aliasing import Program, share
from mini_infer.passes.memory.analysis.order_search import better_order
from mini_infer.passes.memory.analysis.program_order import best_order
from mini_infer.passes.planning import Buffer, Problem, solve

Ran: TypeAlias = "tuple[int, Ran] | None"
"""The task that ran last, and those before it."""
Live = tuple[int, int]
"""Bytes that are live: of storages that count, and of those that may be written over by an output."""
Offsets = Mapping[int | str, int]


def _best_fit(buffers: Sequence[Buffer]) -> dict[int | str, int]:
    """Places buffers in the given order: each in the smallest gap that holds it, else above what is in its way."""
    placed: list[tuple[Buffer, int]] = []
    offsets: dict[int | str, int] = {}
    for buffer in buffers:
        taken = sorted((offset, offset + other.size) for other, offset in placed if _meet(buffer, other))
        best, gap, end = -1, 0, 0
        for low, high in taken:
            start = _aligned(end, buffer.alignment)
            if low - start >= buffer.size and (best < 0 or low - start < gap):
                best, gap = start, low - start
            end = max(end, high)
        offsets[buffer.id] = best if best >= 0 else _aligned(end, buffer.alignment)
        placed.append((buffer, offsets[buffer.id]))
    return offsets


def _meet(one: Buffer, other: Buffer) -> bool:
    return any(low < end and start < high for low, high in one.live for start, end in other.live)


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def tflite(buffers: Sequence[Buffer]) -> Offsets:
    """TFLite's greedy by size."""
    return _best_fit(sorted(buffers, key=lambda each: -each.size))


def xla(buffers: Sequence[Buffer]) -> Offsets:
    """XLA's heap simulator: the better of two orders."""
    spatial = sorted(buffers, key=lambda each: (-each.size, each.birth - each.death))
    temporal = sorted(buffers, key=lambda each: (each.birth - each.death, -each.size))
    return min(map(_best_fit, (spatial, temporal)), key=lambda offsets: height(buffers, offsets))


def height(buffers: Sequence[Buffer], offsets: Offsets) -> int:
    """Bytes up to the end of the highest buffer."""
    return max((offsets[each.id] + each.size for each in buffers), default=0)


def _own(strategy: str, budget: int | None = None) -> Callable[[Sequence[Buffer]], Offsets]:
    return lambda buffers: solve(Problem(tuple(buffers), alignment=1), strategy, budget=budget).offsets


ALLOCATORS: dict[str, Callable[[Sequence[Buffer]], Offsets]] = {
    "first fit": _own("first-fit"),
    "TFLite by size": tflite,
    "XLA heap": xla,
    "MiniMalloc": _own("exact", 200_000),
    "auto": _own("auto", 200_000),
}

MOST_SETS = 150_000


def beam(program: Program) -> list[int]:
    """The order of a beam search that tries 200,000 tasks; the given one where it finds none better."""
    return better_order(program, 200_000) or list(range(len(program.tasks)))


ORDERERS: dict[str, Callable[[Program], Sequence[int]]] = {"beam": beam, "order-kernels": best_order}


def overwritten(program: Program) -> set[int]:
    """Storages that may be written over by what ends up in an output's memory."""
    outputs = {s for s in range(len(program.nbytes)) if program.output[s]}
    found = set(outputs)
    over: dict[int, set[int]] = {}
    for task in program.tasks:
        for operand, result in task.inplace:
            source, target = program.storage[task.operands[operand]], program.storage[task.results[result]]
            over.setdefault(target, set()).add(source)
    pending = list(outputs)
    while pending:
        fresh = over.get(pending.pop(), set[int]()) - found
        found |= fresh
        pending += fresh
    return {s for s in found - outputs if not program.fixed[s]}


def sets(program: Program, limit: int) -> tuple[list[int] | None, int]:
    """An order with a peak that may be below `limit`, and a lower bound of the peaks of all orders, of at most `limit`.

    Peaks are counted as if all that may be in place were. Of storages that may be written over by what ends up in the
    memory of outputs, as many bytes as these have don't count: of those that do end up there, one is live at a time.
    Where the least such peak is that of its order, this order is the best. After MOST_SETS sets there is no order, and
    the bound is the least peak with which the search might go on. A task that leaves no more live bytes and is within
    the peak so far runs at once, which loses nothing.
    """
    count = len(program.tasks)
    free = overwritten(program)
    allowance = sum(program.nbytes[s] for s in range(len(program.nbytes)) if program.output[s]) if free else 0
    counted = [0 if program.fixed[s] or program.output[s] else size for s, size in enumerate(program.nbytes)]
    readers = [sum(1 << task for task in tasks) for tasks in program.readers]
    before = [sum(1 << other for other in task.after) for task in program.tasks]
    reads = [tuple(dict.fromkeys(program.storage[v] for v in task.operands)) for task in program.tasks]
    makes = [tuple(dict.fromkeys(program.storage[v] for v in task.results)) for task in program.tasks]

    def added(live: Live, storages: Iterable[int], sign: int = 1) -> Live:
        """What is live with more, or fewer, storages."""
        plain, over = live
        for s in storages:
            if s in free:
                over += sign * counted[s]
            else:
                plain += sign * counted[s]
        return plain, over

    def run(task: int, done: int, live: Live) -> tuple[int, Live]:
        """Bytes that count while a task runs, and what is live after it."""
        done |= 1 << task
        fresh = [s for s in makes[task] if s not in reads[task]]
        dead = {s for s in reads[task] if not readers[s] & ~done}
        sides = program.tasks[task].operands, program.tasks[task].results
        over = {
            program.storage[sides[1][result]]
            for operand, result in program.tasks[task].inplace
            if counted[program.storage[sides[0][operand]]] and program.storage[sides[0][operand]] in dead
        }
        plain, written = added(live, (s for s in fresh if s not in over))
        after = added(added(live, (s for s in fresh if readers[s])), dead, -1)
        return program.tasks[task].scratch + plain + max(written - allowance, 0), after

    def forced(done: int, live: Live, peak: int, path: Ran) -> tuple[int, Live, Ran]:
        moved = True
        while moved:
            moved = False
            for task in ready(done):
                during, after = run(task, done, live)
                if after[0] <= live[0] and after[1] <= live[1] and during <= peak:
                    done, live, path, moved = done | 1 << task, after, (task, path), True
                    break
        return done, live, path

    def ready(done: int) -> list[int]:
        return [task for task in range(count) if not done >> task & 1 and not before[task] & ~done]

    everything = (1 << count) - 1
    done, live, path = forced(0, (0, 0), 0, None)
    queue = [(0, -done.bit_count(), 0, done, live, path)]  # the third decides ties
    number = 0
    seen: set[int] = set()
    while queue:
        peak, _, _, done, live, path = heappop(queue)
        if done in seen:
            continue
        seen.add(done)
        if done == everything:
            return _tasks(path), peak
        if len(seen) > MOST_SETS:
            return None, peak
        for task in ready(done):
            during, after = run(task, done, live)
            if max(peak, during) < limit:
                most = max(peak, during)
                further = forced(done | 1 << task, after, most, (task, path))
                if further[0] not in seen:
                    number += 1
                    heappush(queue, (most, -further[0].bit_count(), number, *further))
    return None, limit


def _tasks(path: Ran) -> list[int]:
    found: list[int] = []
    while path is not None:
        task, path = path
        found.append(task)
    return found[::-1]


def peak_of(program: Program, order: Sequence[int]) -> int:
    """The peak of live bytes of an order, results in place wherever they may be."""
    return share(program, order).peak
