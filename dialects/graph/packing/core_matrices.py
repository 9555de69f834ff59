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
    """

    kind = "core_matrices"

    nr: int
    depth: int
    groups: int = 1
    transposed: bool = False
    half: bool = False
    brain: bool = False
    kept: bool = False

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
        return (self.groups, -(-columns // self.nr), self.depth // self.chunk, self.nr, self.chunk)

    def _columns(self, weight: Array) -> Array:
        """The weight as [g, N, K]."""
        if weight.ndim == 2:
            return (weight if self.transposed else weight.T)[None]
        filters = weight.reshape(self.groups, len(weight) // self.groups, weight.shape[1], -1)
        return filters.swapaxes(2, 3).reshape(*filters.shape[:2], -1)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        columns, dtype = self._columns(weight), numpy_dtype(self.element)
        groups, panels, chunks, nr, chunk = shape = self.packed_shape(weight.shape)
        padded = np.zeros((groups, panels * nr, chunks * chunk), dtype)
        with np.errstate(over="ignore"):  # beyond the largest number is infinity
            padded[:, : columns.shape[1], : columns.shape[2]] = (
                columns if self.half or self.brain else rounded_to_tf32(columns)
            )
        packed = np.empty(shape, dtype) if out is None else out
        packed[...] = padded.reshape(groups, panels, nr, chunks, chunk).swapaxes(2, 3)
        return packed

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        """The rounded weight."""
        groups, panels, chunks, nr, chunk = packed.shape
        columns = (
            packed.astype(numpy_dtype(self.plain_type(self.element)))
            .swapaxes(2, 3)
            .reshape(groups, panels * nr, chunks * chunk)
        )
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
