"""mini-infer quantize: what it writes means the same to ONNX Runtime, and is as exact as it says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import complaint, told
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.passes.graph.quantization.block_quantiser import quantised
from mini_infer.tools.quantization import model_writing

onnx: Any = import_module("onnx")  # its functions on files have no usable types
Random = np.random.default_rng(0)
ROWS, DEPTH, WIDE = 40, 96, 70


def floats(*shape: int, scale: float = 1.0) -> Array:
    return (Random.standard_normal(shape) * scale).astype(np.float32)


def network(opset: int = 25, dtype: Any = np.float32) -> ModelProto:
    """Rows of a table, a MatMul, Gemms of both kinds, a branch with a product, and a product by the table.

    The MatMul's weight has outliers, and costs the most.
    """
    node, type = helper.make_node, helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    first = floats(DEPTH, WIDE, scale=0.1)
    first[::32] *= 30
    weights = {
        "table": floats(ROWS, DEPTH),
        "first": first,
        "second": floats(DEPTH, WIDE, scale=0.1),
        "bias": floats(DEPTH),
        "third": floats(DEPTH, DEPTH, scale=0.1),
        "inner": floats(DEPTH, DEPTH, scale=0.1),
        "row": floats(1, DEPTH),
    }

    def branch(name: str, op_type: str, *inputs: str) -> GraphProto:
        result = helper.make_tensor_value_info(name, type, None)
        return helper.make_graph([node(op_type, inputs, [name], f"{name}_node")], name, [], [result])

    nodes = [
        node("Gather", ["table", "ids"], ["rows"], "embedded"),
        node("Add", ["rows", "x"], ["a"]),
        node("MatMul", ["a", "first"], ["b"], "up"),
        node("Gemm", ["b", "second", "bias"], ["c"], "down", transB=1),
        node("Transpose", ["c"], ["ct"], perm=[1, 0]),
        node("Gemm", ["ct", "third", "row"], ["d"], "scaled", transA=1, alpha=0.5, beta=2.0),
        node(
            "If",
            ["yes"],
            ["e"],
            then_branch=branch("then", "MatMul", "d", "inner"),
            else_branch=branch("else", "Identity", "d"),
        ),
        node("Transpose", ["table"], ["turned"], perm=[1, 0]),
        node("MatMul", ["e", "turned"], ["y"], "head"),
    ]
    value = helper.make_tensor_value_info
    inputs = [
        value("ids", TensorProto.INT64, ["n"]),
        value("x", type, ["n", DEPTH]),
        value("yes", TensorProto.BOOL, []),
    ]
    tensors = [numpy_helper.from_array(array.astype(dtype), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "network", inputs, [value("y", type, ["n", ROWS])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset < 25 else 13)


def inputs(dtype: Any = np.float32) -> dict[str, Array]:
    return {"ids": np.array([3, 0, 39, 3]), "x": floats(4, DEPTH).astype(dtype), "yes": np.array(True)}


def by_onnxruntime(path: Path, given: Mapping[str, Array]) -> Array:
    """As it computes without its own rounding of what is multiplied."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, dict(given))[0]


def quantise(folder: Path, *options: str, model: ModelProto | None = None) -> tuple[Path, dict[str, Any]]:
    """The written model, and the facts."""
    source, output, facts = folder / "model.onnx", folder / "quantised.onnx", folder / "facts.json"
    if not source.exists():
        onnx.save(model or network(), source)
    told("quantize", source, "-o", output, "--json", facts, *options)
    return output, json.loads(facts.read_text())


def operators(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


CASES = {
    "4 bits": [],
    "zero points": ["--asymmetric"],
    "8 bits": ["--bits", "8", "--block", "16"],
    "2 bits": ["--bits", "2", "--block", "64", "--asymmetric"],
    "equations": ["--format", "qdq"],
    "equations with zero points": ["--format", "qdq", "--asymmetric", "--bits", "8"],
    "equations of 2 bits": ["--format", "qdq", "--bits", "2"],
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_both_compute_the_same(options: list[str], tmp_path: Path) -> None:
    path, facts = quantise(tmp_path, *options)
    onnx.checker.check_model(onnx.load(path))
    given = inputs()
    wanted = by_onnxruntime(path, given)
    (found,) = mi.compile(path, dims={"n": 4})(given).values()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
    assert [each["stays"] for each in facts["layers"]] == [None] * 5
    before, after = (sum(each[f"bytes_{when}"] for each in facts["layers"]) for when in ("before", "after"))
    assert after < before / 2
    assert facts["files"] == {str(path): path.stat().st_size}


def test_the_option_of_a_compile_makes_the_same_numbers(tmp_path: Path) -> None:
    path, _ = quantise(tmp_path)
    given = inputs()
    (found,) = mi.compile(path, dims={"n": 4})(given).values()
    (wanted,) = mi.compile(tmp_path / "model.onnx", dims={"n": 4}, weights="int4")(given).values()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_operators_and_tensors(tmp_path: Path) -> None:
    """A table is stored once for both that read it; what nothing reads is gone."""
    path, _ = quantise(tmp_path, "--activations", "int8")
    model = onnx.load(path)
    products = [node for node in model.graph.node if node.op_type == "MatMulNBits"]
    assert [node.name for node in products] == [
        "up_MatMulNBits",
        "down_MatMulNBits",
        "scaled_MatMulNBits",
        "head_MatMulNBits",
    ]
    levels = [
        helper.get_attribute_value(each)
        for node in products
        for each in node.attribute
        if each.name == "accuracy_level"
    ]
    assert levels == [4] * 4
    assert len(products[1].input) == 6 and products[1].input[5] == "bias"
    names = {each.name for each in model.graph.initializer}
    assert names & {"table", "first", "second", "third"} == set() and {"bias", "row"} < names
    assert "inner" not in names and "inner_Q4" in names
    assert operators(path).count("GatherBlockQuantized") == 1 and operators(path).count("Transpose") == 2


def test_floats_of_16_bits(tmp_path: Path) -> None:
    path, _ = quantise(tmp_path, model=network(dtype=np.float16))
    given = inputs(np.float16)
    wanted = by_onnxruntime(path, given).astype(np.float64)
    (found,) = mi.compile(path, dims={"n": 4})(given).values()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-3 * np.abs(wanted).max())


@pytest.mark.parametrize("pattern", ["up", "fir*", "h*,up"])
def test_what_is_kept(pattern: str, tmp_path: Path) -> None:
    path, facts = quantise(tmp_path, "--keep", pattern)
    left = {each["name"]: each["stays"] for each in facts["layers"] if each["stays"]}
    assert left == dict.fromkeys(["head", "up"] if "h" in pattern else ["up"], "kept")
    assert operators(path).count("MatMul") == len(left)


def test_a_budget_of_each_weight(tmp_path: Path) -> None:
    """Without inputs, it is that of a weight's own error."""
    _, facts = quantise(tmp_path, "--error-budget", "0.1")
    for each in facts["layers"]:
        assert (each["weight_error"] > 0.1) == (each["stays"] == "budget")
    assert {each["name"] for each in facts["layers"] if each["stays"]} == {"up"}
    assert facts["error"] is None


@pytest.mark.parametrize(("part", "left"), [(1.1, {False}), (0.7, {True, False}), (1e-9, {True})])
def test_a_budget_of_the_outputs(part: float, left: set[bool], tmp_path: Path) -> None:
    """With inputs it is that of the model's outputs: the worst weights are left, and no more of them than needed."""
    given = inputs()
    np.savez(tmp_path / "inputs.npz", allow_pickle=False, **given)
    _, facts = quantise(tmp_path, "-i", str(tmp_path / "inputs.npz"))
    budget = part * facts["error"]
    path, facts = quantise(tmp_path, "-i", str(tmp_path / "inputs.npz"), "--error-budget", str(budget))
    exact, found = (by_onnxruntime(each, given).astype(np.float64) for each in (tmp_path / "model.onnx", path))
    error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
    assert facts["error"] <= budget and abs(facts["error"] - error) < 1e-5
    layers = sorted(facts["layers"], key=lambda each: -each["output_error"])
    assert [bool(each["stays"]) for each in layers] == sorted((bool(each["stays"]) for each in layers), reverse=True)
    assert {bool(each["stays"]) for each in layers} == left


def test_large_models_are_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so may be the one that is read, from another folder."""
    source = tmp_path / "there"
    source.mkdir()
    onnx.save(network(), source / "model.onnx", save_as_external_data=True, location="tensors", size_threshold=100)
    monkeypatch.setattr(model_writing, "MOST_IN_ONE_FILE", 1000)
    (tmp_path / "here").mkdir()
    output = tmp_path / "here" / "quantised.onnx"
    told("quantize", source / "model.onnx", "-o", output, "--keep", "up")
    assert {each.name for each in output.parent.iterdir()} == {"quantised.onnx", "quantised.onnx.data"}
    given = inputs()
    wanted = by_onnxruntime(output, given)
    (found,) = mi.compile(output, dims={"n": 4})(given).values()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_weights_that_are_no_numbers_or_shallow_stay(tmp_path: Path) -> None:
    node, value = helper.make_node, helper.make_tensor_value_info
    broken = floats(64, 8)
    broken[3, 3] = np.nan
    tensors = [numpy_helper.from_array(broken, "broken"), numpy_helper.from_array(floats(8, 64), "shallow")]
    tensors.append(numpy_helper.from_array(floats(64, 0), "empty"))
    nodes = [node("MatMul", ["x", "broken"], ["a"]), node("MatMul", ["a", "shallow"], ["y"])]
    nodes.append(node("MatMul", ["x", "empty"], ["z"]))
    ends = (
        [value("x", TensorProto.FLOAT, [2, 64])],
        [value("y", TensorProto.FLOAT, [2, 64]), value("z", TensorProto.FLOAT, [2, 0])],
    )
    model = helper.make_model(
        helper.make_graph(nodes, "g", *ends, tensors), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    path, facts = quantise(tmp_path, model=model)
    assert [(each["name"], each["stays"]) for each in facts["layers"]] == [
        ("MatMul_0", "not finite"),
        ("MatMul_1", "less deep than a block"),
        ("MatMul_2", "no elements"),
    ]
    assert operators(path) == ["MatMul"] * 3


def test_a_table_alone_is_quantised_where_it_is_asked_for(tmp_path: Path) -> None:
    node, value = helper.make_node, helper.make_tensor_value_info
    table = floats(ROWS, 80)
    graph = helper.make_graph(
        [node("Gather", ["table", "ids"], ["y"], "rows")],
        "g",
        [value("ids", TensorProto.INT64, [4])],
        [value("y", TensorProto.FLOAT, [4, 80])],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path, facts = quantise(tmp_path, model=model)
    assert facts["layers"][0]["stays"] == "table" and operators(path) == ["Gather"]
    path, facts = quantise(tmp_path, "--embeddings")
    assert facts["layers"][0]["stays"] is None and operators(path) == ["GatherBlockQuantized"]
    ids = np.array([1, 2, 3, 39])
    np.testing.assert_allclose(
        by_onnxruntime(path, {"ids": ids}), quantised(table, 4, 32).dequantised()[ids], rtol=1e-6
    )


ERRORS = {
    "bits": (["--bits", "3"], "--bits is 3; it must be one of 2, 4, 8"),
    "block": (["--block", "24"], "--block is 24; it must be a power of two"),
    "small block": (["--block", "8"], "--block is 8; it must be an integer of at least 16"),
    "activations": (["--activations", "int4"], "--activations is 'int4'; it must be one of f32, int8"),
    "format": (["--format", "onnx"], "--format is 'onnx'; it must be one of matmulnbits, qdq"),
    "keep": (
        ["--keep", "x*"],
        r"--keep x\*: there is no such product; there are head, up, down, scaled, then_node",
    ),
    "opset": (["--format", "qdq"], "--format qdq: blocks of 4 bits need opset 21; the model has 17"),
    "no place": (["--format", "qdq", "--activations", "int8"], "--activations int8 does nothing with --format qdq"),
    "no gather": (["--format", "qdq", "--embeddings"], "--embeddings does nothing with --format qdq"),
    "seed": (["--seed", "1"], "--seed does nothing without --input"),
    "inputs": (["-i", "nothing.npz"], "nothing.npz: no such file"),
    "itself": (["-o", "model.onnx"], r"--output .*model\.onnx is the model itself"),
    "name": (["-o", "quantised.npz"], r"--output quantised\.npz: the name must end in \.onnx"),
    "folder": (["-o", "model.onnx/quantised.onnx"], r"model\.onnx/quantised\.onnx: can't be written: "),
}


@pytest.mark.parametrize(("options", "message"), ERRORS.values(), ids=ERRORS)
def test_errors_are_one_line(options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(network(opset=17), "model.onnx")
    more = options if "-o" in options else ["-o", "quantised.onnx", *options]
    assert re.search(message, complaint("quantize", "model.onnx", *more))
    assert [each.name for each in tmp_path.iterdir()] == ["model.onnx"]


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("text")
    assert "text.onnx: " in complaint("quantize", tmp_path / "text.onnx", "-o", tmp_path / "quantised.onnx")
    assert "no such file" in complaint("quantize", tmp_path / "nothing.onnx", "-o", tmp_path / "quantised.onnx")
