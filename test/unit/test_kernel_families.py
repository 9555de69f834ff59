"""Which code family writes an op: by kind, element type, layout, and whether its weight is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from graph_runs import Model
from xdsl.ir import SSAValue

from mini_infer.dialects.graph import ConvOp, GraphOp, LrnOp, MatmulOp, SoftmaxOp, TransposeOp
from mini_infer.passes.kernel_groups import family_of


def family(make: Callable[[Model], GraphOp], weights: bool = True) -> str:
    m = Model()
    op = make(m)
    m(op)
    return family_of(op, set(op.operands) if weights else set[SSAValue]())


def depthwise(channels: int, filters: int, kernel: int, dtype: type = np.float32) -> Callable[[Model], GraphOp]:
    def make(m: Model) -> GraphOp:
        x, w = m.input(1, 40, 40, channels, dtype=dtype), m.input(filters, 1, kernel, kernel, dtype=dtype)
        return ConvOp(x, w, groups=channels, layout="NHWC")

    return make


FAMILIES: list[tuple[Callable[[Model], GraphOp], str, str]] = [
    (lambda m: MatmulOp(m.input(2, 3), m.input(3, 4)), "contraction", "contraction"),
    (lambda m: MatmulOp(m.input(2, 3, dtype=np.int32), m.input(3, 4, dtype=np.int32)), "map", "map"),
    (lambda m: MatmulOp(m.input(2, 0), m.input(0, 4)), "map", "map"),
    (lambda m: ConvOp(m.input(1, 5, 4), m.input(4, 4, 3), layout="NHWC"), "contraction", "map"),
    (lambda m: ConvOp(m.input(1, 4, 5, 5), m.input(4, 4, 3, 3)), "map", "map"),
    (lambda m: ConvOp(m.input(1, 5, 5, 5, 4), m.input(4, 4, 3, 3, 3), layout="NHWC"), "map", "map"),
    (depthwise(8, 8, 3), "depthwise", "map"),
    (depthwise(8, 16, 3), "contraction", "map"),
    (depthwise(8, 8, 3, np.float64), "contraction", "map"),
    (depthwise(8, 8, 13), "contraction", "map"),  # code that names each tap would be too long
    (depthwise(1, 1, 3), "contraction", "map"),
    (lambda m: LrnOp(m.input(1, 5, 5, 4), 3, layout="NHWC"), "lrn", "lrn"),
    (lambda m: LrnOp(m.input(1, 4, 5, 5), 3), "windows", "windows"),
    (lambda m: SoftmaxOp(m.input(4, 5), 1), "rows", "rows"),
    (lambda m: TransposeOp(m.input(4, 5), (1, 0)), "map", "map"),
]


@pytest.mark.parametrize(("make", "known", "unknown"), FAMILIES)
def test_families(make: Callable[[Model], GraphOp], known: str, unknown: str) -> None:
    """The family of an op whose operands are weights, and of one whose operands are not."""
    assert (family(make), family(make, weights=False)) == (known, unknown)
