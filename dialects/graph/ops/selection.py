"""TopK: indices of the largest or smallest elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from ..axes import Axes
from ..base import GraphOp, require, require_axis, require_numbers
from ..values import AnyTensor, Array, is_float_dtype, shape_of, tensor


@irdl_op_definition
class TopKOp(GraphOp):
    """Along an axis, the indices (i64) of the `count` largest (or `smallest`) elements, sorted.

    Equal elements are in order of their index. NaN is larger than any number.
    """

    name = "graph.top_k"
    FORM: ClassVar[str] = "selection"
    INSTRUCTIONS: ClassVar[int] = 4

    x = operand_def()
    axis = prop_def(IntegerAttr[IntegerType])
    count = prop_def(IntegerAttr[IntegerType])
    smallest = opt_prop_def(UnitAttr)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        axis: int,
        count: int,
        smallest: bool = False,
        location: LocationAttr | None = None,
    ):
        self._build((x,), location, axis=axis, count=count, smallest=smallest)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_numbers(self.x)
        shape, count = shape_of(self.x), self.count.value.data
        axis = require_axis(self.axis.value.data, len(shape))
        require(0 <= count <= shape[axis], f"there are no {count} elements along a dimension of {shape[axis]}")
        return [tensor(i64, (*shape[:axis], count, *shape[axis + 1 :]))]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return self.rowwise_axes((self.axis.value.data,))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, axis, count = arrays[0], self.axis.value.data, self.count.value.data
        x = x.astype(np.float64) if is_float_dtype(x.dtype) else x
        # Sorting is stable and puts NaN last; on a reversed array read backwards, equal elements keep their order.
        if self.smallest is not None:
            places = np.argsort(x, axis, kind="stable")
        else:
            places = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        return (np.take(places, np.arange(count), axis).astype(np.int64),)
