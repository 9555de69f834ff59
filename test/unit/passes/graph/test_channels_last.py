"""channels-last: what is between convolutions follows them, and transposes stand only at the borders."""

from __future__ import annotations

import numpy as np
import pytest
from graph_modules import Graph, same_after
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp, PreluOp
from mini_infer.dialects.graph.ops.movement import BroadcastToOp, ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.normalization import BatchNormOp, InstanceNormOp, LayerNormOp
from mini_infer.dialects.graph.ops.picture_regions import RoiAlignOp, RoiPoolOp
from mini_infer.dialects.graph.ops.reduction import ArgMaxOp, CumsumOp, ReduceMaxOp, ReduceMeanOp, SoftmaxOp
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.ops.sampling import SampleOp
from mini_infer.dialects.graph.ops.selection import TopKOp
from mini_infer.dialects.graph.ops.structure import ConstantOp, WeightOp
from mini_infer.dialects.graph.ops.unary import ReluOp, SigmoidOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, LrnOp, MaxPoolOp
from mini_infer.dialects.graph.values import shape_of
from mini_infer.dialects.kernel.targets import CpuAttr
from mini_infer.passes.statistics import pass_statistics

RANDOM = np.random.default_rng(11)
PASSES = "channels-last,canonicalize-graph,fold-constants,dce"


def conv(g: Graph, x: SSAValue, outputs: int, size: int = 1, **attributes: object) -> SSAValue:
    """A convolution with kernels of the same size everywhere."""
    inputs, *space = shape_of(x)[1:]
    return g(ConvOp, x, RANDOM.standard_normal((outputs, inputs, *[size] * len(space))), **attributes)


@pytest.mark.parametrize("space", [(9,), (7, 6), (4, 5, 6)], ids=["1-D", "2-D", "3-D"])
def test_only_the_borders_are_transposed(space: tuple[int, ...]) -> None:
    g = Graph((2, 3, *space))
    x = g(ReluOp, conv(g, g.inputs[0], 4, 3, pads=[1] * (2 * len(space))))
    x = g(AddOp, g(MaxPoolOp, x, [2] * len(space)), g(AvgPoolOp, x, [2] * len(space)))
    x = g(BatchNormOp, x, *RANDOM.standard_normal((3, 4)), np.ones(4))
    x = g(LrnOp, x, size=3)
    x = g(ConvTransposeOp, x, RANDOM.standard_normal((4, 5, *[2] * len(space))))
    x = g(PadOp, x, [0, 1] + [1] * len(space), [0] * (2 + len(space)))
    x = g(SliceOp, x, [0, 1] + [0] * len(space), shape_of(x))
    x = g(ResizeOp, x, [*shape_of(x)[:2], *(2 * size for size in shape_of(x)[2:])], mode="linear")
    left = same_after(g, PASSES, conv(g, g(ConcatOp, [x, g(SigmoidOp, x)], axis=1), 3))
    assert left["transpose"] == 2
    assert g.only(LrnOp).layout.data == g.only(ConvTransposeOp).layout.data == "NHWC"
    assert pass_statistics(g.ctx).of_pass("channels-last")["conv"] == 2


def test_narrow_pictures_are_turned_on_a_cpu() -> None:
    g = Graph((2, 3, 17, 5))
    g.module.attributes["kernel.target"] = CpuAttr.of()
    x = g(ReluOp, conv(g, g.inputs[0], 4, 3, pads=[2, 0, 1, 1], strides=[1, 2]))
    x = g(AddOp, g(MaxPoolOp, x, [2, 1], pads=[1, 0, 0, 0]), g(AvgPoolOp, x, [1, 2], pads=[0, 1, 0, 0]))
    x = g(BatchNormOp, x, *RANDOM.standard_normal((3, 4)), np.ones(4))
    x = conv(g, g(PadOp, x, [0, 0, 1, 0], [0, 0, 0, 2]), 6)
    x = g(ConvOp, x, RANDOM.standard_normal((6, 1, 3, 2)), groups=6, dilations=[2, 1])
    wide = g(LrnOp, x, size=3)
    left = same_after(g, PASSES, conv(g, g(ConcatOp, [x, wide], axis=1), 3), g(ReduceMaxOp, x, [3]))
    assert left["transpose"] == 5  # in, around the lrn, which is not turned, and both results


def test_whatever_names_axes_of_its_only_operand_follows() -> None:
    g = Graph((2, 3, 7, 6))
    x = conv(g, g.inputs[0], 4, 3)
    region = {"coordinate": "tf_crop_and_resize", "roi": [0, 0, 0.1, 0.2, 1, 1, 0.7, 0.9]}
    x = g(ResizeOp, x, [2, 4, 8, 6], mode="linear", **region)
    places = g(TopKOp, x, axis=1, count=2)
    left = same_after(g, PASSES, conv(g, g(CumsumOp, x, axis=2), 3), places)
    assert left["transpose"] == 3
    assert g.only(TopKOp).axis.value.data == 3
    assert g.only(ResizeOp).shape.get_values() == (2, 8, 6, 4)


def test_samplings_follow() -> None:
    g = Graph((2, 3, 7, 6), (2, 5, 3, 2), (4, 4))
    x = conv(g, g.inputs[0], 4, 3)
    x = g(SampleOp, x, g.inputs[1])
    x = g(RoiAlignOp, x, np.array([0, 1, 1, 0]), g.inputs[2], shape=(3, 3))
    x = g(RoiPoolOp, x, np.array([0, 1, 2, 3]), g.inputs[2], shape=(4, 4))
    left = same_after(g, PASSES, conv(g, x, 3))
    assert left["transpose"] == 2
    assert g.only(SampleOp).layout.data == g.only(RoiAlignOp).layout.data == g.only(RoiPoolOp).layout.data == "NHWC"


def test_samplings_alone_stay_as_they_are() -> None:
    g = Graph((2, 3, 7, 6), (2, 5, 2))
    flat = g(ReshapeOp, g(SampleOp, g.inputs[0], g.inputs[1]), (2, 3, 5, 1))
    assert same_after(g, PASSES, conv(g, flat, 3))["sample"] == 1
    assert g.only(SampleOp).layout.data == "NCHW"


def test_one_channel_needs_no_transpose() -> None:
    g = Graph((2, 1, 6, 6))
    assert same_after(g, PASSES, conv(g, g.inputs[0], 1, 3)) == {"reshape": 2, "conv": 1}


def test_constants_follow() -> None:
    g = Graph((1, 4, 5, 5))
    x = conv(g, g.inputs[0], 4)
    x = g(AddOp, x, RANDOM.standard_normal((4, 1, 5)))
    x = g(PreluOp, x, RANDOM.standard_normal((4, 1, 1)))
    x = g(ConcatOp, [g(MulOp, x, 2.0), g.constant(RANDOM.standard_normal((1, 2, 5, 5)))], axis=1)
    left = same_after(g, "channels-last,dce", conv(g, x, 3))
    assert left == {"transpose": 2, "conv": 2, "add": 1, "prelu": 1, "mul": 1, "concat": 1}
    shapes = {shape_of(op.result) for op in g.module.walk() if isinstance(op, (ConstantOp, WeightOp))}
    assert (5, 4) in shapes and (4,) in shapes and (1, 5, 5, 2) in shapes


def test_squeeze_and_excite() -> None:
    g = Graph((1, 4, 6, 6))
    x = g(ReluOp, conv(g, g.inputs[0], 8))
    gate = g(SigmoidOp, conv(g, conv(g, g(ReduceMeanOp, x, [2, 3], keepdims=True), 2), 8))
    assert same_after(g, PASSES, conv(g, g(MulOp, gate, x), 4))["transpose"] == 2


def test_squeeze_and_excite_with_matrix_products() -> None:
    g = Graph((2, 4, 6, 6))
    x = g(ReluOp, conv(g, g.inputs[0], 8))
    gate = g(MatmulOp, g(ReduceMeanOp, x, [2, 3]), RANDOM.standard_normal((8, 8)))
    left = same_after(g, PASSES, conv(g, g(MulOp, x, g(ReshapeOp, gate, (2, 8, 1, 1))), 4))
    assert left["transpose"] == 2


def test_channel_shuffle_transposes_once() -> None:
    g = Graph((1, 4, 6, 6))
    x = conv(g, g.inputs[0], 6)
    for _ in range(3):
        x = g(TransposeOp, g(ReshapeOp, x, (1, 2, 3, 6, 6)), (0, 2, 1, 3, 4))
        x = g(ReshapeOp, x, (1, 6, 6, 6))
        part = conv(g, g(SliceOp, x, (0, 3, 0, 0), (1, 6, 6, 6)), 3)
        x = g(ConcatOp, [g(SliceOp, x, (0, 0, 0, 0), (1, 3, 6, 6)), part], axis=1)
    assert same_after(g, PASSES, conv(g, x, 3))["transpose"] == 3 + 2


def test_pooled_to_a_row_is_flat_already() -> None:
    g = Graph((2, 3, 6, 6))
    x = g(ReduceMeanOp, conv(g, g.inputs[0], 8), [2, 3], keepdims=True)
    x = g(MatmulOp, g(ReshapeOp, x, (2, 8)), RANDOM.standard_normal((8, 5)))
    assert same_after(g, PASSES, x)["transpose"] == 1


@pytest.mark.parametrize("transposed", [False, True])
def test_flattening_reorders_the_weight(transposed: bool) -> None:
    g = Graph((2, 3, 6, 6))
    x = g(ReshapeOp, g(ReluOp, conv(g, g.inputs[0], 8)), (2, 8 * 6 * 6))
    shape = (5, 288) if transposed else (288, 5)
    x = g(MatmulOp, x, RANDOM.standard_normal(shape), transpose_b=transposed)
    assert same_after(g, PASSES, x)["transpose"] == 1
    assert pass_statistics(g.ctx).of_pass("channels-last")["flatten-into-matmul"] == 1


def test_flattening_for_anything_else_transposes() -> None:
    g = Graph((2, 3, 6, 6))
    x = g(ReshapeOp, conv(g, g.inputs[0], 8), (2, 8 * 6 * 6))
    assert same_after(g, PASSES, x)["transpose"] == 2


def test_patches_are_tokens() -> None:
    g = Graph((1, 3, 8, 8))
    x = conv(g, g.inputs[0], 16, 4, strides=[4, 4])
    x = g(TransposeOp, g(ReshapeOp, x, (1, 16, 4)), (0, 2, 1))
    x = g(LayerNormOp, x, RANDOM.standard_normal(16), axis=2)
    assert same_after(g, PASSES, x) == {"transpose": 1, "conv": 1, "reshape": 1, "layer_norm": 1}


def test_a_model_that_transposes_by_itself() -> None:
    g = Graph((1, 8, 8, 3))
    x = g(TransposeOp, g.inputs[0], (0, 3, 1, 2))
    x = g(AddOp, g(TransposeOp, conv(g, x, 4), (0, 2, 3, 1)), RANDOM.standard_normal(4))
    x = conv(g, g(TransposeOp, g(ReluOp, x), (0, 3, 1, 2)), 5)
    left = same_after(g, PASSES, g(TransposeOp, x, (0, 2, 3, 1)))
    assert left == {"conv": 2, "relu": 1} | {name: left[name] for name in ("add",) if name in left}


def test_reductions_over_channels() -> None:
    g = Graph((1, 4, 5, 6))
    x = conv(g, g.inputs[0], 7)
    soft = g(SoftmaxOp, x, axis=1)
    largest = g(ReduceMaxOp, x, [1])
    place = g(ArgMaxOp, x, axis=1)
    left = same_after(g, "channels-last", soft, largest, place)
    assert left == {"transpose": 2, "conv": 1, "softmax": 1, "reduce_max": 1, "arg_max": 1}
    assert g.only(SoftmaxOp).axis.value.data == 3


def test_broadcasts_and_instance_norm() -> None:
    g = Graph((1, 4, 5, 6))
    x = conv(g, g.inputs[0], 7)
    wide = g(BroadcastToOp, g(ReduceMaxOp, x, [2], keepdims=True), (1, 7, 5, 6))
    x = g(InstanceNormOp, g(AddOp, x, wide), *RANDOM.standard_normal((2, 7)))
    left = same_after(g, "channels-last", conv(g, x, 2))
    assert left["transpose"] == 4  # in, around instance_norm, out


def test_without_a_convolution_nothing_changes() -> None:
    g = Graph((1, 4, 6, 6))
    g.finish(g(ReluOp, g(MaxPoolOp, g.inputs[0], [2, 2])))
    before = str(g.module)
    g.apply("channels-last")
    assert str(g.module) == before


def test_twice_is_once() -> None:
    g = Graph((1, 4, 6, 6))
    g.finish(g(ReluOp, conv(g, g(ReluOp, conv(g, g.inputs[0], 5)), 6)))
    g.apply(PASSES)
    once = str(g.module)
    g.apply(PASSES)
    assert str(g.module) == once


@pytest.mark.parametrize(
    ("space", "strides"), [((90,), [1]), ((9, 12), [2, 3]), ((40, 3), [3, 1])], ids=["1-D", "strides", "turned"]
)
def test_a_lone_pointwise_convolution_is_a_product(space: tuple[int, ...], strides: list[int]) -> None:
    g = Graph((2, 5, *space))
    g.module.attributes["kernel.target"] = CpuAttr.of()
    y = g(
        ConvOp,
        g.inputs[0],
        RANDOM.standard_normal((3, 5, *[1] * len(space))),
        RANDOM.standard_normal(3),
        strides=strides,
    )
    left = same_after(g, f"{PASSES},flatten-pointwise,dce", g(ReluOp, y))
    assert "transpose" not in left
    assert left["matmul"] == 1
