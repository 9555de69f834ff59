"""`specialize`: inputs whose values are known when a model is compiled, and what is refused of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pytest
from import_cases import model_of
from numpy.typing import ArrayLike
from onnx import ModelProto, helper, numpy_helper

import mini_infer as mi
from mini_infer.dialects.errors import UnknownValueError
from mini_infer.dialects.graph.values import Array

pytestmark = pytest.mark.usefixtures("with_cache")

X = np.arange(6, dtype=np.float32).reshape(2, 3)
AXES = np.array([1])


def sums() -> ModelProto:
    """y = the sum of x[2, 3] over axes, times factor, which has a default."""
    nodes = [
        helper.make_node("ReduceSum", ["x", "axes"], ["sum"], keepdims=0),
        helper.make_node("Mul", ["sum", "factor"], ["y"]),
    ]
    inputs = {"x": X, "axes": AXES, "factor": np.array(2, np.float32)}
    return model_of(nodes, inputs, {"factor": np.array(2, np.float32)}, ["y"])


@pytest.mark.parametrize("axes", [AXES, [1], np.array([0]), [0, 1], [-1]])
def test_a_value_that_a_shape_hangs_on(axes: ArrayLike) -> None:
    model = sums()
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "k"
    engine = mi.compile(model, specialize={"axes": axes})
    assert engine.input_names == ("x",)
    np.testing.assert_allclose(engine(X), 2 * X.sum(tuple(np.asarray(axes))))
    with pytest.raises(mi.InvalidInputError, match="there is no input 'axes'; the model has 'x'"):
        engine(x=X, axes=AXES)


def test_any_input_may_be_given_and_the_default_of_one_replaced() -> None:
    engine = mi.compile(sums(), specialize={"axes": AXES, "x": X, "factor": 0.5})
    assert engine.input_names == ()
    np.testing.assert_allclose(engine({})["y"], X.sum(1) / 2)


def test_a_large_value_is_a_weight() -> None:
    table = np.arange(5000, dtype=np.float32).reshape(100, 50)
    model = model_of([helper.make_node("Gather", ["t", "i"], ["y"])], {"t": table, "i": AXES}, {}, ["y"])
    engine = mi.compile(model, specialize={"t": table})
    assert engine.plan.weights.nbytes >= table.nbytes
    np.testing.assert_array_equal(engine(np.array([7])), table[[7]])


def test_the_size_of_a_value_binds_dimensions_of_its_name() -> None:
    model = model_of([helper.make_node("Add", ["x", "b"], ["y"])], {"x": X, "b": X}, {}, ["y"])
    for value in model.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "rows"
    np.testing.assert_array_equal(mi.compile(model, specialize={"b": X})(X), X + X)
    with pytest.raises(mi.InvalidInputError, match="input b: dimension 0 is 4, but specialize gives 2"):
        mi.compile(model, specialize={"b": X}, shapes={"x": (4, 3)})


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ({"axis": AXES}, {}, "specialize: there is no input axis; the inputs are x, axes, factor"),
        ({"axes": AXES.astype(np.int32)}, {}, "specialize: input axes has type int32 instead of int64"),
        ({"axes": [1.5]}, {}, "specialize: input axes has type float64 instead of int64"),
        ({"axes": ["one"]}, {}, "specialize: input axes has type <U3 instead of int64"),
        ({"axes": [[1], [2, 3]]}, {}, "specialize: input axes: .*inhomogeneous"),
        ({"axes": 1}, {}, r"input axes has 1 dimensions, specialize gives \[\]"),
        ({"x": X[:1]}, {}, "input x: dimension 0 is 2, but specialize gives 1"),
        (
            {"x": X},
            {"shapes": {"x": (3, 2)}},
            r"input x: shapes gives \[3, 2\], but specialize a value of shape \[2, 3\]",
        ),
    ],
)
def test_values_that_do_not_fit(values: Mapping[str, Any], options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(mi.InvalidInputError, match=message):
        mi.compile(sums(), specialize=values, **options)


def test_lists_of_different_lengths_for_a_model_in_the_cache() -> None:
    mi.compile(sums(), specialize={"axes": [1]})
    with pytest.raises(mi.InvalidInputError, match=r"specialize: input axes: .*inhomogeneous"):
        mi.compile(sums(), specialize={"axes": [[1], [2, 3]]})


def test_what_is_no_mapping_and_what_is_no_onnx_model(tmp_path: Any) -> None:
    with pytest.raises(mi.ConfigError, match=r"specialize is .* a mapping from names of inputs to values"):
        mi.compile(sums(), specialize=cast("Any", [AXES]))
    with pytest.raises(mi.ConfigError, match="specialize is for ONNX models; the inputs of a module are fixed"):
        mi.compile(tmp_path / "some.mlir", specialize={"axes": AXES})


def refused(nodes: list[Any], inputs: Mapping[str, Array]) -> UnknownValueError:
    with pytest.raises(UnknownValueError) as caught:
        mi.compile(model_of(nodes, inputs, {}, ["y"]))
    return caught.value


def test_the_error_names_the_inputs_that_a_value_depends_on_and_no_others() -> None:
    error = refused([helper.make_node("ReduceSum", ["x", "axes"], ["y"])], {"x": X, "axes": AXES})
    assert error.inputs == ("axes",)
    assert "operand 1 (axes) must be known when the model is imported, but it depends on axes: bind" in str(error)
    chain = [
        helper.make_node("Add", ["a", "b"], ["s"]),
        helper.make_node("Concat", ["s", "c"], ["shape"], axis=0),
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Reshape", ["e", "shape"], ["y"]),
    ]
    assert refused(chain, {"a": AXES, "x": X, "c": AXES, "b": AXES}).inputs == ("a", "c", "b")


def test_a_known_value_that_is_too_large_to_be_computed_depends_on_no_input() -> None:
    weights = numpy_helper.from_array(np.ones(5000, np.int64), "w")
    nodes = [helper.make_node("Neg", ["w"], ["n"]), helper.make_node("ReduceSum", ["x", "n"], ["y"])]
    model = model_of(nodes, {"x": X}, {}, ["y"])
    model.graph.initializer.append(weights)
    with pytest.raises(UnknownValueError, match="is too large to be computed then") as caught:
        mi.compile(model)
    assert caught.value.inputs == ()
