"""Exact minimisation of the arena: bisection over heights, with a complete search for a plan of each height.

The run time of a complete search is heavy-tailed in the order of the buffers. So it is restarted with other orders and
small step limits, occasionally larger ones (Luby, Sinclair and Zuckerman, "Optimal Speedup of Las Vegas Algorithms",
1993). Orders are drawn from seeds that are the numbers of the runs: equal calls do equal work.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd

import numpy as np

from . import search
from .budget import Budget, Goal
from .planning_instance import Instance, part
from .search_tables import Ints, Tables, make_state, make_tables

RUN = 1000  # steps of the shortest run: successful searches mostly take a few times the number of buffers
NOISE = 0.02  # spread of the noise on ranks, as a fraction of their number; the fastest of 0.01 to 0.1 on hard problems
TRAIL = 64  # changes per buffer that the trail of a search holds before the search is rerun with a longer one
QUESTION = 10_000  # steps per height in the first round; each round allows four times as many
SHARE = 40  # fraction of a small budget that the first round allows per height instead
NEAR = 27  # fraction of the height: a lowest height of interest that is no further below is near
DOWN = 32  # fraction of the height by which the lowest height that is asked is below it where none is near
LOWEST = 8  # it may then take this many times the steps of another, while these are at most
LONGEST = 320_000  # steps: what is near and takes more is hardly ever reached
COARSE = 64  # fraction of the height at which the bisection of the first round ends; that of the next at a quarter


@dataclass(frozen=True)
class Verdict:
    """The answer for one height: offsets in units, a proof that none exist, or unknown."""

    offsets: list[int] | None
    refuted: bool = False


def minimise(instance: Instance, offsets: list[int], goal: Goal, proven: int, budget: Budget) -> tuple[list[int], int]:
    """Offsets better than the given ones, until the goal is reached or they are proven optimal.

    `proven` is a height in units that any plan needs; the second result is that, or more if the search proved more. The
    lowest height of interest is asked first, or one as near as that has to be; then the open interval above it is
    bisected. Heights that stay undecided are asked again in the next round, which allows more steps and bisects more
    finely, while the budget lasts.
    """
    searcher = Searcher(instance)
    grid = searcher.grid
    if goal.limit is not None and instance.height(offsets) > goal.limit:
        verdict = searcher.ask(goal.limit, budget, budget.left)
        if verdict.offsets is None:
            return offsets, goal.limit + 1 if verdict.refuted else proven
        offsets = verdict.offsets
    steps, width = min(QUESTION, -(-budget.left // SHARE)), instance.height(offsets) // COARSE
    while (height := instance.height(offsets)) > (lowest := max(goal.enough, proven)) and not budget.exhausted:
        near = height - lowest <= height // NEAR
        question = floor = min(-(-(lowest if near else height - height // DOWN) // grid) * grid, height - grid)
        allowed = max(steps, min(LOWEST * steps, LONGEST)) if near else steps
        while floor < height and not budget.exhausted:
            verdict = searcher.ask(question, budget, allowed)
            if verdict.offsets is not None:
                offsets = verdict.offsets
                height = instance.height(offsets)
            else:
                floor = question + grid
            if verdict.refuted:
                proven = max(proven, floor)
            if height - floor < width:
                break
            question, allowed = (floor + height - grid) // 2 // grid * grid, steps
        steps, width = 4 * steps, width // 4
    return offsets, proven


class Searcher:
    """Decides heights for one instance."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._free = [i for i in range(len(instance)) if instance.pinned[i] < 0 and instance.sizes[i]]
        fixed = [i for i in range(len(instance)) if instance.pinned[i] >= 0 and instance.sizes[i]]
        self._top = max((instance.pinned[i] + instance.sizes[i] for i in fixed), default=0)
        self.grid = _grid(instance, [*self._free, *fixed])
        scaled = _scaled(part(instance, [*self._free, *fixed]), self.grid)
        self._tables = make_tables(scaled) if self._free else None
        self._orders = _orders(scaled, self._tables) if self._tables else []
        self._runs: dict[int, int] = {}
        self._trail = TRAIL * len(instance) + 1

    def ask(self, height: int, budget: Budget, steps: int) -> Verdict:
        """Whether a plan of at most `height` units exists; takes about `steps` steps at most."""
        if self._top > height:
            return Verdict(None, refuted=True)
        last = budget.used + steps
        with _guard(budget) as stop:
            while True:
                run = self._runs.get(height, 0)
                self._runs[height] = run + 1
                limit = min(RUN * luby(run // 8 + 1), last - budget.used, budget.left)
                answer, offsets, taken = self._run(height // self.grid, run, limit, stop)
                budget.spend(max(1, taken))
                if answer == search.FEASIBLE:
                    return Verdict(offsets)
                if answer == search.INFEASIBLE:
                    return Verdict(None, refuted=True)
                if answer == search.STOPPED or budget.used >= last or budget.exhausted:
                    return Verdict(None)

    def _run(self, height: int, run: int, steps: int, stop: Ints) -> tuple[int, list[int], int]:
        """One search in one order, restarted with a longer trail when that overflows."""
        offsets = [max(0, pinned) for pinned in self._instance.pinned]
        if self._tables is None:
            return search.FEASIBLE, offsets, 0
        tables = self._tables._replace(rank=self._rank(run))
        choice = search.BY_RANK if run // 4 % 2 == 0 else search.TIGHTEST
        while True:
            state = make_state(tables, self._trail)
            answer, taken = search.search(tables, state, height, steps, choice, stop)
            if answer != search.OUT_OF_TRAIL:
                break
            self._trail *= 2
        for index, offset in zip(self._free, state.offset, strict=True):
            offsets[index] = int(offset) * self.grid
        return answer, offsets, taken

    def _rank(self, run: int) -> Ints:
        """The rank of each buffer in the order of this run: one of four orders, with noise from run 8 on."""
        order = self._orders[run % 4]
        if run >= 8:
            rng = random.Random(run)
            spread = NOISE * len(order) * 12**0.5
            noisy = {buffer: rank + rng.random() * spread for rank, buffer in enumerate(order)}
            order = sorted(order, key=lambda buffer: (noisy[buffer], buffer))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank


@contextmanager
def _guard(budget: Budget) -> Generator[Ints]:
    """A one-element array that a timer sets to 1 when the time limit has passed."""
    stop = np.zeros(1, dtype=np.int64)
    seconds = budget.seconds_left()
    if seconds is None:
        yield stop
        return
    timer = threading.Timer(max(0.0, seconds), stop.fill, [1])
    timer.daemon = True
    timer.start()
    try:
        yield stop
    finally:
        timer.cancel()


def _grid(instance: Instance, members: list[int]) -> int:
    """A unit of all pushed-down offsets: a common divisor of sizes and pinned offsets, compatible with alignments."""
    grid = gcd(*(instance.sizes[i] for i in members), *(max(0, instance.pinned[i]) for i in members)) or 1
    while awkward := [instance.aligns[i] for i in members if grid % instance.aligns[i] and instance.aligns[i] % grid]:
        grid = gcd(grid, *awkward)
    return grid


def _scaled(instance: Instance, grid: int) -> Instance:
    return Instance(
        unit=instance.unit * grid,
        sizes=[size // grid for size in instance.sizes],
        aligns=[max(1, align // grid) for align in instance.aligns],
        pinned=[offset // grid if offset >= 0 else -1 for offset in instance.pinned],
        live=instance.live,
    )


def _orders(instance: Instance, tables: Tables) -> list[list[int]]:
    """Four orders of the free buffers by fullest section, length and area, with different priorities."""
    count = len(tables.size)
    totals = np.add.reduceat(tables.size[tables.members], tables.member_start[:-1])
    fullest = np.maximum.reduceat(totals[tables.sections], tables.section_start[:-1])
    free = [i for i in range(len(instance)) if instance.pinned[i] < 0]
    length = [instance.death(i) - instance.birth(i) for i in free]
    keys = [(-int(fullest[k]), -length[k], -length[k] * int(tables.size[k])) for k in range(count)]
    priorities = ((0, 1, 2), (2, 0, 1), (0, 2, 1), (1, 2, 0))
    return [sorted(range(count), key=lambda k, p=p: (*(keys[k][c] for c in p), k)) for p in priorities]


def luby(number: int) -> int:
    """The Luby sequence: 1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, ..."""
    while True:
        bits = number.bit_length()
        if number + 1 == 1 << bits:
            return 1 << (bits - 1)
        number -= (1 << (bits - 1)) - 1
