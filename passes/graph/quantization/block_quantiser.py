"""Quantisation of matrices by blocks: scales and zero points of least squared error, found by a small search.

Round-to-nearest takes the scale that just fits a block's largest magnitude. Here the block is also rounded by some
scales around it, under which a few numbers are clipped or less than the whole range is used. For the integers that each
of them gives, the scale of least squared error is sum(w q) / sum(q q), which leaves sum(w w) - sum(w q)^2 / sum(q q).
The best one of these is taken, and the block is rounded by it. Of normally distributed weights in blocks of 32, 4 bits
keep 8.1 % of relative error instead of 9.7 %, with zero points 7.7 % instead of 8.1 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....dialects.arguments import check_integer
from ....dialects.errors import ConfigError
from ....dialects.graph.narrow_types import packed, unpacked
from ....dialects.graph.values import Array

BITS = (2, 3, 4, 8)
_SIGNED = np.linspace(-0.9, 0.9, 7)  # beyond the largest magnitude, in steps
_UNSIGNED = np.linspace(-0.05, 0.4, 7)  # beyond the whole range, relative to the number of steps
_ROUNDED = 2**18  # elements that are rounded at a time: they fit the second-level cache


def check_block(name: str, value: int) -> None:
    """Raises ConfigError for a size that blocks can't have: as in ONNX Runtime, powers of two from 16 on."""
    check_integer(name, value, 16)
    if value & (value - 1):
        raise ConfigError(f"{name} is {value}; it must be a power of two")


@dataclass(frozen=True)
class BlockNumbers:
    """A matrix [rows, depth] in blocks: (numbers - zeros) * scales.

    Numbers are packed in `bytes` [rows, bytes], the first one lowest; the last block may extend beyond the depth.
    Scales are [rows, blocks], and zeros ui8 [rows, blocks], or None for the middle of the range.
    """

    bytes: Array
    scales: Array
    zeros: Array | None
    bits: int
    depth: int

    @property
    def numbers(self) -> Array:
        """The numbers, ui8 [rows, blocks, block]."""
        count = self.bytes.size * 8 // self.bits
        return unpacked(self.bytes.reshape(-1), self.bits, count).reshape(*self.scales.shape, -1)

    def dequantised(self) -> Array:
        """The matrix that the numbers stand for, in f32."""
        middles = 2 ** (self.bits - 1) if self.zeros is None else self.zeros[..., np.newaxis].astype(np.float32)
        wide = (self.numbers.astype(np.float32) - middles) * self.scales[..., np.newaxis].astype(np.float32)
        return wide.reshape(len(wide), -1)[:, : self.depth]


def quantised(
    matrix: Array, bits: int, block: int, *, symmetric: bool = True, scale_type: Any = np.float32
) -> BlockNumbers:
    """The numbers of `bits` bits for a matrix [rows, depth] of finite floats, in blocks of `block` along its rows."""
    rows, depth = matrix.shape
    blocks = -(-depth // block)
    bytes = np.empty((rows, blocks * block * bits // 8), np.uint8)
    scales = np.empty((rows, blocks), scale_type)
    zeros = None if symmetric else np.empty((rows, blocks), np.uint8)
    for part in _parts(rows, blocks * block):
        whole = np.zeros((len(matrix[part]), blocks * block), np.float32)
        whole[:, :depth] = matrix[part]
        power = int(np.frexp(np.abs(whole).max(initial=0))[1])  # by which squares neither overflow nor vanish
        cut = np.ldexp(whole, -power, out=whole).reshape(-1, blocks, block)
        scale, zero = _search_signed(cut, bits) if symmetric else _search_unsigned(cut, bits)
        scales[part] = np.ldexp(scale[..., 0], power)
        if zeros is not None:
            zeros[part] = zero[..., 0]
        inverse = _inverse(np.ldexp(scales[part].astype(np.float32), -power)[..., np.newaxis])
        numbers = (_rounded(cut, inverse, zero, bits) + zero).astype(np.uint8)
        bytes[part] = packed(numbers, bits).reshape(len(cut), -1)
    return BlockNumbers(bytes, scales, zeros, bits, depth)


def _parts(rows: int, row: int) -> Iterator[slice]:
    step = max(1, _ROUNDED // row)
    for first in range(0, rows, step):
        yield slice(first, min(first + step, rows))


def _inverse(scale: Array) -> Array:
    return np.divide(1, scale, out=np.zeros_like(scale), where=scale != 0)


def _rounded(x: Array, inverse: Array, zero: Array, bits: int) -> Array:
    """x in steps of the scale, within the range that the zero point leaves."""
    steps = x * inverse
    np.rint(steps, out=steps)
    return np.clip(steps, -zero, 2**bits - 1 - zero, out=steps)


class _Best:
    """The best scales and zero points so far."""

    def __init__(self, x: Array, bits: int) -> None:
        self._x, self._bits = x, bits
        shape = (*x.shape[:2], 1)
        self.scale, self.zero, self._gain = (np.zeros(shape, np.float32) for _ in range(3))

    def tried(self, inverse: Array, zero: Array) -> None:
        """Takes the scale of least squared error for x, rounded in steps of a scale, where it is better."""
        steps = _rounded(self._x, inverse, zero, self._bits)
        products = np.einsum("rbi,rbi->rb", self._x, steps)[..., np.newaxis]
        squares = np.einsum("rbi,rbi->rb", steps, steps)[..., np.newaxis]
        scale = np.divide(products, squares, out=np.zeros_like(products), where=squares > 0)
        gain = products * scale
        better = gain > self._gain
        for kept, new in ((self.scale, scale), (self.zero, zero), (self._gain, gain)):
            np.copyto(kept, new, where=better)


def _search_signed(x: Array, bits: int) -> tuple[Array, Array]:
    """Scales around the one that makes the largest magnitude the range's lower end, which is the farther one."""
    half = 2 ** (bits - 1)
    place = np.abs(x).argmax(-1, keepdims=True)
    inverse, zero = _inverse(np.take_along_axis(x, place, -1)), np.full((*x.shape[:2], 1), half, np.float32)
    best = _Best(x, bits)
    for beyond in _SIGNED:
        best.tried(inverse * np.float32(-half - beyond), zero)
    return best.scale, zero


def _search_unsigned(x: Array, bits: int) -> tuple[Array, Array]:
    """Scales around the one that spreads a block's range, 0 included, over all numbers; and their zero points."""
    steps = 2**bits - 1
    low, high = x.min(-1, keepdims=True, initial=0), x.max(-1, keepdims=True, initial=0)
    spread, middle = _inverse(high - low), (low + high) / 2
    best = _Best(x, bits)
    for beyond in _UNSIGNED:
        inverse = spread * np.float32(steps + beyond * 2**bits)
        best.tried(inverse, np.clip(np.rint(steps / 2 - middle * inverse), 0, steps))
    return best.scale, best.zero
