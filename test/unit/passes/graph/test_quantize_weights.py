"""Weights rounded when a model is compiled: it computes what the rounded weights stand for, in fewer bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from import_cases import model_of
from onnx import ModelProto, helper

import mini_infer as mi
from mini_infer.dialects.graph.ops.contraction import rounded_by_blocks
from mini_infer.dialects.graph.values import Array
from mini_infer.passes.graph.quantization.block_quantiser import quantised

Random = np.random.default_rng(0)
ROWS, DEPTH, WIDE = 40, 96, 70


def floats(*shape: int) -> Array:
    return Random.standard_normal(shape).astype(np.float32)


def network() -> tuple[ModelProto, dict[str, Array], dict[str, Array]]:
    """Rows of a table, a MatMul, a Gemm of a transposed weight, and a product by the table: model, inputs, weights."""
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "ids"], ["rows"]),
        node("Add", ["rows", "x"], ["a"]),
        node("MatMul", ["a", "first"], ["b"]),
        node("Gemm", ["b", "second", "bias"], ["c"], transB=1),
        node("Transpose", ["table"], ["turned"], perm=[1, 0]),
        node("MatMul", ["c", "turned"], ["y"]),
    ]
    weights = {
        "table": floats(ROWS, DEPTH),
        "first": floats(DEPTH, WIDE),
        "second": floats(DEPTH, WIDE),
        "bias": floats(DEPTH),
    }
    inputs = {"ids": np.array([3, 0, 39, 3]), "x": floats(4, DEPTH)}
    return model_of(nodes, inputs, weights, ["y"]), inputs, weights


def computed(
    weights: dict[str, Array], inputs: dict[str, Array], rounding: Callable[[Array], Array] = np.asarray
) -> Array:
    """The network in float64; `rounding` is done to left operands."""
    table, first, second, bias = (weights[name].astype(np.float64) for name in ("table", "first", "second", "bias"))
    b = rounding(table[inputs["ids"]] + inputs["x"]) @ first
    return rounding(rounding(b) @ second.T + bias) @ table.T


def in_blocks(weights: dict[str, Array], bits: int) -> dict[str, Array]:
    """What the rounded weights stand for."""

    def rounded(matrix: Array) -> Array:
        return quantised(matrix, bits, 32).dequantised()

    first = np.ascontiguousarray(weights["first"].T)
    return weights | {
        "table": rounded(weights["table"]),
        "first": rounded(first).T,
        "second": rounded(weights["second"]),
    }


@pytest.mark.thinned(5)
@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize(
    "options",
    [{}, {"threads": 2}, {"enable_graph_optimization": False}, {"device": "cuda-emulated", "emulator": "compiled"}],
    ids=["cpu", "threads", "unoptimised", "gpu"],
)
def test_integers(bits: int, options: dict[str, Any]) -> None:
    model, inputs, weights = network()
    (found,) = mi.compile(model, weights=f"int{bits}", **options)(inputs).values()
    wanted = computed(in_blocks(weights, bits), inputs)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("name", ["bf16", "f16"])
@pytest.mark.parametrize("optimised", [True, False])
def test_halves(name: str, optimised: bool) -> None:
    model, inputs, weights = network()
    dtype = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}[name]
    (found,) = mi.compile(model, weights=name, enable_graph_optimization=optimised)(inputs).values()
    wanted = computed(weights | {each: weights[each].astype(dtype) for each in ("table", "first", "second")}, inputs)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_rounded_activations() -> None:
    """They are as exact as if they were rounded by blocks themselves; and without that as exact as in floats."""
    model, inputs, weights = network()
    (found,) = mi.compile(model, weights="int4", activations="int8")(inputs).values()
    exact = computed(in_blocks(weights, 4), inputs)
    rounded = computed(in_blocks(weights, 4), inputs, lambda x: rounded_by_blocks(x, 32))
    limit = 2 * np.abs(rounded - exact).max()
    assert 1e-3 * np.abs(exact).max() < limit
    np.testing.assert_allclose(found, exact, rtol=0, atol=limit)


def test_the_option_is_part_of_the_key(with_cache: Any) -> None:
    model, inputs, _ = network()
    first = [mi.compile(model, weights=weights)(inputs)["y"] for weights in (None, "int4", "int8")]
    again = [mi.compile(model, weights=weights)(inputs)["y"] for weights in (None, "int4", "int8")]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(first[0], first[1]) and not np.array_equal(first[1], first[2])


def test_many_rows_and_few() -> None:
    """One compile for a range of rows gives what each of them gives alone."""
    model, inputs, weights = network()
    for value in model.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "rows"
    engine = mi.compile(model, weights="int4", profile=mi.OptimizationProfile(dims={"rows": (1, 1, 8)}))
    for rows in (1, 4):
        part = {name: array[:rows] for name, array in inputs.items()}
        wanted = computed(in_blocks(weights, 4), part)
        np.testing.assert_allclose(engine(part)["y"], wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "int5"}, "weights is 'int5'; it must be one of int2, int3, int4, int8, bf16, f16"),
        ({"activations": "int4"}, "activations is 'int4'; it must be one of f32, int8"),
        ({"activations": "int8", "enable_graph_optimization": False},
         "activations does nothing with enable_graph_optimization=False"),
        ({"activations": "int8", "device": "cuda-emulated"}, "activations does nothing on the device 'cuda-emulated'"),
    ],
)  # fmt: skip
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(mi.ConfigError, match=message):
        mi.EngineConfig(**options)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("bits", "limit"), [(2, 0.35), (3, 0.17), (4, 0.082), (8, 0.0052)])
def test_less_error_than_to_the_nearest(bits: int, limit: float, symmetric: bool) -> None:
    """Of normally distributed weights; to the nearest is what ONNX Runtime's quantiser does."""
    matrix = floats(64, 512)
    half = 2 ** (bits - 1)
    cut = matrix.reshape(-1, 32)
    scale = np.abs(cut).max(-1, keepdims=True) / half
    nearest = (np.clip(np.rint(cut / scale), -half, half - 1) * scale).reshape(matrix.shape)

    def error(other: Array) -> float:
        return float(np.linalg.norm(matrix - other) / np.linalg.norm(matrix))

    found = error(quantised(matrix, bits, 32, symmetric=symmetric).dequantised())
    assert found < limit and found < 0.96 * error(nearest)


def test_blocks_of_one_number_are_exact() -> None:
    """Blocks of zeros, and of a number and zeros; a last block that is shorter."""
    matrix = np.zeros((3, 40), np.float32)
    matrix[1, 5], matrix[2, 39] = 3.5, -2.25
    for symmetric in (True, False):
        found = quantised(matrix, 4, 32, symmetric=symmetric)
        np.testing.assert_allclose(found.dequantised(), matrix, rtol=1e-6)


@pytest.mark.parametrize("symmetric", [True, False])
def test_magnitudes_are_no_matter(symmetric: bool) -> None:
    """Scaled by a power of two, numbers are the same, though their squares would be none of f32."""
    matrix = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    wanted = quantised(matrix, 4, 32, symmetric=symmetric)
    for power in (-110, 120):
        found = quantised(np.ldexp(matrix, power), 4, 32, symmetric=symmetric)
        np.testing.assert_array_equal(found.bytes, wanted.bytes)
        np.testing.assert_array_equal(found.scales, np.ldexp(wanted.scales, power))
