"""Diagnostics of the import: what is wrong with a graph, an operator or an input is said in one error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, imported, model_of, one_node
from onnx import ModelProto, NodeProto, TensorProto, helper

from mini_infer.dialects.errors import InvalidInputError, InvalidModelError, UnsupportedError
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.operators.operator import Operator
from mini_infer.dialects.operators.operator_registry import BUILT_IN, OPERATORS
from mini_infer.lowering.onnx_to_graph import import_onnx

X = random(2, 3)


def node(op_type: str, reads: Sequence[str], makes: Sequence[str], **attributes: Any) -> NodeProto:
    """A node, named after its first result unless it says otherwise."""
    return helper.make_node(op_type, reads, makes, **{"name": f"{makes[0]}_node", **attributes})


def graph(*nodes: NodeProto, outputs: Sequence[str] = ("y",), **weights: Array) -> ModelProto:
    """A model with the input x."""
    return model_of(nodes, {"x": X}, weights, outputs)


RELU = node("Relu", ["x"], ["y"])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            graph(RELU, node("Abs", ["x"], ["y"], name="abs")),
            r"abs \(Abs\): value y is defined twice, also by y_node",
        ),
        (
            graph(RELU, node("Abs", ["y"], ["x"])),
            r"x_node \(Abs\): value x .* also by the graph's inputs",
        ),
        (graph(node("Add", ["x", "lost"], ["y"])), r"y_node \(Add\): reads lost, which is undefined"),
        (graph(RELU, outputs=["y", "z"]), "graph output z is defined by no node"),
        (graph(RELU, outputs=[]), "the graph has no outputs"),
        (
            graph(RELU, node("Add", ["x", "c"], ["b"]), node("Neg", ["b"], ["a"]), node("Abs", ["a"], ["c"])),
            "^the graph has a cycle: b_node -> a_node -> c_node -> b_node$",
        ),
        (graph(node("Add", ["x"], ["y"])), r"y_node \(Add\): 1 operands, but the operator has 2"),
        (graph(node("Relu", ["x"], ["y", "z"])), r"y_node \(Relu\): 2 results, but the operator has 1"),
        (graph(node("Clip", ["x"] * 4, ["y"])), r"y_node \(Clip\): 4 operands, but the operator has 1 to 3"),
        (graph(node("Add", ["x", ""], ["y"])), r"y_node \(Add\): operand 1 is missing"),
        (
            graph(node("Relu", ["x"], ["y"], slope=1.0)),
            r"y_node \(Relu\): the operator has no attribute slope",
        ),
        (
            graph(node("Add", ["x", "w"], ["y"]), w=random(4)),
            r"y_node \(Add\): shapes 2x3 and 4 don't broadcast",
        ),
        (
            graph(node("Add", ["x", "w"], ["y"]), w=np.array(1)),
            r"different element types, f32 and i64",
        ),
        (
            graph(node("Gather", ["w", "i"], ["y"]), w=np.arange(3), i=np.array(7)),
            r"y_node \(Gather\): graph.gather can't be computed: graph.gather: index 7 is outside of a dimension of 3",
        ),
        (graph(node("Constant", [], ["y"], value_int=1, value_float=1.0)), "needs exactly one value"),
        (
            graph(node("ConstantOfShape", ["s"], ["y"]), s=np.array([2, -1])),
            r"\[2, -1\] has a negative dimension",
        ),
    ],
)
def test_invalid_graph(model: ModelProto, message: str) -> None:
    with pytest.raises(InvalidModelError, match=message):
        imported(model)


@pytest.mark.parametrize("place", ["graph", "branch", "function"])
def test_names_that_are_no_text(place: str) -> None:
    model = graph(RELU)
    if place == "branch":
        model = graph(node("If", ["c"], ["y"], then_branch=model.graph, else_branch=model.graph), c=np.array(True))
    if place == "function":
        model = graph(helper.make_node("F", ["x"], ["y"], name="f", domain="own"))
        relu = helper.make_node("Relu", ["a"], ["b"])
        model.functions.append(helper.make_function("own", "F", ["a"], ["b"], [relu], model.opset_import))
    data = model.SerializeToString()
    with pytest.raises(InvalidModelError, match=r"a name in the model is not text: b'R\\xfflu'"):
        import_onnx(data.replace(b"Relu", b"R\xfflu"))


def test_values_given_twice() -> None:
    model = graph(node("Add", ["x", "w"], ["y"]), w=X)
    model.graph.initializer.append(model.graph.initializer[0])
    with pytest.raises(InvalidModelError, match="initialiser w is given twice"):
        import_onnx(model)
    model = graph(RELU)
    model.graph.input.append(model.graph.input[0])
    with pytest.raises(InvalidModelError, match="input x is given twice"):
        import_onnx(model)


def test_sparse_initialiser() -> None:
    model = graph(RELU)
    model.graph.sparse_initializer.add().values.name = "w"
    with pytest.raises(UnsupportedError, match="initialiser w is sparse"):
        import_onnx(model)


def test_all_unsupported_operators_are_named_at_once() -> None:
    model = graph(
        node("Multinomial", ["x"], ["a"]),
        node("Sampling", ["a"], ["b"], domain="com.microsoft"),
        node("Swish", ["b"], ["c"]),
        *(node("Nothing", ["c"], [f"d{index}"]) for index in range(5)),
        node("Sum", ["d0", "d1", "d2", "d3", "d4"], ["y"]),
        k=np.array([1]),
    )
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    message = (
        r"^operators that are not supported: Multinomial \(a_node: it draws random numbers\); "
        r"Nothing in opset 20 \(d0_node, d1_node, d2_node and 2 more\); "
        r"Swish in opset 20 \(c_node\); com.microsoft.Sampling \(b_node\)$"
    )
    with pytest.raises(UnsupportedError, match=message):
        imported(model)


def test_operators_of_functions_are_checked_too() -> None:
    model = graph(node("Outer", ["x"], ["y"], domain="local"))
    model.opset_import.append(helper.make_opsetid("local", 1))
    body = [node("Multinomial", ["a"], ["b"], name="inner")]
    opsets = [helper.make_opsetid("", 20)]
    model.functions.append(helper.make_function("local", "Outer", ["a"], ["b"], body, opsets))
    with pytest.raises(UnsupportedError, match=r"Multinomial \(y_node/inner: it draws"):
        imported(model)


@pytest.mark.parametrize("opset", [0, 29, 1000])
def test_unknown_opset(opset: int) -> None:
    model = graph(RELU)
    model.opset_import[0].version = opset
    with pytest.raises(UnsupportedError, match=rf"opset {opset}: supported are 6 to \d+"):
        imported(model)


def test_old_opsets_are_accepted_for_operators_that_have_not_changed() -> None:
    flags = np.array([True, False])
    imported(one_node(Case("Not", [flags], 1))[0])
    with pytest.raises(UnsupportedError, match=r"not supported: Relu in opset 5 \(the_node\)"):
        imported(one_node(Case("Relu", [X], 5))[0])


def test_no_opset() -> None:
    model = graph(RELU)
    del model.opset_import[:]
    with pytest.raises(InvalidModelError, match="imports no version of the ONNX operators"):
        imported(model)


def test_attributes_that_would_be_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("Attention", [random(1, 1, 2, 4)] * 3, 23, {"softmax_precision": 1})
    imported(one_node(case)[0])
    careless = Operator(
        domain="", name="LeakyRelu", since=0, kind=BUILT_IN, origin="a test", handler=lambda node: node.operand()
    )
    monkeypatch.setitem(OPERATORS._operators, ("", "LeakyRelu"), {0: careless})  # pyright: ignore
    model, _ = one_node(Case("LeakyRelu", [X], 19, {"alpha": 0.5}))
    with pytest.raises(UnsupportedError, match=r"the_node \(LeakyRelu\): attribute alpha is not supported here"):
        imported(model)


def test_isolated_nodes_are_warned_about() -> None:
    model = graph(RELU, node("Constant", [], ["lost"], value_int=1), node("Abs", ["w"], ["alone"]), w=X)
    with pytest.warns(UserWarning, match="nodes connected to nothing, ignored: lost_node, alone_node"):
        import_onnx(model)


def test_outputs_that_differ_from_what_the_model_states() -> None:
    model = graph(RELU)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.INT64, [2, 3]))
    with pytest.raises(InvalidModelError, match="output y should be i64, but is f32"):
        import_onnx(model)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4]))
    with pytest.warns(UserWarning, match=r"output y has shape \[2, 3\], but the model states \[2, 4\]"):
        import_onnx(model)


def dynamic(**inputs: Sequence[int | str | None] | None) -> ModelProto:
    """A model with these input shapes that uses none of them."""
    model = graph(RELU)
    for name, shape in inputs.items():
        model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    return model


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        (
            {"a": [2, "n"]},
            {},
            r"no size: n; give them sizes, such as dims={'n': 16}, or ranges: profile=.*'n': \(1, 16, 128\)}",
        ),
        (
            {"a": [None, 3]},
            {},
            r"no size: a\[0\]; give them sizes, such as shapes={'a': \[1, 3\]}, or .*'a.0': \(1, 1, 8\)}",
        ),
        ({"a": None}, {}, r"no size: a\[...\]; give them sizes, such as shapes={'a': \[...\]}$"),
        # All that is open is named at once; what others say, or what is calculated from them, is not asked for.
        (
            {"a": ["batch", 3, None, None], "b": ["batch", "past"], "c": ["past + new", "new"], "d": None, "e": ["m"]},
            {"dims": {"m": 2}},
            r"no size: batch, past, new, a\[2\], a\[3\], d\[...\]; give them sizes, such as "
            r"dims={'past': 16, 'new': 16}, shapes={'a': \[1, 3, 224, 224\], 'd': \[...\]}$",
        ),
        ({"a": ["n"]}, {"dims": {"m": 3}}, "dims: no input has a dynamic dimension m; there are: n"),
        (
            {"a": ["n", None, 4]},
            {"dims": {"a.0": 3}},
            r"dims: no input has a dynamic dimension a\.0; there are: a\.1, n",
        ),
        ({"a": ["n"]}, {"dims": {"n": -3}}, "dims: dimension n can't be -3"),
        ({"a": ["n"]}, {"shapes": {"b": [3]}}, "there is no input b; the inputs are x, a"),
        ({"a": ["n"]}, {"shapes": {"a": [3, 3]}}, r"input a has 1 dimensions, shapes gives \[3, 3\]"),
        ({"a": ["n", 4]}, {"shapes": {"a": [3, 3]}}, "input a: dimension 1 is 4, but shapes gives 3"),
        (
            {"a": ["n"], "b": ["n"]},
            {"shapes": {"a": [3], "b": [4]}},
            "input b: dimension 0 is 3, but shapes gives 4",
        ),
        (
            {"a": ["n"]},
            {"shapes": {"a": [3]}, "dims": {"n": 4}},
            "input a: dimension 0 is 4, but shapes gives 3",
        ),
    ],
)
def test_dimensions_that_do_not_fit(inputs: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        import_onnx(dynamic(**inputs), **options)


def test_inputs_that_are_no_tensors() -> None:
    model = graph(RELU)
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    model.graph.input.append(helper.make_value_info("list", helper.make_sequence_type_proto(tensor)))
    with pytest.raises(UnsupportedError, match="input list is no tensor"):
        import_onnx(model)


def branch(*nodes: NodeProto) -> Any:
    """A subgraph with one result."""
    made = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    return helper.make_graph(nodes, "branch", [], [made])


def test_control_flow() -> None:
    branches = {
        "then_branch": branch(node("Abs", ["x"], ["t"])),
        "else_branch": branch(node("Neg", ["x"], ["e"])),
    }
    several = {"x": X, "c": np.array([True, False])}
    with pytest.raises(
        InvalidModelError, match=r"y_node \(If\): operand 0 \(c\) must be one boolean, got tensor<2xi1>"
    ):
        imported(model_of([node("If", ["c"], ["y"], **branches)], several, {}, ["y"]))
    lost = {**branches, "else_branch": branch(node("Neg", ["lost"], ["e"]))}
    with pytest.raises(InvalidModelError, match=r"y_node \(If\): reads lost, which is undefined"):
        imported(graph(node("If", ["c"], ["y"], **lost), c=np.array(True)))
    unsupported = {**branches, "then_branch": branch(node("Multinomial", ["x"], ["t"]))}
    with pytest.raises(UnsupportedError, match=r"Multinomial \(t_node: it draws"):
        imported(graph(node("If", ["c"], ["y"], **unsupported), c=np.array(True)))
    loop = node("Loop", ["n", ""], ["y"], body=branch(node("Abs", ["x"], ["b"])))
    with pytest.raises(InvalidModelError, match=r"y_node \(Loop\): its graph branch has 0 inputs instead of 2"):
        imported(graph(loop, n=np.array(3)))
