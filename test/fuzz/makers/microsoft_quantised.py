"""Operators that ONNX Runtime's quantiser writes: numbers of 8 bits with scales and zero points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from fuzz.growth import Growth, Maker, Misfit, Value
from fuzz.makers.microsoft import DOMAIN, single

from mini_infer.dialects.graph.values import Array

KINDS = (np.uint8, np.int8)


def numbers(g: Growth, shape: list[int], kind: Any, extent: int = 128) -> Value:
    """An input of bytes, the signed ones less than `extent`: sums of two products stay in 16 bits for 64."""
    if 0 in shape:
        raise Misfit
    value = g.input(shape, kind)
    low, high = (-extent, extent) if kind == np.int8 else (0, 256)
    value.array[...] = g.random.integers(low, high, shape)
    return value


def known(g: Growth, shape: list[int], kind: Any) -> Value:
    """Weights of 7 bits."""
    return g.constant(g.random.integers(-63 if kind == np.int8 else 0, 64, shape).astype(kind))


def steps(g: Growth, kind: Any, *shape: int) -> list[Value]:
    """A scale that is a power of two, so that every implementation rounds the same number, and a zero point."""
    scale = np.asarray(2.0 ** g.random.integers(-4, 1, shape)).astype(np.float32)
    zero = np.full(shape, g.choose([0, 2, 4, 100]) if not shape else 0, kind)
    return [g.constant(scale), g.constant(zero)]


def plain(g: Growth) -> None:
    """Sums, products and bent lines."""
    kind = g.choose(KINDS)
    shape = g.shape(g.integer(1, 5))
    if 0 in shape:
        raise Misfit
    other = [size if g.chance(0.6) else 1 for size in shape]
    level = partial(g.choose, [0.25, 0.5, 1.0])

    def small() -> list[Value]:
        return [g.constant(np.array(level(), np.float32)), g.constant(np.array(g.integer(0, 4), kind))]

    x = g.input(shape, kind)
    if g.chance(0.3):
        g.add("QLinearLeakyRelu", x, *small(), *small(), domain=DOMAIN, alpha=0.25)
    else:
        op = g.choose(["QLinearAdd", "QLinearMul"])
        g.add(op, x, *small(), g.weight(other, kind), *small(), *small(), domain=DOMAIN)


def _is_between(exact: Array, scale: float) -> bool:
    """Whether some number is so near the middle between two levels that rounding errors choose one."""
    levels = exact / scale
    return bool((np.abs(levels - np.floor(levels) - 0.5) < 1e-3).any())


def curves(g: Growth) -> None:
    """Sigmoids and softmaxes of levels."""
    kind = g.choose(KINDS)
    x = numbers(g, g.shape(g.integer(1, 4)), kind)
    scale, zero = steps(g, kind)
    plain = (x.array.astype(np.float64) - zero.array) * scale.array
    to = [g.constant(np.array(1 / 256, np.float32)), g.constant(np.array(0 if kind == np.uint8 else -128, kind))]
    if g.chance(0.5):
        if _is_between(1 / (1 + np.exp(-plain)), 1 / 256):
            raise Misfit
        g.add("QLinearSigmoid", x, scale, zero, *to, domain=DOMAIN)
        return
    opset, axis = g.choose([12, 13]), g.axis(x)
    axes = tuple(range(axis, x.rank)) if opset < 13 else axis
    weights = np.exp(plain - plain.max(axes, keepdims=True))
    if _is_between(weights / weights.sum(axes, keepdims=True), 1 / 256):
        raise Misfit
    g.add("QLinearSoftmax", x, scale, zero, *to, domain=DOMAIN, axis=axis, opset=opset)


def means(g: Growth) -> None:
    """Averages of windows, or of all, with channels second or last."""
    kind, last = g.choose(KINDS), g.integer(0, 2)
    x = numbers(g, g.shape(4), kind)
    space = x.shape[1:3] if last else x.shape[2:]
    scales = [*steps(g, kind), *steps(g, kind)]
    plain = (x.array.astype(np.float64) - scales[1].array) * scales[0].array
    if g.chance(0.4):
        if _is_between(plain.mean((1, 2) if last else (2, 3)), float(scales[2].array)):
            raise Misfit
        g.add("QLinearGlobalAveragePool", x, *scales, domain=DOMAIN, channels_last=last)
        return
    kernel = [min(g.choose([1, 2, 4]), size) for size in space]  # sums are halved only, and exact
    if any(size not in (1, 2, 4) for size in kernel):
        raise Misfit
    options: dict[str, Any] = {"kernel_shape": kernel, "strides": [g.integer(1, 4) for _ in kernel]}
    g.is_fixed = True  # ONNX Runtime dies of windows that are larger than what they are over
    if g.chance(0.4):
        options |= {"pads": [g.integer(0, size) for size in [*kernel, *kernel]], "count_include_pad": 1}
    g.add("QLinearAveragePool", x, *scales, domain=DOMAIN, channels_last=last, **options)


def joined(g: Growth) -> None:
    kind = g.choose(KINDS)
    shape = g.shape(g.integer(1, 5))
    axis = g.integer(0, len(shape))
    parts: list[Value] = []
    for _ in range(g.integer(1, 4)):
        sizes = [g.integer(1, 5) if index == axis else size for index, size in enumerate(shape)]
        parts += [numbers(g, sizes, kind), *steps(g, kind)]
    g.add("QLinearConcat", *steps(g, kind), *parts, domain=DOMAIN, axis=g.signed(axis, len(shape)))


def chosen(g: Growth) -> None:
    kind, shape = g.choose(KINDS), g.shape(g.integer(1, 5))
    condition, other = ([size if g.chance(0.6) else 1 for size in shape] for _ in range(2))
    x, y = numbers(g, shape, kind), numbers(g, other, kind)
    where = g.input(condition, np.bool_)
    g.add("QLinearWhere", where, x, *steps(g, kind), y, *steps(g, kind), *steps(g, kind), domain=DOMAIN)


def _sum(g: Growth, shape: Sequence[int]) -> Value:
    """What is added to sums of products of bytes."""
    return g.constant(np.asarray(g.random.integers(-500, 500, shape), np.int32))


def convolution(g: Growth) -> None:
    kind, last = g.choose(KINDS), g.integer(0, 2)
    channels, filters = g.choose([1, 2, 4, 5]), g.choose([1, 3, 8])
    space = [g.choose([3, 4, 9]) for _ in range(2)]
    x = numbers(g, [g.integer(1, 3), *space, channels] if last else [g.integer(1, 3), channels, *space], kind)
    weight = known(g, [filters, channels, g.integer(1, 4), g.integer(1, 4)], np.int8)
    each = (filters,) if g.chance(0.5) else ()
    bias = _sum(g, [filters]) if g.chance(0.5) else None
    weights = [weight, *steps(g, np.int8, *each)]
    weights[2] = g.constant(np.zeros(each, np.int8))
    options: dict[str, Any] = {"strides": [g.integer(1, 3) for _ in space], "pads": g.choose([None, [1, 0, 0, 1]])}
    g.add(
        "QLinearConv", x, *steps(g, kind), *weights, *steps(g, kind), bias, domain=DOMAIN, channels_last=last, **options
    )


def product(g: Growth) -> None:
    """A product with all of a Gemm: transposed, scaled, with something added, to bytes or to floats."""
    kind, left, right = g.choose(KINDS), g.integer(0, 2), g.integer(0, 2)
    rows, depth, columns = (g.choose([1, 3, 8, 17]) for _ in range(3))
    a = numbers(g, [depth, rows] if left else [rows, depth], kind, 64)
    b = known(g, [columns, depth] if right else [depth, columns], np.int8 if kind == np.int8 else g.choose(KINDS))
    each = (columns,) if g.chance(0.4) else ()
    shape = g.choose([[columns], [1, columns], [rows, columns], [rows, 1], [1]])
    c = _sum(g, shape) if g.chance(0.5) else None
    to = steps(g, kind) if g.chance(0.6) else []
    options: dict[str, Any] = {"transA": left, "transB": right, "alpha": g.choose([None, 0.5, 2.0])}
    g.add("QGemm", a, *steps(g, kind), b, *steps(g, b.array.dtype, *each), c, *to, domain=DOMAIN, **options)


def to_floats(g: Growth) -> None:
    kind = g.choose(KINDS)
    other = np.int8 if kind == np.int8 else g.choose(KINDS)
    rows, depth, columns = (g.choose([1, 3, 8, 17]) for _ in range(3))
    a = numbers(g, [*g.shape(g.integer(0, 2)), rows, depth], kind, 64)
    b = known(g, [depth, columns], other)
    each = (columns,) if g.chance(0.5) else ()
    (unit, zero), (scale, origin) = steps(g, kind), steps(g, other, *each)
    bias = g.weight([columns], np.float32) if g.chance(0.5) else None
    zeros = [zero, origin] if g.chance(0.7) else [None, None]
    g.add("MatMulIntegerToFloat", a, b, unit, scale, *zeros, bias, domain=DOMAIN)


def by_own_range(g: Growth) -> None:
    """A product whose left operand is quantised when it is there."""
    x = g.floats(exact=True, least=2)
    if x.array.dtype != np.float32 or 0 in x.shape:
        raise Misfit
    columns, kind = g.choose([1, 3, 8, 17]), g.choose(KINDS)
    each = (columns,) if g.chance(0.5) else ()
    scale, zero = steps(g, kind, *each)
    bias = g.weight([columns], np.float32) if g.chance(0.5) else None
    operands = [x, known(g, [x.shape[-1], columns], kind), scale, zero if g.chance(0.7) else None, bias]
    g.add("DynamicQuantizeMatMul", *operands, domain=DOMAIN)


def levels(g: Growth) -> None:
    """To bytes and back, with a scale for each slice along an axis or one for all."""
    x = single(g)
    if not x.exact:
        raise Misfit
    axis, kind = g.axis(x), g.choose(KINDS)
    each = (x.shape[axis],) if g.chance(0.5) else ()
    scale, zero = steps(g, kind, *each)
    options: dict[str, Any] = {"axis": axis if each else None, "domain": DOMAIN}
    made = g.add("QuantizeLinear", x, scale, zero, moves=True, **options)
    g.add("DequantizeLinear", made, scale, zero, moves=True, **options)


FAMILY: tuple[Callable[[Growth], None], ...] = (
    *(plain, curves, means, joined, chosen, convolution, product, to_floats, by_own_range, levels),
)
MAKERS: Mapping[Maker, int] = dict.fromkeys(FAMILY, 1)
