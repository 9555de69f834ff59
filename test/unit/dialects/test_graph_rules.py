"""What graph ops refuse, and the fact they state."""

from __future__ import annotations

from functools import partial
from re import escape
from typing import Any

import numpy as np
import pytest
from graph_cases import Build, values_of
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.blobs import BlobAttr
from mini_infer.dialects.graph.ops.activation import GeluOp
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.block_weight import UI8
from mini_infer.dialects.graph.ops.cell_activations import Activation
from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp, UnpackBitsOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, AndOp, WhereOp
from mini_infer.dialects.graph.ops.indexing import (
    GatherElementsOp,
    GatherNdOp,
    GatherOp,
    ScatterElementsOp,
    ScatterNdOp,
)
from mini_infer.dialects.graph.ops.linear_attention import LinearAttentionOp
from mini_infer.dialects.graph.ops.movement import BroadcastToOp, ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.normalization import (
    BatchNormOp,
    InstanceNormOp,
    LayerNormOp,
    NormalizeOp,
    RmsNormOp,
    RowMomentsOp,
)
from mini_infer.dialects.graph.ops.patches import Col2ImOp
from mini_infer.dialects.graph.ops.picture_regions import RoiAlignOp, RoiPoolOp
from mini_infer.dialects.graph.ops.recurrence import GruOp, LstmOp, RnnOp
from mini_infer.dialects.graph.ops.reduction import ArgMaxOp, CumsumOp, ReduceSumOp, SoftmaxOp
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.ops.sampling import SampleOp
from mini_infer.dialects.graph.ops.selection import ChosenRowsOp, NonMaxSuppressionOp, TopKOp
from mini_infer.dialects.graph.ops.structure import WeightOp
from mini_infer.dialects.graph.ops.unary import ExpOp, NegOp, NotOp, ReluOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, LrnOp, MaxPoolOp
from mini_infer.dialects.graph.values import Array, tensor


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("columns", "cheap"), [(2**20, True), (2**20 + 1, False)])
def test_a_large_product_is_not_for_the_compiler(columns: int, cheap: bool, transposed: bool) -> None:
    lhs, rhs = (tensor(f32, shape) for shape in ((512, 2) if transposed else (2, 512), (512, columns)))
    op = MatmulOp(*test.TestOp(result_types=[lhs, rhs]).results, transpose_a=transposed)
    assert op.is_cheap() == cheap


def f(*shape: int) -> Array:
    """float32"""
    return np.zeros(shape, np.float32)


def i(*shape: int) -> Array:
    """int64"""
    return np.zeros(shape, np.int64)


def b(*shape: int) -> Array:
    """truth values"""
    return np.zeros(shape, np.bool_)


def half(*shape: int) -> Array:
    """float16"""
    return np.zeros(shape, np.float16)


def concat(*values: Any, axis: int) -> GraphOp:
    """A concat with its operands one by one."""
    return ConcatOp(values, axis)


IMAGE, KERNEL = f(1, 4, 8, 8), f(6, 4, 3, 3)
LSTM = [f(5, 2, 3), f(1, 16, 3), f(1, 16, 4)]
ATTENTION = [f(1, 4, 3, 8), f(1, 2, 5, 8), f(1, 2, 5, 6)]
align = partial(RoiAlignOp, shape=(2, 2))
conv, pool = ConvOp, partial(MaxPoolOp, kernel=(2, 2))
transposed = ConvTransposeOp
lstm = partial(LstmOp, hidden=4)
attention = partial(AttentionOp, scale=1.0)
linear = partial(LinearAttentionOp, scale=1.0)
norm = partial(LayerNormOp, axis=1)
normalize = partial(NormalizeOp, epsilon=1e-5)
cut = partial(SliceOp, starts=(0, 0), stops=(2, 2))
pad = partial(PadOp, low=(0, 1), high=(0, 1))
crop = partial(ResizeOp, shape=(2, 2), coordinate="tf_crop_and_resize")


def masked(x: SSAValue, weight: SSAValue, recurrence: SSAValue, mask: SSAValue) -> RnnOp:
    return RnnOp(x, weight, recurrence, mask=mask, hidden=16)


def boxes_of(rows: int) -> Build:
    return partial(NonMaxSuppressionOp, rows=rows)


RULES: list[tuple[Build, list[Array], str]] = [
    # elementwise
    (NegOp, [b(2)], "booleans (i1) are not numbers"),
    (ExpOp, [i(2)], "needs a float type, got i64"),
    (NotOp, [f(2)], "needs booleans or integers, got f32"),
    (AndOp, [f(2), f(2)], "needs booleans or integers, got f32"),
    (AddOp, [b(2), b(2)], "booleans (i1) are not numbers"),
    (AddOp, [f(2), i(2)], "operands have different element types, f32 and i64"),
    (AddOp, [f(2, 3), f(2)], "shapes 2x3 and 2 don't broadcast"),
    (WhereOp, [f(2), f(2), f(2)], "the condition must be i1, got f32"),
    (partial(GeluOp, approximate="sin"), [f(2)], 'approximate is "none" or "tanh", got "sin"'),
    (partial(CastOp, to=IntegerType(7)), [f(2)], "i7 is not an element type of the graph dialect"),
    # conversion
    (partial(UnpackBitsOp, to=IntegerType(8), shape=[4], width=3), [f(2)], "numbers of 3 bits can't be unpacked to i8"),
    (partial(UnpackBitsOp, to=UI8, shape=[4], width=8), [f(4)], "numbers of 8 bits can't be unpacked to ui8"),
    (
        partial(UnpackBitsOp, to=UI8, shape=[4], width=3),
        [f(1).astype(np.uint8)],
        r"tensor<4xui8> is packed in 2 bytes, got tensor<1xui8>",
    ),
    # contraction
    (MatmulOp, [f(3), f(3, 2)], "operands of a matrix product need at least two dimensions"),
    (MatmulOp, [f(2, 3), f(4, 5)], "3 columns on the left, but 4 rows on the right"),
    (partial(MatmulOp, lhs_as=IntegerType(4)), [f(2, 3), f(3, 5)], "the left operand can be rounded to i8, not to i4"),
    (
        partial(MatmulOp, lhs_as=IntegerType(8)),
        [f(2, 3).astype(np.int32), f(3, 5).astype(np.int32)],
        "an operand that may be rounded must be of a float type, got i32",
    ),
    (MatmulOp, [f(2, 2, 3), f(3, 3, 5)], "shapes 2 and 3 don't broadcast"),
    (conv, [f(1, 64, 8, 8), f(8, 128, 3, 3)], "64 input channels, but the weight expects 128"),
    (partial(conv, groups=4), [f(1, 4, 8, 8), f(6, 1, 3, 3)], "6 output channels in 4 groups"),
    (conv, [IMAGE, KERNEL, f(5)], "6 output channels, but a bias of shape [5]"),
    (conv, [IMAGE, f(6, 4, 3)], "rank 4 and a weight of rank 3 don't fit"),
    (conv, [IMAGE, f(6, 4, 9, 3)], "a window of 9 doesn't fit into 8 elements padded by 0 and 0"),
    (partial(conv, strides=(1,)), [IMAGE, KERNEL], "2 spatial dimensions, but 1 strides"),
    (partial(conv, dilations=(1,)), [IMAGE, KERNEL], "2 spatial dimensions, but 1 dilations"),
    (partial(conv, pads=(1, 1)), [IMAGE, KERNEL], "2 spatial dimensions, but 2 pads instead of 4"),
    (partial(conv, pads=(-1, 0, 0, 0)), [IMAGE, KERNEL], "pads must not be negative"),
    (partial(conv, strides=(0, 1)), [IMAGE, KERNEL], "kernel, strides and dilations must be positive"),
    (partial(conv, layout="CHWN"), [IMAGE, KERNEL], 'layout is "NCHW" or "NHWC", got "CHWN"'),
    (transposed, [IMAGE, f(3, 4, 2, 2)], "4 input channels, but the weight expects 3"),
    (partial(transposed, groups=3), [IMAGE, f(4, 2, 2, 2)], "4 input channels in 3 groups"),
    (transposed, [IMAGE, f(4, 2, 2)], "rank 4 and a weight of rank 3 don't fit"),
    (transposed, [IMAGE, f(4, 2, 2, 2), f(4)], "2 output channels, but a bias of shape [4]"),
    (
        partial(transposed, output_padding=(1,)),
        [IMAGE, f(4, 2, 2, 2)],
        "2 spatial dimensions, but 1 output paddings",
    ),
    (partial(transposed, pads=(9, 0, 9, 0)), [IMAGE, f(4, 2, 2, 2)], "the pads cut off the whole result"),
    # windows
    (pool, [f(1, 4)], "a pool needs a batch, a channel and at least one spatial dimension"),
    (pool, [f(1, 4, 8)], "1 spatial dimensions, but a kernel of 2"),
    (partial(AvgPoolOp, kernel=(2,)), [i(1, 4, 8)], "operand must be of a float type, got i64"),
    (partial(LrnOp, size=0), [IMAGE], "the number of channels must be positive"),
    (SampleOp, [IMAGE, i(1, 5, 2)], "positions must be of a float type, got i64"),
    (SampleOp, [IMAGE, f(1, 5, 3)], "positions of shape [1, 5, 3], but a position has 2 entries"),
    (SampleOp, [IMAGE, f(2, 5, 2)], "1 samples, but positions for 2"),
    (SampleOp, [i(1, 4, 8), f(1, 5, 1)], "only floats can be interpolated"),
    (SampleOp, [f(1, 4), f(1, 5, 1)], "needs 1 to 3 spatial dimensions, got 0"),
    (SampleOp, [f(1, 4, 0), f(1, 5, 1)], "positions in an empty dimension"),
    (partial(SampleOp, mode="area"), [IMAGE, f(1, 5, 2)], 'mode is one of nearest, linear, cubic, got "area"'),
    (partial(SampleOp, padding="x"), [IMAGE, f(1, 5, 2)], 'padding is one of zeros, border, reflection, got "x"'),
    (align, [i(1, 4, 8, 8), i(3), i(3, 4)], "operand must be of a float type, got i64"),
    (align, [f(1, 4, 8), i(3), f(3, 4)], "needs [batch, channels, height, width], got [1, 4, 8]"),
    (align, [IMAGE, i(3), f(3, 5)], "regions of shape [3, 5] for indices of shape [3]"),
    (align, [f(1, 4, 0, 8), i(3), f(3, 4)], "regions of an empty image"),
    (partial(align, samples=-1), [IMAGE, i(3), f(3, 4)], "samples are 0 to"),
    (partial(RoiPoolOp, shape=(0, 2)), [IMAGE, i(3), f(3, 4)], "a result needs a height and a width"),
    (partial(Col2ImOp, shape=(3, 3), kernel=(2,)), [f(1, 4, 4)], "a picture [3, 3], but a window [2]"),
    (partial(Col2ImOp, shape=(3,), kernel=(2,)), [IMAGE], "needs [N, C * taps, windows]"),
    (partial(Col2ImOp, shape=(3,), kernel=(2,)), [f(1, 3, 2)], "2 taps do not divide 3 columns"),
    (partial(Col2ImOp, shape=(3,), kernel=(2,)), [f(1, 4, 3)], "3 windows, but there is room for 2"),
    (partial(LrnOp, size=3), [f(4)], "needs a batch and a channel dimension"),
    # reduction
    (partial(ReduceSumOp, axes=(0,)), [b(2)], "booleans (i1) are not numbers"),
    (partial(ReduceSumOp, axes=(1, 0)), [f(2, 2)], "axes [1, 0] are not sorted or not distinct"),
    (partial(ReduceSumOp, axes=(2,)), [f(2, 2)], "axis 2 is outside of a tensor of rank 2"),
    (partial(ArgMaxOp, axis=1), [f(2, 0)], "there is no extremum along an empty axis"),
    (linear, [f(2, 3, 4), f(2, 3, 2, 5), f(2, 3, 2, 6)], "query, key and value need four dimensions"),
    (linear, [f(2, 3, 4, 5), f(2, 3, 3, 5), f(2, 3, 3, 6)], "4 query heads on 3 key and 3 value heads"),
    (linear, [f(2, 3, 4, 5), f(2, 3, 2, 4), f(2, 3, 2, 6)], "queries of 5 elements, but keys of 4"),
    (linear, [f(2, 3, 4, 5), f(2, 4, 2, 5), f(2, 3, 2, 6)], "query, key and value have (2, 3), (2, 4) and (2, 3)"),
    (
        linear,
        [f(2, 3, 4, 5), f(2, 3, 2, 5), f(2, 3, 2, 6), f(2, 2, 5, 5)],
        "an initial state of shape [2, 2, 5, 5] instead of [2, 2, 5, 6]",
    ),
    (
        linear,
        [f(2, 3, 4, 5), f(2, 3, 2, 5), f(2, 3, 2, 6), f(2, 2, 5, 6), f(2, 3, 4, 5)],
        "a decay of shape [2, 3, 4, 5] instead of [2, 3, 2, 5] or [2, 3, 2, 1]",
    ),
    (
        linear,
        [f(2, 3, 4, 5), f(2, 3, 2, 5), f(2, 3, 2, 6), f(2, 2, 5, 6), f(2, 3, 2, 5), f(2, 3, 4)],
        "a beta of shape [2, 3, 4] instead of [2, 3, 2] or [2, 3, 1]",
    ),
    (partial(TopKOp, axis=0, count=1), [b(2)], "booleans (i1) are not numbers"),
    (partial(TopKOp, axis=1, count=1), [f(2)], "axis 1 is outside of a tensor of rank 1"),
    (partial(TopKOp, axis=0, count=3), [f(2)], "there are no 3 elements along a dimension of 2"),
    (partial(TopKOp, axis=0, count=-1), [f(2)], "there are no -1 elements along a dimension of 2"),
    (boxes_of(2), [f(1, 3, 4), f(1, 2, 4), i(), f()], "boxes of shape [1, 3, 4] don't fit scores of shape [1, 2, 4]"),
    (boxes_of(2), [f(1, 3, 4), half(1, 2, 3), i(), f()], "boxes, scores and limits must be f32, got f16"),
    (boxes_of(2), [f(1, 3, 4), f(1, 2, 3), f(), f()], "the largest number of boxes must be an i64"),
    (boxes_of(2), [f(1, 3, 4), f(1, 2, 3), i(), f(1)], "a limit must be a scalar, got shape [1]"),
    (boxes_of(4), [f(1, 3, 4), f(1, 2, 3), i(), f()], "there are no 4 of 3 boxes"),
    (ChosenRowsOp, [i(2, 3, 4), i(3, 2)], "counts of shape [3, 2] don't fit rows of shape [2, 3, 4]"),
    (ChosenRowsOp, [f(2, 3, 4), i(2, 3)], "operands must be i64"),
    (partial(CumsumOp, axis=0), [b(2)], "booleans (i1) are not numbers"),
    (partial(SoftmaxOp, axis=-1), [f(2)], "axis -1 is outside of a tensor of rank 1"),
    (partial(SoftmaxOp, axis=0), [i(2)], "operand must be of a float type, got i64"),
    # normalisation
    (norm, [f(2, 3), f(2)], "a scale of shape [2] doesn't fit elements of shape [3]"),
    (partial(RowMomentsOp, piece=4), [f(2, 6)], "rows of 6 elements have no whole pieces of 4"),
    (partial(RowMomentsOp, piece=0), [f(2, 6)], "pieces of 0 elements"),
    (normalize, [f(2, 6), f(2, 4, 2)], "moments of shape [2, 4, 2] don't fit elements of shape [2, 6]"),
    (normalize, [f(2, 6), f(2, 3, 3)], "moments of shape [2, 3, 3] don't fit elements of shape [2, 6]"),
    (normalize, [f(2, 6), f(3, 2)], "moments of shape [3, 2] don't fit elements of shape [2, 6]"),
    (norm, [f(2, 3), f(3), f(1, 3)], "a bias of shape [1, 3] doesn't fit elements of shape [3]"),
    (
        partial(RmsNormOp, axis=1),
        [f(2, 3), half(3)],
        "operands have different element types, f32 and f16",
    ),
    (BatchNormOp, [f(2, 3), f(3), f(2), f(3), f(3)], "3 channels, but a bias of shape [2]"),
    (BatchNormOp, [f(3), f(3), f(3), f(3), f(3)], "needs a batch and a channel dimension"),
    (
        InstanceNormOp,
        [f(2, 3), f(3), f(3)],
        "needs a batch, a channel and at least one spatial dimension",
    ),
    # movement
    (partial(ReshapeOp, shape=(4,)), [f(2, 3)], "6 elements of shape [2, 3] don't fill shape [4]"),
    (partial(ReshapeOp, shape=(-2, -3)), [f(2, 3)], "shape [-2, -3] has a negative size"),
    (partial(TransposeOp, permutation=(0, 0)), [f(2, 3)], "[0, 0] is no permutation of 2 dimensions"),
    (partial(BroadcastToOp, shape=(1, 3)), [f(2, 3)], "shape [2, 3] doesn't broadcast to [1, 3]"),
    (partial(BroadcastToOp, shape=(3,)), [f(1, 3)], "shape [1, 3] doesn't broadcast to [3]"),
    (partial(concat, axis=0), [], "needs at least one operand"),
    (partial(concat, axis=0), [f(2, 3), f(2, 4)], "shapes [2, 3] and [2, 4] differ outside of axis 0"),
    (cut, [f(2)], "needs a start, a stop and a step for each of 1 axes"),
    (partial(cut, steps=(1, 0)), [f(2, 2)], "a step must not be 0"),
    (cut, [f(2, 1)], "axis 1 has 1 elements, but 0:2:1 is taken"),
    (pad, [f(2)], "needs a low and a high pad for each of 1 axes"),
    (partial(pad, low=(0, -1)), [f(2, 2)], "pads must not be negative; crop by a slice"),
    (partial(pad, mode="odd"), [f(2, 2)], 'mode is one of constant, reflect, edge, wrap, got "odd"'),
    (partial(pad, mode="edge"), [f(2, 0)], "there is nothing to edge along an axis without elements"),
    # indexing
    (GatherOp, [f(2), f(2)], "indices must be integers, got f32"),
    (
        GatherElementsOp,
        [f(2, 2), i(2, 3)],
        "indices of shape [2, 3] exceed shape [2, 2] beside axis 0",
    ),
    (GatherNdOp, [f(2, 2), i()], "indices need at least one dimension"),
    (GatherNdOp, [f(2, 2), i(1, 3)], "indices name 3 dimensions, but x has 2"),
    (partial(GatherNdOp, batch_dims=1), [f(2, 2), i(3, 1)], "batches [2] and [3] differ"),
    (partial(GatherNdOp, batch_dims=2), [f(2, 2), i(2, 1)], "2 batch dimensions of indices of rank 2"),
    (ScatterNdOp, [f(2, 2), i(), f()], "indices need at least one dimension"),
    (ScatterNdOp, [f(2, 2), i(1, 3), f(1)], "indices name 3 dimensions, but x has 2"),
    (ScatterNdOp, [f(2, 3), i(1, 1), f(1)], "updates of shape [1] instead of [1, 3]"),
    (
        partial(ScatterNdOp, reduction="sub"),
        [f(2), i(1, 1), f(1)],
        'reduction is one of none, add, mul, min, max, got "sub"',
    ),
    (ScatterElementsOp, [f(3), i(2), f(1)], "indices of shape [2], but updates of shape [1]"),
    # resize
    (
        partial(ResizeOp, shape=(2, 2), scales=(1.0,)),
        [f(1, 1)],
        "needs a size and a scale for each of 2 axes",
    ),
    (partial(ResizeOp, shape=(2,), scales=(0.0,)), [f(1)], "sizes and scales must be positive"),
    (partial(ResizeOp, shape=(2,), mode="x"), [f(1)], 'mode is one of nearest, linear, cubic, got "x"'),
    (partial(ResizeOp, shape=(2,), coordinate="x"), [f(1)], "coordinate is one of half_pixel, "),
    (partial(ResizeOp, shape=(2,), nearest="x"), [f(1)], "nearest is one of round_prefer_floor, "),
    (partial(ResizeOp, shape=(2,), mode="linear"), [b(1)], "booleans (i1) can't be interpolated"),
    (partial(ResizeOp, shape=(2,), part=(0, 4)), [f(1)], "part has four numbers for each axis"),
    (partial(ResizeOp, shape=(4,), part=(3, 4, 0, 8)), [f(2)], "axis 0 is no part of 4 elements that become 8"),
    (partial(ResizeOp, shape=(4,), part=(0, 4, 5, 8)), [f(2)], "axis 0 is no part of 4 elements that become 8"),
    (crop, [f(1, 1)], "tf_crop_and_resize needs a roi with a start and an end for each axis"),
    # networks
    (attention, [f(1, 3, 8), f(1, 5, 8), f(1, 5, 8)], "query, key and value need four dimensions"),
    (attention, [f(2, 4, 3, 8), *ATTENTION[1:]], "batches 2, 1 and 1 of query, key and value differ"),
    (attention, [f(1, 3, 3, 8), *ATTENTION[1:]], "3 query heads on 2 key and 2 value heads"),
    (attention, [*ATTENTION[:2], f(1, 2, 4, 6)], "5 keys, but 4 values"),
    (attention, [f(1, 4, 3, 7), *ATTENTION[1:]], "queries of 7 elements, but keys of 8"),
    (partial(attention, softcap=-1.0), ATTENTION, "a softcap must be larger than 0"),
    (attention, [*ATTENTION, b(3, 4)], "a mask of shape [3, 4] doesn't broadcast to [1, 4, 3, 5]"),
    (attention, [*ATTENTION, half(3, 5)], "operands have different element types, f32 and f16"),
    (lstm, [f(5, 2), *LSTM[1:]], "the sequence needs three dimensions, got 2"),
    (partial(lstm, direction="up"), LSTM, 'direction is one of forward, reverse, bidirectional, got "up"'),
    (lstm, [*LSTM[:2], f(1, 16, 3)], "a recurrence weight of shape [1, 16, 3] instead of [1, 16, 4]"),
    (partial(GruOp, hidden=4), LSTM, "a weight of shape [1, 16, 3] instead of [1, 12, 3]"),
    (partial(RnnOp, hidden=16, activations=[Activation("cos")]), LSTM, "an activation is one of affine, elu, hard"),
    (partial(lstm, activations=[Activation("tanh")]), LSTM, "1 activations instead of 3"),
    (masked, [*LSTM[:2], f(1, 16, 16), b(2, 5)], "a mask of type tensor<2x5xi1> instead of 5x2 booleans"),
    (masked, [*LSTM[:2], f(1, 16, 16), f(5, 2)], "a mask of type tensor<5x2xf32> instead of 5x2 booleans"),
    (lstm, [*LSTM, f(1, 16)], "a bias of shape [1, 16] instead of [1, 32]"),
]


@pytest.mark.parametrize(("build", "arrays", "fact"), RULES, ids=[rule[2] for rule in RULES])
def test_rule(build: Build, arrays: list[Array], fact: str) -> None:
    with pytest.raises(VerifyException, match=escape(fact)):
        build(*values_of(arrays))


def test_the_verifier_compares_results_with_the_rule() -> None:
    (x,) = values_of([f(2)])
    op = ReluOp.create(operands=[x], result_types=[tensor(f32, (3,))])
    with pytest.raises(VerifyException, match="result is tensor<3xf32>, but the op makes tensor<2xf32>"):
        op.verify()


def test_operands_are_tensors() -> None:
    (x,) = test.TestOp(result_types=[f32]).results
    with pytest.raises(VerifyException, match="expected a tensor, got f32"):
        ReluOp(x)


def test_a_weight_has_no_value_of_its_own() -> None:
    weight = WeightOp(BlobAttr.of("", 0, 4, ""), tensor(f32, (1,)))
    with pytest.raises(VerifyException, match="a weight has no value without its BlobStore"):
        weight.evaluate()
