"""Packed weights: how a weight's elements are laid out for a micro-kernel that reads `nr` columns at a time.

Each packing has its inverse beside it; `graph.unpack` states at tensor level that a packed array means the
plain one. The last panel is padded with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, LocationAttr, StringAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from .base import GraphOp, require
from .values import (
    AnyTensor,
    Array,
    element_type_of_value,
    flag_attr,
    ints,
    ints_attr,
    shape_of,
    string_attr,
    tensor,
)

KINDS = ("panels", "conv_panels", "depthwise")


def _columns_to_panels(matrix: Array, nr: int) -> Array:
    """[..., K, N] -> [..., ceil(N / nr), K, nr]"""
    *leading, depth, columns = matrix.shape
    panels = -(-columns // nr)
    padded = np.zeros((*leading, depth, panels * nr), matrix.dtype)
    padded[..., :columns] = matrix
    return np.ascontiguousarray(np.moveaxis(padded.reshape(*leading, depth, panels, nr), -2, -3))


def _panels_to_columns(packed: Array, columns: int) -> Array:
    """[..., ceil(N / nr), K, nr] -> [..., K, N]"""
    *leading, panels, depth, nr = packed.shape
    return np.moveaxis(packed, -3, -2).reshape(*leading, depth, panels * nr)[..., :columns]


def pack_panels(array: Array, nr: int, transposed: bool = False) -> Array:
    """The right-hand side [K, N] of a matrix product (`transposed`: [N, K]) as [ceil(N / nr), K, nr]."""
    return _columns_to_panels(array.T if transposed else array, nr)


def unpack_panels(packed: Array, shape: Sequence[int], transposed: bool = False) -> Array:
    """The inverse of `pack_panels`."""
    plain = _panels_to_columns(packed, shape[0] if transposed else shape[1])
    return np.ascontiguousarray(plain.T if transposed else plain)


def pack_conv_panels(weight: Array, groups: int, nr: int) -> Array:
    """[Cout, Cin / g, kernel...] as [g, ceil(Cout / g / nr), kernel * Cin / g, nr], channels last in k."""
    outputs, inputs = weight.shape[:2]
    grouped = weight.reshape(groups, outputs // groups, inputs, -1)
    return _columns_to_panels(grouped.transpose(0, 3, 2, 1).reshape(groups, -1, outputs // groups), nr)


def unpack_conv_panels(packed: Array, shape: Sequence[int]) -> Array:
    """The inverse of `pack_conv_panels`."""
    groups, (outputs, inputs, *_) = len(packed), shape
    columns = _panels_to_columns(packed, outputs // groups)
    grouped = columns.reshape(groups, -1, inputs, outputs // groups).transpose(0, 3, 2, 1)
    return np.ascontiguousarray(grouped).reshape(shape)


def pack_depthwise(weight: Array, nr: int) -> Array:
    """[C, 1, kernel...] as [ceil(C / nr), kernel, nr]."""
    return _columns_to_panels(weight.reshape(len(weight), -1).T, nr)


def unpack_depthwise(packed: Array, shape: Sequence[int]) -> Array:
    """The inverse of `pack_depthwise`."""
    return np.ascontiguousarray(_panels_to_columns(packed, shape[0]).T).reshape(shape)


@irdl_op_definition
class UnpackOp(GraphOp):
    """The plain weight that a packed one means.

    "panels": [ceil(N / nr), K, nr] -> [K, N], or [N, K] with `transposed`; "conv_panels": [g, ceil(Cout / g /
    nr), kernel * Cin / g, nr] -> [Cout, Cin / g, kernel...]; "depthwise": [ceil(C / nr), kernel, nr] -> [C,
    1, kernel...].
    """

    name = "graph.unpack"

    packed = operand_def()
    kind = prop_def(StringAttr)
    shape = prop_def(DenseArrayBase[IntegerType])
    transposed = opt_prop_def(UnitAttr)
    result = result_def()

    def __init__(
        self,
        packed: SSAValue | Operation,
        kind: str,
        shape: Sequence[int],
        transposed: bool = False,
        location: LocationAttr | None = None,
    ):
        properties = {
            "kind": string_attr(kind),
            "shape": ints_attr(shape),
            "transposed": flag_attr(transposed),
        }
        self._build((packed,), properties, location)

    def _packed_shape(self, packed: Sequence[int]) -> tuple[int, ...]:
        """What `packed` must be, given its number of groups and its panel width."""
        shape, width = list(ints(self.shape)), packed[-1]
        match self.kind.data:
            case "panels":
                require(len(shape) == 2, f"panels hold a matrix, not shape {shape}")
                depth, columns = shape[::-1] if self.transposed is not None else shape
                return (-(-columns // width), depth, width)
            case "conv_panels":
                require(len(shape) >= 3, f"conv_panels hold a convolution's weight, not shape {shape}")
                groups, *_ = packed
                require(shape[0] % groups == 0, f"{shape[0]} output channels in {groups} groups")
                return (groups, -(-(shape[0] // groups) // width), prod(shape[1:]), width)
            case _:
                good = len(shape) >= 3 and shape[1] == 1
                require(good, f"depthwise panels hold one channel per kernel, not shape {shape}")
                return (-(-shape[0] // width), prod(shape[2:]), width)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        kind, packed = self.kind.data, shape_of(self.packed)
        require(kind in KINDS, f'kind is one of {", ".join(KINDS)}, got "{kind}"')
        require(len(packed) >= 3 and min(packed) >= 1, f"{list(packed)} is no packed shape")
        wanted = self._packed_shape(packed)
        require(packed == wanted, f"packed shape {list(packed)} instead of {list(wanted)}")
        return [tensor(element_type_of_value(self.packed), ints(self.shape))]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        (packed,), shape = arrays, ints(self.shape)
        match self.kind.data:
            case "panels":
                return (unpack_panels(packed, shape, self.transposed is not None),)
            case "conv_panels":
                return (unpack_conv_panels(packed, shape),)
            case _:
                return (unpack_depthwise(packed, shape),)
