"""Transposed convolutions as convolutions: one for each phase of the strides, whatever kernel, pads and sizes."""

from __future__ import annotations

import numpy as np
import pytest
from graph_modules import Graph, same_after
from models.build import ModelBuilder

import mini_infer as mi
from mini_infer.dialects.graph.ops.contraction import ConvTransposeOp
from mini_infer.dialects.graph.ops.elementwise import MulOp
from mini_infer.dialects.graph.ops.unary import TanhOp
from mini_infer.passes.geometry.phases import phases_apart, phases_side_by_side

RANDOM = np.random.default_rng(0)
Sizes = tuple[int, ...]


# Kernel, strides, pads, output padding, dilations.
@pytest.mark.parametrize("filters", [1, 3, 20])
@pytest.mark.parametrize(
    ("kernel", "strides", "pads", "extra", "dilations"),
    [
        ((4, 4), (2, 2), (1, 1, 1, 1), (0, 0), (1, 1)),
        ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1), (1, 1)),
        ((3, 2), (2, 2), (0, 2, 1, 0), (0, 1), (1, 1)),
        ((5, 4), (3, 4), (4, 0, 3, 2), (2, 0), (1, 1)),
        ((3, 3), (2, 1), (2, 0, 0, 3), (0, 0), (3, 2)),
        ((2, 1), (2, 1), (2, 0, 1, 0), (0, 0), (1, 1)),
        ((6,), (3,), (1, 0), (2,), (1,)),
        ((16,), (8,), (4, 4), (0,), (1,)),
        ((2, 3, 4), (1, 2, 2), (0, 1, 1, 1, 0, 2), (0, 1, 0), (1, 1, 1)),
    ],
)
def test_the_meaning_stays(
    kernel: Sizes, strides: Sizes, pads: Sizes, extra: Sizes, dilations: Sizes, filters: int
) -> None:
    sizes = (5, 4, 3)[: len(kernel)]
    g = Graph((2, 4, *sizes))
    given = {"strides": strides, "pads": pads, "output_padding": extra, "dilations": dilations}
    weight, bias = RANDOM.standard_normal((4, filters, *kernel)), RANDOM.standard_normal(filters)
    x = g(ConvTransposeOp, g.inputs[0], weight, bias, **given)
    x = g(TanhOp, g(MulOp, x, RANDOM.standard_normal((filters, *[1] * len(kernel)))))
    left = same_after(g, "split-conv-transpose", x)
    assert not left["conv_transpose"] and left["conv"] == left["mul"] == left["tanh"]


@pytest.mark.parametrize("groups", [2, 4])
def test_groups_stay(groups: int) -> None:
    g = Graph((1, 4, 5, 6))
    weight = RANDOM.standard_normal((4, 8 // groups, 4, 3))
    x = g(ConvTransposeOp, g.inputs[0], weight, strides=(2, 2), pads=(1, 1, 1, 0), groups=groups)
    assert same_after(g, "split-conv-transpose", x)["conv"] == 4


def test_a_single_pixel_has_no_phases() -> None:
    g = Graph((2, 4, 1, 1))
    x = g(ConvTransposeOp, g.inputs[0], RANDOM.standard_normal((4, 3, 5, 5)), strides=(2, 2))
    assert same_after(g, "split-conv-transpose", x) == {"conv": 1, "reshape": 2, "transpose": 1}


def test_others_that_read_what_is_between_keep_it() -> None:
    g = Graph((1, 2, 3, 3))
    y = g(ConvTransposeOp, g.inputs[0], RANDOM.standard_normal((2, 20, 3, 3)), strides=(2, 2))
    z = g(MulOp, y, 2.0)
    assert same_after(g, "split-conv-transpose", y, z)["mul"] == 1


def test_too_many_phases_stay() -> None:
    g = Graph((1, 2, 3, 3))
    weight = RANDOM.standard_normal((2, 1, 11, 11))
    x = g(ConvTransposeOp, g.inputs[0], weight, strides=(5, 5))
    assert same_after(g, "split-conv-transpose", x) == {"conv_transpose": 1}


def test_phases() -> None:
    four = phases_apart(4, 2, 1, (1, 1), 0)
    assert four is not None
    assert [(phase.taps, phase.pads) for phase in four.phases] == [((3, 1), (1, 0)), ((2, 0), (0, 1))]
    assert phases_apart(1, 2, 1, (0, 0), 0) is None  # odd elements have no taps
    assert phases_side_by_side(3, 2, 1, (1, 1), 0) is None
    two = phases_side_by_side(4, 2, 1, (1, 1), 0)
    assert two is not None
    assert two.side_by_side and (two.phases[0].taps, two.phases[0].pads, two.start) == ((2, 0), (1, 1), 1)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("filters", [3, 16])
def test_any_batch_and_width(filters: int) -> None:
    b = ModelBuilder("g")
    weight = b.weight(8, filters, 4, 4)
    x = b.node("ConvTranspose", b.input("x", ["batch", 8, 5, "width"]), weight, strides=[2, 2], pads=[1, 1, 1, 1])
    model = b.model([b.node("Relu", x)]).SerializeToString()
    engine = mi.compile(model, profile=mi.OptimizationProfile(dims={"batch": (1, 1, 3), "width": (1, 6, 9)}))
    for batch, width in ((1, 6), (3, 9), (2, 1)):
        given = RANDOM.standard_normal((batch, 8, 5, width)).astype(np.float32)
        alone = mi.compile(model, dims={"batch": batch, "width": width}, enable_graph_optimization=False)
        np.testing.assert_allclose(engine(given), alone(given), rtol=0, atol=1e-4)
