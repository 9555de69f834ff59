"""Weights rounded to blocks of integers or to floats of 16 bits, and the ops that make floats of them again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.block_weight import UI8
from ....dialects.graph.ops.conversion import CastOp, UnpackBitsOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import ReshapeOp, SliceOp
from ....dialects.graph.ops.quantization import DequantizeOp
from ....dialects.graph.ops.structure import WeightOp
from ....dialects.graph.values import Array, element_type_of_value, numpy_dtype, shape_of, tensor
from ..support.pattern_utils import Constants
from .block_quantiser import quantised

Write: TypeAlias = "Callable[[GraphOp], SSAValue]"
"""Inserts an op and gives its result."""


class Rounded(ABC):
    """A weight that is stored in few bits."""

    @abstractmethod
    def matrix(self, write: Write) -> tuple[SSAValue, bool]:
        """The weight in its own type, and whether it is transposed, as a product's right operand."""

    @abstractmethod
    def rows(self, write: Write, places: SSAValue) -> SSAValue:
        """Some of its rows, those of a table [rows, columns]."""


@dataclass(frozen=True)
class RoundedToHalves(Rounded):
    """A weight in a float type of 16 bits."""

    weight: GraphOp
    wide: Attribute
    transposed: bool

    @override
    def matrix(self, write: Write) -> tuple[SSAValue, bool]:
        return write(CastOp(write(self.weight.clone()), self.wide)), self.transposed

    @override
    def rows(self, write: Write, places: SSAValue) -> SSAValue:
        return write(CastOp(write(GatherOp(write(self.weight.clone()), places, 0)), self.wide))


@dataclass(frozen=True)
class RoundedToBlocks(Rounded):
    """A weight [rows, depth] as constants: bytes of numbers, scales and optional zero points of each row."""

    bytes: GraphOp
    scales: GraphOp
    zeros: GraphOp
    bits: int
    block: int
    depth: int

    @override
    def matrix(self, write: Write) -> tuple[SSAValue, bool]:
        return self._dequantised(write, shape_of(self.scales.results[0])[:1], lambda value: value), True

    @override
    def rows(self, write: Write, places: SSAValue) -> SSAValue:
        return self._dequantised(write, shape_of(places), lambda value: write(GatherOp(value, places, 0)))

    def _dequantised(self, write: Write, rows: tuple[int, ...], taken: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """Rows of the weight, whose constants `taken` takes rows of."""
        bytes, scales, zeros = (write(each.clone()) for each in (self.bytes, self.scales, self.zeros))
        blocks = shape_of(scales)[1]
        numbers = _unpacked(write, taken(bytes), self.bits, (*rows, blocks, self.block))
        scales = write(ReshapeOp(taken(scales), (*rows, blocks, 1)))
        if shape_of(zeros):
            zeros = write(ReshapeOp(taken(zeros), (*rows, blocks, 1)))
        wide = write(ReshapeOp(write(DequantizeOp(numbers, scales, zeros)), (*rows, blocks * self.block)))
        if blocks * self.block == self.depth:
            return wide
        return write(SliceOp(wide, [0] * (len(rows) + 1), (*rows, self.depth)))


def _unpacked(write: Write, bytes: SSAValue, bits: int, shape: Sequence[int]) -> SSAValue:
    """Numbers of whole rows of bytes."""
    if bits == 8:
        return write(ReshapeOp(bytes, shape))
    to = type_of_numbers(bits)
    flat = write(ReshapeOp(bytes, (prod(shape_of(bytes)),)))
    return write(UnpackBitsOp(flat, to, shape, width=bits if to == UI8 else None))


def type_of_numbers(bits: int) -> Attribute:
    """The type of unsigned numbers: their own, if there is one."""
    return IntegerType(bits, Signedness.UNSIGNED) if bits in (2, 4) else UI8


def rounded_to_halves(constants: Constants, weight: WeightOp, to: Attribute, transposed: bool) -> Rounded | None:
    """A weight as floats of 16 bits; None for one that has so few, or that holds numbers too large for them."""
    dtype, value = numpy_dtype(to), weight.result
    array = constants.known(value)
    if array.dtype.itemsize <= dtype.itemsize or not is_finite(array, dtype):
        return None
    type, how = tensor(to, shape_of(value)), f"as {to}"
    made = constants.computed([value], type, how, partial(_as, dtype), weight.location, rows=1)
    return RoundedToHalves(made, element_type_of_value(value), transposed)


def rounded_to_blocks(
    constants: Constants, weight: WeightOp, bits: int, block: int, *, symmetric: bool, transposed: bool
) -> Rounded | None:
    """A weight as numbers in blocks along its rows, or its columns; None for one that is less deep, or not finite."""
    array = constants.known(weight.result)
    matrix = array if transposed else array.T
    if matrix.shape[1] < block or not is_finite(array, array.dtype):
        return None
    found = quantised(matrix, bits, block, symmetric=symmetric, scale_type=array.dtype)
    type = numpy_dtype(type_of_numbers(bits))
    zeros = np.array(2 ** (bits - 1), np.uint8) if found.zeros is None else found.zeros
    bytes, scales, zeros = (
        constants.make(each, weight.location) for each in (found.bytes, found.scales, zeros.astype(type))
    )
    return RoundedToBlocks(bytes, scales, zeros, bits, block, found.depth)


def _as(dtype: np.dtype[Any], array: Array) -> Array:
    return array.astype(dtype)


def is_finite(array: Array, dtype: np.dtype[Any]) -> bool:
    """Whether all elements are finite, in a type, too."""
    extremes = np.array([array.min(initial=0), array.max(initial=0)]).astype(np.float32)
    with np.errstate(over="ignore"):
        return bool(np.isfinite(extremes.astype(dtype).astype(np.float32)).all())
