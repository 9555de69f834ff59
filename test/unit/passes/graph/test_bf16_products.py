"""Products and convolutions of bf16 have sums of f32: operands are rounded once, and nothing else is."""

from __future__ import annotations

from functools import partial
from typing import Any

import contraction_cases
import ml_dtypes
import numpy as np
import onnx
import pytest
from contraction_cases import BATCHES
from graph_cases import run
from graph_runs import Case, Model, Target, build, check, compiled, execute, spread
from onnx import helper, numpy_helper
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

import mini_infer as mi
from mini_infer.dialects.errors import ConfigError
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.movement import SliceOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.native.cpu_targets import host_target, target_attribute

BF16 = ml_dtypes.bfloat16
HAS_BF16 = target_attribute(mi.EngineConfig()).multiplies_bf16
needs_bf16 = pytest.mark.skipif(not HAS_BF16, reason="this CPU multiplies no bf16")


def rounded(x: Array) -> Array:
    """In float64, after rounding to bf16."""
    return x.astype(BF16).astype(np.float64)


product = partial(contraction_cases.product, weight=True, dtype=BF16, sums=f32)


def conv(
    shape: tuple[int, ...],
    filters: int,
    kernel: tuple[int, ...],
    *,
    groups: int = 1,
    bias: bool = True,
    layout: str = "NHWC",
    constant: bool = True,
    **window: Any,
) -> Case:
    """A convolution of bf16 on [batch, spatial..., channels]."""

    def case(m: Model) -> SSAValue:
        batch, *spatial, channels = shape
        x = m.input(*shape, dtype=BF16) if layout == "NHWC" else m.input(batch, channels, *spatial, dtype=BF16)
        weight = (m.weight if constant else m.input)(filters, channels // groups, *kernel, dtype=BF16)
        given = m.weight(filters) if bias else None
        return m(ConvOp(x, weight, given, **window, groups=groups, layout=layout, sums=f32))

    return case


def prologue(m: Model) -> SSAValue:
    """A product whose left-hand side is rounded by its kernel, of odd depth."""
    x = m(CastOp(m.input(data=rounded(m.random(40, 33)).astype(np.float32)), bf16, flush=True))
    return m(MatmulOp(x, m.weight(33, 50, dtype=BF16), sums=f32))


def residual(m: Model) -> SSAValue:
    """A product to which a value of bf16 is added."""
    y = m(MatmulOp(m.input(9, 40, dtype=BF16), m.weight(40, 50, dtype=BF16), sums=f32))
    return m(ReluOp(m(AddOp(y, m(CastOp(m.input(9, 50, dtype=BF16), f32))))))


def gates(rows: int, depth: int, columns: int) -> Case:
    """Halves of a product's columns, one of which is the other's factor."""

    def case(m: Model) -> SSAValue:
        lhs, rhs = m.input(rows, depth, dtype=BF16), m.weight(depth, 2 * columns, dtype=BF16)
        both = m(MatmulOp(lhs, rhs, sums=f32))
        halves = [m(SliceOp(both, (0, start), (rows, start + columns))) for start in (columns, 0)]
        return m(MulOp(m(ReluOp(halves[0])), halves[1]))

    return case


FLAGS = [(a, b) for a in (False, True) for b in (False, True)]
PRODUCTS = [
    *(product(m, k, n) for m in (1, 2, 3, 14, 15) for k in (1, 2, 17, 64, 1001) for n in (1, 16, 33, 100)),
    *(product(m, k, 70) for m in (197, 400) for k in (96, 1101)),
    product(1500, 1101, 40),
    *(product(5, 33, 17, a=a, b=b, weight=w) for a, b in FLAGS for w in (True, False)),
    *(product(16, 8, 64, a=a, b=b, weight=w) for a, b in FLAGS for w in (True, False)),
    *(product(5, 33, 17, left=x, right=y, weight=False) for x, y in BATCHES),
    *(product(3, 18, 40, left=x, right=y, b=True, weight=False) for x, y in BATCHES[:2]),
    prologue,
    residual,
    *(gates(m, k, n) for m in (1, 15) for k in (7, 64) for n in (5, 16, 40)),
]
CONVOLUTIONS = [
    conv((1, 7, 9, 5), 17, (3, 3), pads=[1] * 4, strides=[2, 2]),
    conv((2, 8, 9, 8), 8, (3, 3), pads=[1, 0, 2, 1], strides=[2, 2], groups=2),
    conv((2, 8, 9, 6), 9, (3, 3), pads=[1] * 4, strides=[1, 2], groups=3),
    conv((1, 12, 13, 4), 9, (3, 3), pads=[2] * 4, dilations=[2, 2], bias=False),
    conv((1, 9, 9, 20), 40, (1, 1)),
    conv((2, 9, 9, 21), 40, (1, 1), strides=[2, 2]),
    conv((1, 14, 14, 3), 24, (7, 7), pads=[3] * 4, strides=[2, 2]),
    conv((1, 14, 14, 4), 24, (7, 7), pads=[3] * 4, strides=[2, 2]),
    conv((1, 5, 6, 4), 8, (1, 1), pads=[1, 0, 0, 2]),
    conv((1, 2, 3, 4), 8, (7, 7), pads=[5, 5, 6, 6]),
    conv((1, 9, 7), 8, (3,), pads=[1, 1]),
    conv((1, 4, 5, 6), 6, (3, 3), pads=[1] * 4, layout="NCHW"),
    conv((1, 8, 9, 12), 12, (3, 3), pads=[1] * 4, groups=12),
    conv((1, 3, 40, 33), 50, (5, 1), pads=[2, 0, 2, 0]),
    *(conv((1, 5, 6, 10), 36, (3, 2), pads=[1, 0, 1, 1], groups=g, constant=False) for g in (1, 2)),
]
TRANSFORMED = [
    conv((1, 20, 21, 32), 48, (3, 3), pads=[1] * 4),
    conv((2, 9, 8, 20), 17, (3, 3), pads=[1] * 4, bias=False),
]


def test_code_has_exact_products() -> None:
    """In three sizes of vectors: where there is no instruction, elements are multiplied as f32."""
    runs = spread([*PRODUCTS, *CONVOLUTIONS])
    products = [each for run in runs for each in zip(run.schedules, run.forms, strict=True)]
    assert {"panels", "blocked_panels", "computed_panels"} <= {schedule for schedule, _ in products}


@pytest.mark.slow
@pytest.mark.parametrize("cases", [PRODUCTS, CONVOLUTIONS], ids=["products", "convolutions"])
@pytest.mark.parametrize("target", [Target(512), Target(256), Target(128)])
def test_all_code_has_exact_products(cases: list[Case], target: Target) -> None:
    check(cases, target)


def test_transforms_are_wide() -> None:
    """Winograd's, whose coordinates cancel each other."""
    (run,) = check(TRANSFORMED, Target(512), bound=2e-5)
    assert run.schedules == ["winograd"] * 2
    (run,) = check(TRANSFORMED, Target(512, winograd="off"))
    assert set(run.schedules) == {"panels"}


def test_a_prologue_rounds() -> None:
    (run,) = check([prologue], Target(512, l2=1 << 20))
    assert run.schedules == ["prologue_panels"]


def test_threads_change_no_bit() -> None:
    m = build([*PRODUCTS[:40:3], *CONVOLUTIONS[:8], *TRANSFORMED])
    one, two = (execute(compiled(m, Target(512, threads))[0], m.inputs) for threads in (1, 2))
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name], name)


def test_types() -> None:
    a = np.ones((2, 3), np.float32)
    (sums,) = run(partial(MatmulOp, sums=f32), a.astype(BF16), a.T.astype(BF16))
    assert sums.dtype == np.float32
    with pytest.raises(VerifyException, match="sums of f32 can't be f32, only those of bf16 f32"):
        run(partial(MatmulOp, sums=f32), a, a.T)
    with pytest.raises(VerifyException, match="sums of bytes are i32"):
        run(partial(MatmulOp, sums=f32), a.astype(np.int8), a.T.astype(np.int8))
    with pytest.raises(VerifyException, match="a cast to f32 can't flush"):
        run(partial(CastOp, to=f32, flush=True), a)


@needs_bf16
def test_subnormal_numbers_are_zeros() -> None:
    """As operands and as sums; ordinary numbers round to nearest even."""
    tiny = np.float32(2.0**-130)
    x = np.array([[tiny, 1, 2.0**-70, 0]], np.float32).astype(BF16)
    y = np.diag(np.array([2.0**20, 1 + 2.0**-7, 2.0**-70, 1], np.float32)).astype(BF16)

    def case(m: Model) -> SSAValue:
        return m(MatmulOp(m.input(data=x), m.weight(data=y), sums=f32))

    def near(m: Model) -> SSAValue:
        x = m.input(data=np.array([[1 + 2.0**-8, 1 + 3 * 2.0**-8, -1 - 2.0**-8 - 2.0**-20, tiny]], np.float32))
        return m(CastOp(m(CastOp(x, bf16, flush=True)), f32))

    m = build([case, near])
    sums, casts = execute(compiled(m, Target(512))[0], m.inputs).values()
    assert sums.tolist() == [[0, 1 + 2.0**-7, 0, 0]]
    assert casts.tolist() == [[1, 1 + 2.0**-6, -1 - 2.0**-7, 0]]


def model(*nodes: onnx.NodeProto, x: tuple[int | str, ...], **weights: Array) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x)]
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    return helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs, tensors), opset_imports=[helper.make_opsetid("", 18)]
    )


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@needs_bf16
@pytest.mark.parametrize("threads", [1, 2])
def test_a_chain_rounds_what_products_read(threads: int) -> None:
    """Two products with a bias and a relu between them: as numpy does that rounds in the same places."""
    x, w, b, v = normal(5, 40), normal(40, 33, seed=1), normal(33, seed=2), normal(33, 18, seed=3)
    made = model(
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["y"]),
        x=x.shape,
        w=w,
        b=b,
        v=v,
    )
    found = mi.compile(made, precision="bf16", threads=threads).run(x)
    hidden = np.maximum((rounded(x) @ rounded(w) + b).astype(np.float32), 0)
    exact = rounded(hidden) @ rounded(v)
    np.testing.assert_allclose(found, exact, atol=2e-3 * np.abs(exact).max())  # a tie may round the other way
    assert np.mean(np.abs(found - exact) < 1e-5 * np.abs(exact).max()) > 0.5
    plain = np.maximum(x @ w + b, 0) @ v
    assert np.abs(found - plain).max() > 1e-4 * np.abs(plain).max()


@needs_bf16
@pytest.mark.parametrize("threads", [1, 2])
def test_a_residual_block_of_convolutions(threads: int) -> None:
    """Rounded where convolutions read, of few channels padded to pairs; the residual is exact."""
    x, w, v = normal(1, 3, 12, 12), normal(24, 3, 3, 3, seed=1) / 5, normal(24, 24, 3, 3, seed=2) / 15
    made = model(
        helper.make_node("Conv", ["x", "w"], ["h"], pads=[1] * 4),
        helper.make_node("Conv", ["h", "v"], ["c"], pads=[1] * 4),
        helper.make_node("Add", ["c", "h"], ["y"]),
        x=x.shape,
        w=w,
        v=v,
    )
    (found,) = mi.compile(made, precision="bf16", threads=threads).run(x)[None]
    (hidden,) = run(partial(ConvOp, pads=[1] * 4), rounded(x), rounded(w))
    (second,) = run(partial(ConvOp, pads=[1] * 4), rounded(hidden.astype(np.float32)), rounded(v))
    exact = second + hidden
    np.testing.assert_allclose(found, exact, atol=1e-3 * np.abs(exact).max())


@needs_bf16
@pytest.mark.parametrize(
    ("weight", "is_rounded"),
    [
        (normal(64, 20), True),
        (normal(64, 20) * 1e-40, False),
        (normal(64, 20) + np.float32(3e38) * (np.arange(20) == 3).astype(np.float32), True),
        (np.full((64, 20), 3.4028e38, np.float32), False),
        (normal(15, 20), False),
    ],
    ids=["normal", "subnormal", "large", "infinite once rounded", "short"],
)
def test_what_loses_too_much_stays(weight: Array, is_rounded: bool) -> None:
    made = model(helper.make_node("MatMul", ["x", "w"], ["y"]), x=(4, len(weight)), w=weight)
    x = normal(4, len(weight)) * np.float32(1e-20)
    narrow, wide = (mi.compile(made, precision=each, threads=1).run(x) for each in ("bf16", "fp32"))
    assert np.array_equal(narrow, wide) != is_rounded


@needs_bf16
def test_shapes_of_run_time() -> None:
    """Rows and pixels may be any number; sums of a length of run time stay in f32."""
    w, v = normal(33, 40, seed=1), normal(24, 3, 3, 3, seed=2) / 5
    nodes = helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Conv", ["x", "v"], ["y"], pads=[1] * 4)
    rows = model(nodes[0], x=("rows", 33), w=w)
    pixels = model(nodes[1], x=(1, 3, "rows", "rows"), v=v)
    depth = model(helper.make_node("MatMul", ["x", "x"], ["y"]), x=("rows", "rows"))
    profile = mi.OptimizationProfile(dims={"rows": (16, 20, 64)})
    engines = [mi.compile(each, precision="bf16", profile=profile, threads=1) for each in (rows, pixels, depth)]
    for size in (16, 17, 31, 64):
        x, picture, square = normal(size, 33), normal(1, 3, size, size), normal(size, size)
        exact = rounded(x) @ rounded(w)
        np.testing.assert_allclose(engines[0].run(x), exact, atol=1e-5 * np.abs(exact).max())
        (exact,) = run(partial(ConvOp, pads=[1] * 4), rounded(picture), rounded(v))
        np.testing.assert_allclose(engines[1].run(picture), exact, atol=1e-5 * np.abs(exact).max())
        exact = square.astype(np.float64) @ square
        np.testing.assert_allclose(engines[2].run(square), exact, atol=1e-5 * np.abs(exact).max())


@needs_bf16
@pytest.mark.parametrize("options", [{"weights": "bf16"}, {"winograd": "off"}])
def test_with_other_options(options: dict[str, Any]) -> None:
    """Weights of bf16 are read as they are: the result is that of the precision alone."""
    x, w = normal(5, 40), normal(40, 33, seed=1)
    made = model(helper.make_node("MatMul", ["x", "w"], ["y"]), x=x.shape, w=w)
    exact = rounded(x) @ rounded(w)
    found = mi.compile(made, precision="bf16", threads=1, **options).run(x)
    np.testing.assert_allclose(found, exact, atol=1e-5 * np.abs(exact).max())


@needs_bf16
def test_weights_in_blocks_stay() -> None:
    x, w = normal(5, 64), normal(64, 32, seed=1)
    made = model(helper.make_node("MatMul", ["x", "w"], ["y"]), x=x.shape, w=w)
    found, wide = (mi.compile(made, precision=each, threads=1, weights="int4").run(x) for each in ("bf16", "fp32"))
    np.testing.assert_array_equal(found, wide)


def test_options() -> None:
    with pytest.raises(ConfigError, match="precision is 'tf32'; on the device 'cpu' it must be fp32 or bf16"):
        mi.EngineConfig(precision="tf32")
    with pytest.raises(ConfigError, match="precision does nothing with enable_graph_optimization=False"):
        mi.EngineConfig(precision="bf16", enable_graph_optimization=False)
    made = model(helper.make_node("MatMul", ["x", "w"], ["y"]), x=(4, 64), w=normal(64, 20))
    name = host_target().name
    with pytest.raises(ConfigError, match=f"precision bf16 needs .*'{name}' with vectors of 128 bits doesn't"):
        mi.compile(made, precision="bf16", vector_bits=128)
