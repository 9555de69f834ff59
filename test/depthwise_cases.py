"""Depthwise convolutions that are checked on every device: windows, strides, borders on all sides, odd channels."""

from __future__ import annotations

from typing import Any

from graph_runs import Case, Model
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.contraction import ConvOp
from mini_infer.dialects.graph.ops.elementwise import MulOp
from mini_infer.dialects.graph.ops.reduction import ReduceMeanOp
from mini_infer.dialects.graph.ops.unary import ReluOp, SiluOp
from mini_infer.dialects.graph.values import shape_of

Pair = tuple[int, int]
Four = tuple[int, int, int, int]


def filtered(
    m: Model,
    x: SSAValue,
    kernel: Pair,
    strides: Pair = (1, 1),
    pads: Four | None = None,
    dilations: Pair = (1, 1),
    bias: bool = True,
    each: int = 1,
    of: int = 1,
) -> SSAValue:
    """`each` filters per group of channels, `of` so many, of x [batch, height, width, channels].

    Half the kernel is padded unless `pads` say otherwise.
    """
    groups = shape_of(x)[-1] // of
    weight = m.weight(groups * each, of, *kernel, scale=0.3)
    around = (kernel[0] // 2, kernel[1] // 2) * 2 if pads is None else pads
    given = m.weight(groups * each) if bias else None
    window: dict[str, Any] = {"strides": strides, "pads": around, "dilations": dilations}
    return m(ConvOp(x, weight, given, **window, groups=groups, layout="NHWC"))


def depthwise(
    shape: Four,
    kernel: Pair,
    strides: Pair = (1, 1),
    pads: Four | None = None,
    dilations: Pair = (1, 1),
    each: int = 1,
    of: int = 1,
) -> Case:
    """A depthwise convolution of an input; one without padding has no bias either."""
    bias = pads is None or any(pads)
    return lambda m: filtered(m, m.input(*shape), kernel, strides, pads, dilations, bias, each, of)


def excited(case: Case, *behind: type[ReluOp] | type[SiluOp]) -> Case:
    """Pictures times their means."""

    def make(m: Model) -> SSAValue:
        y = case(m)
        assert isinstance(y, SSAValue)
        for kind in behind:
            y = m(kind(y))
        return m(MulOp(y, m(ReduceMeanOp(y, (1, 2), keepdims=True))))

    return make


CHANNELS = (5, 37, 64)  # a part of a register, several and a part, whole ones
KERNELS = [
    depthwise((1, 9, 11, CHANNELS[(k + stride) % 3]), (k, k), (stride, stride)) for k in (3, 5, 7) for stride in (1, 2)
]
BORDERS = [
    depthwise((2, 14, 15, 2 if stride == 3 else 16), (3, 3), (stride, stride), pads, dilations)
    for stride in (1, 3)
    for pads in ((0, 0, 0, 0), (2, 0, 1, 3), (5, 5, 5, 5))
    for dilations in ((1, 1), (2, 3))
]
SHAPES = [
    depthwise((1, 1, 1, 7), (3, 3)),
    depthwise((1, 1, 20, 7), (1, 7)),
    depthwise((1, 20, 1, 7), (7, 1)),
    depthwise((2, 5, 1, 8), (3, 1), pads=(2, 0, 2, 1)),
    depthwise((1, 23, 3, 7), (5, 1), (2, 1), pads=(3, 0, 1, 0), dilations=(2, 1)),
    depthwise((2, 19, 12, 20), (11, 1), (1, 2), pads=(5, 0, 5, 1)),
    depthwise((1, 4, 30, 7), (3, 1)),
    depthwise((1, 2, 2, 7), (7, 7)),
    depthwise((1, 8, 8, 7), (1, 1)),
    depthwise((1, 8, 8, 20), (1, 1), (2, 2)),
    depthwise((1, 8, 8, 20), (1, 1), pads=(1, 1, 1, 1)),
    depthwise((1, 30, 7, 33), (3, 3), (2, 1)),
    depthwise((2, 7, 6, 20), (3, 2), (1, 2), pads=(0, 1, 0, 0)),
]
# Filters whose rows are a loop; some rows of results see none of them.
