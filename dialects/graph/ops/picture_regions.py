"""RoI align and RoI pooling: regions of images, given as values, resampled to a fixed size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from ...sizes.sizes import equal_shapes
from ..axes import Axes, Whole
from ..base import require, require_float, require_same_element_type
from ..values import AnyTensor, Array, element_type_of_value, ints, shape_of, tensor, widened
from ..window_sizes import channel_axis, channels_first, from_channels_first, full_shape, spatial_shape
from .indexing import IndexedOp

MOST_SAMPLES = 2**30
"""The largest number of sampling points along one side of a bin."""
FARTHEST = 2.0**30
"""Corners are clamped to this distance, in elements."""


class RegionOp(IndexedOp, ABC):
    """Regions `rois` [R, 4] of x [B, C, H, W], of the samples in `indices` [R], resampled to [R, C, *shape].

    In layout "NHWC" x and the result have C last. A region is two opposite corners, column before row; multiplied by
    `scale` they are in elements of x. It is divided into bins of equal size, one for each element of the result.
    """

    LINEAR: ClassVar[bool] = False

    x = operand_def()
    indices = operand_def()
    rois = operand_def()
    shape = prop_def(DenseArrayBase[IntegerType])
    scale = prop_def(FloatAttr[Float64Type])
    layout = prop_def(StringAttr)
    result = result_def()

    @override
    def indexed(self) -> tuple[int, ...]:
        return shape_of(self.x)[:1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The height and the width of x."""
        return spatial_shape(shape_of(self.x), self.layout.data)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        require_same_element_type(self.x, self.rois)
        x, indices, regions, shape = shape_of(self.x), shape_of(self.indices), shape_of(self.rois), ints(self.shape)
        require(len(x) == 4, f"needs [batch, channels, height, width], got {list(x)}")
        require(
            len(shape) == 2 and all(size >= 1 for size in shape),
            f"a result needs a height and a width, got {list(shape)}",
        )
        good = len(indices) == 1 and equal_shapes(regions, (*indices, 4))
        require(good, f"regions of shape {list(regions)} for indices of shape {list(indices)}")
        self.require_indexed()
        require(all(self.sizes) or not all(indices), "regions of an empty image")
        channels = x[channel_axis(self.layout.data, 4)]
        return [tensor(element_type_of_value(self.x), full_shape(indices[0], channels, shape, self.layout.data))]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        x, y = (full_shape(*labels, self.layout.data) for labels in (("any", "c", ("any", "any")), ("r", "c", "hw")))
        return self.labelled_axes([x, "r", ("r", "corner")], y, {"any": Whole})

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        self.check_indices(arrays[1])
        x, regions = channels_first(widened(arrays[0]), self.layout.data), widened(arrays[2])
        result = np.zeros((len(regions), x.shape[1], *ints(self.shape)), x.dtype)
        with np.errstate(all="ignore"):
            for region, (index, corners) in enumerate(zip(arrays[1].astype(np.int64), regions, strict=True)):
                result[region] = self.region(x[index], corners)
        return (from_channels_first(result, self.layout.data).astype(arrays[0].dtype),)

    @abstractmethod
    def region(self, picture: Array, corners: Array) -> Array:
        """The result for one region of [C, H, W]."""


@irdl_op_definition
class RoiAlignOp(RegionOp):
    """The mean, or the maximum, of elements interpolated at sampling points in each bin.

    A bin has `samples` points along each side, or for 0 as many as it has elements, rounded up. Points are interpolated
    bilinearly; one more than an element outside is 0. With `half_pixel` 0 is the edge of the first element, else its
    centre, and a region has at least one element. "max" takes the largest of the four weighted elements instead of
    their sum, and the maximum over points. Without points the result is 0.
    """

    name = "graph.roi_align"

    samples = prop_def(IntegerAttr[IntegerType])
    mode = prop_def(StringAttr)
    half_pixel = opt_prop_def(UnitAttr)

    def __init__(
        self,
        x: SSAValue | Operation,
        indices: SSAValue | Operation,
        rois: SSAValue | Operation,
        shape: Sequence[int],
        *,
        scale: float = 1.0,
        samples: int = 0,
        mode: str = "avg",
        half_pixel: bool = True,
        layout: str = "NCHW",
        location: LocationAttr | None = None,
    ):
        self._build(
            (x, indices, rois),
            location,
            shape=shape,
            scale=float(scale),
            layout=layout,
            samples=samples,
            mode=mode,
            half_pixel=half_pixel,
        )

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require(0 <= self.samples.value.data <= MOST_SAMPLES, f"samples are 0 to {MOST_SAMPLES}")
        require(self.mode.data in ("avg", "max"), f'mode is "avg" or "max", got "{self.mode.data}"')
        return super().infer_types()

    @property
    @override
    def products(self) -> int:
        points = (self.samples.value.data or 2) ** 2
        return prod(shape_of(self.result)) * points * 12  # four products and where they come from

    @override
    def region(self, picture: Array, corners: Array) -> Array:
        rows, columns = (self._points(corners[axis::2], axis, picture.shape[2 - axis]) for axis in (1, 0))
        parts = [
            np.where(inside, picture[:, i[:, :, None, None], j] * (u[:, :, None, None] * v), 0)
            for (i, u), (j, v) in product(rows[1:], columns[1:])
            for inside in [rows[0][:, :, None, None] & columns[0]]
        ]
        points = parts[0].shape[2] * parts[0].shape[4]
        if self.mode.data == "avg":
            return np.sum(parts, (0, 3, 5)) / max(points, 1)
        return np.max(parts, (0, 3, 5)) if points else np.zeros((picture.shape[0], *ints(self.shape)))

    def _points(self, ends: Array, axis: int, size: int) -> list[Any]:
        """For the points along an axis [bins, points]: which are valid, and two neighbours with their weights."""
        bins = ints(self.shape)[1 - axis]
        begin, end = ends * ends.dtype.type(self.scale.value.data) - (0.5 if self.half_pixel is not None else 0)
        length = end - begin if self.half_pixel is not None or end - begin > 1 else begin * 0 + 1
        bin = length / bins
        count = self.samples.value.data or int(np.clip(np.nan_to_num(np.ceil(bin)), 0, MOST_SAMPLES))
        each = np.arange(count, dtype=ends.dtype)
        at = begin + np.arange(bins, dtype=ends.dtype)[:, None] * bin + (each + 0.5) * bin / count
        counts = (at >= -1) & (at <= size)
        at = np.maximum(np.where(counts, at, 0), 0)
        low = np.minimum(at.astype(np.int64), size - 1)
        weight = np.where(low == size - 1, 0, at - low)
        return [counts, (low, 1 - weight), (np.minimum(low + 1, size - 1), weight)]


@irdl_op_definition
class RoiPoolOp(RegionOp):
    """The largest element in each bin, NaN if there is one. Corners are rounded to elements, both inclusive.

    Bins whose size is no integer overlap. A bin without elements of x is 0.
    """

    name = "graph.roi_pool"

    def __init__(
        self,
        x: SSAValue | Operation,
        indices: SSAValue | Operation,
        rois: SSAValue | Operation,
        shape: Sequence[int],
        *,
        scale: float = 1.0,
        layout: str = "NCHW",
        location: LocationAttr | None = None,
    ):
        self._build((x, indices, rois), location, shape=shape, scale=float(scale), layout=layout)

    @override
    def region(self, picture: Array, corners: Array) -> Array:
        rows, columns = (self._bins(corners[axis::2], axis, picture.shape[2 - axis]) for axis in (1, 0))
        result = np.zeros((picture.shape[0], *ints(self.shape)), picture.dtype)
        for (row, i), (column, j) in product(enumerate(rows), enumerate(columns)):
            if (bin := picture[:, i, j]).size:
                result[:, row, column] = bin.max((1, 2))
        return result

    def _bins(self, ends: Array, axis: int, size: int) -> list[slice]:
        """The elements of each bin along an axis."""
        bins = ints(self.shape)[1 - axis]
        scaled = (ends * ends.dtype.type(self.scale.value.data)).astype(np.float64)
        rounded = np.trunc(scaled + np.copysign(0.5, scaled))
        begin, end = np.where(rounded < FARTHEST, np.maximum(rounded, -FARTHEST), FARTHEST)
        length = ends.dtype.type(max(end - begin + 1, 1)) / ends.dtype.type(bins)
        each = np.arange(bins, dtype=ends.dtype)
        starts, stops = (
            np.clip(side + begin, 0, size) for side in (np.floor(each * length), np.ceil((each + 1) * length))
        )
        return [slice(int(start), int(stop)) for start, stop in zip(starts, stops, strict=True)]
