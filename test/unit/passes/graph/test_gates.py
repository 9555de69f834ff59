"""A product that gates another one, as one kernel: to the bit what two products and an op behind them give."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from graph_runs import THREE, Case, Model, Target, build, compiled, execute
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.activation import GeluOp
from mini_infer.dialects.graph.ops.contraction import MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.movement import SliceOp
from mini_infer.dialects.graph.ops.unary import ReluOp, SigmoidOp, SiluOp
from mini_infer.dialects.graph.values import shape_of
from mini_infer.lowering import pipelines
from mini_infer.runtime.native.cpu_targets import target_attribute

Gate = Callable[[SSAValue], SiluOp | GeluOp | SigmoidOp | ReluOp]
GATES: list[Gate] = [SiluOp, GeluOp, SigmoidOp, ReluOp]


def gated(
    gate: Gate,
    rows: tuple[int, ...],
    depth: int,
    columns: int,
    *,
    bias: bool = False,
    merged: bool = False,
    transposed: bool = False,
    residual: bool = False,
    dtype: Any = np.float32,
) -> Case:
    """gate(x a) * (x b) of `columns` columns each, where a and b may come as one weight."""

    def weight(m: Model, width: int) -> SSAValue:
        return m.weight(*((width, depth) if transposed else (depth, width)), dtype=dtype)

    def affine(m: Model, x: SSAValue, width: int) -> SSAValue:
        y = m(MatmulOp(x, weight(m, width), transpose_b=transposed))
        return m(AddOp(y, m.weight(width, dtype=dtype))) if bias else y

    def case(m: Model) -> SSAValue:
        x = m.input(*rows, depth, dtype=dtype)
        if merged:
            both = affine(m, x, 2 * columns)
            zeros, sizes = (0,) * len(rows), shape_of(both)[:-1]
            a, b = (m(SliceOp(both, (*zeros, at), (*sizes, at + columns))) for at in (0, columns))
        else:
            a, b = affine(m, x, columns), affine(m, x, columns)
        y = m(MulOp(m(gate(a)), b))
        return m(AddOp(y, m.input(*rows, columns, dtype=dtype))) if residual else y

    return case


FLAGS = [{"bias": bias, "merged": merged} for bias, merged in product((False, True), repeat=2)]
HALVES: list[tuple[Gate, Any]] = [(SiluOp, np.float16), (SigmoidOp, ml_dtypes.bfloat16)]
CASES = [
    *(gated(gate, (5,), 9, 17, **flags) for gate in GATES for flags in FLAGS),
    *(gated(SiluOp, (rows,), depth, 40) for rows in (1, 2, 29) for depth in (3, 700)),
    *(gated(SiluOp, (2, 3), 7, columns, transposed=True) for columns in (1, 16, 33)),
    *(gated(gate, (4,), 9, 17, dtype=dtype, **flags) for gate, dtype in HALVES for flags in FLAGS[::3]),
    *(gated(gate, (3, 4), 8, 12, residual=True, merged=True) for gate in (SiluOp, ReluOp)),
]


@pytest.mark.parametrize("target", THREE, ids=str)
def test_a_gate_is_done_with_the_products(target: Target) -> None:
    share = CASES[THREE.index(target) :: len(THREE)]
    m = build(share)
    apart = build(share)
    for each, passes in ((apart, "widen-halves,dce"), (m, "pair-gates,fold-constants,widen-halves,cse,dce")):
        each.module.attributes["kernel.target"] = target_attribute(target.config())
        pipelines.run_passes(each.ctx, each.module, pipelines.parse_passes(passes))
    alone = execute(compiled(apart, Target(target.bits, target.threads, fuse=False))[0], apart.inputs)
    plan, _ = compiled(m, target)
    assert len(plan.calls) == len(share)
    for name, result in execute(plan, m.inputs).items():
        np.testing.assert_array_equal(result, alone[name], name)
