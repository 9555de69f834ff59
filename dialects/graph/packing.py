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


def packed_shape(
    kind: str, shape: Sequence[int], nr: int, groups: int = 1, transposed: bool = False
) -> tuple[int, ...]:
    """The shape of a weight of that shape once it is packed."""
    match kind:
        case "panels":
            depth, columns = shape[::-1] if transposed else shape
            return (-(-columns // nr), depth, nr)
        case "conv_panels":
            return (groups, -(-(shape[0] // groups) // nr), prod(shape[1:]), nr)
        case _:
            return (-(-shape[0] // nr), prod(shape[2:]), nr)


def _columns_to_panels(columns: Array, leading: int, nr: int, out: Array | None) -> Array:
    """[..., K, N] -> [..., ceil(N / nr), K, nr], where `leading` dimensions come first and K may be several.

    However the columns lie, they are copied once, to `out` where that is given.
    """
    first, depth, count = columns.shape[:leading], columns.shape[leading:-1], columns.shape[-1]
    whole, rest = divmod(count, nr)
    packed = np.empty((*first, -(-count // nr), prod(depth), nr), columns.dtype) if out is None else out
    panels = np.moveaxis(packed.reshape(*first, -(-count // nr), *depth, nr), leading, -2)
    panels[..., :whole, :] = columns[..., : whole * nr].reshape(*first, *depth, whole, nr)
    if rest:
        panels[..., whole, :rest] = columns[..., whole * nr :]
        panels[..., whole, rest:] = 0
    return packed


def _panels_to_columns(packed: Array, columns: int) -> Array:
    """[..., ceil(N / nr), K, nr] -> [..., K, N]"""
    *leading, panels, depth, nr = packed.shape
    return np.moveaxis(packed, -3, -2).reshape(*leading, depth, panels * nr)[..., :columns]


def pack_panels(array: Array, nr: int, transposed: bool = False, out: Array | None = None) -> Array:
    """The right-hand side [K, N] of a matrix product (`transposed`: [N, K]) as [ceil(N / nr), K, nr]."""
    return _columns_to_panels(array.T if transposed else array, 0, nr, out)


def unpack_panels(packed: Array, shape: Sequence[int], transposed: bool = False) -> Array:
    """The inverse of `pack_panels`."""
    plain = _panels_to_columns(packed, shape[0] if transposed else shape[1])
    return np.ascontiguousarray(plain.T if transposed else plain)


def pack_conv_panels(weight: Array, groups: int, nr: int, out: Array | None = None) -> Array:
    """[Cout, Cin / g, kernel...] as [g, ceil(Cout / g / nr), kernel * Cin / g, nr], channels last in k."""
    outputs, inputs, *kernel = weight.shape
    grouped = weight.reshape(groups, outputs // groups, inputs, prod(kernel))
    return _columns_to_panels(grouped.transpose(0, 3, 2, 1), 1, nr, out)


def unpack_conv_panels(packed: Array, shape: Sequence[int]) -> Array:
    """The inverse of `pack_conv_panels`."""
    groups, (outputs, inputs, *kernel) = len(packed), shape
    columns = _panels_to_columns(packed, outputs // groups)
    grouped = columns.reshape(groups, prod(kernel), inputs, outputs // groups).transpose(0, 3, 2, 1)
    return np.ascontiguousarray(grouped).reshape(shape)


def pack_depthwise(weight: Array, nr: int, out: Array | None = None) -> Array:
    """[C, 1, kernel...] as [ceil(C / nr), kernel, nr]."""
    return _columns_to_panels(weight.reshape(len(weight), -1).T, 0, nr, out)


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
        shape, width, kind = list(ints(self.shape)), packed[-1], self.kind.data
        match kind:
            case "panels":
                require(len(shape) == 2, f"panels hold a matrix, not shape {shape}")
            case "conv_panels":
                require(len(shape) >= 3, f"conv_panels hold a convolution's weight, not shape {shape}")
                require(shape[0] % packed[0] == 0, f"{shape[0]} output channels in {packed[0]} groups")
            case _:
                good = len(shape) >= 3 and shape[1] == 1
                require(good, f"depthwise panels hold one channel per kernel, not shape {shape}")
        return packed_shape(kind, shape, width, packed[0], self.transposed is not None)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        kind, packed = self.kind.data, shape_of(self.packed)
        require(kind in KINDS, f'kind is one of {", ".join(KINDS)}, got "{kind}"')
        require(len(packed) >= 3 and packed[0] >= 1 and packed[-1] >= 1, f"{list(packed)} is no packed shape")
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
