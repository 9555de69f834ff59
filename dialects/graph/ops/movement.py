"""Movement ops: results are copies of operand elements, at positions independent of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
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
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def

from ...sizes.sizes import equal, is_fixed
from ..axes import Axes, Kept, Placed, Strided, Whole
from ..base import MovementOp, broadcasts_to, require, require_axis, require_same_element_type
from ..values import AnyTensor, Array, element_type_of_value, ints, numpy_dtype, shape_of, tensor


@irdl_op_definition
class ReshapeOp(MovementOp):
    """The same elements in the same row-major order, in another shape."""

    name = "graph.reshape"

    PER_AXIS: ClassVar[tuple[str, ...]] = ("shape",)

    x = operand_def()
    shape = prop_def(DenseArrayBase[IntegerType])
    result = result_def()

    def __init__(self, x: SSAValue | Operation, shape: Sequence[int], location: LocationAttr | None = None):
        self._build((x,), location, shape=shape)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        old, new = shape_of(self.x), ints(self.shape)
        require(all(size >= 0 for size in new), f"shape {list(new)} has a negative size")
        require(equal(prod(old), prod(new)), f"{prod(old)} elements of shape {list(old)} don't fill shape {list(new)}")
        return [tensor(element_type_of_value(self.x), new)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        old, new = shape_of(self.x), shape_of(self.result)

        def unchanged(axis: int) -> list[int]:
            before = prod(old[:axis])
            return [i for i, size in enumerate(new) if size == old[axis] and prod(new[:i]) == before]

        found = [unchanged(axis) for axis in range(len(old))]
        return [tuple(Kept(*places) if len(places) == 1 else Whole(None) for places in found)]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (arrays[0].reshape(ints(self.shape)),)


@irdl_op_definition
class TransposeOp(MovementOp):
    """Dimension i of the result is dimension `permutation[i]` of x."""

    name = "graph.transpose"

    x = operand_def()
    permutation = prop_def(DenseArrayBase[IntegerType])
    result = result_def()

    def __init__(self, x: SSAValue | Operation, permutation: Sequence[int], location: LocationAttr | None = None):
        self._build((x,), location, permutation=permutation)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        shape, permutation = shape_of(self.x), ints(self.permutation)
        valid = sorted(permutation) == list(range(len(shape)))
        require(valid, f"{list(permutation)} is no permutation of {len(shape)} dimensions")
        return [tensor(element_type_of_value(self.x), [shape[axis] for axis in permutation])]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return self.labelled_axes([range(len(shape_of(self.x)))], ints(self.permutation))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (arrays[0].transpose(ints(self.permutation)).copy(),)


@irdl_op_definition
class BroadcastToOp(MovementOp):
    """x broadcast to `shape`, along dimensions of size 1 and new leading ones."""

    name = "graph.broadcast_to"

    PER_AXIS: ClassVar[tuple[str, ...]] = ("shape",)

    x = operand_def()
    shape = prop_def(DenseArrayBase[IntegerType])
    result = result_def()

    def __init__(self, x: SSAValue | Operation, shape: Sequence[int], location: LocationAttr | None = None):
        self._build((x,), location, shape=shape)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        old, new = shape_of(self.x), ints(self.shape)
        require(broadcasts_to(old, new), f"shape {list(old)} doesn't broadcast to {list(new)}")
        return [tensor(element_type_of_value(self.x), new)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return self.rowwise_axes(())

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (np.ascontiguousarray(np.broadcast_to(arrays[0], ints(self.shape))).reshape(ints(self.shape)),)


@irdl_op_definition
class ConcatOp(MovementOp):
    """The operands concatenated along an axis."""

    name = "graph.concat"

    inputs = var_operand_def()
    axis = prop_def(IntegerAttr[IntegerType])
    result = result_def()

    def __init__(self, inputs: Sequence[SSAValue | Operation], axis: int, location: LocationAttr | None = None):
        self._build(inputs, location, axis=axis)

    @property
    def borders(self) -> list[int]:
        """The start of each operand in the result along the axis, and the end of the last one."""
        axis = self.axis.value.data
        return list(accumulate((shape_of(each)[axis] for each in self.inputs), initial=0))

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require(len(self.inputs) > 0, "needs at least one operand")
        require_same_element_type(*self.inputs)
        first, axis = shape_of(self.inputs[0]), self.axis.value.data
        require_axis(axis, len(first))
        total = 0
        for value in self.inputs:
            shape = shape_of(value)
            same = len(shape) == len(first) and all(
                equal(a, b) for each, (a, b) in enumerate(zip(shape, first, strict=True)) if each != axis
            )
            require(same, f"shapes {list(first)} and {list(shape)} differ outside of axis {axis}")
            total += shape[axis]
        return [tensor(element_type_of_value(self.inputs[0]), (*first[:axis], total, *first[axis + 1 :]))]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        dims, axis = range(len(shape_of(self.result))), self.axis.value.data
        return [tuple(Placed(axis, begin) if dim == axis else Kept(dim) for dim in dims) for begin in self.borders[:-1]]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (np.concatenate(arrays, self.axis.value.data),)


@irdl_op_definition
class SlideOp(MovementOp):
    """A window on rows that slides on: the last rows of x along an axis, and the new rows behind them.

    The result has the shape of x: as many of its first rows are left out as there are new ones.
    """

    name = "graph.slide"

    x = operand_def()
    new = operand_def()
    axis = prop_def(IntegerAttr[IntegerType])
    result = result_def()

    def __init__(
        self, x: SSAValue | Operation, new: SSAValue | Operation, axis: int, location: LocationAttr | None = None
    ):
        self._build((x, new), location, axis=axis)

    @property
    def left(self) -> int:
        """The rows of x that are left."""
        axis = self.axis.value.data
        return shape_of(self.x)[axis] - shape_of(self.new)[axis]

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_same_element_type(self.x, self.new)
        shape, new = shape_of(self.x), shape_of(self.new)
        axis = require_axis(self.axis.value.data, len(shape))
        same = len(shape) == len(new) and all(
            equal(a, b) for each, (a, b) in enumerate(zip(shape, new, strict=True)) if each != axis
        )
        require(same, f"shapes {list(shape)} and {list(new)} differ outside of axis {axis}")
        require(is_fixed(shape[axis], new[axis]), f"sizes of run time along axis {axis}")
        require(new[axis] <= shape[axis], f"{new[axis]} new rows for a window of {shape[axis]}")
        return [tensor(element_type_of_value(self.x), shape)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        dims, axis = range(len(shape_of(self.result))), self.axis.value.data
        along = (Whole(axis), Placed(axis, self.left))
        return [tuple(each if dim == axis else Kept(dim) for dim in dims) for each in along]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, new = arrays
        axis = self.axis.value.data
        return (np.concatenate([np.delete(x, range(new.shape[axis]), axis), new], axis),)


@irdl_op_definition
class SliceOp(MovementOp):
    """Elements start, start + step, ... before stop, along every axis.

    Starts, stops and steps have an entry per axis. Every selected index must exist; a negative step goes down, and its
    stop may be -1, before the first element.
    """

    name = "graph.slice"

    PER_AXIS: ClassVar[tuple[str, ...]] = ("starts", "stops", "steps")

    x = operand_def()
    starts = prop_def(DenseArrayBase[IntegerType])
    stops = prop_def(DenseArrayBase[IntegerType])
    steps = prop_def(DenseArrayBase[IntegerType])
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        starts: Sequence[int],
        stops: Sequence[int],
        steps: Sequence[int] | None = None,
        location: LocationAttr | None = None,
    ):
        """Absent steps are ones."""
        self._build((x,), location, starts=starts, stops=stops, steps=steps or (1,) * len(starts))

    @property
    def ranges(self) -> list[range]:
        """The selected indices along each axis."""
        return [range(*bounds) for bounds in zip(ints(self.starts), ints(self.stops), ints(self.steps), strict=True)]

    @property
    def counts(self) -> list[int]:
        """The number of selected indices along each axis."""
        counts: list[int] = []
        for start, stop, step in zip(ints(self.starts), ints(self.stops), ints(self.steps), strict=True):
            count = -((start - stop) // step) if step else 0
            counts.append(count if count >= 0 else 0)
        return counts

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        shape = shape_of(self.x)
        counts = {len(ints(self.starts)), len(ints(self.stops)), len(ints(self.steps))}
        require(counts == {len(shape)}, f"needs a start, a stop and a step for each of {len(shape)} axes")
        require(0 not in ints(self.steps), "a step must not be 0")
        bounds = zip(ints(self.starts), ints(self.stops), ints(self.steps), self.counts, shape, strict=True)
        for axis, (start, stop, step, count, size) in enumerate(bounds):
            ends = (start, start + (count - 1) * step)
            low, high = ends if step > 0 else reversed(ends)
            inside = equal(count, 0) or (low >= 0 and high < size)
            require(inside, f"axis {axis} has {size} elements, but {start}:{stop}:{step} is taken")
        return [tensor(element_type_of_value(self.x), self.counts)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        whole = [a == b for a, b in zip(shape_of(self.x), shape_of(self.result), strict=True)]
        bounds = zip(whole, ints(self.starts), ints(self.steps), strict=True)
        return [
            tuple(
                Kept(axis) if whole and step == 1 else Strided(axis, start, step)
                for axis, (whole, start, step) in enumerate(bounds)
            )
        ]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        slices = tuple(
            slice(r.start, r.stop if r.stop >= 0 else None, r.step) if r else slice(0, 0) for r in self.ranges
        )
        return (np.ascontiguousarray(arrays[0][slices]).reshape(self.counts),)


PAD_MODES = ("constant", "reflect", "edge", "wrap")


@irdl_op_definition
class PadOp(MovementOp):
    """x with `low[i]` elements before and `high[i]` after it along axis i (none negative).

    The modes: "constant" pads with `value`, "reflect" mirrors x without repeating its end, "edge" repeats x's first or
    last element, "wrap" continues with the other end of x.
    """

    name = "graph.pad"

    PER_AXIS: ClassVar[tuple[str, ...]] = ("low", "high")

    x = operand_def()
    low = prop_def(DenseArrayBase[IntegerType])
    high = prop_def(DenseArrayBase[IntegerType])
    mode = prop_def(StringAttr)
    value = prop_def(FloatAttr[Float64Type])
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        low: Sequence[int],
        high: Sequence[int],
        mode: str = "constant",
        value: float = 0.0,
        location: LocationAttr | None = None,
    ):
        self._build((x,), location, low=low, high=high, mode=mode, value=float(value))

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        shape, low, high, mode = shape_of(self.x), ints(self.low), ints(self.high), self.mode.data
        require(len(low) == len(high) == len(shape), f"needs a low and a high pad for each of {len(shape)} axes")
        require(min((*low, *high, 0)) >= 0, "pads must not be negative; crop by a slice")
        require(mode in PAD_MODES, f'mode is one of {", ".join(PAD_MODES)}, got "{mode}"')
        if mode != "constant":
            empty = any(not size and before + after > 0 for size, before, after in zip(shape, low, high, strict=True))
            require(not empty, f"there is nothing to {mode} along an axis without elements")
        padded = [size + before + after for size, before, after in zip(shape, low, high, strict=True)]
        return [tensor(element_type_of_value(self.x), padded)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        around, constant = zip(ints(self.low), ints(self.high), strict=True), self.mode.data == "constant"
        return [
            tuple(
                Kept(axis) if (low, high) == (0, 0) else Placed(axis, low) if constant else Whole(axis)
                for axis, (low, high) in enumerate(around)
            )
        ]

    def filling(self) -> Array:
        """The padding value of mode "constant", as one element of x's type."""
        return np.asarray(self.value.value.data).astype(numpy_dtype(element_type_of_value(self.x)))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        widths = list(zip(ints(self.low), ints(self.high), strict=True))
        options: dict[str, Any] = {}
        if self.mode.data == "constant":
            options["constant_values"] = np.asarray(self.value.value.data).astype(x.dtype)
        pad: Callable[..., Array] = np.pad  # its overloads require a literal mode
        return (pad(x, widths, self.mode.data, **options),)
