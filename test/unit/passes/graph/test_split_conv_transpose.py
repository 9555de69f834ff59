"""Transposed convolutions as convolutions: one for each phase of the strides, whatever kernel, pads and sizes."""

from __future__ import annotations

import numpy as np
import pytest
from graph_modules import Graph, same_after
from import_cases import imported, onnxruntime, reference
from models.build import ModelBuilder
from xdsl.dialects.builtin import i32

import mini_infer as mi
from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp
from mini_infer.dialects.graph.ops.elementwise import MulOp
from mini_infer.dialects.graph.ops.quantization import DequantizeOp
from mini_infer.dialects.graph.ops.unary import TanhOp
from mini_infer.dialects.graph.values import element_type_of_value
from mini_infer.lowering.pipelines import GRAPH, parse_passes, run_passes
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


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize(("kernel", "filters"), [((2, 2), 3), ((3, 4), 20)])
def test_a_dequantised_weight_stays_so(kernel: Sizes, filters: int, groups: int, single: bool) -> None:
    g = Graph((1, 4, 5, 6))
    numbers = RANDOM.integers(-127, 128, (4, filters, *kernel)).astype(np.int8)
    scales = np.array(0.25) if single else RANDOM.standard_normal((1, filters, 1, 1))
    zeros = np.array(3, np.int8) if single else RANDOM.integers(-5, 5, (1, filters, 1, 1)).astype(np.int8)
    biases = RANDOM.integers(-999, 999, filters * groups).astype(np.int32)
    weight = g(DequantizeOp, numbers, scales, zeros)
    bias = g(DequantizeOp, biases, RANDOM.standard_normal(filters * groups))
    x = g(ConvTransposeOp, g.inputs[0], weight, bias, strides=(2, 2), groups=groups)
    left = same_after(g, "split-quantized-transpose,cse,dce", x)
    assert not left["conv_transpose"] and left["conv"]


@pytest.mark.parametrize("per_channel", [True, False])
def test_quantised_ones_are_products_of_integers(per_channel: bool) -> None:
    """As ONNX Runtime, up to a step of the result, where rounding in between differs."""
    b = ModelBuilder("g")
    scales = (2.0 ** -np.arange(5, 11) if per_channel else np.array(2.0**-6)).astype(np.float32)
    given = b.constant(scales), b.constant(np.zeros(scales.shape, np.int8))
    weight = b.node(
        "DequantizeLinear",
        b.constant(RANDOM.integers(-127, 128, (8, 6, 3, 3)).astype(np.int8)),
        *given,
        **({"axis": 1} if per_channel else {}),
    )
    bias = b.node(
        "DequantizeLinear",
        b.constant(RANDOM.integers(-999, 999, 6).astype(np.int32)),
        b.constant((scales * np.float32(0.125)).astype(np.float32)),
        **({"axis": 0} if per_channel else {}),
    )

    def rounded(value: str, scale: float, zero: int) -> str:
        parameters = b.constant(np.array(scale, np.float32)), b.constant(np.array(zero, np.uint8))
        return b.node("DequantizeLinear", b.node("QuantizeLinear", value, *parameters), *parameters)

    x = rounded(b.input("x", [1, 8, 5, 6]), 0.125, 120)
    y = b.node("ConvTranspose", x, weight, bias, strides=[2, 2], pads=[1, 1, 1, 1])
    model = b.model([rounded(y, 0.25, 100)])
    values = {"x": RANDOM.standard_normal((1, 8, 5, 6)).astype(np.float32) * 4}
    found = mi.compile(model)(values["x"])
    for (expected,) in (reference(model, values), onnxruntime(model, values)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=0.2501)
        assert np.mean(found != expected) < 0.02
    module, ctx = imported(model)
    run_passes(ctx, module, parse_passes(GRAPH))
    convolutions = [op for op in module.walk() if isinstance(op, ConvOp)]
    assert convolutions and all(element_type_of_value(op.result) == i32 for op in convolutions)


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
