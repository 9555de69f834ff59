"""Kernels of linear attention, on a CPU and on an emulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_runs import Result, Writer, check

from mini_infer.dialects.graph.ops.linear_attention import LinearAttentionOp
from mini_infer.dialects.graph.values import Array

RANDOM = np.random.default_rng(0)


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return RANDOM.standard_normal(shape).astype(dtype) / 2


def run(
    shape: tuple[int, int, int, int, int, int],
    given: tuple[int, int | None, int | None],
    results: str = "both",
    dtype: Any = np.float32,
    **options: Any,
) -> None:
    """`shape`: batch, steps, heads, groups, rows, columns; `given`: an initial state? columns of decay and of beta."""
    batch, steps, heads, groups, size, width = shape
    shapes = [(batch, steps, heads, size), (batch, steps, groups, size), (batch, steps, groups, width)]
    more = [
        (batch, groups, size, width) if given[0] else None,
        (batch, steps, groups, given[1]) if given[1] else None,
        (batch, steps, given[2]) if given[2] else None,
    ]
    arrays = [numbers(*each, dtype=dtype) for each in (*shapes, *more) if each is not None]

    def body(w: Writer) -> Result:
        places = iter(range(3, len(arrays)))
        rest = [None if each is None else w[next(places)] for each in more]
        op = LinearAttentionOp(w[0], w[1], w[2], *rest, scale=0.7)
        w(op)
        return {"both": [op.y, op.last], "y": [op.y], "state": [op.last]}[results]

    check("linear_attention", body, *arrays, **options)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("width", [1, 5, 16, 37])
@pytest.mark.parametrize("given", [(0, None, None), (1, 3, None), (0, 1, 2), (1, None, 1)])
def test_columns_and_gates(width: int, given: tuple[int, int | None, int | None]) -> None:
    run((2, 3, 4, 2, 3, width), given)


@pytest.mark.parametrize("results", ["y", "state"])
def test_a_result_that_nobody_reads(results: str) -> None:
    run((1, 4, 2, 2, 5, 9), (1, 5, 2), results)


@pytest.mark.parametrize("heads", [1, 4, 5, 9])
def test_many_heads_of_one_state(heads: int) -> None:
    run((1, 2, heads, 1, 3, 9), (0, 3, 1))


def test_types_threads_and_steps() -> None:
    run((2, 5, 2, 2, 4, 20), (1, 4, 2), dtype=np.float64, threads=3)
    run((1, 1, 1, 1, 1, 1), (0, None, None))
    run((3, 40, 2, 1, 8, 8), (0, 8, 1), threads=7)
