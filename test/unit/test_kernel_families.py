"""Which code family writes an op: by kind, element type and layout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from graph_runs import Model

from mini_infer.dialects.graph import ConvOp, GraphOp, LrnOp, MatmulOp, SoftmaxOp, TransposeOp
from mini_infer.passes.kernels.fusion import family_of


def depthwise(channels: int, filters: int, kernel: int, dtype: type = np.float32) -> Callable[[Model], GraphOp]:
    def make(m: Model) -> GraphOp:
        x, w = m.input(1, 40, 40, channels, dtype=dtype), m.input(filters, 1, kernel, kernel, dtype=dtype)
        return ConvOp(x, w, groups=channels, layout="NHWC")

    return make


FAMILIES: list[tuple[Callable[[Model], GraphOp], str]] = [
    (lambda m: MatmulOp(m.input(2, 3), m.input(3, 4)), "contraction"),
    (lambda m: MatmulOp(m.input(2, 3, dtype=np.int32), m.input(3, 4, dtype=np.int32)), "map"),
    (lambda m: MatmulOp(m.input(2, 0), m.input(0, 4)), "map"),
    (lambda m: ConvOp(m.input(1, 5, 4), m.input(4, 4, 3), layout="NHWC"), "contraction"),
    (lambda m: ConvOp(m.input(1, 4, 5, 5), m.input(4, 4, 3, 3)), "map"),
    (lambda m: ConvOp(m.input(1, 5, 5, 5, 4), m.input(4, 4, 3, 3, 3), layout="NHWC"), "map"),
    (depthwise(8, 8, 3), "depthwise"),
    (depthwise(8, 16, 3), "contraction"),
    (depthwise(8, 8, 3, np.float64), "contraction"),
    (depthwise(8, 8, 13), "contraction"),  # code that names each tap would be too long
    (depthwise(1, 1, 3), "contraction"),
    (lambda m: LrnOp(m.input(1, 5, 5, 4), 3, layout="NHWC"), "lrn"),
    (lambda m: LrnOp(m.input(1, 4, 5, 5), 3), "windows"),
    (lambda m: SoftmaxOp(m.input(4, 5), 1), "rows"),
    (lambda m: TransposeOp(m.input(4, 5), (1, 0)), "map"),
]


@pytest.mark.parametrize(("make", "family"), FAMILIES)
def test_families(make: Callable[[Model], GraphOp], family: str) -> None:
    m = Model()
    op = make(m)
    m(op)
    assert family_of(op) == family
