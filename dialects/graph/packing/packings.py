"""Layouts of packed weights in panels of `nr` columns.

Each packing is one class: its shape, packing and unpacking in numpy, and packing by graph ops for a computed weight.
`graph.unpack` states at tensor level that a packed array represents the plain one. The last panel is
zero-padded. Transformed filters are in winograd_filters.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from ...errors import CompileError
from ..base import require
from ..movement_steps import MovementChain
from ..values import Array, numpy_dtype


@dataclass(frozen=True)
class Packing(ABC):
    """A memory layout of a weight; its parameters are integers and flags."""

    kind: ClassVar[str]

    @abstractmethod
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The packed shape of a weight. Raises VerifyException for an unsupported shape."""

    @abstractmethod
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        """The packed weight, written to `out` if given."""

    @abstractmethod
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        """The inverse of `pack`, for a weight of that shape."""

    @abstractmethod
    def ops(self, value: SSAValue) -> list[Operation]:
        """Ops, in order, the last of which has the packed `value` as its result; [] if packing is the identity."""

    def packed_type(self, element: Attribute) -> Attribute:
        """The element type of a packed weight of that element type."""
        return element

    def plain_type(self, packed: Attribute) -> Attribute:
        """The inverse of `packed_type`."""
        return packed

    def rows(self, shape: Sequence[int]) -> int:
        """The number of the weight's rows on which each panel depends; 0 if it depends on all of them."""
        del shape
        return 0


@dataclass(frozen=True)
class ColumnPacking(Packing):
    """Panels of `nr` columns of a weight seen as [..., K, N]."""

    nr: int

    def _panels(self, columns: int) -> int:
        return -(-columns // self.nr)

    def _cut(self, steps: MovementChain) -> list[Operation]:
        """[..., K, N] -> [..., ceil(N / nr), K, nr]"""
        *leading, depth, columns = steps.shape
        panels, rank = self._panels(columns), len(leading)
        steps.pad_last(panels * self.nr - columns)
        steps.reshape((*leading, depth, panels, self.nr))
        steps.transpose((*range(rank), rank + 1, rank, rank + 2))
        return steps.ops


@dataclass(frozen=True)
class PanelPacking(ColumnPacking):
    """Right-hand sides [..., K, N] of products (`transposed`: [..., N, K]) as [..., ceil(N / nr), K, nr]."""

    kind = "panels"
    transposed: bool = False

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        require(len(shape) >= 2, f"panels hold matrices, not shape {list(shape)}")
        *leading, depth, columns = self._turned(shape)
        return (*leading, self._panels(columns), depth, self.nr)

    def _turned(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-2], shape[-1], shape[-2]) if self.transposed else tuple(shape)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        columns = np.swapaxes(weight, -1, -2) if self.transposed else weight
        return _columns_to_panels(columns, weight.ndim - 2, self.nr, out)

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        plain = _panels_to_columns(packed, self._turned(shape)[-1])
        return np.ascontiguousarray(np.swapaxes(plain, -1, -2) if self.transposed else plain)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        steps = MovementChain(value)
        steps.transpose(self._turned(range(len(steps.shape))))
        return self._cut(steps)

    @override
    def rows(self, shape: Sequence[int]) -> int:
        return self.nr if self.transposed and len(shape) == 2 else 0


@dataclass(frozen=True)
class PairedPanelPacking(PanelPacking):
    """As PanelPacking, for matrices [..., K, 2 N]; a panel has nr / 2 columns of each half.

    The result is [..., ceil(2 N / nr), K, nr]. An epilogue on columns j and N + j finds both in one panel.
    """

    kind = "paired_panels"

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        columns = self._turned(shape)[-1]
        require(columns % 2 == 0 and self.nr % 2 == 0, f"{columns} columns have no halves for panels of {self.nr}")
        return super().packed_shape(shape)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        packed = np.empty(self.packed_shape(weight.shape), weight.dtype) if out is None else out
        columns, half = np.swapaxes(weight, -1, -2) if self.transposed else weight, self.nr // 2
        for number, each in enumerate(np.split(columns, 2, axis=-1)):
            _columns_to_panels(each, weight.ndim - 2, half, packed[..., number * half : (number + 1) * half])
        return packed

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        columns = self._turned(shape)[-1] // 2
        plain = np.concatenate([_panels_to_columns(each, columns) for each in np.split(packed, 2, axis=-1)], axis=-1)
        return np.ascontiguousarray(np.swapaxes(plain, -1, -2) if self.transposed else plain)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        steps, half = MovementChain(value), self.nr // 2
        steps.transpose(self._turned(range(len(steps.shape))))
        *leading, depth, columns = steps.shape
        panels, rank = -(-columns // self.nr), len(leading)
        steps.reshape((*leading, depth, 2, columns // 2))
        steps.pad_last(panels * half - columns // 2)
        steps.reshape((*leading, depth, 2, panels, half))
        steps.transpose((*range(rank), rank + 2, rank, rank + 1, rank + 3))
        steps.reshape((*leading, panels, depth, self.nr))
        return steps.ops

    @override
    def rows(self, shape: Sequence[int]) -> int:
        return 0


@dataclass(frozen=True)
class ConvPacking(ColumnPacking):
    """[Cout, Cin / g, kernel...] as [g, ceil(Cout / g / nr), kernel * Cin / g, nr], channels last in k."""

    kind = "conv_panels"
    groups: int = 1

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        require(len(shape) >= 3, f"conv_panels hold a convolution's weight, not shape {list(shape)}")
        require(shape[0] % self.groups == 0, f"{shape[0]} output channels in {self.groups} groups")
        return (self.groups, self._panels(shape[0] // self.groups), prod(shape[1:]), self.nr)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        outputs, inputs, *kernel = weight.shape
        grouped = weight.reshape(self.groups, outputs // self.groups, inputs, prod(kernel))
        return _columns_to_panels(grouped.transpose(0, 3, 2, 1), 1, self.nr, out)

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        outputs, inputs, *kernel = shape
        columns = _panels_to_columns(packed, outputs // self.groups)
        grouped = columns.reshape(self.groups, prod(kernel), inputs, outputs // self.groups).transpose(0, 3, 2, 1)
        return np.ascontiguousarray(grouped).reshape(shape)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        steps = MovementChain(value)
        outputs, inputs, *kernel = steps.shape
        filters, taps = outputs // self.groups, prod(kernel)
        steps.reshape((self.groups, filters, inputs, taps))
        steps.transpose((0, 3, 2, 1))
        steps.reshape((self.groups, taps * inputs, filters))
        return self._cut(steps)


@dataclass(frozen=True)
class DepthwisePacking(ColumnPacking):
    """[Cout, Cin / g, kernel...] as [ceil(Cout / nr), Cin / g * kernel, nr]."""

    kind = "depthwise"

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        require(len(shape) >= 3, f"depthwise panels are of a convolution's filters, not of shape {list(shape)}")
        return (self._panels(shape[0]), prod(shape[1:]), self.nr)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        return _columns_to_panels(weight.reshape(len(weight), -1).T, 0, self.nr, out)

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        return np.ascontiguousarray(_panels_to_columns(packed, shape[0]).T).reshape(shape)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        steps = MovementChain(value)
        steps.reshape((steps.shape[0], prod(steps.shape[1:])))
        steps.transpose((1, 0))
        return self._cut(steps)


def rounded_to_tf32(numbers: Array) -> Array:
    """f32 rounded to 10 mantissa bits, to nearest with ties away from zero; infinities and NaN as they are."""
    rounded = (numbers.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(numbers), rounded.view(np.float32), numbers)


@dataclass(frozen=True)
class RoundedPacking(Packing):
    """A layout whose numbers of f32 are also rounded if one of `f16`, `bf16` and `tf32` is set, as a GPU rounds them.

    16-bit numbers are kept as such, to nearest with ties to even; tf32 stays f32.
    """

    f16: bool = field(default=False, kw_only=True)
    bf16: bool = field(default=False, kw_only=True)
    tf32: bool = field(default=False, kw_only=True)

    @override
    def packed_type(self, element: Attribute) -> Attribute:
        return f16 if self.f16 else bf16 if self.bf16 else element

    @override
    def plain_type(self, packed: Attribute) -> Attribute:
        return f32 if self.f16 or self.bf16 else packed

    def _put(self, laid: Array, shape: Sequence[int], out: Array | None) -> Array:
        """The packed array of a shape, of numbers in its order."""
        narrow = self.f16 or self.bf16
        dtype = numpy_dtype(self.packed_type(f32)) if narrow else laid.dtype
        packed = np.empty(tuple(shape), dtype) if out is None else out
        with np.errstate(over="ignore"):
            packed.reshape(laid.shape)[...] = rounded_to_tf32(laid) if self.tf32 else laid
        return packed

    def _plain(self, packed: Array) -> Array:
        """The numbers of a packed array in their plain type."""
        return packed.astype(np.float32) if self.f16 or self.bf16 else packed

    def _rounded(self, steps: MovementChain) -> list[Operation]:
        """The ops of `steps`, and those that round."""
        if self.tf32:
            raise CompileError("only constants are rounded to tf32 when they are packed")
        if self.f16 or self.bf16:
            steps.cast(self.packed_type(f32))
        return steps.ops


@dataclass(frozen=True)
class MatrixPacking(RoundedPacking):
    """Right-hand sides [..., K, N] of products as they are; `transposed`: as [..., N, K]."""

    kind = "matrices"
    transposed: bool = False

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        require(len(shape) >= 2, f"matrices have at least 2 dimensions, not shape {list(shape)}")
        return (*shape[:-2], shape[-1], shape[-2]) if self.transposed else tuple(shape)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        laid = np.swapaxes(weight, -1, -2) if self.transposed else weight
        return self._put(laid, laid.shape, out)

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        plain = self._plain(packed)
        return np.ascontiguousarray(np.swapaxes(plain, -1, -2) if self.transposed else plain)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        steps = MovementChain(value)
        steps.transpose(self.packed_shape(range(len(steps.shape))))
        return self._rounded(steps)


@dataclass(frozen=True)
class FilterPacking(RoundedPacking):
    """[Cout, Cin / g, kernel...] as one matrix per group: [g, kernel * Cin / g, Cout / g], channels last in its rows.

    `transposed`: [g, Cout / g, kernel * Cin / g].
    """

    kind = "filters"
    groups: int = 1
    transposed: bool = False

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        require(len(shape) >= 3, f"filters are a convolution's weight, not of shape {list(shape)}")
        require(shape[0] % self.groups == 0, f"{shape[0]} output channels in {self.groups} groups")
        depth, columns = prod(shape[1:]), shape[0] // self.groups
        return (self.groups, columns, depth) if self.transposed else (self.groups, depth, columns)

    @property
    def _order(self) -> tuple[int, ...]:
        """The permutation of [group, filter, channel, tap]."""
        return (0, 1, 3, 2) if self.transposed else (0, 3, 2, 1)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        outputs, inputs, *kernel = weight.shape
        grouped = weight.reshape(self.groups, outputs // self.groups, inputs, prod(kernel)).transpose(self._order)
        return self._put(grouped, self.packed_shape(weight.shape), out)

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        outputs, inputs, *kernel = shape
        plain = (self.groups, outputs // self.groups, inputs, prod(kernel))
        laid = self._plain(packed).reshape([plain[axis] for axis in self._order])
        return np.ascontiguousarray(laid.transpose(np.argsort(self._order))).reshape(shape)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        steps = MovementChain(value)
        shape = tuple(steps.shape)
        outputs, inputs, *kernel = shape
        steps.reshape((self.groups, outputs // self.groups, inputs, prod(kernel)))
        steps.transpose(self._order)
        steps.reshape(self.packed_shape(shape))
        return self._rounded(steps)


def _columns_to_panels(columns: Array, leading: int, nr: int, out: Array | None) -> Array:
    """[..., K, N] -> [..., ceil(N / nr), K, nr], with `leading` dimensions first; K may be several dimensions.

    Columns of any strides are copied once, to `out` if given.
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
