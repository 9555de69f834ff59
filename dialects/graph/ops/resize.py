"""Resize: a tensor resampled axis by axis.

All modes are separable, so one table per axis defines them: `ResizeOp.taps(axis)` gives, for each element of the
result, the contributing elements of x and their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from ...sizes.sizes import is_fixed, pinned
from ..axes import Axes, Whole
from ..base import MovementOp, require
from ..values import (
    AnyTensor,
    Array,
    element_type_of_value,
    floats_attr,
    ints,
    is_bool,
    is_float_dtype,
    shape_of,
    tensor,
    widened,
)

MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel",
    "pytorch_half_pixel",
    "half_pixel_symmetric",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
    "tf_half_pixel_for_nn",
)
ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


@dataclass(frozen=True)
class Extent:
    """Which rows along an axis, of which whole, a resize computes: rows of x from `first_old` on, of the result from
    `first_new` on."""

    old: int
    """Rows of the whole x."""
    new: int
    """Rows of the whole result."""
    first_old: int
    first_new: int
    count: int
    """Rows of the result."""


@irdl_op_definition
class ResizeOp(MovementOp):
    """x resampled at the positions of the result's elements.

    `coordinate` is ONNX's rule for a position from a result index and the axis' scale; `scales` has one scale per axis
    (result size / size of x, not necessarily exact). In mode "nearest", `nearest` is the rounding of positions.
    "linear" and "cubic" (parameter `cubic_a`) interpolate; neighbours outside of x are clamped to its edge, or with
    `exclude_outside` ignored; `antialias` widens the filter when downscaling. "tf_crop_and_resize" samples the region
    `roi` (start of each axis..., end of each axis..., in [0, 1]), with `extrapolation` outside of x.

    With `part`, x and the result are parts of larger ones, whose positions, borders and bits are meant: the first
    element of x along each axis..., the size of the whole x along each..., the first element of the result..., the size
    of the whole result...; all four are 0 for an axis that is whole.
    """

    name = "graph.resize"
    LINEAR: ClassVar[bool] = False

    PER_AXIS: ClassVar[tuple[str, ...]] = ("shape", "scales", "roi", "part")

    x = operand_def()
    shape = prop_def(DenseArrayBase[IntegerType])
    scales = prop_def(DenseArrayBase[Float64Type])
    mode = prop_def(StringAttr)
    coordinate = prop_def(StringAttr)
    nearest = prop_def(StringAttr)
    cubic_a = prop_def(FloatAttr[Float64Type])
    exclude_outside = opt_prop_def(UnitAttr)
    antialias = opt_prop_def(UnitAttr)
    roi = opt_prop_def(DenseArrayBase[Float64Type])
    extrapolation = opt_prop_def(FloatAttr[Float64Type])
    part = opt_prop_def(DenseArrayBase[IntegerType])
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        shape: Sequence[int],
        *,
        scales: Sequence[float] | None = None,
        mode: str = "nearest",
        coordinate: str = "half_pixel",
        nearest: str = "round_prefer_floor",
        cubic_a: float = -0.75,
        exclude_outside: bool = False,
        antialias: bool = False,
        roi: Sequence[float] | None = None,
        extrapolation: float = 0.0,
        part: Sequence[int] | None = None,
        location: LocationAttr | None = None,
    ):
        """Absent scales are the ratios of the sizes."""
        if scales is None:
            sizes = shape_of(SSAValue.get(x))
            scales = [_ratio(new, old) if old else 1.0 for new, old in zip(shape, sizes, strict=True)]
        self._build(
            (x,),
            location,
            shape=shape,
            scales=floats_attr(scales),
            mode=mode,
            coordinate=coordinate,
            nearest=nearest,
            cubic_a=float(cubic_a),
            exclude_outside=exclude_outside,
            antialias=antialias,
            roi=None if roi is None else floats_attr(roi),
            extrapolation=float(extrapolation) or None,
            part=part,
        )

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        old, new, scales = shape_of(self.x), ints(self.shape), self.scales.get_values()
        require(len(old) == len(new) == len(scales), f"needs a size and a scale for each of {len(old)} axes")
        require(all(size >= 0 for size in new) and min(scales, default=1) > 0, "sizes and scales must be positive")
        require(self.mode.data in MODES, f'mode is one of {", ".join(MODES)}, got "{self.mode.data}"')
        coordinate = self.coordinate.data
        require(coordinate in COORDINATES, f'coordinate is one of {", ".join(COORDINATES)}, got "{coordinate}"')
        nearest = self.nearest.data
        require(nearest in ROUNDINGS, f'nearest is one of {", ".join(ROUNDINGS)}, got "{nearest}"')
        if coordinate == "tf_crop_and_resize":
            good = self.roi is not None and len(self.roi.get_values()) == 2 * len(old)
            require(good, "tf_crop_and_resize needs a roi with a start and an end for each axis")
        numbers = self.mode.data == "nearest" or not is_bool(element_type_of_value(self.x))
        require(numbers, "booleans (i1) can't be interpolated")
        if self.part is not None:
            require(len(ints(self.part)) == 4 * len(old), "part has four numbers for each axis")
            for axis in range(len(old)):
                at = self.extent(axis)
                inside = 0 <= at.first_old <= at.old - old[axis] and 0 <= at.first_new <= at.new - new[axis]
                require(inside, f"axis {axis} is no part of {at.old} elements that become {at.new}")
        return [tensor(element_type_of_value(self.x), new)]

    def extent(self, axis: int) -> Extent:
        """Which elements along an axis are computed."""
        old, new = shape_of(self.x)[axis], ints(self.shape)[axis]
        if not self.is_part(axis):
            return Extent(old, new, 0, 0, new)
        assert self.part is not None
        first_old, whole_old, first_new, whole_new = ints(self.part)[axis :: len(shape_of(self.x))]
        return Extent(whole_old, whole_new, first_old, first_new, new)

    def is_part(self, axis: int) -> bool:
        """Whether x and the result are parts of larger ones along an axis."""
        return self.part is not None and ints(self.part)[axis + len(shape_of(self.x))] > 0

    def is_identity(self, axis: int) -> bool:
        """Whether the axis is unchanged."""
        if self.is_part(axis):
            return False
        same = shape_of(self.x)[axis] == ints(self.shape)[axis] and self.scales.get_values()[axis] == 1
        return same and (self.roi is None or self._region(axis) == (0, 1))

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        dims = range(len(shape_of(self.x)))
        return self.labelled_axes([dims], dims, {axis: Whole for axis in dims if not self.is_identity(axis)})

    def positions(self, axis: int, extent: Extent | None = None) -> Array:
        """The position in the whole x of each result element along an axis, float64; perhaps for another extent."""
        at = extent or self.extent(axis)
        old, new = pinned(at.old), pinned(at.new)
        scale = self.scales.get_values()[axis]
        index, length = np.arange(pinned(at.count), dtype=np.float64) + at.first_new, scale * old
        match self.coordinate.data:
            case "align_corners":
                return index * 0 if length == 1 else index * (old - 1) / (length - 1)
            case "asymmetric":
                return index / scale
            case "tf_half_pixel_for_nn":
                return (index + 0.5) / scale
            case "tf_crop_and_resize":
                start, end = self._region(axis)
                if length == 1:
                    return index * 0 + (start + end) / 2 * (old - 1)
                return start * (old - 1) + index * (end - start) * (old - 1) / (length - 1)
            case "pytorch_half_pixel" if length == 1:
                return index * 0 - 0.5
            case "half_pixel_symmetric":
                return old / 2 * (1 - new / length) + (index + 0.5) / scale - 0.5
            case _:
                return (index + 0.5) / scale - 0.5

    def taps(self, axis: int) -> tuple[Array, Array]:
        """Indices (int64) and weights (float64) along an axis of x, both [result size, neighbours]."""
        at = self.extent(axis)
        indices, weights = self.unclamped_taps(axis)
        return np.clip(indices, 0, pinned(at.old) - 1) - at.first_old, weights

    def unclamped_taps(self, axis: int, extent: Extent | None = None) -> tuple[Array, Array]:
        """`taps` with indices in the whole x, and some beyond its ends; perhaps for another extent."""
        at = extent or self.extent(axis)
        positions, size = self.positions(axis, at), pinned(at.old)
        if self.mode.data == "nearest":
            rounded = ROUNDINGS[self.nearest.data](positions)[:, None]
            return rounded.astype(np.int64), np.ones_like(rounded)
        shrink = self.shrink(axis)
        reach = ceil((1 if self.mode.data == "linear" else 2) / shrink)
        indices = np.floor(positions).astype(np.int64)[:, None] + np.arange(1 - reach, 1 + reach)
        weights = self._kernel(np.abs(indices - positions[:, None]) * shrink)
        if self.exclude_outside is not None:
            weights = np.where((indices < 0) | (indices >= size), 0.0, weights)
        if self.exclude_outside is not None or shrink < 1:
            total = weights.sum(1, keepdims=True)
            weights = weights / np.where(total == 0, 1.0, total)
        return indices, weights

    def neighbours(self, axis: int) -> int:
        """The number of elements of x along an axis that contribute to one of the result."""
        if self.is_identity(axis) or self.mode.data == "nearest":
            return 1
        return 2 * ceil((1 if self.mode.data == "linear" else 2) / self.shrink(axis))

    def shrink(self, axis: int) -> float:
        """The factor of distances to neighbours along an axis: below 1 when downscaling with antialiasing."""
        return min(self.scales.get_values()[axis], 1.0) if self.antialias is not None else 1.0

    def outside(self, axis: int) -> Array:
        """Which result elements lie outside of x along an axis, and are `extrapolation`."""
        positions = self.positions(axis)
        if self.coordinate.data != "tf_crop_and_resize":
            return np.zeros(positions.shape, np.bool_)
        return (positions < 0) | (positions > self.extent(axis).old - 1)

    def _region(self, axis: int) -> tuple[float, float]:
        assert self.roi is not None
        bounds = self.roi.get_values()
        return bounds[axis], bounds[axis + len(bounds) // 2]

    def _kernel(self, distance: Array) -> Array:
        """The weight of a neighbour by its distance."""
        if self.mode.data == "linear":
            return np.maximum(1 - distance, 0)
        a = self.cubic_a.value.data
        near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x = arrays[0]
        computed = widened(x) if is_float_dtype(x.dtype) or self.mode.data == "nearest" else x.astype(np.float64)
        extrapolation = self.extrapolation.value.data if self.extrapolation is not None else 0.0
        for axis in range(x.ndim):
            if self.is_identity(axis):
                continue
            indices, weights = self.taps(axis)
            lined_up = (-1,) + (1,) * (x.ndim - axis - 1)
            if self.mode.data == "nearest":
                sampled = np.take(computed, indices[:, 0], axis)
            else:
                parts = [
                    np.take(computed, column, axis) * weight.astype(computed.dtype).reshape(lined_up)
                    for column, weight in zip(indices.T, weights.T, strict=True)
                ]
                sampled = sum(parts[1:], parts[0])
            outside = self.outside(axis).reshape(lined_up)
            computed = np.where(outside, np.asarray(extrapolation, computed.dtype), sampled)
        if x.dtype.kind in "iu" and self.mode.data != "nearest":
            limits = np.iinfo(x.dtype)
            computed = np.clip(np.rint(computed), limits.min, limits.max)
        return (computed.astype(x.dtype),)


def _ratio(new: int, old: int) -> float:
    """The ratio of two sizes; symbolic if it is an integer."""
    whole = new // old
    return float(whole) if new % old == 0 and is_fixed(whole) else new / old
