"""Tree ensembles of ai.onnx.ml, as ONNX Runtime computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from microsoft_cases import Case, check
from random_trees import RandomTrees

ALL_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def regression(
    seed: int, count: int = 5, depth: int = 4, full: float = 1.0, rows: int = 11, nan: float = 0.0, **facts: Any
) -> Case:
    """A regressor of some trees, with `attributes` among the facts."""
    attributes: dict[str, Any] = facts.pop("attributes", {})
    double: bool = facts.pop("double", False)
    trees = RandomTrees(seed, **facts)
    for tree in range(count):
        trees.grow(tree, depth, full)
    given = {**trees.attributes("target"), "n_targets": trees.targets, **attributes}
    x = trees.rows(rows, nan)
    return Case(
        "TreeEnsembleRegressor",
        [x.astype(np.float64) if double else x],
        given,
        domain="ai.onnx.ml",
        version=3,
        note=f"{seed} {facts} {attributes}",
    )


REGRESSIONS = [
    regression(0),
    regression(1, modes=("BRANCH_LT",)),
    regression(2, modes=ALL_MODES),
    regression(3, modes=ALL_MODES, missing=0.5, nan=0.3),
    regression(4, missing=1.0, nan=0.3),
    regression(5, full=0.7, depth=12, count=9),
    regression(6, full=0.7, depth=14, count=3, missing=0.5, nan=0.2, modes=ALL_MODES),
    regression(7, targets=3, count=9, attributes={"base_values": [0.5, -1.0, 2.0]}),
    regression(8, targets=3, one_target=False, count=9),
    regression(9, targets=3, one_target=False, attributes={"aggregate_function": "AVERAGE"}),
    regression(10, targets=2, one_target=False, attributes={"aggregate_function": "MIN"}),
    regression(11, targets=2, one_target=False, attributes={"aggregate_function": "MAX", "base_values": [1.0, 2.0]}),
    regression(12, attributes={"aggregate_function": "MIN"}, count=20),
    regression(13, attributes={"post_transform": "LOGISTIC"}),
    regression(14, targets=3, attributes={"post_transform": "LOGISTIC"}),
    regression(15, targets=3, attributes={"post_transform": "SOFTMAX"}),
    regression(16, targets=3, one_target=False, attributes={"post_transform": "SOFTMAX_ZERO"}),
    regression(17, targets=2, lowest=0.01, count=1, attributes={"post_transform": "PROBIT"}),
    regression(18, double=True, count=70),
    regression(19, count=150, depth=2, rows=3),
    regression(20, count=1, depth=0),
    regression(21, count=4, depth=9, rows=140),
    regression(22, count=3, depth=11, rows=9),
    regression(23, modes=("BRANCH_EQ",), depth=2),
]


@pytest.mark.parametrize("case", REGRESSIONS, ids=str)
def test_a_regressor(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("number", [0, 3, 5, 7, 8, 10, 18, 20, 21, 22])
def test_a_compiled_regressor(number: int) -> None:
    check(REGRESSIONS[number], compiled=True)
