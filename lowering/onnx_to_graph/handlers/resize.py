"""Resize and its predecessor Upsample, whose coordinate rules differ between opsets."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np
from xdsl.ir import SSAValue

from ....dialects.graph.ops.resize import ResizeOp
from ....dialects.graph.values import element_type_of_value, is_bool, shape_of
from ....dialects.sizes.sizes import bounds_of, is_fixed, pinned
from ..node import Handler, Node

_ROI, _SCALES, _SIZES = 1, 2, 3


def _upsample(node: Node) -> SSAValue:
    """Upsample, and Resize of opset 10: source position index / scale, rounded down in mode nearest."""
    x = node.operand(0)
    if node.op_type == "Upsample" and node.opset < 9:
        scales = node.numbers("scales") or []
    else:
        scales = [float(scale) for scale in node.constant(1).reshape(-1)]
    shape, mode = _scaled(node, x, scales), _mode(node, x)
    return node.emit(ResizeOp(x, shape, scales=scales, mode=mode, coordinate="asymmetric", nearest="floor"))


def _mode(node: Node, x: SSAValue) -> str:
    mode = node.text("mode", "nearest")
    if mode != "nearest" and is_bool(element_type_of_value(x)):
        raise node.unsupported(f"mode {mode} of booleans, which can't be interpolated")
    return mode


def _scaled(node: Node, x: SSAValue, scales: Sequence[float]) -> list[int]:
    """Sizes times scales, rounded down; in single precision, the type of the scales."""
    if len(scales) != len(shape_of(x)):
        raise node.invalid(f"{len(scales)} scales for an operand of rank {len(shape_of(x))}")
    return [_times(scale, size) for scale, size in zip(scales, shape_of(x), strict=True)]


def _times(scale: float, size: int) -> int:
    """A size times a scale, rounded down. A symbolic size stays symbolic if single precision is exact at all sizes."""
    if not is_fixed(size):
        numerator, denominator = np.float32(scale).item().as_integer_ratio()
        if bounds_of(size)[1] * numerator < 2**24:
            return size * numerator // denominator
    return floor(np.float32(scale) * np.float32(pinned(size)))


def _resize(node: Node) -> SSAValue:
    if node.opset < 11:
        return _upsample(node)
    x = node.operand(0)
    sizes = shape_of(x)
    rank = len(sizes)
    coordinate = node.text("coordinate_transformation_mode", "half_pixel")
    axes = [node.normal_axis(axis, rank) for axis in node.integers("axes") or range(rank)]
    roi = _roi(node, axes, rank) if coordinate == "tf_crop_and_resize" else None
    scales: list[float] | None = None
    if node.has_operand(_SIZES) and node.constant(_SIZES).size:
        shape = _wanted_sizes(node, sizes, axes)
        if node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
            scales = [_common_scale(node, sizes, axes) if axis in axes else 1.0 for axis in range(rank)]
    else:
        scales = [1.0] * rank
        for axis, scale in zip(axes, _scales(node, axes), strict=True):
            scales[axis] = scale
        # As ONNX's own shape inference and reference do also with a region of interest, whose size is then ignored,
        # though the operator's text says otherwise.
        shape = _scaled(node, x, scales)
    return node.emit(
        ResizeOp(
            x,
            shape,
            scales=scales,
            mode=_mode(node, x),
            coordinate=coordinate,
            nearest=node.text("nearest_mode", "round_prefer_floor"),
            cubic_a=node.number("cubic_coeff_a", -0.75),
            exclude_outside=node.flag("exclude_outside"),
            antialias=node.flag("antialias"),
            roi=roi,
            extrapolation=node.number("extrapolation_value", 0.0),
        )
    )


def _scales(node: Node, axes: Sequence[int]) -> list[float]:
    if not node.has_operand(_SCALES):
        raise node.invalid("neither scales nor sizes are given")
    scales = [float(scale) for scale in node.constant(_SCALES).reshape(-1)]
    if len(scales) != len(axes):
        raise node.invalid(f"{len(scales)} scales for {len(axes)} axes")
    return scales


def _roi(node: Node, axes: Sequence[int], rank: int) -> list[float]:
    """The region's start along each axis, then its end; an axis that is not resized is covered whole."""
    given = [float(bound) for bound in node.constant(_ROI).reshape(-1)]
    if len(given) != 2 * len(axes):
        raise node.invalid(f"roi has {len(given)} entries, but needs two for each of {len(axes)} axes")
    roi = [0.0] * rank + [1.0] * rank
    for index, axis in enumerate(axes):
        roi[axis], roi[rank + axis] = given[index], given[len(axes) + index]
    return roi


def _wanted_sizes(node: Node, sizes: Sequence[int], axes: Sequence[int]) -> list[int]:
    wanted = node.ints_operand(_SIZES)
    if len(wanted) != len(axes):
        raise node.invalid(f"{len(wanted)} sizes for {len(axes)} axes")
    shape = list(sizes)
    if node.text("keep_aspect_ratio_policy", "stretch") == "stretch":
        for axis, size in zip(axes, wanted, strict=True):
            shape[axis] = size
        return shape
    scale = _common_scale(node, sizes, axes)
    for axis in axes:
        shape[axis] = floor(scale * sizes[axis] + 0.5)
    return shape


def _common_scale(node: Node, sizes: Sequence[int], axes: Sequence[int]) -> float:
    """One scale for all axes such that the result is not larger (or not smaller) than the requested sizes."""
    ratios = [size / sizes[axis] for axis, size in zip(axes, node.ints_operand(_SIZES), strict=True)]
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if policy not in ("not_larger", "not_smaller"):
        raise node.malformed(f"keep_aspect_ratio_policy {policy} is unknown")
    return min(ratios) if policy == "not_larger" else max(ratios)


HANDLERS: dict[str, Handler] = {"Resize": _resize, "Upsample": _upsample}
