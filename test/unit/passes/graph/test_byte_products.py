"""Products and convolutions of 8-bit integers are exact, whichever operands are signed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from byte_cases import SIGNS, any_bytes, conv, product
from graph_cases import run
from graph_runs import Case, Model, Target, build, check, spread
from xdsl.dialects.builtin import IntegerType, Signedness, f32, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.activation import ClipOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, GreaterOp, MulOp
from mini_infer.dialects.graph.ops.movement import TransposeOp
from mini_infer.dialects.graph.ops.unary import ReluOp, RoundOp
from mini_infer.dialects.graph.values import Array, element_type_of_value, numpy_dtype, shape_of
from mini_infer.dialects.kernel.targets import CpuAttr
from mini_infer.passes.graph.flip_signs import FlipSigns
from mini_infer.passes.graph.pad_conv import PadConv

UI8 = IntegerType(8, Signedness.UNSIGNED)


def exact_convolution(x: Array, w: Array, pads: int, value: int, stride: int) -> Array:
    """[N, C, H, W] with [F, C, kh, kw], in 64 bits."""
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (pads, pads), (pads, pads)), constant_values=value)
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,fcij->nfhw", windows, w.astype(np.int64))


@pytest.mark.parametrize("types", SIGNS)
def test_the_reference_has_exact_sums(types: tuple[Any, Any]) -> None:
    random = np.random.default_rng(1)

    def numbers(*shape: int, dtype: Any) -> Array:
        return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)

    a, b = numbers(3, 70, dtype=types[0]), numbers(70, 5, dtype=types[1])
    (sums,) = run(MatmulOp, a, b)
    assert sums.dtype == np.int32
    np.testing.assert_array_equal(sums, a.astype(np.int64) @ b.astype(np.int64))
    x, w = numbers(2, 3, 6, 7, dtype=types[0]), numbers(4, 3, 3, 3, dtype=types[1])
    (sums,) = run(partial(ConvOp, pads=[1] * 4, strides=[2, 2], pad_value=77), x, w)
    np.testing.assert_array_equal(sums, exact_convolution(x, w, 1, 77, 2))


def test_sums_wrap_around() -> None:
    a = np.full((1, 2**16 + 4), 255, np.uint8)
    assert run(MatmulOp, a, a.T.copy())[0].tolist() == [[255 * 255 * (2**16 + 4) - 2**32]]


@pytest.mark.parametrize(
    ("kind", "padding", "message"),
    [(np.int8, 128, "i8 has no 128 to pad with"), (np.float32, 1, "f32 is padded with 0 only, got 1")],
)
def test_padding_is_a_number_of_the_type(kind: Any, padding: int, message: str) -> None:
    x = np.ones((1, 1, 3, 3), kind)
    with pytest.raises(VerifyException, match=message):
        run(partial(ConvOp, pads=[1] * 4, pad_value=padding), x, x)


PRODUCTS = [
    *(product((m, k), (k, n), t) for t in SIGNS for m, k, n in ((1, 7, 33), (5, 66, 3), (17, 4, 33))),
    *(product((5, 6), (9, 6), t, b=True, weight=w) for t in SIGNS for w in (True, False)),
    *(product((6, 5), (6, 9), t, a=True) for t in SIGNS[:2]),
    *(product((2, 5, 10), (2, 10, 9), t, weight=False) for t in SIGNS),
    *(product((7, 1002), (1002, 17), t, extreme=True) for t in SIGNS),
]
CONVOLUTIONS = [
    *(conv((1, 7, 9, 5), 17, (3, 3), t, padding=100, pads=[1] * 4) for t in SIGNS),
    *(conv((2, 8, 9, 8), 8, (3, 3), t, padding=3, pads=[1, 0, 2, 1], strides=[2, 2], groups=2) for t in SIGNS[:2]),
    *(conv((1, 12, 13, 4), 9, (3, 3), t, padding=9, pads=[2] * 4, dilations=[2, 2], bias=False) for t in SIGNS[1:3]),
    *(conv((1, 9, 9, 20), 40, (1, 1), t) for t in SIGNS[:2]),
    *(conv((1, 14, 14, 3), 24, (7, 7), t, padding=8, pads=[3] * 4, strides=[2, 2]) for t in SIGNS[2:]),
    *(conv((1, 5, 6, 4), 8, (1, 1), t, padding=5, pads=[1, 0, 0, 2]) for t in SIGNS[:2]),
    *(conv((1, 2, 3, 4), 8, (7, 7), t, padding=5, pads=[5, 5, 6, 6]) for t in SIGNS[2:]),
    *(conv((1, 9, 4), 8, (3,), t, padding=5, pads=[1, 1]) for t in SIGNS[1:3]),
    *(conv((1, 4, 5, 6), 6, (3, 3), t, padding=5, pads=[1] * 4, layout="NCHW") for t in SIGNS[2:]),
    *(conv((1, 8, 9, 12), 12, (3, 3), t, padding=3, pads=[1] * 4, groups=12) for t in SIGNS),
    conv((2, 14, 13, 20), 20, (5, 5), SIGNS[2], padding=100, pads=[2] * 4, groups=20, strides=[2, 2]),
    conv((1, 9, 8, 12), 12, (5, 1), SIGNS[0], padding=3, pads=[2, 0, 2, 0], groups=12),
    conv((1, 9, 8, 12), 12, (1, 5), SIGNS[3], padding=3, pads=[0, 2, 0, 2], groups=12),
    conv((1, 5, 9, 40), 40, (3, 3), SIGNS[1], pads=[1] * 4, groups=40, bias=False),
    *(conv((1, 6, 9, 10), n, (3, 3), SIGNS[2], padding=3, pads=[1] * 4, groups=10) for n in (20, 30)),
]


@pytest.mark.parametrize(
    "cases", [PRODUCTS, pytest.param(CONVOLUTIONS, marks=pytest.mark.slow)], ids=["products", "convolutions"]
)
def test_code_has_exact_sums(cases: list[Case]) -> None:
    """Sums of two products of 16 bits on x86, in vectors of two sizes, and multiplications."""
    runs = spread(cases, [Target(bits=256, threads=2), Target(bits=128), Target(bits=512)])
    schedules = [each for run in runs for each in run.schedules]
    products = [each for run in runs for each in zip(run.schedules, run.forms, strict=True)]
    assert schedules.count("depthwise") == (10 if cases is CONVOLUTIONS else 0)
    assert products.count(("elements", "contraction")) == (2 if cases is CONVOLUTIONS else 0)  # channels first


@pytest.mark.slow
@pytest.mark.parametrize("cases", [PRODUCTS, CONVOLUTIONS], ids=["products", "convolutions"])
@pytest.mark.parametrize("target", [Target(bits=256), Target(bits=512), Target(bits=128)])
def test_all_code_has_exact_sums(cases: list[Case], target: Target) -> None:
    check(cases, target)


def test_few_channels_make_whole_groups() -> None:
    """Columns of filters side by side as channels, planes more before channels are put last, and bytes more."""

    def planes(m: Model) -> SSAValue:
        x = m(TransposeOp(m.input(data=any_bytes(m, (2, 3, 4, 5), np.uint8)), (0, 2, 3, 1)))
        return m(
            ConvOp(x, m.weight(data=any_bytes(m, (7, 3, 3, 3), np.int8)), pads=[1] * 4, layout="NHWC", pad_value=9)
        )

    m = build(
        [
            conv((2, 6, 8, 3), 5, (3, 4), SIGNS[2], padding=7, pads=[1, 0, 1, 0], strides=[2, 4]),
            conv((1, 6, 8, 3), 5, (2, 2), SIGNS[2], strides=[2, 2]),
            conv((2, 12, 5), 9, (4,), SIGNS[3], strides=[4]),
            conv((1, 6, 9, 3), 5, (2, 2), SIGNS[0], strides=[2, 2]),
            planes,
        ]
    )
    expected = interpret(m.module, m.inputs, m.ctx.blobs)
    m.module.attributes["kernel.target"] = CpuAttr.of(features=["vpdpbusd"])
    PadConv().apply(m.ctx, m.module)
    roots = [op for op in m.module.walk() if isinstance(op, ConvOp)]
    assert [shape_of(op.weight)[1:] for op in roots] == [(12, 3, 1), (8, 2, 1), (20, 1), (4, 2, 2), (4, 3, 3)]
    for name, result in interpret(m.module, m.inputs, m.ctx.blobs).items():
        np.testing.assert_array_equal(result, expected[name], name)


def test_convolutions_that_differ_only_in_their_padding_share_no_code() -> None:
    check([conv((1, 6, 17, 8), 16, (3, 3), SIGNS[2], padding=p, pads=[1] * 4) for p in (126, 0, 7)], Target(bits=512))


def requantized(m: Model, sums: SSAValue, bits: Attribute, beside: SSAValue | None = None) -> SSAValue:
    """Bytes again: scales of powers of two, so that nothing hangs on how floats are rounded."""
    channels = shape_of(sums)[-1]
    scale = m.weight(data=(2.0 ** np.arange(-12, -12 + channels)[::-1].clip(-14, -8)).astype(np.float32))
    value = m(MulOp(m(CastOp(sums, f32)), scale))
    if beside is not None:
        value = m(AddOp(value, m(CastOp(beside, f32))))
    value = m(AddOp(m(RoundOp(m(ReluOp(value)))), m.constant(3)))
    limits = np.iinfo(numpy_dtype(bits))
    return m(CastOp(m(ClipOp(value, float(limits.min), float(limits.max))), bits))


def quantized_product(m: Model) -> SSAValue:
    return requantized(m, product((7, 20), (20, 33), SIGNS[2])(m), UI8, m.input(data=any_bytes(m, (7, 33), np.uint8)))


def quantized_convolution(m: Model) -> SSAValue:
    return requantized(m, conv((1, 7, 9, 5), 17, (3, 3), SIGNS[2], padding=7, pads=[1] * 4)(m), i8)


def quantized_depthwise(m: Model) -> SSAValue:
    return requantized(m, conv((1, 8, 9, 12), 12, (3, 3), SIGNS[2], padding=3, pads=[1] * 4, groups=12)(m), UI8)


def short_epilogue(m: Model) -> SSAValue:
    """On the sums in registers."""
    return m(CastOp(m(ReluOp(product((7, 20), (20, 33), SIGNS[2])(m))), f32))


def floats_to_bytes(m: Model) -> list[SSAValue]:
    x, w = m.input(2, 6, 7, 16, scale=9), m.weight(16, 16, 3, 3)
    depthwise = m(ConvOp(x, m.weight(16, 1, 3, 3), pads=[1] * 4, groups=16, layout="NHWC"))
    dense = m(ConvOp(x, w, pads=[1] * 4, layout="NHWC"))
    return [m(CastOp(m(GreaterOp(each, m.constant(1))), UI8)) for each in (depthwise, dense)]


@pytest.mark.parametrize("target", [Target(bits=256, threads=2), Target(bits=512)])
def test_what_follows_the_sums_is_done_with_them(target: Target) -> None:
    cases = [quantized_product, quantized_convolution, quantized_depthwise, short_epilogue, floats_to_bytes]
    (run,) = check(cases, target)
    assert len(run.names) == 6


@pytest.mark.parametrize("features", [["sdot"], ["vpdpbusd", "pmaddwd"], ["sdot", "usdot"]])
def test_flipped_signs_change_no_sum(features: list[str]) -> None:
    m = build(
        [
            *(product((5, 9), (7, 9), types, b=True) for types in SIGNS),
            *(
                conv((1, 6, 5, 4), 3, (3, 3), types, padding=77, pads=[1] * 4, bias=types[0] is np.int8)
                for types in SIGNS
            ),
        ]
    )
    expected = interpret(m.module, m.inputs, m.ctx.blobs)
    m.module.attributes["kernel.target"] = CpuAttr.of(features=features)
    FlipSigns().apply(m.ctx, m.module)
    target = CpuAttr.of(features=features)
    roots = [op for op in m.module.walk() if isinstance(op, MatmulOp | ConvOp)]
    for op in roots:
        first, second = (element_type_of_value(operand) for operand in op.operands[:2])
        assert target.byte_dot(first == second) not in ("", "pmaddwd")
    for name, result in interpret(m.module, m.inputs, m.ctx.blobs).items():
        np.testing.assert_array_equal(result, expected[name], name)
