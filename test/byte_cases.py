"""Products and convolutions of 8-bit integers, for tests of what carries them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from graph_runs import Model
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.values import Array

SIGNS = [(a, w) for a in (np.int8, np.uint8) for w in (np.int8, np.uint8)]


def any_bytes(m: Model, shape: tuple[int, ...], dtype: Any) -> Array:
    """All numbers of the type, the extreme ones more often."""
    limits = np.iinfo(dtype)
    whole = m.random(*shape, scale=1e6).astype(np.int64) % 256 + limits.min
    kind = m.random(*shape)
    return np.where(kind > 1, limits.max, np.where(kind < -1, limits.min, whole)).astype(dtype)


def product(
    shape: tuple[int, ...],
    right: tuple[int, ...],
    types: tuple[Any, Any],
    *,
    a: bool = False,
    b: bool = False,
    weight: bool = True,
    extreme: bool = False,
) -> Callable[[Model], SSAValue]:
    """[..., rows, depth] x [..., depth, columns]; `extreme` has only the operands' smallest numbers, or largest."""

    def data(m: Model, shape: tuple[int, ...], dtype: Any) -> Array:
        limits = np.iinfo(dtype)
        return np.full(shape, limits.min or limits.max, dtype) if extreme else any_bytes(m, shape, dtype)

    def case(m: Model) -> SSAValue:
        left = m.input(data=data(m, shape, types[0]))
        values = data(m, right, types[1])
        return m(MatmulOp(left, m.weight(data=values) if weight else m.input(data=values), a, b))

    return case


def conv(
    shape: tuple[int, ...],
    filters: int,
    kernel: tuple[int, ...],
    types: tuple[Any, Any],
    *,
    padding: int = 0,
    groups: int = 1,
    bias: bool = True,
    layout: str = "NHWC",
    **window: Any,
) -> Callable[[Model], SSAValue]:
    """A convolution on [batch, spatial..., channels]."""

    def case(m: Model) -> SSAValue:
        batch, *spatial, channels = shape
        given = shape if layout == "NHWC" else (batch, channels, *spatial)
        x = m.input(data=any_bytes(m, given, types[0]))
        weight = m.weight(data=any_bytes(m, (filters, channels // groups, *kernel), types[1]))
        biases = m.weight(data=(m.random(filters, scale=1e5)).astype(np.int32)) if bias else None
        return m(ConvOp(x, weight, biases, groups=groups, layout=layout, pad_value=padding, **window))

    return case
