"""Programs of tasks without IR, all topological orders of them, and the peaks of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from mini_infer.passes.memory.analysis.aliasing import Program, Task, share

Tasks = list[tuple[list[int], int]]


def program_of(tasks: Tasks, *, inplace: bool = False, scratch: Sequence[int] = ()) -> Program:
    """Tasks as (tasks whose results they read, bytes of their result); what nobody reads is returned.

    With `inplace` a result may overwrite any operand of its size; `scratch` is what each task needs besides.
    """
    program = Program()
    for number, (reads, size) in enumerate(tasks):
        pairs = tuple((i, 0) for i, read in enumerate(reads) if inplace and tasks[read][1] == size)
        program.tasks.append(
            Task(tuple(reads), (number,), pairs, scratch[number] if scratch else 0, tuple(sorted(set(reads))))
        )
        program.storage.append(number)
        program.nbytes.append(size)
        program.fixed.append(False)
        program.output.append(False)
        program.maker.append(number)
        program.readers.append([])
        for read in set(reads):
            program.readers[read].append(number)
    for number, readers in enumerate(program.readers):
        program.output[number] = not readers
    return program


def random_graph(random: Random, length: int) -> Tasks:
    tasks: Tasks = []
    for number in range(length):
        reads = random.sample(range(number), k=min(number, random.choice([0, 1, 1, 1, 2, 2, 3])))
        tasks.append((sorted(reads), random.choice([1, 2, 4, 8, 16])))
    return tasks


def orders(program: Program, done: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """All topological orders."""
    if len(done) == len(program.tasks):
        yield done
    for number, task in enumerate(program.tasks):
        if number not in done and all(other in done for other in task.after):
            yield from orders(program, (*done, number))


def peak(program: Program, order: Sequence[int]) -> int:
    return share(program, order).peak
