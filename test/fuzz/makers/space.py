"""What looks at pictures by positions: samplings, regions, patches, places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from fuzz.growth import Growth, Maker, Misfit, Value


def picture(g: Growth, least_opset: int) -> Value:
    """A 2-D image in f32: onnx.reference has positions of no other type."""
    x = g.floats(4)
    if g.opset < least_opset or x.array.dtype != np.float32 or 0 in x.shape:
        raise Misfit
    return x


def grid_sample(g: Growth) -> None:
    x = picture(g, 16)
    mode, padding = g.choose(["nearest", "linear", "linear", "cubic"]), g.choose(["zeros", "border", "reflection"])
    if (mode, padding) == ("cubic", "border") or 1 in x.shape[2:]:  # onnx.reference has a meaning of its own, or none
        raise Misfit
    positions = g.constant(g.random.uniform(-1.5, 1.5, (x.shape[0], *g.shape(2), 2)).astype(np.float32))
    if 0 in positions.shape:
        raise Misfit
    old = {"linear": "bilinear", "cubic": "bicubic"} if g.opset < 20 else {}
    options: dict[str, Any] = {"mode": old.get(mode, mode), "padding_mode": padding, "align_corners": g.integer(0, 2)}
    g.add("GridSample", x, positions, moves=mode == "nearest", **options)


def roi_align(g: Growth) -> None:
    x = picture(g, 16)
    count = g.integer(1, 5)
    starts = g.random.uniform(-2, 6, (count, 2))
    rois = g.constant(np.concatenate([starts, starts + g.random.uniform(0.5, 6, (count, 2))], 1).astype(np.float32))
    options: dict[str, Any] = {"output_height": g.integer(1, 4), "output_width": g.integer(1, 4)}
    options |= {"sampling_ratio": g.integer(0, 3), "spatial_scale": g.choose([0.5, 1.0])}
    options["mode"] = g.choose(["avg", "avg", "max"])
    options["coordinate_transformation_mode"] = g.choose(["half_pixel", "output_half_pixel"])
    g.add("RoiAlign", x, rois, g.constant(g.random.integers(0, x.shape[0], count)), **options)


def affine_grid(g: Growth) -> None:
    """Positions by matrices of their own for each picture, and perhaps a picture sampled there."""
    x = g.floats(g.choose([4, 4, 5]))
    if g.opset < 20 or 0 in x.shape:
        raise Misfit
    space = [g.integer(1, 6) for _ in x.shape[2:]]
    aligned = 0 if 1 in space else g.integer(0, 2)  # implementations have ideas of their own of corners that are one
    theta = g.weight([x.shape[0], len(space), len(space) + 1], x.array.dtype)
    found = g.add("AffineGrid", theta, g.constant([*x.shape[:2], *space]), align_corners=aligned)
    if x.rank == 4 and x.array.dtype == np.float32 and 1 not in x.shape[2:] and g.chance(0.5):
        g.add("GridSample", x, found, mode="linear", align_corners=aligned)


def max_roi_pool(g: Growth) -> None:
    x = g.floats(4)
    if 0 in x.shape or x.array.dtype != np.float32:
        raise Misfit
    count = g.integer(1, 5)
    starts = g.random.integers(-2, 12, (count, 2))
    ends = starts + g.random.integers(-1, 9, (count, 2))
    image = g.random.integers(0, x.shape[0], (count, 1))
    regions = g.constant(np.concatenate([image, starts, ends], 1).astype(x.array.dtype))
    shape = [g.integer(1, 5), g.integer(1, 5)]
    scale = g.choose([None, 0.5, 0.25, 1.0])
    g.add("MaxRoiPool", x, regions, moves=True, pooled_shape=shape, spatial_scale=scale)


def deform(g: Growth) -> None:
    x = picture(g, 19)
    kernel = [min(g.integer(1, 4), size) for size in x.shape[2:]]
    if 1 in x.shape[2:] or x.array.size > 2000:  # onnx.reference divides by the size less one, and is slow
        raise Misfit
    places = [size - extent + 1 for size, extent in zip(x.shape[2:], kernel, strict=True)]
    weight = g.weight([g.integer(1, 3), x.shape[1], *kernel], x.array.dtype, scale=0.3)
    taps = int(np.prod(kernel))
    offset = g.weight([x.shape[0], 2 * taps, *places], x.array.dtype)
    g.add("DeformConv", x, weight, offset, kernel_shape=kernel)


def patches(g: Growth) -> None:
    """A picture taken apart into what windows see, and put together again."""
    x = g.floats(3)
    extent = g.integer(1, 4)
    if g.opset < 18 or 0 in x.shape or x.shape[1] % extent:
        raise Misfit
    g.add("Col2Im", x, g.constant([x.shape[2] + extent - 1]), g.constant([extent]))


def unpooled(g: Growth) -> None:
    """Elements put where numbers say, each to a place of its own."""
    x = g.floats(4, exact=True)
    if g.opset < 11 or 0 in x.shape or min(x.shape[2:]) < 2 or x.array.dtype == np.float16:
        raise Misfit
    numbers = g.constant(np.argsort(g.random.random(x.array.size)).reshape(x.shape))
    g.add("MaxUnpool", x, numbers, moves=True, kernel_shape=[1, 1])


def space_and_depth(g: Growth) -> None:
    x = g.floats(4)
    if 0 in x.shape:
        raise Misfit
    block = g.integer(2, 4)
    if all(size % block == 0 for size in x.shape[2:]):
        g.add("SpaceToDepth", x, moves=True, blocksize=block)
    elif x.shape[1] % (block * block) == 0:
        g.add("DepthToSpace", x, moves=True, blocksize=block)
    else:
        raise Misfit


def centre(g: Growth) -> None:
    x = g.floats(least=1)
    if g.opset < 18 or 0 in x.shape:
        raise Misfit
    g.add("CenterCropPad", x, g.constant([g.integer(1, 9) for _ in x.shape]), moves=True)


MAKERS: Mapping[Maker, int] = {
    grid_sample: 1,
    roi_align: 1,
    affine_grid: 1,
    max_roi_pool: 1,
    deform: 1,
    patches: 1,
    unpooled: 1,
    space_and_depth: 1,
    centre: 1,
}
