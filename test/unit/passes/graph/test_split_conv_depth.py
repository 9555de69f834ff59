"""Convolutions of volumes as sums of those of pictures."""

from __future__ import annotations

import numpy as np
import pytest
from graph_modules import Graph, same_after
from models.build import ModelBuilder

import mini_infer as mi
from mini_infer.dialects.graph.ops.contraction import ConvOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.unary import ReluOp, TanhOp

RANDOM = np.random.default_rng(0)
Sizes = tuple[int, ...]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("kernel", "strides", "pads", "dilations"),
    [
        ((3, 3, 3), (1, 1, 1), (1, 1, 1, 1, 1, 1), (1, 1, 1)),
        ((3, 2, 1), (2, 1, 2), (0, 1, 0, 2, 0, 1), (1, 1, 1)),
        ((2, 3, 3), (1, 2, 1), (2, 0, 1, 0, 1, 1), (3, 1, 2)),
        ((1, 1, 1), (2, 2, 2), (0, 0, 0, 0, 0, 0), (1, 1, 1)),
    ],
)
def test_the_meaning_stays(kernel: Sizes, strides: Sizes, pads: Sizes, dilations: Sizes, groups: int) -> None:
    g = Graph((2, 4, 5, 6, 4))
    weight, bias = RANDOM.standard_normal((6, 4 // groups, *kernel)), RANDOM.standard_normal(6)
    x = g(ConvOp, g.inputs[0], weight, bias, strides=strides, pads=pads, dilations=dilations, groups=groups)
    left = same_after(g, "split-conv-depth", g(ReluOp, x))
    assert left["conv"] == kernel[0]


def test_four_dimensions_become_two() -> None:
    g = Graph((1, 2, 3, 4, 3, 4))
    x = g(ConvOp, g.inputs[0], RANDOM.standard_normal((1, 2, 2, 2, 2, 2)), pads=(1, 0, 0, 0, 0, 1, 0, 0))
    assert same_after(g, "split-conv-depth", x)["conv"] == 4


def test_what_is_done_to_elements_stays_with_the_pictures() -> None:
    g = Graph((2, 4, 3, 5, 5))
    weights = RANDOM.standard_normal((2, 4, 4, 3, 3, 3))
    x = g(ConvOp, g.inputs[0], weights[0], pads=[1] * 6)
    x = g(MulOp, g(TanhOp, x), RANDOM.standard_normal((4, 1, 1, 1)))
    x = g(AddOp, g(ConvOp, x, weights[1], pads=[1] * 6), g(MulOp, x, 0.5))
    same_after(g, "split-conv-depth", g(AddOp, x, g.inputs[0]))
    g.apply("cse,dce")
    # Once from the input to pictures, and once back at the end.
    assert g.ops()["transpose"] == 2


@pytest.mark.thinned(3)
@pytest.mark.parametrize("transposed", [False, True])
def test_any_batch(transposed: bool) -> None:
    b = ModelBuilder("g")
    x = b.node("Conv", b.input("x", ["batch", 4, 4, 6, 5]), b.weight(8, 4, 3, 3, 3), b.weight(8), pads=[1] * 6)
    if transposed:
        x = b.node("ConvTranspose", b.node("Relu", x), b.weight(8, 5, 2, 2, 2), strides=[2, 2, 2])
    model = b.model([b.node("MaxPool", x, kernel_shape=[2, 2, 2])]).SerializeToString()
    engine = mi.compile(model, profile=mi.OptimizationProfile(dims={"batch": (1, 1, 3)}))
    for batch in (1, 3):
        given = RANDOM.standard_normal((batch, 4, 4, 6, 5)).astype(np.float32)
        alone = mi.compile(model, dims={"batch": batch}, enable_graph_optimization=False)
        np.testing.assert_allclose(engine(given), alone(given), rtol=0, atol=1e-5)
