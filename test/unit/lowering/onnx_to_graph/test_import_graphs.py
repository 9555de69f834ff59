"""How a graph is imported: names, unused parts, values that are known, branches, functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import computed, imported, kinds, model_of
from onnx import ModelProto, TensorProto, helper
from xdsl.dialects.builtin import ModuleOp

import mini_infer as mi
from mini_infer.dialects.graph.base import GraphOp, node_name
from mini_infer.dialects.graph.host import main_of
from mini_infer.dialects.graph.interpreter import input_names, output_names
from mini_infer.dialects.graph.ops.movement import BroadcastToOp
from mini_infer.dialects.graph.ops.structure import ConstantOp
from mini_infer.dialects.graph.values import Array, shape_of

X = random(2, 3)
KNOWN = {"two": 2, "three": 3, "nine": 9, "minus": -2}


def ops(module: ModuleOp) -> list[GraphOp]:
    """The graph ops in order."""
    return [op for op in module.walk() if isinstance(op, GraphOp)]


def make(op_type: str, reads: list[str], makes: list[str], name: str = "", **attributes: Any) -> Any:
    """A node."""
    return helper.make_node(op_type, reads, makes, name=name, **attributes)


def test_names_of_nodes_and_values() -> None:
    nodes = [make("Relu", ["x"], ["a"], "block/relu"), make("Add", ["a", "w"], ["y"])]
    module, _ = imported(model_of(nodes, {"x": X, "spare": X}, {"w": random(40, 2, 3)}, ["y", "a"]))
    assert [(op.name, node_name(op)) for op in ops(module)] == [
        ("graph.relu", "block/relu"),
        ("graph.weight", "w"),
        ("graph.add", "Add_1"),
    ]
    main = main_of(module)
    assert (input_names(main), output_names(main)) == (["x", "spare"], ["y", "a"])


def test_inputs_that_are_initialisers_are_weights() -> None:
    model = model_of([make("Add", ["x", "w"], ["y"])], {"x": X, "w": X}, {"w": X + 1}, ["y"])
    assert input_names(main_of(imported(model)[0])) == ["x"]
    np.testing.assert_array_equal(computed(model, {"x": X})["y"], X + (X + 1))


def test_outputs_that_no_node_makes() -> None:
    model = model_of([make("Relu", ["x"], ["y"])], {"x": X}, {"w": X + 1, "big": random(9, 9)}, ["x", "w", "y", "big"])
    found = computed(model, {"x": X})
    np.testing.assert_array_equal(found["x"], X)
    np.testing.assert_array_equal(found["w"], X + 1)
    np.testing.assert_array_equal(found["big"], random(9, 9))


def test_dead_code_is_left_out_and_any_order_is_accepted() -> None:
    nodes = [
        make("Abs", ["a"], ["y"]),
        make("TopK", ["a", "a"], ["unused", "more"]),
        make("Neg", ["x"], ["a"]),
    ]
    assert kinds(imported(model_of(nodes, {"x": X}, {}, ["y"]))[0]) == ["neg", "abs"]


def test_dimensions_are_bound_by_name_or_by_shape() -> None:
    model = model_of([make("Add", ["x", "b"], ["y"])], {"x": X, "b": X}, {}, ["y"])
    for value in model.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "n"
    for options in ({"dims": {"n": 5}}, {"shapes": {"x": (5, 3)}}):
        module, _ = imported(model, **options)
        assert [shape_of(argument) for argument in main_of(module).args] == [(5, 3), (5, 3)]


def test_shape_chains_become_constants() -> None:
    """What exporters write for x.view(x.shape[0], -1, 2 * x.shape[2])."""
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "zero"], ["first"]),
        make("Gather", ["shape", "two"], ["third"]),
        make("Cast", ["third"], ["third_f"], to=TensorProto.FLOAT),
        make("Mul", ["third_f", "factor"], ["product"]),
        make("Floor", ["product"], ["floor"]),
        make("Cast", ["floor"], ["size"], to=TensorProto.INT64),
        make("Unsqueeze", ["first", "axes"], ["first_1"]),
        make("Unsqueeze", ["size", "axes"], ["size_1"]),
        make("Concat", ["first_1", "rest", "size_1"], ["target"], axis=0),
        make("Reshape", ["x", "target"], ["y"]),
    ]
    weights: dict[str, Array] = {
        "zero": np.array(0),
        "two": np.array(2),
        "factor": np.array(2, np.float32),
        "axes": np.array([0]),
        "rest": np.array([-1]),
    }
    x = random(2, 6, 4)
    module, _ = imported(model_of(nodes, {"x": x}, weights, ["y"]))
    assert kinds(module) == ["reshape"]
    assert shape_of(ops(module)[0].results[0]) == (2, 3, 8)


def test_expanding_by_a_computed_shape() -> None:
    """ConstantOfShape, Equal, Where and Expand: how exporters write x.expand(-1, 5)."""
    nodes = [
        make(
            "ConstantOfShape",
            ["rank"],
            ["ones"],
            value=helper.make_tensor("one", TensorProto.INT64, [1], [1]),
        ),
        make("Equal", ["wanted", "minus"], ["kept"]),
        make("Where", ["kept", "ones", "wanted"], ["shape"]),
        make("Expand", ["x", "shape"], ["y"]),
    ]
    weights = {"rank": np.array([2]), "wanted": np.array([-1, 5]), "minus": np.array([-1])}
    x = random(3, 1)
    model = model_of(nodes, {"x": x}, weights, ["y"])
    assert kinds(imported(model)[0]) == ["broadcast_to"]
    np.testing.assert_array_equal(computed(model, {"x": x})["y"], np.repeat(x, 5, 1))


def test_large_splats_stay_small() -> None:
    value = helper.make_tensor("value", TensorProto.FLOAT, [1], [0.5])
    nodes = [make("ConstantOfShape", ["shape"], ["filled"], value=value), make("Add", ["x", "filled"], ["y"])]
    module, _ = imported(model_of(nodes, {"x": X}, {"shape": np.array([500, 2, 3])}, ["y"]))
    constant, spread, _ = ops(module)
    assert isinstance(constant, ConstantOp) and constant.to_numpy().shape == ()
    assert isinstance(spread, BroadcastToOp)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"value": helper.make_tensor("t", TensorProto.INT32, [2], [1, 2])}, np.array([1, 2], np.int32)),
        ({"value_float": 1.5}, np.array(1.5, np.float32)),
        ({"value_floats": [1.5, 2]}, np.array([1.5, 2], np.float32)),
        ({"value_int": 3}, np.array(3)),
        ({"value_ints": [3, 4]}, np.array([3, 4])),
    ],
)
def test_constant(attributes: dict[str, Any], expected: Array) -> None:
    (found,) = computed(model_of([make("Constant", [], ["y"], **attributes)], {}, {}, ["y"]), {}).values()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([make("Shape", ["x"], ["y"], start=-2, end=10)], [3, 4]),
        ([make("Shape", ["x"], ["y"])], [2, 3, 4]),
        ([make("Size", ["x"], ["y"])], 24),
        ([make("Range", ["three", "nine", "two"], ["y"])], [3, 5, 7]),
        ([make("Range", ["nine", "three", "minus"], ["y"])], [9, 7, 5]),
        ([make("Range", ["nine", "three", "two"], ["y"])], []),
    ],
)
def test_what_shapes_say_is_known(nodes: list[Any], expected: Any) -> None:
    weights: dict[str, Array] = {name: np.array(value) for name, value in KNOWN.items()}
    model = model_of(nodes, {"x": random(2, 3, 4)}, weights, ["y"])
    assert kinds(imported(model)[0]) == ["constant"]
    np.testing.assert_array_equal(computed(model, {"x": random(2, 3, 4)})["y"], expected)


def branch(result: str, *nodes: Any, **weights: Array) -> Any:
    """A subgraph with one result."""
    return model_of(nodes, {}, weights, [result]).graph


@pytest.mark.parametrize("condition", [True, False])
def test_a_known_condition_chooses_the_branch(condition: bool) -> None:
    choice = make(
        "If",
        ["c"],
        ["y"],
        "choice",
        then_branch=branch("t", make("Add", ["a", "w"], ["t"], "plus"), w=X),
        else_branch=branch("a"),
    )
    nodes = [make("Relu", ["x"], ["a"]), choice]
    model = model_of(nodes, {"x": X}, {"c": np.array(condition)}, ["y"])
    relu = np.maximum(X, 0)
    np.testing.assert_array_equal(computed(model, {"x": X})["y"], relu + X if condition else relu)
    names = {node_name(op) for op in ops(imported(model)[0])}
    assert ("choice/plus" in names) == condition


def with_function() -> ModelProto:
    """A model that calls a function twice: leaky relu with a factor, and an optional operand."""
    slope = make("LeakyRelu", ["a"], ["c"], "leak")
    slope.attribute.add(name="alpha", ref_attr_name="factor", type=1)
    body = [slope, make("Clip", ["c", "", "b"], ["r"], "clip")]
    function = helper.make_function(
        "local", "Leak", ["a", "b"], ["r"], body, [helper.make_opsetid("", 20)], attributes=["factor"]
    )
    calls = [
        make("Leak", ["x", "one"], ["u"], "first", domain="local", factor=0.5),
        make("Leak", ["u"], ["y"], "second", domain="local"),
    ]
    model = model_of(calls, {"x": X}, {"one": np.array(1, np.float32)}, ["y"])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("local", 1))
    return model


def test_functions_of_the_model_are_inlined() -> None:
    first = np.minimum(np.where(X < 0, X * np.float32(0.5), X), 1)
    expected = np.where(first < 0, first * np.float32(0.01), first)
    np.testing.assert_array_equal(computed(with_function(), {"x": X})["y"], expected)
    names = [node_name(op) for op in ops(imported(with_function())[0])]
    assert names == ["first/leak", "first/clip", "second/leak"]


def test_operators_that_onnx_defines_by_others() -> None:
    targets = np.array([0, 2])
    nodes = [make("SoftmaxCrossEntropyLoss", ["x", "targets"], ["y"], "loss")]
    found = computed(model_of(nodes, {"x": X, "targets": targets}, {}, ["y"]), {"x": X, "targets": targets})
    shifted = X - np.log(np.sum(np.exp(X), 1, keepdims=True))
    expected = -(shifted[0, 0] + shifted[1, 2]) / 2
    np.testing.assert_allclose(found["y"], expected, rtol=1e-6)


def test_what_a_size_is_computed_from_is_looked_at_once() -> None:
    """By the paths through such a chain there are 2^80, as each sum reads the one before twice."""
    sums = [make("Add", [f"s{number}"] * 2, [f"s{number + 1}"]) for number in range(80)]
    given = {"x": random(1), "s0": np.array([1])}
    with pytest.raises(mi.UnknownValueError):
        imported(model_of([*sums, make("Expand", ["x", "s80"], ["y"])], given, {}, ["y"]))
