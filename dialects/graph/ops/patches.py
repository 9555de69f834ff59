"""Images assembled from overlapping patches (col2im)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, LocationAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ...sizes.sizes import equal
from ..axes import Axes, Kept, Whole
from ..base import ReductionOp, require, require_numbers
from ..values import AnyTensor, Array, element_type_of_value, ints, shape_of, tensor, widened
from ..window_sizes import Window, usual_window


@irdl_op_definition
class Col2ImOp(ReductionOp):
    """x [N, C * taps, windows] as an image [N, C, shape...]; overlapping patches are summed.

    Windows and taps are in row-major order. Elements in the padding are dropped; elements covered by no window are 0.
    """

    name = "graph.col2im"
    FORM: ClassVar[str] = "windows"
    LINEAR: ClassVar[bool] = False

    x = operand_def()
    shape = prop_def(DenseArrayBase[IntegerType])
    kernel = prop_def(DenseArrayBase[IntegerType])
    strides = prop_def(DenseArrayBase[IntegerType])
    pads = prop_def(DenseArrayBase[IntegerType])
    dilations = prop_def(DenseArrayBase[IntegerType])
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        shape: Sequence[int],
        kernel: Sequence[int],
        *,
        strides: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        location: LocationAttr | None = None,
    ):
        """Absent strides and dilations are ones, absent pads are zeros."""
        self._build(
            (x,),
            location,
            shape=shape,
            kernel=kernel,
            **usual_window(len(kernel), strides, pads, dilations),
        )

    @property
    def window(self) -> Window:
        """The windows' geometry."""
        return Window.of(ints(self.kernel), ints(self.strides), ints(self.pads), ints(self.dilations))

    def positions(self) -> tuple[int, ...]:
        """The number of window positions along each dimension of the image."""
        return self.window.positions(ints(self.shape))

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_numbers(self.x)
        shape, kernel = ints(self.shape), ints(self.kernel)
        require(len(shape) == len(kernel) >= 1, f"a picture {list(shape)}, but a window {list(kernel)}")
        require(len(shape_of(self.x)) == 3, f"needs [N, C * taps, windows], got {list(shape_of(self.x))}")
        batch, columns, windows = shape_of(self.x)
        places = self.positions()
        require(equal(columns % prod(kernel), 0), f"{prod(kernel)} taps do not divide {columns} columns")
        require(
            equal(windows, prod(places)), f"{windows} windows, but there is room for {prod(places)}: {list(places)}"
        )
        return [tensor(element_type_of_value(self.x), (batch, columns // prod(kernel), *shape))]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return [(Kept(0), Whole(1), Whole(None))]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        window, positions, shape = self.window, self.positions(), shape_of(self.result)
        split = widened(arrays[0]).reshape(*shape[:2], *window.kernel, *positions)
        picture = window.padded(np.zeros(shape, split.dtype), positions, 0)
        for tap, slices in window.taps(positions):
            picture[:, :, *slices] += split[:, :, *tap]
        inside = [slice(begin, begin + size) for begin, size in zip(window.begin, ints(self.shape), strict=True)]
        return (picture[:, :, *inside].astype(arrays[0].dtype),)
