"""Winograd's short convolutions F(m x m, 3 x 3), and the layout of their filters (Lavin and Gray, 2016).

A tile of m x m results of a 3x3 filter takes (m + 2)^2 products instead of 9 m^2:

    y = A^T [ (G g G^T) * (B^T d B) ] A        g: the filter, d: m + 2 by m + 2 pixels, *: elementwise

Each of the `coordinates` of a transformed filter is a matrix [Cin, Cout] of its own. All factors that are inexact in
few bits are in G, which is applied in float64 at compile time. The interpolation points determine the error: with 0,
+-5/8, +-3/2 for tiles of 4 it is 4 to 5 times less than with the usual 0, +-1, +-2, at equal cost, and within about
twice that of direct sums (Zen 5, 9 layers of VGG-16 and ResNet).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from ...errors import CompileError
from ..base import require
from ..values import Array, numpy_dtype
from .packings import Packing

FILTER = 3
"""Rows and columns of a filter."""
POINTS: dict[int, tuple[float, ...]] = {2: (0, 1, -1), 4: (0, 5 / 8, -5 / 8, 3 / 2, -3 / 2)}
"""Tile size -> interpolation points besides infinity: 0, and pairs of opposite numbers."""

MOST_PRODUCTS = 200_000
"""Multiplications of a product of filters and transform: for larger ones libraries start threads, which took eight
times as long as the product of one."""


def filter_transform(tile: int) -> Array:
    """The matrix G, [tile + 2, 3] in float64, for tiles of `tile` rows and columns."""
    points = POINTS[tile]
    rows = [[x**power / prod(x - y for y in points if y != x) for power in range(FILTER)] for x in points]
    return np.array([*rows, [0, 0, 1]], np.float64)


@dataclass(frozen=True)
class WinogradPacking(Packing):
    """[Cout, Cin, 3, 3] as [chunks, coordinates, panels, Cin, nr]: transformed filters, each chunk contiguous.

    A chunk is `panels` times `nr` output channels, zero-padded in the last one. `tile` is the number of rows and
    columns of results of a tile. With `half`, filters are transformed by rows alone, and have 3 columns instead of as
    many as a tile has coordinates: a half or three quarters of the bytes. With `widened`, filters of bf16 have
    transforms of f32.
    """

    kind = "winograd"

    nr: int
    tile: int
    panels: int
    half: bool = False
    widened: bool = False

    @property
    def coordinates(self) -> int:
        """The number of elements of a transformed filter."""
        side = self.tile + FILTER - 1
        return side * (FILTER if self.half else side)

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        require(tuple(shape[2:]) == (FILTER, FILTER), f"transformed filters are 3x3, not of shape {list(shape)}")
        require(self.tile in POINTS, f"tiles of {self.tile}; there are {' and '.join(map(str, POINTS))}")
        chunks = -(-shape[0] // (self.panels * self.nr))
        return (chunks, self.coordinates, self.panels, shape[1], self.nr)

    @override
    def packed_type(self, element: Attribute) -> Attribute:
        return f32 if self.widened else element

    @override
    def plain_type(self, packed: Attribute) -> Attribute:
        return bf16 if self.widened else packed

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        dtype = np.float32 if self.widened else weight.dtype
        packed = np.empty(self.packed_shape(weight.shape), dtype) if out is None else out
        inputs, wide = weight.shape[1], self.panels * self.nr
        both = self._transform()
        step = max(1, MOST_PRODUCTS // (both.size * wide))
        taps = np.zeros((FILTER * FILTER, step, wide))
        made = np.empty((self.coordinates, step, self.panels, self.nr))
        for start, chunk in zip(range(0, len(weight), wide), packed, strict=True):
            filters = weight[start : start + wide].reshape(-1, inputs, FILTER * FILTER)
            taps[..., len(filters) :] = 0
            for first in range(0, inputs, step):
                some = filters[:, first : first + step].transpose(2, 1, 0)
                taps[:, : some.shape[1], : len(filters)] = some
                np.matmul(both, taps.reshape(len(taps), -1), out=made.reshape(len(made), -1))
                chunk[:, :, first : first + step] = made[:, : some.shape[1]].swapaxes(1, 2)
        return packed

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        """The filter whose rounded transform this is, up to about the same rounding."""
        chunks, coordinates, panels, inputs, nr = packed.shape
        plain = packed.transpose(0, 2, 4, 3, 1).reshape(chunks * panels * nr, inputs, coordinates)[: shape[0]]
        taps = plain.astype(np.float64) @ np.linalg.pinv(self._transform()).T
        return taps.astype(numpy_dtype(bf16) if self.widened else packed.dtype).reshape(shape)

    def _transform(self) -> Array:
        """[coordinates, 9]"""
        g = filter_transform(self.tile)
        return np.kron(g, np.diag([g[0, 0], 1, g[-1, -1]]) if self.half else g)

    @override
    def ops(self, value: SSAValue) -> list[Operation]:
        """Raises CompileError: schedules ask for this packing for constant weights only."""
        raise CompileError("only constant filters can be transformed")

    @override
    def rows(self, shape: Sequence[int]) -> int:
        return self.panels * self.nr
