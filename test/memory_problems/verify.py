"""Checks solutions of memory problems. Needs nothing but Python 3.9: no package of this repository, and no other.

    python3 verify.py PROBLEM.csv SOLUTION.csv      prints the height, or what is wrong, with status 1
    python3 verify.py                               all of best/, against the heights and bounds of best.csv

README.md has the formats. A height is the end of the highest buffer, or the most bytes live at a step of an order.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
Row = dict[str, str]


class Mistake(Exception):
    """A solution, or a problem, that is not valid."""


def rows_of(path: str | Path) -> list[Row]:
    """The rows of a CSV file, or of one packed by gzip, as dictionaries."""
    if str(path).endswith(".gz"):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))
    with open(path, encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def is_order(problem: Sequence[Row]) -> bool:
    """Whether a problem asks for an order of tasks; else it asks for offsets."""
    return bool(problem) and "kind" in problem[0]


# Offsets.


def lives(row: Row) -> list[tuple[int, int]]:
    """The steps [birth, death) at which a buffer has its bytes: one interval, or several with gaps between them."""
    edges = [int(row["lower"])]
    for gap in (row.get("gaps") or "").split():
        edges += map(int, gap.split("-"))
    edges.append(int(row["upper"]))
    return list(zip(edges[::2], edges[1::2]))  # noqa: B905 (Python 3.9)


def check_offsets(problem: Sequence[Row], solution: Sequence[Row]) -> int:
    """The height of a placement."""
    offsets = {row["id"]: int(row["offset"]) for row in solution}
    if len(offsets) != len(solution) or offsets.keys() != {row["id"] for row in problem}:
        raise Mistake("the solution does not have every buffer once")
    placed: list[tuple[int, int, int, int, str]] = []
    for row in problem:
        offset, size = offsets[row["id"]], int(row["size"])
        if offset < 0 or offset % int(row.get("alignment") or 1):
            raise Mistake(f"{row['id']}: offset {offset} is negative or not aligned to {row['alignment']}")
        placed += [(birth, death, offset, offset + size, row["id"]) for birth, death in lives(row)]
    placed.sort()
    live: list[tuple[int, int, int, int, str]] = []
    for birth, death, low, high, name in placed:
        live = [other for other in live if other[1] > birth]
        for _, _, other_low, other_high, other in live:
            if low < other_high and other_low < high:
                raise Mistake(f"{other} and {name} are live at step {birth} and share bytes")
        live.append((birth, death, low, high, name))
    return max((high for _, _, _, high, _ in placed), default=0)


def live_bytes(problem: Sequence[Row], step: int) -> int:
    """Bytes live at a step, each buffer rounded up to its alignment: no placement is lower."""
    total = 0
    for row in problem:
        alignment = int(row.get("alignment") or 1)
        if any(birth <= step < death for birth, death in lives(row)):
            total += -(-int(row["size"]) // alignment) * alignment
    return total


# Orders.


class Tasks:
    """An order problem: tasks by name, and the storage of each value."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.tasks = {row["id"]: row for row in rows if row["kind"] == "task"}
        self.bytes: dict[str, int] = {}
        self.storage: dict[str, str] = {}
        self.kept: dict[str, str] = {}
        self.readers: dict[str, set[str]] = {}
        for row in rows:
            if row["kind"] == "value":
                root = self.storage[row["of"]] if row["of"] else row["id"]
                self.storage[row["id"]] = root
                self.bytes.setdefault(root, int(row["bytes"]))
                self.kept[root] = self.kept.get(root) or row["kept"]
        self.before = {name: set(row["after"].split()) for name, row in self.tasks.items()}
        makers = {value: name for name, row in self.tasks.items() for value in row["makes"].split()}
        for name, row in self.tasks.items():
            self.before[name] |= {makers[value] for value in row["reads"].split() if value in makers} - {name}
            for value in row["reads"].split():
                self.readers.setdefault(self.storage[value], set()).add(name)

    def overwritten(self) -> set[str]:
        """Storages that may be written over by what ends up in an output's memory."""
        outputs = {root for root, kept in self.kept.items() if kept == "output"}
        found, pending = set(outputs), list(outputs)
        over: dict[str, set[str]] = {}
        for row in self.tasks.values():
            for pair in row["inplace"].split():
                operand, result = map(int, pair.split(">"))
                source = self.storage[row["reads"].split()[operand]]
                over.setdefault(self.storage[row["makes"].split()[result]], set()).add(source)
        while pending:
            fresh = over.get(pending.pop(), set[str]()) - found
            found |= fresh
            pending += fresh
        return {root for root in found - outputs if not self.kept[root]}

    def needed(self, name: str) -> int:
        """Bytes live while a task runs, in any order: operands, results, less what may be in place, and scratch.

        Of storages that may be written over by what ends up in the memory of outputs, as many bytes as these have don't
        count: of those that do end up there, one is live at a time.
        """
        row, over = self.tasks[name], self.overwritten()
        reads = {self.storage[value] for value in row["reads"].split()}
        makes = [self.storage[value] for value in row["makes"].split()]
        inplace = {makes[int(pair.split(">")[1])] for pair in row["inplace"].split()}
        held = {root for root in reads | ({*makes} - inplace) if not self.kept[root]}
        outputs = sum(self.bytes[root] for root, kept in self.kept.items() if kept == "output")
        apart = max(sum(self.bytes[root] for root in held & over) - outputs, 0)
        return int(row["bytes"]) + sum(self.bytes[root] for root in held - over) + apart

    def height(self, order: Sequence[tuple[str, Sequence[str]]]) -> int:
        """The peak of live bytes of an order with its in-place pairs: a list of (task, pairs)."""
        if len(order) != len(self.tasks) or {name for name, _ in order} != self.tasks.keys():
            raise Mistake("the order does not have every task once")
        position = {name: step for step, (name, _) in enumerate(order)}
        group = {root: root for root in self.bytes}
        last = {root: max((position[name] for name in self.readers.get(root, ())), default=-1) for root in self.bytes}
        kept = dict(self.kept)

        def of(value: str) -> str:
            root = self.storage[value]
            while group[root] != root:
                root = group[root]
            return root

        birth: dict[str, int] = {}
        for step, (name, pairs) in enumerate(order):
            row = self.tasks[name]
            if late := [other for other in self.before[name] if position[other] > step]:
                raise Mistake(f"{name} runs before {late[0]}, which it needs")
            reads, makes = row["reads"].split(), row["makes"].split()
            for value in makes:
                birth.setdefault(of(value), step)
            allowed = row["inplace"].split()
            for pair in pairs:
                if pair not in allowed:
                    raise Mistake(f"{name}: {pair} is no pair that may be in place")
                operand, result = map(int, pair.split(">"))
                source, target = of(reads[operand]), of(makes[result])
                if kept[source] or last[source] > step or source == target:
                    raise Mistake(f"{name}: operand {operand} is kept, or read later, and can't be overwritten")
                for other, value in enumerate(reads):
                    same = value == reads[operand] and f"{other}>{result}" in allowed
                    if other != operand and of(value) == source and not same:
                        raise Mistake(f"{name}: operand {other} has the bytes of operand {operand}")
                group[target] = source
                last[source] = max(last[source], last[target])
                kept[source] = kept[source] or kept[target]
        change = [0] * (len(order) + 1)
        for root, above in group.items():
            if above == root and root in birth and not kept[root]:
                change[birth[root]] += self.bytes[root]
                change[max(last[root], birth[root]) + 1] -= self.bytes[root]
        peak, live = 0, 0
        for step, (name, _) in enumerate(order):
            live += change[step]
            peak = max(peak, live + int(self.tasks[name]["bytes"]))
        return peak


def check(problem: Sequence[Row], solution: Sequence[Row]) -> int:
    """The height of a solution. Raises Mistake."""
    if is_order(problem):
        return Tasks(problem).height([(row["task"], row["inplace"].split()) for row in solution])
    return check_offsets(problem, solution)


def bound_of(problem: Sequence[Row], attained: str) -> int:
    """The lower bound that a step, or a task, attains; 0 without one."""
    kind, _, name = attained.partition(" ")
    if kind == "step":
        return live_bytes(problem, int(name))
    return Tasks(problem).needed(name) if kind == "task" else 0


def check_all() -> int:
    """The number of solutions of best/ that hold what best.csv says."""
    table = rows_of(HERE / "best.csv")
    for row in table:
        problem = rows_of(HERE / row["file"])
        height = check(problem, rows_of(HERE / "best" / f"{row['problem']}.csv"))
        if height != int(row["height"]):
            raise Mistake(f"{row['problem']}: the height is {height}, and not {row['height']}")
        bound, attained = int(row["bound"]), row["attained"]
        if bound > height or (attained != "search" and bound_of(problem, attained) != bound):
            raise Mistake(f"{row['problem']}: {attained} does not attain {bound} bytes")
    return len(table)


def main(words: Sequence[str]) -> int:
    """Checks what the command line names."""
    try:
        if not words:
            print(f"{check_all()} solutions hold")
        elif len(words) == 2:
            print(check(rows_of(words[0]), rows_of(words[1])))
        else:
            print("usage: verify.py [PROBLEM.csv SOLUTION.csv]", file=sys.stderr)
            return 2
    except (Mistake, OSError, KeyError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
