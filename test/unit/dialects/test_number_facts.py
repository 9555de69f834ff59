"""What ONNX says of integers, signed zeros, infinities and NaN, through whole compiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
EDGES = np.array([0, -0.0, 1, -1, 2.5, -2.5, 1e30, -1e30, np.inf, -np.inf, np.nan, 0.5, 7, -7, 1e-40, 5.3], np.float32)

Nodes = Sequence[tuple[str, list[Array], dict[str, Any]]]


def _model(nodes: Nodes, opset: int) -> tuple[Any, dict[str, Array]]:
    """A model of unconnected nodes; second operands of reductions are known, all others are inputs."""
    made: list[Any] = []
    given: dict[str, Array] = {}
    known: dict[str, Array] = {}
    for index, (op_type, arrays, attributes) in enumerate(nodes):
        names = [f"x{index}_{number}" for number in range(len(arrays))]
        for number, (name, array) in enumerate(zip(names, arrays, strict=True)):
            (known if number and op_type.startswith("Reduce") else given)[name] = array
        made.append(helper.make_node(op_type, names, [f"y{index}"], name=f"n{index}", **attributes))
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in given.items()
    ]
    outputs = [helper.make_tensor_value_info(f"y{index}", TensorProto.UNDEFINED, None) for index in range(len(nodes))]
    weights = [numpy_helper.from_array(array, name) for name, array in known.items()]
    graph = helper.make_graph(made, "facts", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), given


def _computed(nodes: Nodes, opset: int = 23) -> list[Array]:
    model, given = _model(nodes, opset)
    return list(cast("dict[str, Array]", mi.compile(model)(given)).values())


def _expected(nodes: Nodes, opset: int = 23) -> list[Array]:
    model, given = _model(nodes, opset)
    with np.errstate(all="ignore"):
        return cast("list[Array]", cast("Any", ReferenceEvaluator(model)).run(None, given))


def _ends(dtype: str) -> Array:
    """Numbers at and beside the ends of an integer type."""
    info = np.iinfo(dtype)
    numbers = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1, info.max // 2]
    return np.array(numbers + ([-1, -2, -7, -100] if info.min else []), dtype)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_of_integers(dtype: str) -> None:
    x, bits = _ends(dtype), 8 * np.dtype(dtype).itemsize
    exponents: list[int] = [0, 1, 2, 3, 5, 31, 62, 63, 64, 65, 127, 2**31 - 1, 2**40 + 1]
    many = np.array(exponents)[None, :]
    (got,) = _computed([("Pow", [x[:, None], many], {})])
    for row, base in zip(got, x, strict=True):
        assert [int(each) % 2**bits for each in row] == [pow(int(base), exponent, 2**bits) for exponent in exponents]
    # Known exponents are written out.
    nodes: Nodes = [("Pow", [x, np.array(exponent, dtype)], {}) for exponent in (0, 1, 2, 7, 63)]
    model, given = _model(nodes, 23)
    for index, (_, arrays, _) in enumerate(nodes):
        model.graph.initializer.append(numpy_helper.from_array(arrays[1], f"x{index}_1"))
        given.pop(f"x{index}_1")
    keep = [value for value in model.graph.input if value.name in given]
    del model.graph.input[:]
    model.graph.input.extend(keep)
    for result, exponent in zip(mi.compile(model)(given).values(), (0, 1, 2, 7, 63), strict=True):
        assert [int(each) % 2**bits for each in result] == [pow(int(base), exponent, 2**bits) for base in x]


@pytest.mark.thinned(5)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_and_are_divided_toward_zero(dtype: str) -> None:
    x = _ends(dtype)
    nonzero = x[x != 0]
    pairs = [x[:, None], nonzero[None, :]]
    nodes: list[tuple[str, list[Array], dict[str, Any]]] = [
        (op_type, pairs, {})
        for op_type in (
            *("Add", "Sub", "Mul", "Mod", "Min", "Max", "BitwiseAnd", "BitwiseOr", "BitwiseXor"),
            *("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"),
        )
    ]
    nodes += [("Mod", pairs, {"fmod": 1})]
    nodes += [(op_type, [x], {}) for op_type in ("Abs", "Sign", "BitwiseNot")]
    nodes += [("Clip", [x, x[1], x[5]], {}), ("Clip", [x, x.min(), x.max()], {})]
    if dtype[0] == "i":
        nodes += [("Neg", [x], {})]
    rows = np.stack([x, x[::-1]])
    for last in (0, 1):
        nodes += [(op_type, [rows], {"axis": 1, "select_last_index": last}) for op_type in ("ArgMax", "ArgMin")]
    nodes += [(op_type, [rows, np.array([1])], {}) for op_type in ("ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin")]
    for number, (got, wanted) in enumerate(zip(_computed(nodes), _expected(nodes), strict=True)):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted, nodes[number][0])
    (quotients,) = _computed([("Div", pairs, {})])
    bits = 8 * np.dtype(dtype).itemsize
    for row, a in zip(quotients, x, strict=True):
        wanted = [abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for b in nonzero]
        assert [int(each) % 2**bits for each in row] == [each % 2**bits for each in wanted]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("fmod", [0, 1])
def test_what_remains_of_floats(dtype: str, fmod: int) -> None:
    """To the sign of zero: without fmod it is the divisor's."""
    with np.errstate(over="ignore"):
        x = EDGES.astype(dtype)
    nodes: Nodes = [("Mod", [x[:, None], x[None, :]], {"fmod": fmod})]
    (got,), (wanted,) = _computed(nodes, 28), _expected(nodes, 28)
    np.testing.assert_array_equal(got, wanted)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(wanted)[number])


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_norms_of_integers(dtype: str) -> None:
    """In f64, of which the whole part is the result."""
    x = np.array([[3, 4, 12], [1, 2, 100000]], dtype)
    nodes: Nodes = [(op_type, [x, np.array([1])], {}) for op_type in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")]
    norms, logs, exponents = _computed(nodes)
    assert norms.dtype == logs.dtype == exponents.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(norms, [[13], [100000]])
    np.testing.assert_array_equal(logs, [[2], [11]])
    np.testing.assert_array_equal(exponents, [[12], [100000]])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_einsum_of_integers_wraps(dtype: str) -> None:
    x = _ends(dtype).reshape(1, -1)
    nodes: Nodes = [("Einsum", [x, x.T.copy()], {"equation": "ij,jk->ik"})]
    (got,) = _computed(nodes)
    assert got.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(got, (x.astype(np.int64) @ x.T.astype(np.int64)).astype(dtype))


@pytest.mark.parametrize("op_type", ["And", "Or", "Xor", "Not"])
def test_logic_is_of_truth_values(op_type: str) -> None:
    operands: list[Array] = [np.array([1, 2], np.int32)] * (1 if op_type == "Not" else 2)
    with pytest.raises(mi.InvalidModelError, match=rf"n0 \({op_type}\): takes booleans, got i32"):
        _computed([(op_type, operands, {})])
