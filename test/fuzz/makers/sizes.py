"""What exporters compute of shapes: targets of reshapes, ranges, masks and bounds of slices, for any size."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from fuzz.growth import Growth, Maker, Misfit, Value, onnx_type


def _size(g: Growth, x: Value, axis: int) -> Value:
    """One size, as a list of one number."""
    return g.add("Gather", g.add("Shape", x, moves=True), g.constant([axis]), moves=True)


def _number(g: Growth, x: Value, axis: int) -> Value:
    """One size, as a number."""
    return g.add("Gather", g.add("Shape", x, moves=True), g.constant(np.array(axis)), moves=True)


def merged(g: Growth) -> None:
    """Two dimensions as one, by their sizes."""
    x = g.pick(lambda value: value.rank > 1 and value.array.size > 0)
    at = g.integer(0, x.rank - 1)
    sizes = [_size(g, x, axis) for axis in range(x.rank)]
    merged = g.constant([-1]) if g.chance(0.5) else g.add("Mul", sizes[at], sizes[at + 1])
    g.add("Reshape", x, g.add("Concat", *sizes[:at], merged, *sizes[at + 2 :], axis=0, moves=True), moves=True)


def split(g: Growth) -> None:
    """One dimension as two, the rest as it is."""
    x = g.pick(lambda value: any(size % 2 == 0 and size for size in value.shape))
    at: int = g.choose([axis for axis, size in enumerate(x.shape) if size % 2 == 0 and size])
    sizes = [_size(g, x, axis) for axis in range(x.rank)]
    two = g.constant([2])
    halves = [two, g.add("Div", sizes[at], two)] if g.chance(0.5) else [g.constant([-1]), two]
    g.add("Reshape", x, g.add("Concat", *sizes[:at], *halves, *sizes[at + 1 :], axis=0, moves=True), moves=True)


def kept(g: Growth) -> None:
    """A reshape that copies dimensions by zeros."""
    x = g.pick(lambda value: value.rank > 1 and value.array.size > 0)
    at = g.integer(0, x.rank)
    g.add("Reshape", x, g.constant([*[0] * at, -1]), moves=True)


def numbered(g: Growth) -> None:
    """The numbers from 0 on, along a dimension, added."""
    x = g.floats(least=1)
    zero, one = g.constant(np.array(0)), g.constant(np.array(1))
    positions = g.add("Range", zero, _number(g, x, x.rank - 1), one, moves=True)
    g.add("Add", x, g.add("Cast", positions, to=onnx_type(x.array.dtype), moves=True))


def masked(g: Growth) -> None:
    """A triangle of ones as large as the last two dimensions."""
    x = g.floats(least=2)
    sizes = g.add("Concat", _size(g, x, x.rank - 2), _size(g, x, x.rank - 1), axis=0, moves=True)
    zeros = g.add("Expand", g.constant(np.ones((1, 1), x.array.dtype)), sizes, moves=True)
    g.add("Mul", x, g.add("Trilu", zeros, upper=g.integer(0, 2), moves=True))


def expanded(g: Growth) -> None:
    """As large as another value."""
    x = g.pick(lambda value: value.rank > 0)
    row = g.weight([*x.shape[:-1], 1] if g.chance(0.5) else x.shape[-1:], x.array.dtype)
    g.add("Expand", row, g.add("Shape", x, moves=True), moves=True)


def halved(g: Growth) -> None:
    """The first or the last half of a dimension."""
    x = g.pick(lambda value: value.rank > 0 and max(value.shape) > 1)
    axis: int = g.choose([axis for axis, size in enumerate(x.shape) if size > 1])
    half = g.add("Div", _size(g, x, axis), g.constant([2]))
    last = g.chance(0.5)
    bounds = [half, g.constant([2**31])] if last else [g.constant([0]), half]
    if not g.takes("Slice", "starts"):
        raise Misfit
    g.add("Slice", x, *bounds, g.constant([axis]), moves=True)


def padded(g: Growth) -> None:
    """Filled up to a multiple of 4."""
    x = g.pick(lambda value: value.rank > 0 and value.array.size > 0)
    size = _size(g, x, x.rank - 1)
    if not g.takes("Pad", "pads"):
        raise Misfit
    rest = g.add("Mod", g.add("Sub", g.constant([0]), size), g.constant([4]))
    g.add("Pad", x, g.add("Concat", g.constant([0] * (2 * x.rank - 1)), rest, axis=0, moves=True), moves=True)


def counted(g: Growth) -> None:
    """A mean by the number of elements."""
    x = g.floats(least=1)
    if not x.array.size:
        raise Misfit
    count = g.add("Cast", g.add("Size", x, moves=True), to=onnx_type(x.array.dtype), moves=True)
    g.add("Div", x, count)


MAKERS: Mapping[Maker, int] = dict.fromkeys(
    (merged, split, kept, numbered, masked, expanded, halved, padded, counted), 1
)
