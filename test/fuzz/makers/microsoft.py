"""Operators that ONNX Runtime's optimiser and quantiser write."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from fuzz.growth import Growth, Maker, Misfit, Value

DOMAIN = "com.microsoft"


def _single(g: Growth, rank: int | None = None) -> Value:
    """What is of 32 bits, as these operators mostly take."""
    x = g.floats(rank, least=1)
    if x.array.dtype != np.float32 or 0 in x.shape:
        raise Misfit
    return x


def gelu(g: Growth) -> None:
    x = _single(g)
    match g.integer(0, 3):
        case 0:
            g.add("Gelu", x, domain=DOMAIN)
        case 1:
            g.add("QuickGelu", x, domain=DOMAIN, alpha=g.choose([1.0, 1.702]))
        case _:
            g.add("BiasGelu", x, g.weight(x.shape[-1:], np.float32), domain=DOMAIN)


def product(g: Growth) -> None:
    x = _single(g)
    if x.rank < 2:
        raise Misfit
    left, right = g.integer(0, 2), g.integer(0, 2)
    depth, columns = x.shape[-2 if left else -1], g.choose([1, 3, 8])
    y = g.weight([columns, depth] if right else [depth, columns], np.float32, scale=depth**-0.5)
    g.add("FusedMatMul", x, y, domain=DOMAIN, transA=left, transB=right, alpha=g.choose([1.0, 0.5]))


def skipped(g: Growth) -> None:
    x = _single(g, 3)
    if x.shape[-1] < 3:
        raise Misfit
    skip, rows = g.weight(x.shape, np.float32), [g.weight(x.shape[-1:], np.float32) for _ in range(3)]
    if g.chance(0.4):
        g.add("SkipSimplifiedLayerNormalization", x, skip, rows[0], domain=DOMAIN, epsilon=1e-5)
    else:
        g.add("SkipLayerNormalization", x, skip, *rows[: g.integer(2, 4)], domain=DOMAIN, epsilon=1e-5)


def quantised(g: Growth) -> None:
    kind = g.choose([np.uint8, np.int8])
    shape = g.shape(g.integer(1, 5))
    if 0 in shape:
        raise Misfit
    other = [size if g.chance(0.6) else 1 for size in shape]
    level = partial(g.choose, [0.25, 0.5, 1.0])

    def steps() -> list[Value]:
        return [g.constant(np.array(level(), np.float32)), g.constant(np.array(g.integer(0, 4), kind))]

    x = g.input(shape, kind)
    if g.chance(0.3):
        g.add("QLinearLeakyRelu", x, *steps(), *steps(), domain=DOMAIN, alpha=0.25)
    else:
        op = g.choose(["QLinearAdd", "QLinearMul"])
        g.add(op, x, *steps(), g.weight(other, kind), *steps(), *steps(), domain=DOMAIN)


MAKERS: Mapping[Maker, int] = {gelu: 1, product: 1, skipped: 1, quantised: 1}
