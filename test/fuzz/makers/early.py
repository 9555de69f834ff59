"""Operators that ONNX had for a trial, those that ONNX Runtime had before ONNX, and small ones of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from fuzz.growth import Growth, Maker, Misfit
from fuzz.makers.microsoft import DOMAIN, single


def trial(g: Growth) -> None:
    x = single(g)
    match g.integer(0, 4):
        case 0:
            g.add("Affine", x, alpha=g.choose([None, 0.5]), beta=g.choose([None, 0.25]))
        case 1:
            g.add("Scale", x, scale=g.choose([None, 0.5]))
        case 2:
            g.add("ScaledTanh", x, alpha=g.choose([1.0, 1.5]), beta=g.choose([1.0, 0.5]))
        case _:
            g.add("ParametricSoftplus", x, alpha=g.choose([1.0, 1.5]), beta=g.choose([1.0, 0.5, -2.0]))


def trial_image(g: Growth) -> None:
    x = single(g, 4)
    if g.chance(0.5):
        g.add("ImageScaler", x, scale=g.choose([1.0, 0.5]), bias=[0.25 * channel for channel in range(x.shape[1])])
        return
    left, right = g.integer(0, 2), g.integer(0, 2)
    if left + right + 1 > min(x.shape[2:]):
        raise Misfit
    scale = [g.integer(1, size - left + 1) for size in x.shape[2:]] if g.chance(0.5) else None
    g.add("Crop", x, moves=True, border=[left, left, right, right], scale=scale)


def slice_of_trial(g: Growth) -> None:
    x = single(g)
    axes = [axis for axis in range(x.rank) if g.chance(0.5)] or [0]
    starts = [g.integer(0, x.shape[axis]) for axis in axes]
    ends = [g.integer(start + 1, x.shape[axis] + 1) for axis, start in zip(axes, starts, strict=True)]
    g.add("DynamicSlice", x, g.constant(starts), g.constant(ends), g.constant(axes), moves=True)


def before_onnx(g: Growth) -> None:
    """What moves elements."""
    x = single(g)
    match g.integer(0, 6):
        case 0:
            axis = g.constant(np.array(g.integer(-x.rank - 1, x.rank + 1), np.int32))
            g.add("ExpandDims", x, axis, moves=True, domain=DOMAIN)
        case 1:
            places = [[int(g.integer(-x.shape[0], x.shape[0]))] for _ in range(g.integer(1, 5))]
            g.add("GatherND", x, g.constant(places), moves=True, domain=DOMAIN)
        case 2:
            pads = [g.integer(0, 3) if g.chance(0.5) else 0 for _ in range(2 * x.rank)]
            value = g.constant(np.array(0.5, np.float32)) if g.chance(0.5) else None
            g.add("Pad", x, g.constant(pads), value, moves=True, mode="constant", domain=DOMAIN)
        case 3:
            if x.rank < 2:
                raise Misfit
            g.add("Trilu", x, g.constant(np.array(g.integer(-2, 3))), moves=True, upper=g.integer(0, 2), domain=DOMAIN)
        case 4:
            limits = [g.constant(np.array(each, np.int32)) for each in (g.integer(0, 3), g.integer(3, 9))]
            g.add("Range", *limits, moves=True, domain=DOMAIN)
        case _:
            axis = g.axis(x)
            size = g.integer(1, min(x.shape[axis], 4) + 1)
            step = g.integer(1, 3)
            g.add("UnfoldTensor", x, moves=True, dim=g.signed(axis, x.rank), size=size, step=step, domain=DOMAIN)


def different(g: Growth) -> None:
    x = g.input([g.choose([1, 3, 8, 17])], np.float32)
    x.array[...] = np.round(x.array * 2)
    x.wide[...] = x.array
    g.add("Unique", x, results=3, moves=True, domain=DOMAIN)


def sampled(g: Growth) -> None:
    x = single(g, 4)
    if 1 in x.shape[2:]:
        raise Misfit
    grid = g.constant(g.random.uniform(-1.5, 1.5, (x.shape[0], 3, 2, 2)).astype(np.float32))
    options: dict[str, Any] = {"mode": "bilinear", "padding_mode": g.choose(["zeros", "border", "reflection"])}
    g.add("GridSample", x, grid, align_corners=g.integer(0, 2), domain=DOMAIN, **options)


def distances(g: Growth) -> None:
    x = single(g, 2)
    other = g.weight([g.choose([1, 3, 8]), x.shape[1]], np.float32)
    g.add("CDist", x, other, metric="sqeuclidean", domain=DOMAIN)


def pooled_bytes(g: Growth) -> None:
    kind = g.choose([np.uint8, np.int8])
    x = g.input([g.integer(1, 3), g.choose([2, 5]), g.choose([3, 6]), g.choose([1, 4, 8])], kind)
    kernel, strides = [2, g.integer(1, 4)], [g.integer(1, 3), g.integer(1, 3)]
    g.add("NhwcMaxPool", x, moves=True, kernel_shape=kernel, strides=strides, domain=DOMAIN)


def gates(g: Growth) -> None:
    x = single(g)
    size, count = x.shape[-1], x.shape
    match g.integer(0, 4):
        case 0:
            scale = g.constant(np.array(0.5, np.float32)) if g.chance(0.5) else None
            g.add("ScaledSiLU", x, scale, alpha=g.choose([1.0, 1.5]), domain=DOMAIN)
        case 1:
            g.add("GatedAdd", x, g.weight(count, np.float32), g.input([*count[:-1], 1], np.float32), domain=DOMAIN)
        case 2:
            groups = g.choose([each for each in (1, 1, 2, 3) if size % each == 0])
            gate, scale = g.input(count, np.float32), g.constant(g.numbers([size // groups], np.float32))
            activation = g.choose(["silu", "sigmoid"])
            g.add("GatedRMSNorm", x, scale, gate, activation=activation, domain=DOMAIN)
        case _:
            rows = [g.constant(g.numbers([size], np.float32)) for _ in range(2)]
            b = g.input(count, np.float32)
            g.add("LinearAttentionGate", x, *rows, b, results=2, domain=DOMAIN)


def states(g: Growth) -> None:
    x = single(g, 3)
    batch, rows, channels = x.shape
    if g.chance(0.5):
        taps, dilation = g.integer(1, 5), g.integer(1, 3)
        weight = g.weight([channels, 1, taps], np.float32, scale=0.5)
        bias = g.weight([channels], np.float32) if g.chance(0.5) else None
        state = [batch, channels, (taps - 1) * dilation]
        past = g.weight(state, np.float32) if taps > 1 and g.chance(0.5) else None
        options: dict[str, Any] = {"activation": g.choose(["none", "silu"]), "dilation": dilation}
        g.add("CausalConvWithState", x, weight, bias, past, results=2, domain=DOMAIN, **options)
        return
    heads, size, width = g.integer(1, 3), g.choose([2, 4]), g.choose([2, 3])
    q, k = (g.weight([batch, rows, heads * size], np.float32, scale=0.3) for _ in range(2))
    v = g.weight([batch, rows, heads * width], np.float32)
    counts: dict[str, Any] = {"q_num_heads": heads, "kv_num_heads": heads, "update_rule": "linear"}
    g.add("LinearAttention", q, k, v, results=2, domain=DOMAIN, **counts)


MAKERS: Mapping[Maker, int] = {
    trial: 1,
    trial_image: 1,
    slice_of_trial: 1,
    before_onnx: 1,
    different: 1,
    sampled: 1,
    distances: 1,
    pooled_bytes: 1,
    gates: 1,
    states: 1,
}
