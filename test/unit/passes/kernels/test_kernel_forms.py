"""Which form an op alone has, and which schedule that gets: by kind, element type and layout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from graph_runs import Model, schedule_of

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.movement import TransposeOp
from mini_infer.dialects.graph.ops.reduction import SoftmaxOp
from mini_infer.dialects.graph.ops.structure import KernelOp
from mini_infer.dialects.graph.ops.windows import LrnOp
from mini_infer.lowering import pipelines


def depthwise(channels: int, filters: int, kernel: int, dtype: type = np.float32) -> Callable[[Model], GraphOp]:
    def make(m: Model) -> GraphOp:
        x, w = m.input(1, 40, 40, channels, dtype=dtype), m.input(filters, 1, kernel, kernel, dtype=dtype)
        return ConvOp(x, w, groups=channels, layout="NHWC")

    return make


WAYS: list[tuple[Callable[[Model], GraphOp], str, str]] = [
    (lambda m: MatmulOp(m.input(2, 3), m.input(3, 4)), "contraction", "computed_panels"),
    (lambda m: MatmulOp(m.input(2, 3, dtype=np.int32), m.input(3, 4, dtype=np.int32)), "contraction", "elements"),
    (lambda m: MatmulOp(m.input(2, 0), m.input(0, 4)), "contraction", "elements"),
    (lambda m: ConvOp(m.input(1, 5, 4), m.input(4, 4, 3), layout="NHWC"), "contraction", "panels"),
    (lambda m: ConvOp(m.input(1, 4, 5, 5), m.input(4, 4, 3, 3)), "contraction", "elements"),
    (lambda m: ConvOp(m.input(1, 5, 5, 5, 4), m.input(4, 4, 3, 3, 3), layout="NHWC"), "contraction", "elements"),
    (depthwise(8, 8, 3), "contraction", "depthwise"),
    (depthwise(8, 16, 3), "contraction", "depthwise"),
    (depthwise(8, 40, 3), "contraction", "panels"),
    (depthwise(8, 8, 3, np.float64), "contraction", "panels"),
    (depthwise(8, 8, 13), "contraction", "depthwise"),
    (depthwise(1, 1, 3), "contraction", "panels"),
    (lambda m: LrnOp(m.input(1, 5, 5, 4), 3, layout="NHWC"), "windows", "lrn"),
    (lambda m: LrnOp(m.input(1, 4, 5, 5), 3), "windows", "elements"),
    (lambda m: SoftmaxOp(m.input(4, 5), 1), "rows", "rows"),
    (lambda m: TransposeOp(m.input(4, 5), (1, 0)), "map", "elements"),
]


@pytest.mark.parametrize(("make", "form", "schedule"), WAYS)
def test_forms_and_schedules(make: Callable[[Model], GraphOp], form: str, schedule: str) -> None:
    m = Model()
    op = make(m)
    assert form == op.FORM
    m.outputs("y", [m(op)])
    m.finish()
    passes = pipelines.parse_passes("form-kernels,choose-schedule")
    pipelines.run_passes(m.ctx, m.module, passes)
    (kernel,) = [each for each in m.module.ops if isinstance(each, KernelOp)]
    assert schedule_of(kernel).kind.data == schedule
