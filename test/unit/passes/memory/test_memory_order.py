"""The order search against all topological orders of small programs, and its budget on large ones."""

from __future__ import annotations

from random import Random

import pytest
from memory_programs import random_program
from order_programs import Tasks, orders, peak, program_of, random_graph

from mini_infer.dialects.graph.host import kernels_of, main_of
from mini_infer.passes.memory.analysis.aliasing import Program, read_programs
from mini_infer.passes.memory.analysis.order_search import better_order


def is_topological(program: Program, order: list[int]) -> bool:
    place = {task: step for step, task in enumerate(order)}
    return sorted(order) == list(range(len(program.tasks))) and all(
        place[other] < place[number] for number, task in enumerate(program.tasks) for other in task.after
    )


@pytest.mark.thinned(3)
@pytest.mark.parametrize("scratch", [False, True])
@pytest.mark.parametrize("inplace", [False, True])
def test_small_programs_get_the_best_order_there_is(inplace: bool, scratch: bool) -> None:
    """What is returned has a size of its own: only what is written over the caller's memory is scored otherwise."""
    improved = 0
    for seed in range(150):
        random = Random(seed)
        graph = random_graph(random, 7)
        read = {task for reads, _ in graph for task in reads}
        graph = [(reads, size if task in read else 3) for task, (reads, size) in enumerate(graph)]
        needed = [random.choice([0, 4, 32]) for _ in graph] if scratch else ()
        program = program_of(graph, inplace=inplace, scratch=needed)
        given = peak(program, range(7))
        best = min(peak(program, order) for order in orders(program))
        found = better_order(program)
        if found is not None:
            assert is_topological(program, found)
        reached = min(given, peak(program, found)) if found is not None else given
        assert reached == best, f"seed {seed}"
        improved += reached < given
    assert improved > 30


def test_two_wide_branches_run_one_after_the_other() -> None:
    program = program_of([([], 64), ([], 64), ([0], 4), ([1], 4), ([2, 3], 4)])
    found = better_order(program)
    assert found is not None and found == [0, 2, 1, 3, 4]
    assert (peak(program, [0, 1, 2, 3, 4]), peak(program, found)) == (132, 72)


def test_parts_between_cuts_are_solved_one_by_one() -> None:
    branchy: Tasks = [([], 64), ([], 64), ([0], 4), ([1], 4), ([2, 3], 4)]
    tasks = list(branchy)
    for part in range(1, 40):
        start = 5 * part
        tasks += [
            ([start - 1], 64),
            ([start - 1], 64),
            ([start], 4),
            ([start + 1], 4),
            ([start + 2, start + 3], 4),
        ]
    program = program_of(tasks)
    found = better_order(program, budget=4000)
    assert found is not None and peak(program, found) == 72 < peak(program, range(200))


def test_what_nobody_waits_for_moves_to_where_it_is_needed() -> None:
    """A large constant that is computed first, but read last, does not live through everything else."""
    tasks: Tasks = [([], 100), ([], 50), ([1], 50), ([2], 50), ([3], 10), ([4, 0], 10)]
    found = better_order(program_of(tasks))
    assert found == [1, 2, 3, 4, 0, 5]


def test_equal_programs_get_equal_orders_within_the_budget() -> None:
    program = program_of(random_graph(Random(3), 300))
    first = better_order(program, budget=5000)
    assert first == better_order(program, budget=5000)
    assert better_order(program, budget=0) is None


def test_real_calls_are_read_as_they_are() -> None:
    _, module, _ = random_program(11, length=20)
    main = main_of(module, "test")
    (program,) = read_programs([main.body.block], kernels_of(module), threads=2)
    for number, (call, task) in enumerate(zip(program.ops, program.tasks, strict=True)):
        assert len(call.operands) == len(task.operands) and len(call.results) == len(task.results)
        assert all(other < number for other in task.after)
    assert is_topological(program, list(range(len(program.tasks))))
