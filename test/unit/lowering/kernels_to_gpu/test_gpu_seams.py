"""Concatenations and padding along the innermost axis, on a GPU: whole vectors where no seam goes through one."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_kernel_runs import check
from kernel_runs import Writer
from xdsl.dialects import vector
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.movement import ConcatOp, PadOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.values import Array
from mini_infer.passes.kernels.schedules.cuda.elements import Elements

RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> Array:
    made: Array = RANDOM.standard_normal(shape).astype(np.float32)
    return made


@pytest.mark.parametrize(("sizes", "lanes"), [((8, 12, 4), 4), ((6, 2, 8), 2), ((4, 8, 1), 1), ((5, 3), 1)])
def test_seams_between_operands(sizes: tuple[int, ...], lanes: int) -> None:
    """The widest vectors that begin and end with the operands."""
    arrays = [numbers(5, 3, size) for size in sizes]

    def body(w: Writer) -> SSAValue:
        return w(ReluOp(w(ConcatOp([w[i] for i in range(len(sizes))], 2))))

    widths = [
        op.result.type.get_shape()[0]
        for op in check("map", body, *arrays, given=Elements(64)).module.walk()
        if isinstance(op, vector.LoadOp)
    ]
    assert widths == ([lanes] * len(sizes) if lanes > 1 else [])


@pytest.mark.parametrize(("low", "high", "vectors"), [(4, 8, True), (1, 3, False), (0, 4, True)])
def test_borders_of_padding(low: int, high: int, vectors: bool) -> None:
    made = check("map", lambda w: w(PadOp(w[0], [0, 1, low], [0, 2, high])), numbers(2, 3, 12), given=Elements(64))
    assert any(isinstance(op, vector.LoadOp) for op in made.module.walk()) == vectors
