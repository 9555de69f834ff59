"""The bound of all orders of main's calls, against arenas that are planned for many orders."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from memory_programs import ProgramBuilder, run_memory
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.host import main_of
from mini_infer.dialects.graph.ops.elementwise import AddOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, TransposeOp
from mini_infer.dialects.graph.ops.structure import CallOp
from mini_infer.dialects.graph.ops.unary import NegOp
from mini_infer.dialects.graph.values import shape_of
from mini_infer.dialects.kernel.kernel_attributes import InterfaceAttr
from mini_infer.passes.memory.report.memory_report import memory_plan
from mini_infer.passes.memory.verify_arena import order_problem
from mini_infer.passes.ordering.proof_checker import check_order_proof
from mini_infer.passes.ordering.prove import prove

PLAN = ("mark-inplace", "bufferize", "elide-copies{alignment=8}", "plan-arena{alignment=8}", "verify-arena")
ORDER = "order-kernels{alignment=8}"


def _planned(ctx: Context, module: ModuleOp, passes: Sequence[str]) -> tuple[int, int]:
    """The bound of all orders, and the arena of this one."""
    run_memory(ctx, module, passes)
    problem = order_problem(module)
    proof = prove(problem, range(len(problem.calls)), 20_000).proof
    check_order_proof(problem, proof)
    arena = memory_plan(module).arena_bytes
    assert proof.bound <= arena
    return proof.bound, arena


def _program(random: Random, most: int) -> tuple[Context, ModuleOp]:
    """Elementwise kernels, in place or not, concatenations and transposes, of matrices."""
    builder = ProgramBuilder([(2, 3), (3, 2)][: random.randint(1, 2)], 1)
    values: list[SSAValue] = []
    for _ in range(random.randint(2, most)):
        recent = [*values[-5:], *builder.inputs][:6]
        x = random.choice(recent)
        shape = shape_of(x)
        alone = [0] if random.random() < 0.7 else []
        match random.randrange(6):
            case 0:
                values += builder.call(
                    lambda a: [TransposeOp(a[0], (1, 0))],
                    [x],
                    InterfaceAttr.of(strided_operands=[0], strided_results=[0]),
                )
            case 1 | 2:
                axis = random.randrange(2)
                beside = [each for each in recent if shape_of(each)[1 - axis] == shape[1 - axis]]
                parts = random.sample(beside, k=min(len(beside), random.randint(1, 3)))
                moved = InterfaceAttr.of(strided_operands=range(len(parts)), strided_results=[0])
                values += builder.call(lambda a, axis=axis: [ConcatOp(a, axis)], parts, moved)
            case 3:
                over = InterfaceAttr.of(inplace=[(0, 0), (1, 0)], strided_operands=[0, 1], strided_results=[0])
                y = random.choice([each for each in recent if each.type == x.type])
                values += builder.call(lambda a: [AddOp(a[0], a[1])], [x, y], over)
            case _:
                inplace = [(0, 0)] if random.random() < 0.5 else []
                interface = InterfaceAttr.of(
                    inplace=inplace,
                    scratch=random.choice([0, 0, 16]),
                    strided_operands=[0],
                    strided_results=alone,
                )
                values += builder.call(lambda a: [NegOp(a[0])], [x], interface)
    return builder.context, builder.finish([values[-1]])


def _shuffle(random: Random, module: ModuleOp) -> None:
    """Another order of main's calls."""
    block = main_of(module, "test").body.block
    calls = [op for op in block.ops if isinstance(op, CallOp)]
    placed: set[CallOp] = set()
    last = block.last_op
    assert last is not None
    while len(placed) < len(calls):
        ready = [
            each for each in calls if each not in placed and {v.owner for v in each.arguments} & {*calls} <= placed
        ]
        chosen = random.choice(ready)
        placed.add(chosen)
        chosen.detach()
        block.insert_op_before(chosen, last)


def _check(seeds: range, orders: int) -> None:
    """In no order the arena is below the bound that any of the orders gives."""
    least = 0
    for seed in seeds:
        found = [_planned(*_program(Random(seed), 9), (ORDER, *PLAN))]
        for number in range(orders):
            ctx, module = _program(Random(seed), 9)
            _shuffle(Random(number), module)
            found.append(_planned(ctx, module, PLAN))
        bound, arena = max(each for each, _ in found), min(each for _, each in found)
        assert bound <= arena, f"seed {seed}"
        least += bound == arena
    assert least > 0.5 * len(seeds)


def test_no_order_of_a_main_is_below_the_bound() -> None:
    _check(range(40), 4)


@pytest.mark.slow
def test_none_of_many_orders_is_below_the_bound() -> None:
    _check(range(1000, 1400), 12)
