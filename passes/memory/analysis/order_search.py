"""Beam search over topological orders of tasks for a lower memory peak, one part of the program at a time.

The search state is the set of tasks that have run: it determines which storages are live and, since a result may
overwrite an operand that nobody else needs, the cost of the next task. Two ways to reach one set differ only in their
peak, so a beam over sets is exhaustive if wide enough.

Parts. Between two cuts the order is searched separately, counting all that is live across. A cut is a task that every
other task must precede or follow, which loses nothing. Where such cuts are far apart, the given order is also cut where
at most one storage is live across and all later tasks depend on earlier ones. Parts that can't lower the peak are
skipped.

Forced moves. A ready task that leaves no more live bytes than before, and whose own step stays within the peak reached
already, runs at once: moving it to the front of any order only shortens the lifetimes of its operands. Chains therefore
cost no search.

Deterministic: ties follow the given order, and the budget counts tasks tried, not time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .aliasing import Program

WIDTHS = (1, 8, 64, 512)  # states kept per set size; a wider beam is tried while the budget lasts
BUDGET = 50_000  # tasks tried, each about 8 us
FORCED = 20  # ready tasks examined for forced moves, per task tried; limits very wide graphs only
LONG = 64  # tasks: longer parts are also cut where only one storage is live across


@dataclass(frozen=True)
class _Cost:
    """The effect of a task on its part: bytes, and bit sets of the part's tasks."""

    scratch: int
    made: int  # bytes of its results
    unread: int  # bytes of results without readers
    reads: tuple[tuple[int, int], ...]  # for each operand that dies in this part: its bytes, and all its readers
    inplace: tuple[tuple[int, int], ...]  # (index into reads, result) pairs that may share bytes
    before: int  # predecessors within the part


@dataclass(frozen=True)
class _Ran:
    task: int
    before: _Ran | None


@dataclass(frozen=True)
class _State:
    done: int
    live: int
    peak: int
    ready: tuple[int, ...]
    ran: _Ran | None


@dataclass(frozen=True)
class _Part:
    """Steps [start, end) of the given order, with the bytes live before them and the peak among them."""

    start: int
    end: int
    live: int
    peak: int


@dataclass
class _Budget:
    left: int  # tasks that may still be tried
    forced: int = 0  # ready tasks that may still be examined


class _Search:
    """The search for a better order of one part."""

    def __init__(self, costs: Sequence[_Cost], live: int, floor: int, budget: _Budget) -> None:
        self.costs = costs
        self.live = live
        self.floor = floor
        self.budget = budget
        self.after: list[list[int]] = [[] for _ in costs]
        for task, cost in enumerate(costs):
            for other in _bits(cost.before):
                self.after[other].append(task)

    def run(self, limit: int, width: int) -> tuple[list[int] | None, int, bool]:
        """An order with a peak below `limit`, its peak, and whether the search was exhaustive."""
        ready = tuple(task for task, cost in enumerate(self.costs) if not cost.before)
        first = self.force(_State(0, self.live, self.floor, ready, None))
        levels: list[dict[int, _State]] = [{} for _ in range(len(self.costs) + 1)]
        levels[first.done.bit_count()][first.done] = first
        complete = True
        for level in levels[:-1]:
            states = list(level.values())
            if len(states) > width:
                states = sorted(states, key=lambda state: (state.peak, state.live))[:width]
                complete = False
            for state in states:
                if self.budget.left <= 0 or self.budget.forced <= 0:
                    return None, limit, False
                self.budget.left -= len(state.ready)
                for task in state.ready:
                    step, live = self.cost(task, state)
                    if step >= limit:
                        continue
                    new = self.force(self.next(state, task, step, live))
                    into = levels[new.done.bit_count()]
                    old = into.get(new.done)
                    if old is None or new.peak < old.peak:
                        into[new.done] = new
            level.clear()
        found = next(iter(levels[-1].values()), None)
        if found is None or found.peak >= limit:
            return None, limit, complete
        return _path(found.ran), found.peak, complete

    def cost(self, task: int, state: _State) -> tuple[int, int]:
        """Bytes live while the task runs, and after it."""
        cost = self.costs[task]
        done = state.done | 1 << task
        most = after = state.live + cost.made
        after -= cost.unread
        dying = 0
        for index, (size, readers) in enumerate(cost.reads):
            if not readers & ~done:
                after -= size
                dying |= 1 << index
        taken = 0  # results that overwrite an operand
        for index, result in cost.inplace:
            if dying >> index & 1 and not taken >> result & 1:
                taken |= 1 << result
                dying &= ~(1 << index)
                most -= cost.reads[index][0]
        return most + cost.scratch, after

    def next(self, state: _State, task: int, step: int, live: int) -> _State:
        """The state after the task has run."""
        done = state.done | 1 << task
        ready = [other for other in state.ready if other != task]
        ready += [other for other in self.after[task] if not self.costs[other].before & ~done]
        return _State(done, live, max(state.peak, step), tuple(sorted(ready)), _Ran(task, state.ran))

    def force(self, state: _State) -> _State:
        """Runs all forced moves."""
        moved = True
        while moved and self.budget.forced > 0:
            self.budget.forced -= len(state.ready)
            moved = False
            for task in state.ready:
                step, live = self.cost(task, state)
                if live <= state.live and step <= state.peak:
                    state = self.next(state, task, step, live)
                    moved = True
                    break
        return state


def _bits(mask: int) -> list[int]:
    bits: list[int] = []
    while mask:
        lowest = mask & -mask
        bits.append(lowest.bit_length() - 1)
        mask ^= lowest
    return bits


def _path(ran: _Ran | None) -> list[int]:
    tasks: list[int] = []
    while ran is not None:
        tasks.append(ran.task)
        ran = ran.before
    return tasks[::-1]


def _costs(program: Program, part: Sequence[int], handed_on: Sequence[bool]) -> list[_Cost]:
    """The costs of a part's tasks, numbered from 0 in the given order. `handed_on`: storages read by later parts."""
    index = {task: number for number, task in enumerate(part)}
    readers: dict[int, int] = {}
    for number, task in enumerate(part):
        for value in program.tasks[task].operands:
            storage = program.storage[value]
            readers[storage] = readers.get(storage, 0) | 1 << number
    costs: list[_Cost] = []
    for name in part:
        task = program.tasks[name]
        operands = [program.storage[value] for value in task.operands]
        dying = [s for s in dict.fromkeys(operands) if _bytes(program, s) and not handed_on[s]]
        made = [program.storage[v] for v in task.results if program.storage[v] not in operands]
        unread = [s for s in made if not program.readers[s]]
        inplace = [
            (dying.index(operands[operand]), result)
            for operand, result in task.inplace
            if operands[operand] in dying and _bytes(program, program.storage[task.results[result]])
        ]
        costs.append(
            _Cost(
                scratch=task.scratch,
                made=sum(_bytes(program, s) for s in made),
                unread=sum(_bytes(program, s) for s in unread),
                reads=tuple((_bytes(program, s), readers[s]) for s in dying),
                inplace=tuple(inplace),
                before=sum(1 << index[other] for other in task.after if other in index),
            )
        )
    return costs


def _bytes(program: Program, storage: int) -> int:
    """Bytes in the arena; 0 for the caller's memory."""
    return 0 if program.fixed[storage] or program.output[storage] else program.nbytes[storage]


def _profile(program: Program) -> list[tuple[int, int]]:
    """Bytes live before each step of the given order, and during it."""
    costs = _costs(program, range(len(program.tasks)), [False] * len(program.nbytes))
    search = _Search(costs, 0, 0, _Budget(0))
    state = _State(0, 0, 0, (), None)
    profile: list[tuple[int, int]] = []
    for task in range(len(costs)):
        step, live = search.cost(task, state)
        profile.append((state.live, step))
        state = _State(state.done | 1 << task, live, 0, (), None)
    return profile


def _cuts(program: Program) -> list[int]:
    """Steps of the given order after which a part ends."""
    count = len(program.tasks)
    before = [0] * count
    for task in range(count):
        for other in program.tasks[task].after:
            before[task] |= before[other] | 1 << other
    common = [-1] * (count + 1)  # the tasks that all tasks from here on depend on
    roots = [-1] * (count + 1)  # how late the first task may be that some task from here on depends on, or is
    for task in range(count - 1, -1, -1):
        common[task] = common[task + 1] & before[task]
        first = (before[task] & -before[task]).bit_length() - 1 if before[task] else task
        roots[task] = max(roots[task + 1], first)
    change = [0] * (count + 1)  # change in the number of storages live across a later step
    for storage, readers in enumerate(program.readers):
        if readers and program.maker[storage] >= 0 and _bytes(program, storage):
            change[program.maker[storage]] += 1
            change[max(readers)] -= 1
    cuts: list[int] = []
    narrow: list[int] = []  # since the last cut
    handed_on = 0
    for task in range(count):
        handed_on += change[task]
        gate = before[task].bit_count() == task and bool(common[task + 1] >> task & 1)
        if gate or task == count - 1:
            last = cuts[-1] if cuts else -1
            cuts += narrow if task - last > LONG else []
            cuts.append(task)
            narrow.clear()
        elif handed_on <= 1 and roots[task + 1] <= task:
            narrow.append(task)
    return cuts


def _parts(program: Program) -> list[_Part]:
    """The program split at its cuts."""
    profile = _profile(program)
    parts: list[_Part] = []
    start = 0
    for task in _cuts(program):
        steps = profile[start : task + 1]
        parts.append(_Part(start, task + 1, steps[0][0], max(step for _, step in steps)))
        start = task + 1
    return parts


def _needed(program: Program) -> int:
    """The lower bound of the peak of any order: the operands and results of the largest task."""
    count = len(program.tasks)
    costs = _costs(program, range(count), [False] * len(program.nbytes))
    search = _Search(costs, 0, 0, _Budget(0))
    everything = (1 << count) - 1
    return max(
        search.cost(task, _State(everything, sum(size for size, _ in cost.reads), 0, (), None))[0]
        for task, cost in enumerate(costs)
    )


def better_order(program: Program, budget: int = BUDGET) -> list[int] | None:
    """An order of the program's tasks with a lower peak than the given order (0, 1, 2, ...), else None.

    Peaks are those of this model, in which a storage merged with the caller's memory still counts; `aliasing.share`
    makes the final decision.
    """
    if not program.tasks:
        return None
    remaining = _Budget(budget, FORCED * budget)
    order = list(range(len(program.tasks)))
    floor = _needed(program)
    improved = False
    for part in sorted(_parts(program), key=lambda part: -part.peak):
        if part.peak <= floor:
            break
        tasks = range(part.start, part.end)
        handed_on = [bool(readers) and max(readers) >= part.end for readers in program.readers]
        search = _Search(_costs(program, tasks, handed_on), part.live, floor, remaining)
        peak = part.peak
        for width in WIDTHS:
            found, peak, complete = search.run(peak, width)
            if found is not None:
                order[part.start : part.end] = [part.start + task for task in found]
                improved = True
            if complete or peak <= floor or min(remaining.left, remaining.forced) <= 0:
                break
        floor = max(floor, peak)
    return order if improved else None
