"""Grid sampling: a tensor interpolated at positions given as values, possibly out of range."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import LocationAttr, StringAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from ...sizes.sizes import equal, equal_shapes
from ..axes import Axes, Whole
from ..base import ReductionOp, require, require_float
from ..values import AnyTensor, Array, element_type_of_value, is_float, shape_of, tensor, widened
from ..window_sizes import channel_axis, channels_first, from_channels_first, full_shape, spatial_shape

SAMPLINGS = ("nearest", "linear", "cubic")
PADDINGS = ("zeros", "border", "reflection")
CUBIC_A = -0.75
"""The parameter of the cubic weights."""
MOST_AXES = 3  # the number of neighbours is 4 to this power


@irdl_op_definition
class SampleOp(ReductionOp):
    """x [B, C, spatial...] at positions [B, O..., d]: [B, C, O...]; in layout "NHWC" x and the result have C last.

    A position has a coordinate for each of the d spatial dimensions, last dimension first, in elements of x: 0 is the
    centre of the first one. Mode "nearest" rounds to nearest even; "linear" and "cubic" interpolate 2 or 4 neighbours
    along each dimension.

    Out of range, the value is zero ("zeros"), that of the nearest element ("border"), or reflected at the edge
    ("reflection"): at the outer edge of the last element, or with `corners` at its centre. The rule applies to each
    neighbour, as in PyTorch and ONNX Runtime (ONNX's reference clamps cubic positions first). A NaN position counts as
    far beyond the end.
    """

    name = "graph.sample"
    FORM: ClassVar[str] = "windows"
    INSTRUCTIONS: ClassVar[int] = 0
    LINEAR: ClassVar[bool] = False

    x = operand_def()
    positions = operand_def()
    mode = prop_def(StringAttr)
    padding = prop_def(StringAttr)
    corners = opt_prop_def(UnitAttr)
    layout = prop_def(StringAttr)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        positions: SSAValue | Operation,
        mode: str = "linear",
        padding: str = "zeros",
        *,
        corners: bool = False,
        layout: str = "NCHW",
        location: LocationAttr | None = None,
    ):
        self._build((x, positions), location, mode=mode, padding=padding, corners=corners, layout=layout)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        x, positions, mode = shape_of(self.x), shape_of(self.positions), self.mode.data
        require_float(self.positions, "positions")
        require(mode in SAMPLINGS, f'mode is one of {", ".join(SAMPLINGS)}, got "{mode}"')
        require(self.padding.data in PADDINGS, f'padding is one of {", ".join(PADDINGS)}, got "{self.padding.data}"')
        sizes = self.sizes if len(x) > 2 else ()
        axes = len(sizes)
        require(1 <= axes <= MOST_AXES, f"needs 1 to {MOST_AXES} spatial dimensions, got {axes}")
        samples, *places, entries = positions if len(positions) >= 2 else (0, 0)
        require(equal(entries, axes), f"positions of shape {list(positions)}, but a position has {axes} entries")
        require(equal_shapes(x[:1], (samples,)), f"{shape_of(self.x)[0]} samples, but positions for {samples}")
        result = full_shape(samples, x[channel_axis(self.layout.data, len(x))], places, self.layout.data)
        require(all(sizes) or not all(result), "positions in an empty dimension")
        if mode != "nearest":
            require(is_float(element_type_of_value(self.x)), "only floats can be interpolated")
        return [tensor(element_type_of_value(self.x), result)]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The spatial sizes of x."""
        return spatial_shape(shape_of(self.x), self.layout.data)

    @property
    def neighbours(self) -> int:
        """The number of neighbours along a dimension."""
        return {"nearest": 1, "linear": 2, "cubic": 4}[self.mode.data]

    @property
    @override
    def products(self) -> int:
        axes = len(self.sizes)
        return prod(shape_of(self.result)) * (self.neighbours**axes + 8 * axes)  # and about so many for each position

    def edges(self, size: int) -> tuple[float, float]:
        """The begin and end of a dimension, at which positions are reflected."""
        return (0, size - 1) if self.corners is not None else (-0.5, size - 0.5)

    def far(self, size: int) -> tuple[int, int]:
        """Positions beyond which all neighbours are out of range."""
        return -1 - self.neighbours // 2, size + self.neighbours // 2

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        layout, places = self.layout.data, range(len(shape_of(self.positions)) - 2)
        x = full_shape("b", "c", ["any"] * len(self.sizes), layout)
        return self.labelled_axes([x, ("b", *places, "entry")], full_shape("b", "c", places, layout), {"any": Whole})

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, positions = channels_first(arrays[0], self.layout.data), widened(arrays[1])
        if 0 in shape_of(self.result):
            return (np.zeros(shape_of(self.result), x.dtype),)
        computed = x if self.mode.data == "nearest" else widened(x)
        axes = [self._taps(positions[..., -1 - axis], size) for axis, size in enumerate(x.shape[2:])]
        batch = np.reshape(np.arange(x.shape[0], dtype=np.int64), (-1, *[1] * (positions.ndim - 2)))
        result = np.zeros((*positions.shape[:-1], x.shape[1]), computed.dtype)
        for taps in product(*(zip(*axis, strict=True) for axis in axes)):
            places, inside, weights = zip(*taps, strict=True)
            value = np.where(np.logical_and.reduce(inside)[..., None], computed[(batch, slice(None), *places)], 0)
            weight = np.prod(weights, axis=0)[..., None].astype(computed.dtype)
            result = value if self.mode.data == "nearest" else result + value * weight
        return (from_channels_first(np.moveaxis(result, -1, 1), self.layout.data).astype(x.dtype),)

    def _taps(self, p: Array, size: int) -> tuple[list[Array], list[Array], list[Array]]:
        """The neighbours of positions along an axis: their indices, whether they are in range, and their weights."""
        p = self._mirrored_position(np.rint(p) if self.mode.data == "nearest" else p, size)
        first = np.floor(p) - (self.neighbours - 1) // 2
        indices = [first.astype(np.int64) + tap for tap in range(self.neighbours)]
        counts = self.padding.data != "zeros"
        inside = [((i >= 0) & (i < size)) | counts for i in indices]
        if self.padding.data == "reflection":
            indices = [self._mirrored_index(i, size) for i in indices]
        return [np.clip(i, 0, size - 1) for i in indices], inside, self._weights(p - np.floor(p))

    def _mirrored_position(self, p: Array, size: int) -> Array:
        if self.padding.data != "reflection":
            return _between(p, *self.far(size))
        low, high = self.edges(size)
        period = 2 * (high - low)
        with np.errstate(all="ignore"):
            turned = np.abs(p - low) % period if period else p * 0
        moved = _between(low + np.minimum(turned, period - turned), low, high)
        return np.where((p >= low) & (p <= high), p, moved)

    def _mirrored_index(self, i: Array, size: int) -> Array:
        if self.corners is not None:
            period = max(2 * (size - 1), 1)
            turned = np.abs(i) % period
            return np.minimum(turned, period - turned)
        turned = np.where(i < 0, -1 - i, i) % (2 * size)
        return np.minimum(turned, 2 * size - 1 - turned)

    def _weights(self, f: Array) -> list[Array]:
        """The weights of the neighbours of positions at distance `f` behind an element."""
        a = CUBIC_A
        match self.mode.data:
            case "nearest":
                return [np.ones_like(f)]
            case "linear":
                return [1 - f, f]
            case _:
                far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (f + 1, 2 - f)]
                near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (f, 1 - f)]
                return [far[0], *near, far[1]]


def _between(p: Array, low: float, high: float) -> Array:
    """`p` clamped to [low, high]; `high` for NaN."""
    return np.where(p < high, np.maximum(p, p.dtype.type(low)), p.dtype.type(high))
