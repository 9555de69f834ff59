"""Operators that sample images other than by windows: at interpolated positions, in regions, by patches."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....dialects.graph.base import require_float
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import AddOp, MulOp, SubOp
from ....dialects.graph.ops.movement import SliceOp, TransposeOp
from ....dialects.graph.ops.patches import Col2ImOp
from ....dialects.graph.ops.picture_regions import RoiAlignOp, RoiPoolOp
from ....dialects.graph.ops.sampling import PADDINGS, SampleOp
from ....dialects.graph.values import Array, element_type_of_value, is_bool, is_float, numpy_dtype, shape_of
from ....dialects.sizes.sizes import equal, equal_shapes, pinned
from ..node import Handler, Node, in_single
from .movement import slice_axis
from .windows import Window, check_rank, read_kernel, read_window

_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "cubic": "cubic", "bicubic": "cubic"}


def grid_sample(node: Node) -> SSAValue:
    """Positions are in [-1, 1]: from edge to edge, or with align_corners from the first centre to the last one."""
    x, grid = node.operand(0), node.widened(node.operand(1))
    require_float(grid, "the grid")
    sizes = shape_of(x)[2:]
    if not equal_shapes(shape_of(grid)[-1:], (check_rank(node, shape_of(x)),)):
        raise node.invalid(f"a grid of shape {shape_of(grid)} for an operand of shape {shape_of(x)}")
    mode, padding = node.text("mode", "linear"), node.text("padding_mode", "zeros")
    if mode not in _MODES or padding not in PADDINGS:
        raise node.malformed(f"mode {mode} or padding_mode {padding} is unknown")
    corners = node.flag("align_corners")
    if _MODES[mode] != "nearest" and not is_float(element_type_of_value(x)):
        raise node.unsupported(f"mode {mode} of {element_type_of_value(x)}: only floats can be interpolated")
    dtype = numpy_dtype(element_type_of_value(grid))
    lengths = node.array(np.array([size - 1 if corners else size for size in reversed(sizes)], dtype))
    positions = node.emit(MulOp(node.emit(AddOp(grid, node.scalar(1, grid))), lengths))
    if not corners:
        positions = node.emit(SubOp(positions, node.scalar(1, grid)))
    positions = node.emit(MulOp(positions, node.scalar(0.5, grid)))
    return node.emit(SampleOp(x, positions, _MODES[mode], padding, corners=corners))


def _affine_grid(node: Node, theta: SSAValue) -> SSAValue:
    """theta [N, d, d + 1] times the homogeneous position of each element (last dimension first): [N, spatial..., d].

    Positions are in [-1, 1] as in GridSample; the only element along an axis is at -1 with align_corners.
    """
    size = node.ints_operand(1)
    batch, *sizes = size[:1] + size[2:]
    rank = len(sizes)
    if (
        rank not in (2, 3)
        or not equal_shapes(shape_of(theta), (batch, rank, rank + 1))
        or any(each < 0 for each in size)
    ):
        raise node.invalid(f"theta of shape {shape_of(theta)} for a size {size}")
    corners = node.flag("align_corners")
    spread = (batch, *[1] * rank, rank)
    columns = [node.reshape(slice_axis(node, theta, 2, axis, axis + 1), spread) for axis in range(rank + 1)]
    total = columns[rank]
    for column, axis in zip(columns, reversed(range(rank)), strict=False):
        count = sizes[axis]
        steps = 2 * np.arange(count) / max(count - 1, 1) if corners else (2 * np.arange(count) + 1) / max(count, 1)
        along = [1] * (rank + 1)
        along[axis] = count
        at = node.array((steps - 1).reshape(along).astype(numpy_dtype(element_type_of_value(theta))))
        total = node.emit(AddOp(total, node.emit(MulOp(column, at))))
    return total


def _deform_conv(node: Node) -> SSAValue:
    """Samples the inputs of all taps of all windows (im2col), then multiplies by the weights.

    Each of the `offset_group` groups of channels has its own offsets, and factors in the mask.
    """
    x, weight, offset = node.operand(0), node.operand(1), node.operand(2)
    bias, mask = node.optional(3), node.optional(4)
    rank = check_rank(node, shape_of(x))
    spatial, kernel = ([*map(pinned, sizes)] for sizes in (shape_of(x)[2:], read_kernel(node, weight, rank)))
    window = read_window(node, spatial, kernel)  # for which a table exists below
    groups, offset_groups = node.integer("group", 1), node.integer("offset_group", 1)
    batch, channels = shape_of(x)[:2]
    filters, inputs = shape_of(weight)[:2]
    if groups < 1 or not equal(inputs * groups, channels) or filters % groups:
        raise node.invalid(f"a weight of shape {shape_of(weight)} in {groups} groups, but {channels} channels")
    if offset_groups < 1 or channels % offset_groups:
        raise node.invalid(f"offset_group {offset_groups} does not divide {channels} channels")
    taps, places = prod(window.kernel), window.geometry().positions(spatial)
    expected = (batch, offset_groups * taps * rank, *places)
    if not equal_shapes(shape_of(offset), expected):
        raise node.invalid(f"offsets of shape {shape_of(offset)} instead of {expected}")
    parts = batch * offset_groups
    offset = node.reshape(node.widened(offset), (parts, taps, rank, prod(places)))
    stops = [parts, taps, -1, prod(places)]
    last_first = node.emit(SliceOp(offset, [0, 0, rank - 1, 0], stops, [1, 1, -1, 1]))
    node.reserve(taps * rank * prod(places))
    unmoved = node.array(_unmoved(window, places, numpy_dtype(element_type_of_value(offset))))
    positions = node.emit(TransposeOp(node.emit(AddOp(last_first, unmoved)), (0, 1, 3, 2)))
    split = node.reshape(x, (parts, channels // offset_groups, *spatial))
    seen = node.emit(SampleOp(split, positions))
    if mask is not None:
        expected = (batch, offset_groups * taps, *places)
        if not equal_shapes(shape_of(mask), expected):
            raise node.invalid(f"a mask of shape {shape_of(mask)} instead of {expected}")
        seen = node.emit(MulOp(seen, node.reshape(mask, (parts, 1, taps, prod(places)))))
    columns = node.reshape(seen, (batch, groups, inputs * taps, prod(places)))
    product = node.emit(MatmulOp(node.reshape(weight, (groups, filters // groups, inputs * taps)), columns))
    result = node.reshape(product, (batch, filters, *places))
    return result if bias is None else node.emit(AddOp(result, node.reshape(bias, (filters, *[1] * rank))))


def _unmoved(window: Window, places: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """The positions of taps without offset: [taps, spatial dimensions (last one first), places]."""
    rank = len(places)
    axes: list[Array] = []
    for axis in range(rank):
        taps = np.arange(window.kernel[axis]) * window.dilations[axis]
        starts = np.arange(places[axis]) * window.strides[axis] - window.pads[axis]
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = len(taps), len(starts)
        axes.append(np.broadcast_to(np.add.outer(taps, starts).reshape(shape), (*window.kernel, *places)))
    return np.stack(axes[::-1]).reshape(rank, prod(window.kernel), prod(places)).swapaxes(0, 1).astype(dtype)


def _col2im(node: Node) -> SSAValue:
    x, shape, kernel = node.operand(0), node.ints_operand(1), node.ints_operand(2)
    if is_bool(element_type_of_value(x)):
        raise node.unsupported("booleans can't be summed")
    if len(shape) != len(kernel) or any(each < 1 for each in shape):
        raise node.invalid(f"image_shape {shape} and block_shape {kernel} don't fit together")
    window = read_window(node, shape, kernel)
    return node.emit(Col2ImOp(x, shape, kernel, **window.moves))


def _roi_align(node: Node) -> SSAValue:
    x, regions, indices = (node.operand(index) for index in range(3))
    coordinates = "output_half_pixel"  # in opset 10, which has no attribute for it
    if node.opset >= 16:
        coordinates = node.text("coordinate_transformation_mode", "half_pixel")
    if coordinates not in ("half_pixel", "output_half_pixel"):
        raise node.malformed(f"coordinate_transformation_mode {coordinates} is unknown")
    return node.emit(
        RoiAlignOp(
            x,
            indices,
            regions,
            (node.integer("output_height", 1), node.integer("output_width", 1)),
            scale=node.number("spatial_scale", 1.0),
            samples=max(node.integer("sampling_ratio", 0), 0),
            mode=node.text("mode", "avg"),
            half_pixel=coordinates == "half_pixel",
        )
    )


def _max_roi_pool(node: Node) -> SSAValue:
    """Regions are [batch index, x1, y1, x2, y2]."""
    x, regions = node.operand(0), node.operand(1)
    if len(shape_of(regions)) != 2 or not equal(shape_of(regions)[1], 5):
        raise node.invalid(f"regions need 5 entries each, got {shape_of(regions)}")
    shape = node.integers("pooled_shape")
    if shape is None:
        raise node.malformed("attribute pooled_shape is missing")
    samples = node.reshape(slice_axis(node, regions, 1, 0, 1), shape_of(regions)[:1])
    corners = slice_axis(node, regions, 1, 1, 5)
    scale = node.number("spatial_scale", 1.0)
    return node.emit(RoiPoolOp(x, node.cast(samples, i64), corners, shape, scale=scale))


HANDLERS: dict[str, Handler] = {
    "GridSample": grid_sample,
    "AffineGrid": in_single(_affine_grid),
    "DeformConv": _deform_conv,
    "Col2Im": _col2im,
    "RoiAlign": _roi_align,
    "MaxRoiPool": _max_roi_pool,
}
