"""Proofs of the order of calls against all topological orders of small programs, and planted faults in them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import cast

import pytest
from memory_programs import MEMORY, random_program, run_memory
from order_programs import orders, peak, program_of, random_graph
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr

from mini_infer.dialects.errors import PlanError
from mini_infer.dialects.graph.host import main_of
from mini_infer.dialects.graph.values import int_attr
from mini_infer.passes.memory.analysis.aliasing import Program
from mini_infer.passes.memory.analysis.program_order import order_problem, prove_order
from mini_infer.passes.memory.report.memory_report import plan_summary
from mini_infer.passes.memory.verify_arena import order_problem as order_problem_of_main
from mini_infer.passes.ordering.proof_checker import check_order_proof
from mini_infer.passes.ordering.prove import prove


def _program(seed: int, calls: int) -> Program:
    random = Random(seed)
    graph = random_graph(random, random.randint(1, calls))
    scratch = [random.choice([0, 4, 32]) for _ in graph] if random.random() < 0.5 else ()
    return program_of(graph, inplace=random.random() < 0.6, scratch=scratch)


def _check(seeds: range, calls: int) -> None:
    proven = 0
    for seed in seeds:
        program = _program(seed, calls)
        best = min(peak(program, order) for order in orders(program))
        found = prove_order(program)
        check_order_proof(order_problem(program), found.proof)
        assert found.bound <= best <= found.peak == peak(program, found.order), f"seed {seed}"
        assert not found.is_optimal or found.peak == best, f"seed {seed}"
        proven += found.is_optimal
    assert proven > 0.9 * len(seeds)


def test_no_order_of_a_small_program_is_below_the_bound() -> None:
    _check(range(150), 7)


@pytest.mark.slow
def test_no_order_of_a_larger_program_is_below_the_bound() -> None:
    _check(range(2000), 9)


def test_wrong_proofs_are_refused() -> None:
    planted = 0
    for seed in range(60):
        program = _program(seed, 12)
        problem, proof = order_problem(program), prove_order(program).proof
        found = prove_order(program)
        if not found.is_optimal or found.peak == 0:
            continue
        with pytest.raises(PlanError, match="the proof of the order"):
            check_order_proof(problem, replace(proof, bound=proof.bound + 1))
        for each in proof.sets:
            with pytest.raises(PlanError, match="the proof of the order lacks the set"):
                check_order_proof(problem, replace(proof, sets=proof.sets - {each}))
            planted += 1
    assert planted > 60


def test_a_wide_program_gets_a_gap_within_the_budget() -> None:
    random = Random(5)
    program = program_of(random_graph(random, 300))
    found = prove_order(program, budget=3000)
    assert 0 < found.bound <= found.peak
    check_order_proof(order_problem(program), found.proof)


def test_the_bound_of_a_planned_main_is_no_higher_than_its_arena() -> None:
    """Of what all default passes have made, with views, copies, loops and branches, and in other orders."""
    bounds = 0
    for seed in range(60):
        found: list[tuple[int, int]] = []
        for passes in (MEMORY, [each for each in MEMORY if not each.startswith("order-kernels")]):
            ctx, module, _ = random_program(seed, regions=seed % 3 == 0)
            run_memory(ctx, module, passes)
            problem = order_problem_of_main(module)
            proof = prove(problem, range(len(problem.calls)), 2000).proof
            check_order_proof(problem, proof)
            found.append((proof.bound, plan_summary(main_of(module, "test")).arena_bytes))
        assert max(bound for bound, _ in found) <= min(arena for _, arena in found), f"seed {seed}"
        bounds += any(bound == arena > 0 for bound, arena in found)
    assert bounds > 10


def test_verify_arena_refuses_a_bound_that_is_not_proven() -> None:
    ctx, module, _ = random_program(3)
    run_memory(ctx, module, [*MEMORY, "prove-order", "verify-arena"])
    main = main_of(module, "test")
    stated = main.attributes["kernel.order"]
    assert isinstance(stated, DictionaryAttr)
    higher = int_attr(cast(IntegerAttr, stated.data["bound"]).value.data + 256)
    main.attributes["kernel.order"] = DictionaryAttr({**stated.data, "bound": higher})
    with pytest.raises(PlanError, match="the proof of the order"):
        run_memory(ctx, module, ["verify-arena"])
    main.attributes["kernel.order"] = DictionaryAttr({"bound": higher})
    with pytest.raises(PlanError, match="needs a bound, a window and sets"):
        run_memory(ctx, module, ["verify-arena"])
