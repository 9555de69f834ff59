"""Matrix products and convolutions of all shapes, for tests of what carries them out."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph_runs import Case, Model
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp

ROWS, DEPTHS, COLUMNS = (1, 2, 3, 7, 14, 15, 197), (1, 3, 64, 1000), (1, 15, 16, 31, 32, 33, 100)


def product(
    rows: int,
    depth: int,
    columns: int,
    *,
    a: bool = False,
    b: bool = False,
    left: tuple[int, ...] = (),
    right: tuple[int, ...] = (),
    weight: bool = False,
    dtype: Any = np.float32,
    sums: Float32Type | None = None,
) -> Case:
    """[*left, rows, depth] x [*right, depth, columns]; `a` and `b` say which of them lies transposed."""

    def case(m: Model) -> SSAValue:
        shape = (*right, columns, depth) if b else (*right, depth, columns)
        lhs = m.input(*left, *((depth, rows) if a else (rows, depth)), dtype=dtype)
        rhs = (m.weight if weight else m.input)(*shape, dtype=dtype)
        return m(MatmulOp(lhs, rhs, a, b, sums=sums))

    return case


def conv(
    shape: tuple[int, ...],
    filters: int,
    kernel: tuple[int, ...],
    *,
    strides: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    groups: int = 1,
    bias: bool = True,
    layout: str = "NHWC",
    dtype: Any = np.float32,
) -> Case:
    """A convolution on [batch, spatial..., channels]."""

    def case(m: Model) -> SSAValue:
        batch, *spatial, channels = shape
        x = m.input(*shape, dtype=dtype) if layout == "NHWC" else m.input(batch, channels, *spatial, dtype=dtype)
        weight = m.weight(filters, channels // groups, *kernel, dtype=dtype)
        given = m.weight(filters, dtype=dtype) if bias else None
        window: dict[str, Any] = {"strides": strides, "pads": pads, "dilations": dilations}
        return m(ConvOp(x, weight, given, **window, groups=groups, layout=layout))

    return case


SIZES = [product(m, k, n, weight=True) for m in ROWS for k in DEPTHS for n in COLUMNS]
BOTH = (False, True)
FLAGS = [(a, b) for a in BOTH for b in BOTH]
BATCHES = [((2,), (2,)), ((3, 1), (1, 2)), ((), (4,)), ((4,), ()), ((2, 3), (3,)), ((1, 2), (5, 1, 1)), ((30,), (1,))]
OPERANDS = [
    *(product(m, k, n, a=a, b=b, weight=w) for m, k, n in ((5, 33, 17), (16, 7, 64)) for a, b in FLAGS for w in BOTH),
    *(product(5, 33, 17, left=left, right=right) for left, right in BATCHES),
    *(product(1, 33, 17, left=left, right=right) for left, right in BATCHES),
    *(product(5, 33, 17, a=a, b=b, left=x, right=y) for a, b in FLAGS[1:] for x, y in BATCHES[:2]),
    *(product(5, 33, 17, a=a, b=b, left=(2, 3), right=r, weight=True) for a, b in FLAGS for r in ((), (1, 1), (3,))),
]
KERNELS = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (1, 7), (7, 1)]
PADS = [(4, 4, 4, 4), (0, 5, 0, 0), (0, 0, 5, 0), (5, 0, 0, 5), (0, 0, 0, 1)]
WINDOWS = [
    *(conv((1, 9, 11, 5), 17, k, pads=(k[0] // 2, k[1] // 2) * 2) for k in KERNELS),
    *(conv((1, 9, 11, 5), 17, k, strides=(2, 2), pads=(k[0] // 2, k[1] // 2) * 2, bias=False) for k in KERNELS),
    *(conv((2, 10, 13, 3), 7, k, strides=s, pads=(0, 1, 2, 1)) for k in KERNELS[:3] for s in ((1, 2), (2, 1), (3, 3))),
    *(conv((1, 6, 5, 4), 33, k, pads=p) for k in ((1, 1), (3, 3), (2, 3)) for p in PADS),
    *(conv((1, 6, 5, 4), 8, k, pads=p, strides=(2, 3)) for k in ((1, 1), (3, 3), (2, 3)) for p in PADS),
    *(
        conv((1, 12, 13, 4), 8, (3, 3), pads=(p,) * 4, dilations=d, strides=s)
        for p in (0, 2, 4)
        for d in ((2, 2), (3, 1), (1, 3))
        for s in ((1, 1), (2, 2))
    ),
]
SHAPES = [
    *(conv((1, 7, 9, 8), n * g, (3, 3), pads=(1,) * 4, groups=g) for g in (2, 4) for n in (1, 2, 33)),
    *(conv((2, 7, 9, 8), n * g, (1, 1), strides=(s, s), groups=g) for g in (2, 4, 8) for n in (2, 16) for s in (1, 2)),
    *(conv((1, h, w, 3), 5, (3, 3), pads=(1,) * 4) for h, w in ((1, 1), (1, 7), (7, 1), (2, 2))),
    *(conv((3, h, h, 1), n, (h, h)) for h, n in ((1, 1), (2, 1), (4, 40))),
    conv((1, 20, 3), 5, (3,), pads=(1, 1)),
    conv((2, 33, 8), 16, (5,), strides=(2,), pads=(2, 2), groups=2),
    conv((2, 17, 4), 4, (3,), pads=(2, 2), dilations=(2,), groups=4),
    conv((1, 16, 5), 40, (1,)),
    conv((2, 16, 5), 40, (1,), strides=(2,), bias=False),
    conv((1, 16, 5), 4, (1,), pads=(1, 2)),
    conv((1, 5, 5), 4, (7,), pads=(8, 8), dilations=(3,)),
    conv((1, 40, 16), 16, (32,), pads=(16, 16), groups=4),
]
GROUPS = {"operands": OPERANDS, "windows": WINDOWS, "shapes": SHAPES}
