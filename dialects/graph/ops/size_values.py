"""Symbolic sizes as run-time values: what a model computes from the shapes of its inputs alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, LocationAttr, i64
from xdsl.irdl import irdl_op_definition, prop_def, result_def

from ...sizes.sizes import pinned
from ..base import GraphOp, require
from ..values import AnyTensor, Array, ints, tensor


@irdl_op_definition
class SizesOp(GraphOp):
    """A tensor of symbolic sizes, constant at each shape."""

    name = "graph.sizes"

    sizes = prop_def(DenseArrayBase[IntegerType])
    result = result_def()

    def __init__(self, sizes: Sequence[int], location: LocationAttr | None = None):
        self._build((), location, sizes=sizes)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        return [tensor(i64, [len(ints(self.sizes))])]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (np.array([pinned(size) for size in ints(self.sizes)], np.int64),)


@irdl_op_definition
class IotaOp(GraphOp):
    """The arithmetic sequence start, start + step, ... of `count` numbers."""

    name = "graph.iota"

    numbers = prop_def(DenseArrayBase[IntegerType])
    """start, count, step"""
    result = result_def()

    def __init__(self, start: int, count: int, step: int, location: LocationAttr | None = None):
        self._build((), location, numbers=[start, count, step])

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require(len(ints(self.numbers)) == 3, "needs start, count and step")
        require(self.count >= 0, f"can't have {self.count} elements")
        return [tensor(i64, [self.count])]

    @property
    def start(self) -> int:
        """The first number."""
        return ints(self.numbers)[0]

    @property
    def count(self) -> int:
        """The length."""
        return ints(self.numbers)[1]

    @property
    def step(self) -> int:
        """The increment."""
        return ints(self.numbers)[2]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (pinned(self.start) + pinned(self.step) * np.arange(pinned(self.count), dtype=np.int64),)
