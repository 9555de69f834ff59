"""Products of what lies otherwise: transposes, slices and reshapes in front of a matrix product cost nothing."""

from __future__ import annotations

from itertools import permutations

import pytest
from graph_runs import EVERY, Case, Model, Target, check, spread
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.contraction import MatmulOp
from mini_infer.dialects.graph.ops.elementwise import MulOp
from mini_infer.dialects.graph.ops.movement import ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.unary import ExpOp
from mini_infer.dialects.graph.values import shape_of


def view(side: int, permutation: tuple[int, ...], a: bool, b: bool) -> Case:
    """A product whose operand `side` is transposed in four dimensions; `a` and `b` are the product's own flags."""

    def case(m: Model) -> SSAValue:
        turned = m(TransposeOp(m.input(2, 3, 4, 5), permutation))
        heads, rows, columns = shape_of(turned)[1:]
        if side == 0:
            depth = rows if a else columns
            return m(MatmulOp(turned, m.input(heads, *((9, depth) if b else (depth, 9))), a, b))
        depth = columns if b else rows
        return m(MatmulOp(m.input(heads, *((depth, 7) if a else (7, depth))), turned, a, b))

    return case


FLAGS = [(a, b) for a in (False, True) for b in (False, True)]
VIEWS = [view(side, p, a, b) for p in [*permutations(range(4))][1:] for side in (0, 1) for a, b in FLAGS]


def heads(m: Model) -> SSAValue:
    """Attention by hand: parts of one projection, seen as heads."""
    x = m.input(1, 10, 60)

    def part(index: int) -> SSAValue:
        cut = m(SliceOp(x, (0, 0, index * 20), (1, 10, index * 20 + 20), (1, 1, 1)))
        return m(TransposeOp(m(ReshapeOp(cut, (1, 10, 4, 5))), (0, 2, 1, 3)))

    scores = m(ExpOp(m(MulOp(m(MatmulOp(part(0), part(1), transpose_b=True)), m.constant(0.1)))))
    return m(MatmulOp(scores, part(2)))


def backwards(m: Model) -> SSAValue:
    left = m(SliceOp(m.input(12, 15), (10, 0), (0, 15), (-2, 2)))
    return m(MatmulOp(left, m(SliceOp(m.input(14, 20), (13, 1), (5, 20), (-1, 3)))))


def partly_a_window(m: Model) -> SSAValue:
    """The reshape needs a copy, so only the transpose behind it is a view."""
    rows = m(ReshapeOp(m(TransposeOp(m.input(2, 6, 4), (0, 2, 1))), (8, 6)))
    return m(MatmulOp(m(TransposeOp(rows, (1, 0))), m.weight(8, 9)))


def test_views_of_operands() -> None:
    for run in spread([*VIEWS[::8], *VIEWS[3::16], heads, backwards]):
        assert set(run.schedules) <= {"computed_panels", "panels", "panels_by_rows"}
    (run,) = check([partly_a_window], Target())
    assert run.names == ["transpose_0", "matmul_0"]


@pytest.mark.slow
@pytest.mark.parametrize("target", EVERY, ids=str)
def test_views_on_every_target(target: Target) -> None:
    for start in range(0, len(VIEWS), 24):
        check(VIEWS[start : start + 24], target)
