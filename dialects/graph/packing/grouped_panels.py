"""Panels for dot-product instructions: elements of a column lie side by side in groups, 4 bytes or 2 bf16.

As the packings of packings.py, with the contracted dimension padded to whole groups; after a column's elements of a
group come those of the next column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.ir import Operation, SSAValue

from ...bf16_dot import PAIR
from ...byte_dot import GROUP
from ..movement_steps import MovementChain
from ..values import Array
from .packings import ConvPacking, PairedPanelPacking, PanelPacking


@dataclass(frozen=True)
class BytePanelPacking(PanelPacking):
    """As PanelPacking, for bytes: [..., ceil(N / nr), K, nr], with K padded to whole groups of GROUP.

    A column's elements of a group are contiguous, followed by those of the next column.
    """

    kind = "byte_panels"
    group: ClassVar[int] = GROUP

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        *leading, depth, nr = super().packed_shape(shape)
        return (*leading, whole_groups(depth, self.group), nr)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        columns = np.swapaxes(weight, -1, -2) if self.transposed else weight
        return _to_grouped_panels(columns[..., np.newaxis, :, :], self.nr, self.group, out)

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        depth, count = self._turned(shape)[-2:]
        plain = _from_grouped_panels(packed, 1, depth, count, self.group)[..., 0, :, :]
        return np.ascontiguousarray(np.swapaxes(plain, -1, -2) if self.transposed else plain)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        steps = MovementChain(value)
        steps.transpose(self._turned(range(len(steps.shape))))
        *leading, depth, columns = steps.shape
        steps.reshape((*leading, 1, depth, columns))
        return _to_grouped_panels_by_ops(steps, self.nr, self.group)


@dataclass(frozen=True)
class Bf16PanelPacking(BytePanelPacking):
    """The same for bf16, in pairs."""

    kind = "bf16_panels"
    group: ClassVar[int] = PAIR


@dataclass(frozen=True)
class PairedBf16PanelPacking(Bf16PanelPacking):
    """As Bf16PanelPacking, for matrices [..., K, 2 N] in panels of nr / 2 columns of each half: see PairedPanelPacking.

    The result is [..., ceil(2 N / nr), K, nr], with K padded to whole pairs.
    """

    kind = "paired_bf16_panels"

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        PairedPanelPacking(self.nr, self.transposed).packed_shape(shape)
        return super().packed_shape(shape)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        packed = np.empty(self.packed_shape(weight.shape), weight.dtype) if out is None else out
        columns, half = np.swapaxes(weight, -1, -2) if self.transposed else weight, self.nr // 2
        laid = _columns_of_pairs(packed, self.group)
        for number, each in enumerate(np.split(columns, 2, axis=-1)):
            here = laid[..., number * half : (number + 1) * half, :]
            here[...] = _columns_of_pairs(_to_grouped_panels(each[..., np.newaxis, :, :], half, self.group), self.group)
        return packed

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        depth, columns = self._turned(shape)[-2:]
        half = self.nr // 2
        laid = _columns_of_pairs(packed, self.group)
        halves = [laid[..., number * half : (number + 1) * half, :] for number in range(2)]
        plain = np.concatenate(
            [
                _from_grouped_panels(each.reshape(*packed.shape[:-1], half), 1, depth, columns // 2, self.group)[
                    ..., 0, :, :
                ]
                for each in halves
            ],
            axis=-1,
        )
        return np.ascontiguousarray(np.swapaxes(plain, -1, -2) if self.transposed else plain)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        steps, half = MovementChain(value), self.nr // 2
        steps.transpose(self._turned(range(len(steps.shape))))
        *leading, depth, columns = steps.shape
        panels, rank = -(-columns // self.nr), len(leading)
        rows = whole_groups(depth, self.group)
        steps.reshape((*leading, depth, 2, columns // 2))
        steps.pad_last(panels * half - columns // 2)
        steps.transpose((*range(rank), rank + 1, rank + 2, rank))
        steps.pad_last(rows - depth)
        steps.reshape((*leading, 2, panels, half, rows // self.group, self.group))
        steps.transpose((*range(rank), rank + 1, rank + 3, rank, rank + 2, rank + 4))
        steps.reshape((*leading, panels, rows, self.nr))
        return steps.ops

    @override
    def rows(self, shape: Sequence[int]) -> int:
        return 0


@dataclass(frozen=True)
class ByteConvPacking(ConvPacking):
    """As ConvPacking, for bytes: [g, ceil(Cout / g / nr), kernel * Cin / g, nr] in groups.

    Groups are as in BytePanelPacking; the channels of each tap are padded to whole groups.
    """

    kind = "byte_conv_panels"
    group: ClassVar[int] = GROUP

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        groups, panels, _, nr = super().packed_shape(shape)
        return (groups, panels, prod(shape[2:]) * whole_groups(shape[1], self.group), nr)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        outputs, inputs, *kernel = weight.shape
        grouped = weight.reshape(self.groups, outputs // self.groups, inputs, prod(kernel))
        return _to_grouped_panels(grouped.transpose(0, 3, 2, 1), self.nr, self.group, out)

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        outputs, inputs, *kernel = shape
        plain = _from_grouped_panels(packed, prod(kernel), inputs, outputs // self.groups, self.group)
        return np.ascontiguousarray(plain.transpose(0, 3, 2, 1)).reshape(shape)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        steps = MovementChain(value)
        outputs, inputs, *kernel = steps.shape
        steps.reshape((self.groups, outputs // self.groups, inputs, prod(kernel)))
        steps.transpose((0, 3, 2, 1))
        return _to_grouped_panels_by_ops(steps, self.nr, self.group)


@dataclass(frozen=True)
class Bf16ConvPacking(ByteConvPacking):
    """The same for bf16, in pairs."""

    kind = "bf16_conv_panels"
    group: ClassVar[int] = PAIR


def whole_groups(depth: int, group: int = GROUP) -> int:
    """The number of elements padded to whole groups."""
    return -(-depth // group) * group


def _to_grouped_panels(columns: Array, nr: int, group: int, out: Array | None = None) -> Array:
    """[..., runs, K, N] -> [..., ceil(N / nr), runs * K padded to groups, nr]"""
    *first, runs, depth, count = columns.shape
    rows, panels = whole_groups(depth, group), -(-count // nr)
    plain = np.zeros((*first, runs, rows, panels * nr), columns.dtype)
    plain[..., :depth, :count] = columns
    cut = plain.reshape(*first, runs, rows // group, group, panels, nr)
    rank = len(first)
    laid = cut.transpose(*range(rank), rank + 3, rank, rank + 1, rank + 4, rank + 2)
    packed = np.empty((*first, panels, runs * rows, nr), columns.dtype) if out is None else out
    packed.reshape(laid.shape)[...] = laid
    return packed


def _from_grouped_panels(packed: Array, runs: int, depth: int, count: int, group: int) -> Array:
    """[..., ceil(N / nr), runs * K padded to groups, nr] -> [..., runs, K, N]"""
    *first, panels, rows, nr = packed.shape
    laid = packed.reshape(*first, panels, runs, rows // runs // group, nr, group)
    rank = len(first)
    cut = laid.transpose(*range(rank), rank + 1, rank + 2, rank + 4, rank, rank + 3)
    return cut.reshape(*first, runs, rows // runs, panels * nr)[..., :depth, :count]


def _columns_of_pairs(packed: Array, group: int) -> Array:
    """[..., panels, K, nr] -> a view [..., panels, K / group, nr, group]"""
    *first, rows, nr = packed.shape
    return packed.reshape(*first, rows // group, nr, group)


def _to_grouped_panels_by_ops(steps: MovementChain, nr: int, group: int) -> list[Operation]:
    """[..., runs, K, N] -> [..., ceil(N / nr), runs * K padded to groups, nr]"""
    *first, runs, depth, count = steps.shape
    rows, panels, rank = whole_groups(depth, group), -(-count // nr), len(first)
    steps.pad_last(panels * nr - count)
    steps.transpose((*range(rank + 1), rank + 2, rank + 1))
    steps.pad_last(rows - depth)
    steps.reshape((*first, runs, panels, nr, rows // group, group))
    steps.transpose((*range(rank), rank + 1, rank, rank + 3, rank + 2, rank + 4))
    steps.reshape((*first, panels, runs * rows, nr))
    return steps.ops
