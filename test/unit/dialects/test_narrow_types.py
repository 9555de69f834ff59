"""Element types of 8 bits and less that numbers are only stored in: casts of every number, weights, refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from graph_cases import values_of
from graph_runs import Model, Target, compiled, execute
from onnx import TensorProto, helper, numpy_helper
from xdsl.ir import SSAValue

import mini_infer as mi
from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.narrow_types import is_narrow_float, narrow_dtypes, packed, packed_bits, unpacked
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.values import Array, element_type_of

TYPES = narrow_dtypes()
FLOATS = [element_type for element_type in TYPES if is_narrow_float(element_type)]
WITH_NAN = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], np.float32)


def _numbers(dtype: Any, count: int = 20000) -> Array:
    """Floats around all that the narrow types hold: every one of them, what lies half way, and beside that."""
    random = np.random.default_rng(3)
    exact = [np.arange(256, dtype=np.uint8).view(each).astype(np.float32) for each in TYPES.values()]
    held = np.unique(np.concatenate([each[np.isfinite(each)] for each in exact]))
    held = held[np.abs(held) < 2.0**20]
    ties = (held[1:] + held[:-1]) / 2
    near = [np.nextafter(ties, direction) for direction in (np.float32(-np.inf), np.float32(np.inf))]
    spread = random.standard_normal(count) * np.exp2(random.uniform(-20, 20, count))
    with np.errstate(over="ignore"):
        return np.concatenate([held, ties, *near, spread.astype(np.float32), WITH_NAN]).astype(dtype)


def _run(casts: Sequence[Callable[[SSAValue], GraphOp]], *arrays: Array) -> list[Array]:
    """What each cast makes of each array when compiled, vectors and their rests included."""
    m = Model()
    values = [m.input(data=array) for array in arrays]
    m.outputs("y", [m(cast(value)) for value in values for cast in casts])
    m.finish()
    plan, _ = compiled(m, Target(256, 2))
    return list(execute(plan, m.inputs).values())


def _bits(array: Array) -> Array:
    """Bytes to compare, with one for all NaNs."""
    wide = array.astype(np.float32)
    return np.where(np.isnan(wide), 0xFF, array.view(np.uint8))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("source", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_floats_become_the_nearest_narrow_ones(source: Any) -> None:
    x = _numbers(source)
    kinds = [(to, saturate) for to in FLOATS for saturate in (False, True)]
    results = _run([partial(CastOp, to=to, saturate=saturate) for to, saturate in kinds], x)
    for (to, saturate), got in zip(kinds, results, strict=True):
        (wanted,) = CastOp(values_of([x])[0], to, saturate=saturate).evaluate(x)
        ours, theirs = _bits(got), _bits(wanted)
        if TYPES[to].name in ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"):  # NaN is left open
            ours, theirs = ours[~np.isnan(x)], theirs[~np.isnan(x)]
        np.testing.assert_array_equal(ours, theirs, f"{to} {saturate}")


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [False, True])
def test_powers_of_two(mode: str, saturate: bool) -> None:
    x = np.abs(_numbers(np.float32))
    x = np.concatenate([x, np.array([2.0**-127, 2.0**-126, 3 * 2.0**-128, 1e-45, 3e38], np.float32)])
    to = element_type_of(np.dtype(ml_dtypes.float8_e8m0fnu))
    (got,) = _run([partial(CastOp, to=to, saturate=saturate, round_mode=mode)], x)
    wanted = numpy_helper.to_float8e8m0(x, saturate, mode)
    np.testing.assert_array_equal(got.view(np.uint8), wanted.view(np.uint8))


def test_narrow_numbers_are_exact_in_wide_types() -> None:
    every = [np.arange(2 ** packed_bits(each), dtype=np.uint8).view(dtype) for each, dtype in TYPES.items()]
    wide = [element_type_of(np.dtype(each)) for each in (np.float32, np.float64, np.float16)]
    got = iter(_run([partial(CastOp, to=to) for to in wide], *every))
    with np.errstate(all="ignore"):
        for array in every:
            for dtype in (np.float32, np.float64, np.float16):
                np.testing.assert_array_equal(next(got), array.astype(np.float32).astype(dtype), str(array.dtype))


def test_integers_keep_their_low_bits() -> None:
    x = np.arange(-300, 300).astype(np.int32)
    whole = [element_type for element_type in TYPES if not is_narrow_float(element_type)]
    got = _run([partial(CastOp, to=to) for to in whole], x)
    for to, result in zip(whole, got, strict=True):
        np.testing.assert_array_equal(result.astype(np.int32), x.astype(TYPES[to]).astype(np.int32))


def test_f64_to_f16_is_rounded_once() -> None:
    x = np.array([1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11 - 2.0**-40, 1e300, -1e-300, np.nan, 65519.999999])
    half, brain = (element_type_of(np.dtype(each)) for each in (np.float16, ml_dtypes.bfloat16))
    got, brains = _run([partial(CastOp, to=half), partial(CastOp, to=brain)], x)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, x.astype(np.float16))
    np.testing.assert_array_equal(brains.astype(np.float32)[:3], [1, 1, 1])
    tie = np.array([1 + 2.0**-8 + 2.0**-40])
    np.testing.assert_array_equal(_run([partial(CastOp, to=brain)], tie)[0].astype(np.float32), [1 + 2.0**-7])


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 6, 7, 8])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 33])
def test_packing(bits: int, size: int) -> None:
    elements = np.random.default_rng(1).integers(0, 2**bits, size).astype(np.uint8)
    stored = packed(elements, bits)
    assert stored.size == -(-size * bits // 8)
    np.testing.assert_array_equal(unpacked(stored, bits, size), elements)


def _weight_model(data_type: int, numbers: Array, raw: bool) -> Any:
    """y = cast(weight) + x"""
    weight = numpy_helper.from_array(numbers.astype(helper.tensor_dtype_to_np_dtype(data_type)), "w")
    if not raw:
        weight = helper.make_tensor("w", data_type, numbers.shape, numbers.reshape(-1).tolist())
    nodes = [
        helper.make_node("Cast", ["w"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["c", "x"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, numbers.shape) for name in "xy")
    graph = helper.make_graph(nodes, "weights", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])


@pytest.mark.thinned(5)
@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize(
    ("name", "bits"), [("INT4", 4), ("UINT4", 4), ("INT2", 2), ("UINT2", 2), ("FLOAT4E2M1", 4), ("FLOAT8E4M3FN", 8)]
)
def test_weights_stay_packed(name: str, bits: int, raw: bool, tmp_path: Any) -> None:
    low, high = {"INT4": (-8, 8), "UINT4": (0, 16), "INT2": (-2, 2), "UINT2": (0, 4)}.get(name, (-3, 4))
    numbers = np.random.default_rng(5).integers(low, high, (13, 101)).astype(np.float32)
    model = _weight_model(getattr(TensorProto, name), numbers, raw)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    engine = mi.compile(path)
    x = np.random.default_rng(6).standard_normal(numbers.shape).astype(np.float32)
    np.testing.assert_array_equal(engine(x), numbers + x)
    assert engine.plan.weights.nbytes <= -(-numbers.size * bits // 8) + 64


@pytest.mark.parametrize("name", ["FLOAT8E5M2", "UINT4", "FLOAT6E2M3"])
def test_narrow_values_are_moved(name: str) -> None:
    """Inputs and results of these types, and what only moves elements."""
    data_type = getattr(TensorProto, name)
    dtype = helper.tensor_dtype_to_np_dtype(data_type)
    x = np.random.default_rng(2).integers(0, 4, (5, 7)).astype(np.float32).astype(dtype)
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"]),
        helper.make_node("Concat", ["t", "t"], ["c"], axis=0),
        helper.make_node("Identity", ["c"], ["y"]),
        helper.make_node("Reshape", ["x", "shape"], ["z"]),
    ]
    shape = numpy_helper.from_array(np.array([35]), "shape")
    values = [helper.make_tensor_value_info(n, data_type, s) for n, s in (("x", (5, 7)), ("y", (14, 5)), ("z", (35,)))]
    graph = helper.make_graph(nodes, "moves", values[:1], values[1:], [shape])
    y, z = mi.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]))(x)
    assert y.dtype == z.dtype == dtype
    np.testing.assert_array_equal(y.view(np.uint8), np.concatenate([x.T, x.T]).view(np.uint8))
    np.testing.assert_array_equal(z.view(np.uint8), x.reshape(-1).view(np.uint8))


def test_arithmetic_is_refused_by_name() -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT8E4M3FN, (2,)) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu_1")], "g", values[:1], values[1:])
    with pytest.raises(mi.InvalidModelError, match=r"relu_1 \(Relu\): .*no arithmetic on f8E4M3FN"):
        mi.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]))
