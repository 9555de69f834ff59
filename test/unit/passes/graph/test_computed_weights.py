"""Filters and recurrent weights that are inputs, or computed from some, are packed when the model runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from import_cases import reference
from models.build import ModelBuilder, example_inputs
from onnx import ModelProto

import mini_infer as mi

Shape = list[int]


def conv(
    x: list[int], w: list[int], *, computed: bool = True, dtype: Any = np.float32, **attributes: Any
) -> ModelProto:
    """relu(conv(x, tanh(v), b)) or conv(x, w)"""
    b = ModelBuilder("conv")
    picture, weight = b.input("x", x, dtype), b.input("w", w, dtype)
    if not computed:
        return b.model([b.node("Conv", picture, weight, **attributes)], [dtype])
    bias = b.input("b", w[:1], dtype)
    result = b.node("Relu", b.node("Conv", picture, b.node("Tanh", weight), bias, **attributes))
    return b.model([result], [dtype])


def read_twice(kind: str) -> ModelProto:
    """A filter that is the picture as well, one that is added to the result, one that is both, one of two filters."""
    b = ModelBuilder("twice")
    x, w = b.input("x", [3, 3, 3, 3]), b.input("w", [3, 3, 3, 3])
    same = {"pads": [1, 1, 1, 1]}
    match kind:
        case "picture":
            return b.model([b.node("Conv", x, x, **same), b.node("Relu", w)])
        case "epilogue":
            return b.model([b.node("Add", b.node("Conv", x, w, **same), w)])
        case "both":
            return b.model([b.node("Mul", b.node("Conv", w, w, **same), b.node("Add", w, x))])
        case _:
            return b.model([b.node("Add", b.node("Conv", x, w, **same), b.node("Conv", w, w, strides=[2, 2]))])


def lstm(directions: int = 1, inputs: int = 3, one: bool = False) -> ModelProto:
    b = ModelBuilder("lstm")
    x, w = b.input("x", [4, 2, inputs]), b.input("w", [directions, 20, inputs])
    r = w if one else b.input("r", [directions, 20, 5])
    kind = "forward" if directions == 1 else "bidirectional"
    return b.model(b.nodes("LSTM", 3, x, w, r, hidden_size=5, direction=kind))


MODELS = {
    "filter": conv([1, 6, 9, 11], [20, 6, 3, 3], computed=False, pads=[1, 1, 1, 1]),
    "computed filter": conv([1, 6, 9, 11], [20, 6, 3, 3], pads=[1, 1, 1, 1]),
    "groups": conv([2, 8, 9], [12, 4, 3], group=2, strides=[2]),
    "depthwise": conv([2, 19, 9, 9], [19, 1, 3, 3], group=19),
    "pointwise": conv([1, 5, 7, 7], [16, 5, 1, 1]),
    "one column": conv([1, 5, 7, 7], [1, 5, 1, 1]),
    **{f"read twice: {kind}": read_twice(kind) for kind in ("picture", "epilogue", "both", "others")},
    "lstm": lstm(),
    "lstm both ways": lstm(2),
    "lstm of one weight": lstm(inputs=5, one=True),
}


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", MODELS)
def test_results(name: str) -> None:
    """Against ONNX's reference, on memory that is poisoned and guarded, where kernels are fused and where not."""
    model = MODELS[name]
    inputs = example_inputs(model)
    either: list[dict[str, Any]] = [{"check_memory": True}, {"enable_graph_optimization": False}]
    for options in either:
        engine = mi.compile(model, threads=2, **options)
        outputs = engine(inputs)
        for wanted, got in zip(reference(model, inputs), outputs.values(), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5 * max(1.0, np.abs(wanted).max(initial=0)))
        packed = [call.kernel for call in engine.plan.calls if call.kernel.startswith("pack_")]
        assert bool(packed) == ("lstm" in name or options == {"check_memory": True})


def test_double_precision() -> None:
    model = conv([1, 5, 7, 7], [9, 5, 3, 3], dtype=np.float64)
    inputs = example_inputs(model)
    engine = mi.compile(model, threads=1)
    (wanted,) = reference(model, inputs)
    np.testing.assert_allclose(engine(**inputs), wanted, rtol=1e-12, atol=1e-12)
    assert any(call.kernel.startswith("pack_conv_panels") for call in engine.plan.calls)


def test_a_weight_is_packed_once_for_all_that_want_it_so() -> None:
    b = ModelBuilder("shared")
    x, w = b.input("x", [1, 4, 8, 8]), b.input("w", [16, 4, 3, 3])
    model = b.model([b.node("Conv", x, w), b.node("Conv", b.node("Exp", x), w, strides=[2, 2])])
    engine = mi.compile(model, threads=1)
    assert [call.kernel for call in engine.plan.calls].count("pack_conv_panels_0") == 1
