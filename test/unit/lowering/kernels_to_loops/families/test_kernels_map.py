"""Kernels written element by element: every movement op, broadcasting, transposes, several results, scatters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_runs import Body, Result, Writer, check, kernel_of, loops_of
from xdsl.dialects.arith import DivUIOp, RemUIOp
from xdsl.dialects.builtin import IntegerType as Integer
from xdsl.dialects.builtin import Signedness, bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import SSAValue

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp, WhereOp
from mini_infer.dialects.graph.ops.indexing import (
    GatherElementsOp,
    GatherNdOp,
    GatherOp,
    ScatterElementsOp,
    ScatterNdOp,
)
from mini_infer.dialects.graph.ops.movement import (
    BroadcastToOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    SlideOp,
    TransposeOp,
)
from mini_infer.dialects.graph.ops.normalization import BatchNormOp
from mini_infer.dialects.graph.ops.reduction import SoftmaxOp
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.ops.structure import ConstantOp
from mini_infer.dialects.graph.ops.unary import NegOp, ReluOp
from mini_infer.dialects.graph.values import Array, shape_of
from mini_infer.dialects.kernel.kernel_attributes import MoveAttr
from mini_infer.passes.kernels.schedules.cpu.elements import Elements

Random = np.random.default_rng(0)


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return Random.standard_normal(shape).astype(dtype)


def integers(low: int, high: int, *shape: int, dtype: Any = np.int64) -> Array:
    return Random.integers(low, high, shape).astype(dtype)


def shuffled(groups: int) -> Callable[..., Result]:
    """Channels of a channels-last picture dealt out in turn."""

    def body(w: Writer, x: SSAValue | None = None) -> Result:
        x = x or w[0]
        *lead, channels = shape_of(x)
        split = w(ReshapeOp(x, [*lead, groups, channels // groups]))
        turned = w(TransposeOp(split, [*range(len(lead)), len(lead) + 1, len(lead)]))
        return w(ReshapeOp(turned, [*lead, channels]))

    return body


MOVEMENTS: dict[str, tuple[Body, list[Array]]] = {
    "transpose, tiles and strips": (lambda w: w(ReluOp(w(TransposeOp(w[0], [1, 0])))), [numbers(37, 53)]),
    "transpose of blocks": (lambda w: w(TransposeOp(w[0], [1, 0, 2])), [numbers(20, 3, 17)]),
    "transpose, other order in the epilogue": (
        lambda w: w(AddOp(w(TransposeOp(w[0], [1, 0])), w[1])),
        [numbers(37, 53), numbers(53, 37)],
    ),
    "channels last": (lambda w: w(TransposeOp(w[0], [0, 2, 3, 1])), [numbers(1, 40, 5, 7)]),
    "colours last": (lambda w: w(TransposeOp(w[0], [0, 2, 3, 1])), [numbers(1, 3, 10, 21)]),
    "colours first": (lambda w: w(TransposeOp(w[0], [0, 3, 1, 2])), [numbers(1, 10, 21, 3)]),
    "reshape between": (
        lambda w: w(TransposeOp(w(ReshapeOp(w[0], [2, 5, 6, 4])), [0, 2, 1, 3])),
        [numbers(10, 24)],
    ),
    "reshape that no loop follows": (lambda w: w(ReshapeOp(w(TransposeOp(w[0], [1, 0])), [5, 12])), [numbers(4, 15)]),
    "shuffle of 2": (shuffled(2), [numbers(1, 7, 5, 58)]),
    "shuffle of 3": (shuffled(3), [numbers(2, 4, 51)]),
    "shuffle of a concatenation": (
        lambda w: shuffled(2)(w, w(ConcatOp([w[0], w[1]], 3))),
        [numbers(1, 7, 5, 29), numbers(1, 7, 5, 29)],
    ),
    "concat in the middle": (
        lambda w: w(ConcatOp([w[0], w(ReluOp(w[1])), w[2]], 1)),
        [numbers(2, 3, 17), numbers(2, 4, 17), numbers(2, 1, 17)],
    ),
    "concat at the end": (
        lambda w: w(NegOp(w(ConcatOp([w[0], w[1], w[2]], 2)))),
        [numbers(2, 3, 17), numbers(2, 3, 40), numbers(2, 3, 1)],
    ),
    "concat with nothing": (lambda w: w(ConcatOp([w[0], w[1]], 0)), [numbers(0, 9), numbers(2, 9)]),
    "slice with steps": (lambda w: w(SliceOp(w[0], [0, 1, 3], [2, 4, 17], [1, 2, 3])), [numbers(2, 5, 19)]),
    "slice backwards": (lambda w: w(SliceOp(w[0], [1, 4, 40], [-1, 0, -1], [-1, -2, -1])), [numbers(2, 5, 41)]),
    "every second": (lambda w: w(SliceOp(w[0], [0, 0], [3, 101], [1, 2])), [numbers(3, 101)]),
    "every ninth": (lambda w: w(SliceOp(w[0], [0, 3], [3, 301], [1, 9])), [numbers(3, 301)]),
    "pad": (lambda w: w(PadOp(w[0], [0, 1, 2], [0, 3, 1], "constant", 1.5)), [numbers(2, 5, 37)]),
    "pad by reflection": (lambda w: w(PadOp(w[0], [0, 1, 2], [1, 3, 4], "reflect")), [numbers(2, 5, 37)]),
    "pad by the edge": (lambda w: w(PadOp(w[0], [0, 1, 2], [1, 3, 4], "edge")), [numbers(2, 5, 37)]),
    "pad by wrapping": (lambda w: w(PadOp(w[0], [0, 1, 2], [1, 3, 4], "wrap")), [numbers(2, 5, 37)]),
    "reflection over reflection": (lambda w: w(PadOp(w[0], [0, 7], [0, 9], "reflect")), [numbers(2, 5)]),
    "wrapping more than once": (lambda w: w(PadOp(w[0], [0, 7], [0, 9], "wrap")), [numbers(2, 5)]),
    "broadcast": (lambda w: w(BroadcastToOp(w[0], [4, 3, 20])), [numbers(3, 1)]),
    "gather of rows": (lambda w: w(GatherOp(w[0], w[1], 0)), [numbers(11, 40), np.array([[1, -1, 3], [0, 10, -11]])]),
    "gather inside rows": (lambda w: w(GatherOp(w[0], w[1], 1)), [numbers(3, 11), np.array([1, -1, 3], np.int32)]),
    "gather of one place": (
        lambda w: w(GatherOp(w[0], w(ConstantOp.from_numpy(np.full((2, 3), -2))), 1)),
        [numbers(3, 11)],
    ),
    "gather elements": (
        lambda w: w(GatherElementsOp(w[0], w[1], 1)),
        [numbers(3, 11), np.array([[1, -1, 3, 5], [2, 2, 2, 2]])],
    ),
    "gather nd": (lambda w: w(GatherNdOp(w[0], w[1], 0)), [numbers(3, 11, 6), np.array([[1, -1], [2, 2]])]),
    "gather nd in batches": (
        lambda w: w(GatherNdOp(w[0], w[1], 1)),
        [numbers(2, 11, 6), np.array([[[1], [3]], [[-1], [5]]])],
    ),
}


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", MOVEMENTS)
def test_movement(name: str) -> None:
    body, arrays = MOVEMENTS[name]
    check("map", body, *arrays)
    check("map", body, *arrays, bits=128, threads=3)


OTHERS: dict[str, tuple[Body, list[Array]]] = {
    "broadcasting": (lambda w: w(ReluOp(w(AddOp(w[0], w[1])))), [numbers(3, 5, 37), numbers(5, 1)]),
    "per channel": (lambda w: w(MulOp(w[0], w[1])), [numbers(2, 9, 4, 5), numbers(9, 1, 1)]),
    "truth values": (
        lambda w: w(WhereOp(w[0], w[1], w[2])),
        [Random.random((5, 40)) > 0.5, numbers(5, 40), numbers(40)],
    ),
    "a known factor": (
        lambda w: w(MulOp(w[0], w(ConstantOp.from_numpy(np.full((5, 1), 3, np.float32))))),
        [numbers(5, 70)],
    ),
    "two results": (lambda w: [w(AddOp(w[0], w[1])), w(MulOp(w[0], w[1]))], [numbers(5, 40), numbers(40)]),
    "results of two shapes": (
        lambda w: [w(AddOp(w[0], w[1])), w(SliceOp(w[0], [0, 0], [5, 3]))],
        [numbers(5, 40), numbers(40)],
    ),
    "one number": (lambda w: w(AddOp(w[0], w[1])), [numbers(), numbers()]),
    "no number": (lambda w: w(ReluOp(w[0])), [numbers(0, 4)]),
    "batch norm": (
        lambda w: w(BatchNormOp(w[0], w[1], w[2], w[3], w[4])),
        [numbers(2, 5, 7, 9), *(np.abs(numbers(5)) + 0.1 for _ in range(4))],
    ),
    "batch norm, channels last": (
        lambda w: w(BatchNormOp(w[0], w[1], w[2], w[3], w[4], layout="NHWC")),
        [numbers(2, 7, 9, 20), *(np.abs(numbers(20)) + 0.1 for _ in range(4))],
    ),
    "integer matrix product": (
        lambda w: w(MatmulOp(w[0], w[1])),
        [integers(-5, 5, 2, 5, 7), integers(-5, 5, 7, 20)],
    ),
    "matrix product of f64, transposed": (
        lambda w: w(MatmulOp(w[0], w[1], transpose_b=True)),
        [numbers(2, 5, 7, dtype=np.float64), numbers(20, 7, dtype=np.float64)],
    ),
    "softmax inside": (lambda w: w(TransposeOp(w(SoftmaxOp(w[0], 1)), [1, 0])), [numbers(4, 9)]),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("bits", [0, 128])
@pytest.mark.parametrize("name", OTHERS)
def test_other_bodies(name: str, bits: int) -> None:
    body, arrays = OTHERS[name]
    check("map", body, *arrays, bits=bits, threads=2, tolerance=1e-5)


UNSIGNED = [Integer(width, Signedness.UNSIGNED) for width in (8, 64)]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("to", [f16, bf16, f32, f64, i1, i8, i32, i64, *UNSIGNED], ids=str)
@pytest.mark.parametrize("source", [np.float32, np.float16, np.int64, np.uint8, np.bool_])
def test_casts(source: Any, to: Any) -> None:
    values = np.array([*range(70), 100.75], np.float64).astype(source)
    check("map", lambda w: w(CastOp(w[0], to)), values, tolerance=4e-3)


CONVOLUTIONS: list[tuple[list[int], dict[str, Any], int]] = [
    ([3, 3], {"strides": [1, 1], "pads": [1, 1, 1, 1]}, 1),
    ([3, 3], {"strides": [2, 2], "pads": [1, 1, 1, 1]}, 2),
    ([5, 3], {"strides": [1, 2], "pads": [2, 0, 1, 1], "dilations": [1, 2]}, 1),
    ([1, 1], {}, 4),
    ([3], {"strides": [2], "pads": [1, 2]}, 1),
    ([3, 2, 3], {"strides": [2, 1, 1], "pads": [1, 1, 1, 1, 1, 0]}, 1),
]


@pytest.mark.thinned(5)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(("kernel", "options", "groups"), CONVOLUTIONS)
def test_convolutions(layout: str, kernel: list[int], options: dict[str, Any], groups: int) -> None:
    spatial = [7, 18, 5][: len(kernel)]
    x = numbers(2, 4, *spatial) if layout == "NCHW" else numbers(2, *spatial, 4)
    given: dict[str, Any] = {**options, "groups": groups, "layout": layout}
    weight, bias = numbers(8, 4 // groups, *kernel), numbers(8)
    check("map", lambda w: w(ConvOp(w[0], w[1], w[2], **given)), x, weight, bias, threads=2, tolerance=1e-5)
    strides = options.get("strides", [1] * len(kernel))
    given["output_padding"] = [stride - 1 for stride in strides]
    weight = numbers(4, 8 // groups, *kernel)
    check("map", lambda w: w(ConvTransposeOp(w[0], w[1], w[2], **given)), x, weight, bias, tolerance=1e-5)


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (3, 2), (2, 4), (6, 4)])
@pytest.mark.parametrize("kernel", [[4, 4], [5, 4], [1, 19]], ids=str)
def test_large_transposed_convolutions(kernel: list[int], dilation: int, stride: int) -> None:
    """On both sides of 16 taps, where writing them out ends and a loop over those that hit begins."""
    x, weight = numbers(1, 2, 4, 5), numbers(2, 3, *kernel)
    options: dict[str, Any] = {"strides": [stride, 2], "dilations": [dilation, 3], "output_padding": [stride - 1, 0]}
    for layout, pads in (("NCHW", [0, 0, 0, 0]), ("NHWC", [1, 2, 0, 1])):
        picture = x if layout == "NCHW" else np.ascontiguousarray(np.moveaxis(x, 1, -1))
        given: dict[str, Any] = {**options, "pads": pads, "layout": layout}
        check("map", lambda w, given=given: w(ConvTransposeOp(w[0], w[1], **given)), picture, weight, tolerance=1e-5)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    "coordinate", ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
)
def test_resize(mode: str, coordinate: str) -> None:
    def body(w: Writer) -> Result:
        return w(ResizeOp(w[0], [1, 7, 12, 5], mode=mode, coordinate=coordinate))

    check("map", body, numbers(1, 4, 6, 5), tolerance=1e-5)


RESIZES: dict[str, dict[str, Any]] = {
    "a region, with nothing around it": {
        "mode": "linear",
        "coordinate": "tf_crop_and_resize",
        "roi": [0, 0.1, 0.2, 0, 1, 0.8, 1.3, 1],
        "extrapolation": 7.0,
    },
    "smaller, smoothly": {"mode": "cubic", "antialias": True, "exclude_outside": True},
    "for neighbours, as TensorFlow once did": {"coordinate": "tf_half_pixel_for_nn", "mode": "linear"},
    "twice": {"coordinate": "asymmetric", "nearest": "floor"},
}


@pytest.mark.parametrize("name", RESIZES)
def test_special_resizes(name: str) -> None:
    shape = [1, 3, 4, 5] if "smaller" in name else [1, 8, 12, 5]
    size = [1, 7, 12, 5] if "smaller" in name else [1, 4, 6, 5]
    check("map", lambda w: w(ResizeOp(w[0], shape, **RESIZES[name])), numbers(*size), tolerance=1e-5)


@pytest.mark.thinned(7)
@pytest.mark.parametrize("options", [{}, {"exclude_outside": True}, {"coordinate": "align_corners"}], ids=str)
@pytest.mark.parametrize("width", [29, 30, 31, 60])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_of_many_neighbours(mode: str, width: int, options: dict[str, Any]) -> None:
    """On both sides of 64 neighbours, all axes together, where writing them out ends and a loop begins."""

    def body(w: Writer) -> Result:
        return w(ResizeOp(w[0], [2, 2, 3], mode=mode, antialias=True, **options))

    check("map", body, numbers(2, 2, width), tolerance=1e-5)
    check("map", body, numbers(2, 4, width), tolerance=1e-5)


def test_vectors_of_many_neighbours() -> None:
    smooth: dict[str, Any] = {"mode": "cubic", "antialias": True}
    check("map", lambda w: w(ResizeOp(w[0], [3, 4, 21], **smooth)), numbers(30, 25, 21), tolerance=1e-5)


def test_resize_of_integers_rounds() -> None:
    check("map", lambda w: w(ResizeOp(w[0], [7, 12], mode="linear")), integers(0, 255, 4, 6, dtype=np.uint8))
    smooth: dict[str, Any] = {"mode": "linear", "antialias": True}
    check("map", lambda w: w(ResizeOp(w[0], [2, 3], **smooth)), integers(0, 255, 40, 36, dtype=np.uint8))


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("inplace", [None, {0: 0}])
def test_scatters(reduction: str, inplace: dict[int, int] | None) -> None:
    rows = np.array([[1], [-2], [1]])
    x, updates = numbers(6, 9), numbers(3, 9)
    options: dict[str, Any] = {"threads": 4, "inplace": inplace}
    check("map", lambda w: w(ScatterNdOp(w[0], w[1], w[2], reduction)), x, rows, updates, **options)
    places = np.array([[1, 2], [-2, 3], [1, 0]])
    check("map", lambda w: w(ScatterElementsOp(w[0], w[1], w[2], 1, reduction)), x, places, numbers(3, 2), **options)


@pytest.mark.parametrize("new", [1, 3, 7])
@pytest.mark.parametrize("shape", [(1, 7, 5, 64), (7, 37), (2, 7, 4)], ids=str)
@pytest.mark.parametrize("inplace", [None, {0: 0}])
def test_slides(new: int, shape: tuple[int, ...], inplace: dict[int, int] | None) -> None:
    axis = shape.index(7)
    for dtype in (np.float32, np.uint8):
        x = integers(0, 200, *shape, dtype=dtype)
        rows = integers(0, 200, *(new if each == axis else size for each, size in enumerate(shape)), dtype=dtype)
        check("map", lambda w: w(SlideOp(w[0], w[1], axis)), x, rows, threads=4, inplace=inplace)


def test_a_slide_of_what_else_is_read_is_not_in_place() -> None:
    x, rows = numbers(6, 8), numbers(2, 8)
    assert pairs(lambda w: w(SlideOp(w[0], w[1], 0)), x, rows) == [(0, 0)]
    assert not pairs(lambda w: w(SlideOp(w(ReluOp(w[0])), w[1], 0)), x, rows)
    check("map", lambda w: w(AddOp(w(SlideOp(w[0], w[1], 0)), w[0])), x, rows)


def test_nothing_follows_a_scatter() -> None:
    def body(w: Writer) -> Result:
        return w(ReluOp(w(ScatterNdOp(w[0], w[1], w[2]))))

    with pytest.raises(CompileError, match=r"tested \(graph.scatter_nd\): nothing can follow a scatter"):
        check("map", body, numbers(6, 9), np.array([[1]]), numbers(1, 9))


def test_a_table_is_refused() -> None:
    def body(w: Writer) -> Result:
        return w(AddOp(w[0], w(ConstantOp.from_numpy(numbers(9)))))

    with pytest.raises(CompileError, match="a table of 9 numbers can't stand in code"):
        check("map", body, numbers(6, 9))


def test_loops_merge_where_buffers_allow_it() -> None:
    arrays = [numbers(1, 8, 8, 32), numbers(1, 8, 8, 32)]
    module, _, _ = loops_of("map", lambda w: w(AddOp(w[0], w[1])), arrays, bits=512, threads=1, inplace={})
    assert str(module).count("scf.for") == 1


@pytest.mark.parametrize("name", ["shuffle of 2", "shuffle of 3"])
def test_loops_are_cut_where_a_reshape_splits_an_axis(name: str) -> None:
    body, arrays = MOVEMENTS[name]
    module, _, _ = loops_of("map", body, arrays, bits=512, threads=1, inplace={})
    assert not [op for op in module.walk() if isinstance(op, DivUIOp | RemUIOp)]


def pairs(body: Body, *arrays: Array) -> list[tuple[int, int]]:
    return Elements().interface(kernel_of("map", body, arrays)).inplace_pairs


def test_what_may_be_written_over() -> None:
    same, row = numbers(8, 8), numbers(8)
    assert pairs(lambda w: w(ReluOp(w(AddOp(w[0], w[1])))), same, same) == [(0, 0), (1, 0)]
    assert pairs(lambda w: w(AddOp(w[0], w[1])), same, row) == [(0, 0)]
    assert pairs(lambda w: w(TransposeOp(w(ReluOp(w[0])), [1, 0])), same) == []
    assert pairs(lambda w: w(AddOp(w[0], w(TransposeOp(w[0], [1, 0])))), same) == []
    assert pairs(lambda w: [w(ReluOp(w[0])), w(SliceOp(w[0], [0, 0], [8, 3]))], same) == []


def test_a_reshape_is_a_view() -> None:
    kernel = kernel_of("map", lambda w: w(ReshapeOp(w[0], [4, 16])), [numbers(8, 8)])
    (move,) = Elements().interface(kernel).moves
    assert move == MoveAttr.of(0, 0, [4, 16], (0, [16, 1]), (0, [16, 1]))


def test_a_slice_beside_what_is_computed_is_a_move() -> None:
    kernel = kernel_of("map", lambda w: [w(SliceOp(w[0], [0, 2], [8, 5])), w(ReluOp(w[0]))], [numbers(8, 8)])
    (move,) = Elements().interface(kernel).moves
    assert move == MoveAttr.of(0, 0, [8, 3], (2, [8, 1]), (0, [3, 1]))
