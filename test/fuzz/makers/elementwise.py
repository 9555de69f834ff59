"""Operators on single elements: of one value, of two that broadcast, of many; comparisons, integers, casts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from fuzz.growth import FLOATS, Growth, Maker, Misfit, Value, onnx_type

SMOOTH = (
    *("Abs", "Neg", "Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Softplus", "Softsign", "Sin", "Cos", "Sinh", "Cosh"),
    *("Asinh", "Selu", "HardSwish", "Mish", "Identity", "Tan"),
)
WITH_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "Elu": ("alpha",),
    "Celu": ("alpha",),
    "LeakyRelu": ("alpha",),
    "Selu": ("alpha", "gamma"),
    "HardSigmoid": ("alpha", "beta"),
    "Swish": ("alpha",),
}
STEPS = ("Floor", "Ceil", "Round", "Sign", "IsNaN", "IsInf", "ThresholdedRelu", "Shrink", "Hardmax")


def smooth(g: Growth) -> None:
    op = g.choose(SMOOTH)
    g.add(op, g.floats(), moves=op in ("Abs", "Neg", "Relu", "Identity"))


def with_numbers(g: Growth) -> None:
    op = g.choose(list(WITH_NUMBERS))
    given: dict[str, Any] = {name: g.integer(1, 8) / 4 for name in WITH_NUMBERS[op] if g.chance(0.6)}
    g.add(op, g.floats(), **given)


def positive(g: Growth) -> None:
    """Operators of positive operands only."""
    x = g.add("Abs", g.floats(), moves=True)
    x = g.add("Add", x, g.constant(np.array(0.5, x.array.dtype)))
    op = g.choose(["Sqrt", "Log", "Reciprocal", "Pow"])
    if op == "Pow":
        exponent = g.choose([0.5, 2.0, 3.0, -1.0, 1.5, 0.0, -0.5])
        g.add(op, x, g.operand(np.full(g.choose([(), (), 1, (1, 1)]), exponent, x.array.dtype)))
    else:
        g.add(op, x)


def steps(g: Growth) -> None:
    x = g.floats(exact=True)
    op = g.choose(STEPS)
    given: dict[str, Any] = {}
    if op == "ThresholdedRelu":
        given = {"alpha": g.choose([0.25, 1.0])}
    if op == "Shrink":
        given = {"lambd": g.choose([0.5, 1.0]), "bias": g.choose([0.0, 0.25])}
    if op == "IsInf":
        given = {"detect_negative": g.integer(0, 2)}
    if op == "Hardmax":
        axis = g.axis(x)
        given = {"axis": axis if g.opset >= 13 else x.rank - 1}  # as for softmax
    g.add(op, x, moves=op != "Shrink", **given)


def clip(g: Growth) -> None:
    x = g.pick(lambda value: value.array.dtype.kind in "fi" or value.is_float)
    low, high = -g.integer(0, 3), g.integer(0, 3)
    if g.takes("Clip", "min"):
        least, most = (g.operand(np.array(bound, x.array.dtype)) for bound in (low, high))
        g.add("Clip", x, least if g.chance(0.7) else None, most if g.chance(0.7) else None, moves=True)
    else:
        g.add("Clip", x, moves=True, min=float(low), max=float(high))


def other(g: Growth, x: Value) -> Value:
    """A value or a constant of the same type that broadcasts with x."""

    def fits(value: Value) -> bool:
        if value.array.dtype != x.array.dtype:
            return False
        pairs = zip(value.shape[::-1], x.shape[::-1], strict=False)
        return all(one == two or 1 in (one, two) for one, two in pairs)

    if g.chance(0.6):
        return g.pick(fits)
    return g.weight(g.broadcasting(x.shape), x.array.dtype)


def arithmetic(g: Growth) -> None:
    x = g.pick(lambda value: value.array.dtype.kind in "iu" or value.is_float) if g.chance(0.2) else g.floats()
    op = g.choose(["Add", "Add", "Sub", "Mul", "Max", "Min", "Mean", "Sum"])
    y = other(g, x)
    if g.chance(0.3):
        x, y = y, x
    more = [other(g, x)] if op in ("Max", "Min", "Mean", "Sum") and g.chance(0.3) else []
    g.add(op, x, y, *more, moves=op in ("Max", "Min"))


def divide(g: Growth) -> None:
    x = g.floats()
    divisor = g.weight(g.broadcasting(x.shape), x.array.dtype)
    bounded = g.add("Abs", divisor)
    g.add("Div", x, g.add("Add", bounded, g.constant(np.array(0.5, x.array.dtype))))


def prelu(g: Growth) -> None:
    x = g.floats()
    g.add("PRelu", x, g.weight(g.broadcasting(x.shape, leading=False), x.array.dtype))


def gelu(g: Growth) -> None:
    x = g.floats()
    if x.array.dtype == np.float64:
        raise Misfit  # of which onnx.reference gives half of the digits
    g.add("Gelu", x, approximate=g.choose(["none", "tanh"]))


def compare(g: Growth) -> None:
    x = g.pick(lambda value: value.exact)
    y = other(g, x)
    g.add(g.choose(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]), x, y)


def logic(g: Growth) -> None:
    x = g.pick(lambda value: value.array.dtype == np.bool_)
    op = g.choose(["And", "Or", "Xor", "Not"])
    g.add(op, x) if op == "Not" else g.add(op, x, other(g, x))


def where(g: Growth) -> None:
    x = g.floats()
    if g.chance(0.5):
        condition = g.pick(lambda value: value.array.dtype == np.bool_)
    else:
        condition = g.weight(g.broadcasting(x.shape), np.bool_)
    operands = [x, other(g, x)]
    g.add("Where", condition, *(operands if g.chance(0.5) else operands[::-1]), moves=True)


def integers(g: Growth) -> None:
    x = g.pick(lambda value: value.array.dtype.kind in "iu")
    op = g.choose(["Mod", "Div", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift", "Abs", "Neg"])
    match op:
        case "BitwiseNot" | "Abs" | "Neg":
            g.add(op, x)
        case "Mod" | "Div":
            positive = g.integer(1, 7)
            # Integer division rounds differently for negative numbers in different implementations.
            if op == "Div" and x.array.min(initial=0) < 0:
                raise Misfit
            g.add(op, x, g.operand(np.full(g.broadcasting(x.shape), positive, x.array.dtype)))
        case "BitShift":
            g.add(
                op,
                x,
                g.operand(np.full(g.broadcasting(x.shape), g.integer(0, 4), x.array.dtype)),
                direction=g.choose(["LEFT", "RIGHT"]),
            )
        case _:
            g.add(op, x, other(g, x))


def fmod(g: Growth) -> None:
    x = g.floats(exact=True)
    g.add("Mod", x, g.constant(np.array(g.choose([0.5, 1.5, -2.0]), x.array.dtype)), moves=True, fmod=1)


def cast(g: Growth) -> None:
    x = g.pick()
    to = g.choose([*FLOATS[:3], np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.bool_)])
    if x.is_float and to.kind in "u" and x.array.min(initial=0) < 0:
        raise Misfit
    # float64 becomes float64 again in the exact graph, which widens every float.
    g.add("Cast", x, moves=to.itemsize >= x.array.itemsize, to=onnx_type(to))


MAKERS: Mapping[Maker, int] = {
    smooth: 6,
    with_numbers: 2,
    positive: 2,
    steps: 2,
    clip: 2,
    arithmetic: 9,
    divide: 2,
    prelu: 1,
    gelu: 1,
    compare: 2,
    logic: 2,
    where: 3,
    integers: 2,
    fmod: 1,
    cast: 2,
}
