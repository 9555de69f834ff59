"""Order problems as CSV: what aliasing.Program holds, with names.

    kind,id,bytes,of,kept,reads,makes,inplace,after
    value,x,600,,,,,,
    value,y,600,,,,,,
    task,relu,0,,,x,y,0>0,conv

A value has bytes, may be `of` another value's storage, and may be kept: `fixed` (an input or a weight) or `output`,
both in memory that is not counted. A task has scratch bytes, reads and makes values, may write result j over operand i
(`i>j`), and runs after the tasks that make its operands and those that are listed.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mini_infer.passes.memory.analysis.aliasing import Program, Task

COLUMNS = ("kind", "id", "bytes", "of", "kept", "reads", "makes", "inplace", "after")


@dataclass
class OrderProblem:
    """A program, with the names of its tasks and values."""

    program: Program
    tasks: list[str]
    values: list[str]


def read_order_problem(path: Path) -> OrderProblem:
    """Reads a problem, also one packed by gzip. Its program has no IR: `ops` is empty."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    program = Program()
    values = [row["id"] for row in rows if row["kind"] == "value"]
    number = {name: index for index, name in enumerate(values)}
    for row in (row for row in rows if row["kind"] == "value"):
        if row["of"]:
            program.storage.append(program.storage[number[row["of"]]])
            continue
        program.storage.append(len(program.nbytes))
        program.nbytes.append(int(row["bytes"]))
        program.fixed.append(row["kept"] == "fixed")
        program.output.append(row["kept"] == "output")
        program.maker.append(-1)
        program.readers.append([])
    listed = [row for row in rows if row["kind"] == "task"]
    index = {row["id"]: position for position, row in enumerate(listed)}
    makers = {value: row["id"] for row in listed for value in row["makes"].split()}
    for position, row in enumerate(listed):
        reads, makes = row["reads"].split(), row["makes"].split()
        made = [makers[value] for value in reads if value in makers]
        after = {index[name] for name in (*made, *row["after"].split())}
        pairs = [pair.split(">") for pair in row["inplace"].split()]
        inplace = tuple((int(operand), int(result)) for operand, result in pairs)
        operands, results = (tuple(number[name] for name in names) for names in (reads, makes))
        program.tasks.append(Task(operands, results, inplace, int(row["bytes"]), tuple(sorted(after - {position}))))
        for storage in {program.storage[value] for value in operands}:
            program.readers[storage].append(position)
        for storage in {program.storage[value] for value in results} - {program.storage[value] for value in operands}:
            program.maker[storage] = position
    return OrderProblem(program, [row["id"] for row in listed], values)


def order_problem_text(problem: OrderProblem) -> str:
    """The CSV text of a problem."""
    program, text = problem.program, io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    first: dict[int, str] = {}
    for name, storage in zip(problem.values, program.storage, strict=True):
        kept = "fixed" if program.fixed[storage] else "output" if program.output[storage] else ""
        of = first.setdefault(storage, name)
        own = of == name
        writer.writerow(["value", name, program.nbytes[storage], "" if own else of, kept if own else "", *[""] * 4])
    makers = {value: number for number, task in enumerate(program.tasks) for value in task.results}
    for name, task in zip(problem.tasks, program.tasks, strict=True):
        made = {makers[value] for value in task.operands if value in makers}
        names = [" ".join(problem.values[value] for value in side) for side in (task.operands, task.results)]
        pairs = " ".join(f"{operand}>{result}" for operand, result in task.inplace)
        after = " ".join(problem.tasks[number] for number in task.after if number not in made)
        writer.writerow(["task", name, task.scratch, "", "", *names, pairs, after])
    return text.getvalue()


def solution_text(problem: OrderProblem, order: Sequence[int], pairs: dict[int, list[tuple[int, int]]]) -> str:
    """The CSV text of an order, with the pairs that are in place."""
    lines = [f"{problem.tasks[task]},{' '.join(f'{i}>{j}' for i, j in pairs.get(task, ()))}" for task in order]
    return "\n".join(["task,inplace", *lines]) + "\n"
