"""Functions and types that networks seldom have: arcs, determinants, transforms, diagonals, narrow types."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from fuzz.growth import FLOATS, Growth, Maker, Misfit, Value, onnx_type
from onnx import TensorProto

FLOAT8 = (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ)
INT4 = (TensorProto.INT4, TensorProto.UINT4)


def arcs(g: Growth) -> None:
    x = g.floats()
    match g.choose(["Asin", "Acos", "Atan", "Acosh", "Atanh"]):
        case "Atan":
            g.add("Atan", x)
        case "Acosh":
            large = g.add("Add", g.add("Abs", x, moves=True), g.constant(np.array(1.5, x.array.dtype)))
            g.add("Acosh", large)
        case op:
            # Away from the ends, where the slope is without bounds.
            g.add(op, g.add("Mul", g.add("Tanh", x), g.constant(np.array(0.9, x.array.dtype))))


def narrow(g: Growth) -> None:
    """To a type of 8 or 4 bits, perhaps moved, and back."""
    if g.chance(0.6):
        x = g.floats(exact=True)
        if x.array.dtype == np.float64:
            raise Misfit  # of which onnx.reference rounds twice
        g.schema("Cast")
        to = g.choose(FLOAT8 if g.opset >= 19 else ())
        stored = g.add("Cast", x, moves=True, to=to, saturate=g.choose([None, 0, 1]))
    else:
        x = g.pick(lambda value: value.array.dtype.kind in "iu")
        stored = g.add("Cast", x, moves=True, to=g.choose(INT4 if g.opset >= 21 else ()))
    if g.chance(0.5):
        stored = g.add("Transpose", stored, moves=True, perm=[*g.random.permutation(x.rank).tolist()] or None)
    g.add("Cast", stored, moves=True, to=onnx_type(x.array.dtype))


def _square(g: Growth) -> Value:
    """Matrices with as many rows as columns."""
    if g.chance(0.5):
        size = g.integer(1, 7)
        return g.input([*g.shape(g.integer(0, 2)), size, size])
    return g.pick(lambda value: value.array.dtype in FLOATS and value.rank > 1 and value.shape[-1] == value.shape[-2])


def determinant(g: Growth) -> None:
    g.add("Det", _square(g))


def diagonal(g: Growth) -> None:
    x = _square(g)
    batch = "abc"[: x.rank - 2]
    g.add("Einsum", x, equation=g.choose([f"{batch}ii->{batch}i", f"{batch}ii->{batch}", f"{batch}ii->i{batch}"]))


def transform(g: Growth) -> None:
    if g.opset < 17:
        raise Misfit
    x = g.floats(least=1)
    axis = g.axis(x)
    parts = g.add("Unsqueeze", x, g.constant([x.rank]), moves=True)
    onesided = g.integer(0, 2)
    if g.opset >= 20:
        g.add("DFT", parts, None, g.constant(np.array(axis)), onesided=onesided)
    else:
        g.add("DFT", parts, axis=axis, onesided=onesided)


MAKERS: Mapping[Maker, int] = {arcs: 2, narrow: 1, determinant: 1, diagonal: 1, transform: 1}
