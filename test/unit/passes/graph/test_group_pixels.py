"""Convolutions with few filters that make several pixels at a time."""

from __future__ import annotations

import numpy as np
import pytest
from graph_modules import Graph, same_after
from models.build import ModelBuilder

import mini_infer as mi
from mini_infer.dialects.graph.ops.contraction import ConvOp
from mini_infer.dialects.graph.ops.elementwise import MulOp
from mini_infer.dialects.graph.ops.unary import TanhOp
from mini_infer.dialects.kernel.targets import CpuAttr
from mini_infer.passes.graph.group_pixels import pixels_together

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("filters", [1, 3])
@pytest.mark.parametrize(
    ("width", "kernel", "stride", "pads"),
    [(9, 3, 1, (1, 1)), (16, 5, 1, (4, 0)), (13, 4, 2, (0, 3)), (4, 4, 1, (0, 0)), (5, 3, 1, (0, 1))],
)
def test_the_meaning_stays(width: int, kernel: int, stride: int, pads: tuple[int, int], filters: int) -> None:
    g = Graph((2, 4, 5, width))
    g.module.attributes["kernel.target"] = CpuAttr.of(vector_bits=512)
    weight, bias = RANDOM.standard_normal((filters, 4, 3, kernel)), RANDOM.standard_normal(filters)
    x = g(ConvOp, g.inputs[0], weight, bias, strides=(2, stride), pads=(1, pads[0], 0, pads[1]))
    same_after(g, "group-pixels", g(TanhOp, g(MulOp, x, RANDOM.standard_normal((filters, 1, 1)))))
    pixels = (width + sum(pads) - kernel) // stride + 1
    assert g.only(ConvOp).window.strides[-1] == stride * pixels_together(filters, kernel, stride, pixels, 8)


@pytest.mark.parametrize(
    ("filters", "kernel", "pixels", "together"),
    [(3, 9, 224, 5), (3, 3, 224, 5), (1, 1, 224, 1), (12, 9, 224, 1), (1, 3, 1, 1)],
)
def test_pixels_together(filters: int, kernel: int, pixels: int, together: int) -> None:
    assert pixels_together(filters, kernel, 1, pixels, 16) == together


def test_any_batch_and_width() -> None:
    b = ModelBuilder("g")
    x = b.node("Conv", b.input("x", ["batch", 8, 5, "width"]), b.weight(3, 8, 3, 3), b.weight(3), pads=[1] * 4)
    model = b.model([b.node("Sigmoid", x)]).SerializeToString()
    engine = mi.compile(model, profile=mi.OptimizationProfile(dims={"batch": (1, 1, 3), "width": (1, 24, 30)}))
    for batch, width in ((1, 24), (3, 30), (2, 1)):
        given = RANDOM.standard_normal((batch, 8, 5, width)).astype(np.float32)
        alone = mi.compile(model, dims={"batch": batch, "width": width}, enable_graph_optimization=False)
        np.testing.assert_allclose(engine(given), alone(given), rtol=0, atol=1e-5)
