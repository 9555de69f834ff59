"""DFT and STFT as matrix products with tables of sines and cosines, in f64, and mel weights.

A transform of length a * b is computed from transforms of length a and b with twiddle factors between them (Cooley and
Tukey), so that n elements take n times the sum of n's factors operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import AddOp, DivOp, MulOp, SubOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import ConcatOp, PadOp, TransposeOp
from ....dialects.graph.ops.unary import NegOp
from ....dialects.graph.values import Array, element_type_of_value, shape_of
from ....dialects.sizes.sizes import equal_shapes, pinned
from ..node import Handler, Node
from .movement import slice_axis

_DIRECT = 64  # transforms up to this length are one product; a longer one's table would be read from memory


@dataclass(frozen=True)
class _Complex:
    """Complex numbers as a real and an imaginary part (None: all zeros) in f64; the transform's axis is last."""

    node: Node
    real: SSAValue
    imaginary: SSAValue | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of each part."""
        return shape_of(self.real)

    def reshaped(self, shape: tuple[int, ...]) -> _Complex:
        """The same numbers in another shape."""
        imaginary = None if self.imaginary is None else self.node.reshape(self.imaginary, shape)
        return _Complex(self.node, self.node.reshape(self.real, shape), imaginary)

    def transposed(self, permutation: list[int]) -> _Complex:
        """The same numbers with their axes in another order."""
        if permutation == sorted(permutation):
            return self
        real, *rest = (self.node.emit(TransposeOp(part, permutation)) for part in self._parts)
        return _Complex(self.node, real, rest[0] if rest else None)

    def fitted(self, length: int) -> _Complex:
        """Cropped or zero-padded to `length` along the last axis."""
        real, *rest = (_fitted(self.node, part, length) for part in self._parts)
        return _Complex(self.node, real, rest[0] if rest else None)

    @property
    def _parts(self) -> list[SSAValue]:
        return [self.real] if self.imaginary is None else [self.real, self.imaginary]

    def times(self, angles: Array, kind: type[MulOp] | type[MatmulOp], *, left: bool = False) -> _Complex:
        """The products with exp(i angle), elementwise or with a matrix of them (`left`: as the left operand)."""
        node = self.node
        node.reserve(2 * angles.size)
        cosines, sines = node.array(np.cos(angles)), node.array(np.sin(angles))

        def product(x: SSAValue, table: SSAValue) -> SSAValue:
            op: GraphOp = kind(table, x) if left else kind(x, table)
            return node.emit(op)

        real, imaginary = product(self.real, cosines), product(self.real, sines)
        if self.imaginary is not None:
            real = node.emit(SubOp(real, product(self.imaginary, sines)))
            imaginary = node.emit(AddOp(imaginary, product(self.imaginary, cosines)))
        return _Complex(node, real, imaginary)


def _fitted(node: Node, x: SSAValue, length: int) -> SSAValue:
    *outer, size = shape_of(x)
    if length <= size:
        return slice_axis(node, x, len(outer), 0, length)
    return node.emit(PadOp(x, [0] * (len(outer) + 1), [*[0] * len(outer), length - size]))


def _angles(rows: int, columns: int, length: int, sign: int) -> Array:
    """sign * 2 pi * row * column / length, reduced modulo whole turns."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % length
    return sign * 2 * np.pi * turns / length


def _transform(z: _Complex, sign: int) -> _Complex:
    """The sums over j of z[j] exp(sign 2 pi i j k / n), for each k, along the last axis.

    For n = a * b, j = b * j1 + j2 and k = k1 + a * k2: over j1 for each j2 and k1, then over j2.
    """
    *outer, n = z.shape
    if not outer:  # the products are of matrices
        return _transform(z.reshaped((1, n)), sign).reshaped((n,))
    a = max((size for size in range(2, _DIRECT + 1) if n % size == 0), default=n)
    if n <= _DIRECT or a == n:
        return z.times(_angles(n, n, n, sign), MatmulOp)
    b, rank = n // a, len(outer)
    z = z.reshaped((*outer, a, b)).times(_angles(a, a, a, sign), MatmulOp, left=True)
    z = _transform(z.times(_angles(a, b, n, sign), MulOp), sign)
    return z.transposed([*range(rank), rank + 1, rank]).reshaped((*outer, n))


def _parts(node: Node, x: SSAValue) -> _Complex:
    """The numbers whose real and imaginary parts lie along the last axis."""
    *shape, count = shape_of(x)
    if count not in (1, 2):
        raise node.invalid(f"the last dimension holds 1 or 2 parts of numbers, not {count}")
    wide = node.cast(x, f64)
    parts = [node.reshape(slice_axis(node, wide, len(shape), at, at + 1), shape) for at in range(count)]
    return _Complex(node, parts[0], parts[1] if count == 2 else None)


def _together(z: _Complex) -> SSAValue:
    """Real and imaginary parts, stacked along a last axis."""
    assert z.imaginary is not None
    both = z.reshaped((*z.shape, 1))
    assert both.imaginary is not None
    return z.node.emit(ConcatOp([both.real, both.imaginary], len(z.shape)))


def _whole_spectrum(z: _Complex, length: int) -> _Complex:
    """The full spectrum of a real signal from its first half, by conjugate symmetry."""
    half = length // 2 + 1
    z = z.fitted(half)
    node, axis = z.node, len(z.shape) - 1
    mirrored = node.array(np.arange(length - half, 0, -1, dtype=np.int64))
    imaginary = node.emit(MulOp(z.real, node.scalar(0, f64))) if z.imaginary is None else z.imaginary
    real, tail = (node.emit(GatherOp(part, mirrored, axis)) for part in (z.real, imaginary))
    return _Complex(
        node,
        node.emit(ConcatOp([z.real, real], axis)),
        node.emit(ConcatOp([imaginary, node.emit(NegOp(tail))], axis)),
    )


def _dft(node: Node) -> SSAValue:
    x = node.operand(0)
    rank, inverse, onesided = len(shape_of(x)), node.flag("inverse"), node.flag("onesided")
    axis = node.axis(1, rank) if node.opset < 20 else node.normal_axis(int(node.scalar_operand(2, -2)), rank)
    if axis == rank - 1:
        raise node.invalid("the last dimension holds the parts of numbers, and can't be transformed")
    size = pinned(shape_of(x)[axis])  # the tables are made for it
    length = int(node.scalar_operand(1, 2 * (size - 1) if inverse and onesided else size))
    if length < 1:
        raise node.invalid(f"there is no transform of {length} elements")
    back = [at for at in range(rank - 1) if at != axis]
    z = _parts(node, x).transposed([*back, axis])
    z = _whole_spectrum(z, length) if inverse and onesided else z.fitted(length)
    z = _transform(z, 1 if inverse else -1)
    if onesided and not inverse:
        z = z.fitted(length // 2 + 1)
    z = z.transposed([*range(axis), rank - 2, *range(axis, rank - 2)])
    result = node.reshape(z.real, (*z.shape, 1)) if inverse and onesided else _together(z)
    if inverse:
        result = node.emit(DivOp(result, node.scalar(length, f64)))
    return node.cast(result, element_type_of_value(x))


def _stft(node: Node) -> SSAValue:
    """The transforms of frames of the signal, `frame_step` apart, each multiplied by the window."""
    x, window = node.operand(0), node.optional(2)
    if len(shape_of(x)) != 3:
        raise node.invalid(f"the signal has a batch, a length and the parts of numbers, got {list(shape_of(x))}")
    size, step = pinned(shape_of(x)[1]), int(node.scalar_operand(1, 0))
    length = int(node.scalar_operand(3, size if window is None else pinned(shape_of(window)[0])))
    if step < 1 or not 1 <= length <= size:
        raise node.invalid(f"there are no frames of {length} elements, {step} apart, in {size}")
    if window is not None and not equal_shapes(shape_of(window), (length,)):
        raise node.invalid(f"a window of shape {list(shape_of(window))} for frames of {length} elements")
    frames = 1 + (size - length) // step
    node.reserve(frames * length)
    places = node.array(step * np.arange(frames)[:, None] + np.arange(length))
    z = _parts(node, node.emit(GatherOp(x, places, 1)))
    if window is not None:
        weights = node.cast(window, f64)
        parts = [None if part is None else node.emit(MulOp(part, weights)) for part in (z.real, z.imaginary)]
        assert parts[0] is not None
        z = _Complex(node, parts[0], parts[1])
    z = _transform(z, -1)
    if node.flag("onesided", True):
        z = z.fitted(length // 2 + 1)
    return node.cast(_together(z), element_type_of_value(x))


def _mel_weights(node: Node) -> SSAValue:
    """Triangular filters over the bins of a spectrum, between evenly spaced points of the mel scale.

    mel(f) = 2595 log10(1 + f / 700); each triangle rises from one point to the next and falls to the one after; the
    points are rounded down to bins.
    """
    bands, length, rate = (int(node.scalar_operand(at, 0)) for at in range(3))
    low, high = (2595 * np.log10(1 + node.scalar_operand(at, 0) / 700) for at in (3, 4))
    if bands < 1 or length < 1 or rate < 1:
        raise node.invalid(f"there are no {bands} bands of a transform of length {length} at {rate} samples a second")
    bins = length // 2 + 1
    node.reserve(bins * bands)
    mel = low + np.arange(bands + 2) * (high - low) / (bands + 2)
    points = np.floor((length + 1) * 700 * (10 ** (mel / 2595) - 1) / rate)
    if not (points[0] >= 0 and points[-2] < bins):
        raise node.invalid("the bands reach beyond the spectrum")
    start, peak, end = (points[at : at + bands] for at in range(3))
    place = np.arange(bins)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = np.where((place >= start) & (place < peak), (place - start) / (peak - start), 0)
        falling = np.where((place > peak) & (place < end), (end - place) / (end - peak), 0)
    weights = rising + falling + (place == peak)
    return node.cast(node.array(weights), node.element_type("output_datatype", TensorProto.FLOAT))


HANDLERS: dict[str, Handler] = {"DFT": _dft, "STFT": _stft, "MelWeightMatrix": _mel_weights}
