"""Layout of rounded weights that tensor cores read from shared memory as it lies: tiles of core matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from ...errors import CompileError
from ..base import require
from ..values import Array, numpy_dtype
from .packings import Packing, rounded_to_tf32

CHUNK = 16
"""Bytes of a column's neighbours along the depth, which lie side by side."""


@dataclass(frozen=True)
class CoreMatrixPacking(Packing):
    """[K, N] (`transposed`: [N, K]) or filters [Cout, Cin / g, kernel...] as [g, ceil(N / nr), depth / c, nr, c].

    Numbers are rounded to tf32, or to f16 (`half`) or bf16 (`brain`), of which c are 16 bytes, and padded with zeros to
    `depth` and to whole panels. So c * i depths of a panel of `nr` columns are one run of bytes for any i. The depth of
    filters is that of FilterPacking, channels last. `kept`: the weight has the elements of the packed one itself.
    `split`: behind the columns of each chunk are those of the rounding errors, rounded to tf32, too. `paired`: depths
    that lie four apart are neighbours, in the order 0, 4, 1, 5, ..., as ldmatrix reads f32 of the left operand.
    """

    kind = "core_matrices"

    nr: int
    depth: int
    groups: int = 1
    transposed: bool = False
    half: bool = False
    brain: bool = False
    kept: bool = False
    split: bool = False
    paired: bool = False

    @property
    def element(self) -> Attribute:
        """The element type of a packed weight."""
        return f16 if self.half else bf16 if self.brain else f32

    @property
    def chunk(self) -> int:
        """Neighbours along the depth that lie side by side."""
        return CHUNK // numpy_dtype(self.element).itemsize

    @override
    def packed_type(self, element: Attribute) -> Attribute:
        return self.element

    @override
    def plain_type(self, packed: Attribute) -> Attribute:
        return packed if self.kept else f32

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        require(len(shape) >= 2, f"core matrices hold matrices or filters, not shape {list(shape)}")
        require(shape[0] % self.groups == 0, f"{shape[0]} output channels in {self.groups} groups")
        columns, depth = shape[0] // self.groups, prod(shape[1:])
        if len(shape) == 2 and not self.transposed:
            columns, depth = depth, columns
        whole = self.depth >= depth and self.depth % self.chunk == 0
        require(whole, f"a depth of {depth} can't be padded to {self.depth} in chunks of {self.chunk}")
        held = 2 * self.nr if self.split else self.nr
        return (self.groups, -(-columns // self.nr), self.depth // self.chunk, held, self.chunk)

    def _columns(self, weight: Array) -> Array:
        """The weight as [g, N, K]."""
        if weight.ndim == 2:
            return (weight if self.transposed else weight.T)[None]
        filters = weight.reshape(self.groups, len(weight) // self.groups, weight.shape[1], -1)
        return filters.swapaxes(2, 3).reshape(*filters.shape[:2], -1)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        columns, dtype = self._columns(weight), numpy_dtype(self.element)
        shape = self.packed_shape(weight.shape)
        packed = np.empty(shape, dtype) if out is None else out
        with np.errstate(over="ignore", invalid="ignore"):  # beyond the largest number is infinity
            rounded = columns if self.half or self.brain else rounded_to_tf32(columns)
            packed[..., : self.nr, :] = self._tiles(rounded)
            if self.split:
                packed[..., self.nr :, :] = self._tiles(rounded_to_tf32(columns - rounded))
        return packed

    def _tiles(self, columns: Array) -> Array:
        """[g, N, K] as [g, panel, chunk, nr, c], filled up with zeros."""
        groups, count, depth = columns.shape
        panels = -(-count // self.nr)
        padded = np.zeros((groups, panels * self.nr, self.depth), numpy_dtype(self.element))
        padded[:, :count, :depth] = columns
        if self.paired:
            padded = padded.reshape(*padded.shape[:2], -1, 2, 4).swapaxes(-1, -2)
        return padded.reshape(groups, panels, self.nr, -1, self.chunk).swapaxes(2, 3)

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        """The rounded weight."""
        tiles = packed.astype(numpy_dtype(self.plain_type(self.element)))
        if self.split:
            tiles = tiles[..., : self.nr, :] + tiles[..., self.nr :, :]
        columns = tiles.swapaxes(2, 3)
        if self.paired:
            columns = columns.reshape(*columns.shape[:3], -1, 4, 2).swapaxes(-1, -2)
        columns = columns.reshape(self.groups, -1, self.depth)
        if len(shape) == 2:
            columns = columns[0, : shape[0 if self.transposed else 1], : shape[1 if self.transposed else 0]]
            return np.ascontiguousarray(columns if self.transposed else columns.T)
        outputs, inputs, *kernel = shape
        filters = columns[:, : outputs // self.groups, : prod(shape[1:])]
        return np.ascontiguousarray(filters.reshape(outputs, prod(kernel), inputs).swapaxes(1, 2)).reshape(shape)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        """Raises CompileError: schedules ask for this packing for constant weights only."""
        raise CompileError("only constant weights can be packed as core matrices")
