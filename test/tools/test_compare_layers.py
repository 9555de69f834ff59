"""mini-infer compare --with, --versus: the errors of a second model's tensors, by their ONNX names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_runs import cli, complaint, saved, told
from models.builder import ModelBuilder
from onnx import ModelProto, TensorProto

STEP = 0.1


def layers(*, rounded: bool = False, name: str = "x", scale: float = 1.0) -> ModelProto:
    """Tanh, a product by 2, a sum with the input; perhaps with the first rounded by steps in between."""
    b = ModelBuilder("layers")
    x = b.input(name, [4, 8])
    y = b.node("Tanh", x)
    if rounded:
        quantum, zero = b.number(STEP), b.constant(np.array(0, np.int8))
        y = b.node("DequantizeLinear", b.node("QuantizeLinear", y, quantum, zero), quantum, zero)
    y = b.node("Mul", y, b.number(2.0 * scale))
    model = b.model([b.node("Add", y, x)])
    for number, node in enumerate(model.graph.node):  # names of tensors are those of the float model's
        assert node.output[0].startswith("layers/"), number
    return renamed(model)


def renamed(model: ModelProto) -> ModelProto:
    """Tensors named after their operators."""
    names = {node.output[0]: node.op_type.lower() for node in model.graph.node}
    for node in model.graph.node:
        node.input[:] = [names.get(each, each) for each in node.input]
        node.output[:] = [names[each] for each in node.output]
    for output in model.graph.output:
        output.name = names[output.name]
    return model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved(layers(), tmp_path)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    return saved(layers(rounded=True), folder)


def test_the_errors_of_a_rounded_model(path: Path, other: Path, tmp_path: Path) -> None:
    report = tmp_path / "errors.json"
    x = np.linspace(-2, 2, 32, dtype=np.float32).reshape(4, 8)
    np.save(tmp_path / "x.npy", x)
    text = told("compare", path, "--with", other, "-i", f"x={tmp_path / 'x.npy'}", "--json", report)
    found = json.loads(report.read_text())
    assert [each["name"] for each in found["tensors"]] == ["tanh", "mul", "add"]
    tanh, mul, add = found["tensors"]
    assert (tanh["error"], tanh["entering"], tanh["growth"], tanh["output"]) == (0, None, None, False)
    exact = np.tanh(x)
    off = np.round(exact / np.float32(STEP)) * STEP - exact
    assert mul["error"] == pytest.approx(np.abs(off).max() / np.abs(exact).max(), rel=1e-4)
    assert mul["rms"] == pytest.approx(np.sqrt((off**2).mean() / (exact**2).mean()), rel=1e-4)
    assert (mul["entering"], mul["growth"]) == (0, None)
    assert add["error"] == pytest.approx(2 * np.abs(off).max() / np.abs(2 * exact + x).max(), rel=1e-4)
    assert add["growth"] == pytest.approx(add["error"] / mul["error"])
    assert (add["node"], add["operator"], add["output"], found["right"]) == (add["node"], "Add", True, True)
    assert text.startswith("3 tensors of model.onnx beside model.onnx, in order:\n")
    assert re.search(r"\badd \(output\) +Add ", text)


def test_tolerances_decide_the_exit_status(path: Path, other: Path) -> None:
    assert cli("compare", path, "--with", other, "--tolerance", "0.5").exit_code == 0
    assert cli("compare", path, "--with", other, "--tolerance", "1e-4").exit_code == 1
    assert cli("compare", path, "--with", other, "--tolerance", "1e-4", "--tolerance", "add=0.5").exit_code == 0


def test_a_model_is_compared_with_itself_under_other_options(path: Path, tmp_path: Path) -> None:
    """A picture of no errors at all is one, too."""
    text = told("compare", path, "--versus", "optimize=false", "--versus", "threads=1", "--plot", tmp_path / "e.png")
    assert text.startswith("3 tensors of model.onnx with optimize=false, threads=1 beside model.onnx, in order:\n")


def test_equal_comparisons_give_equal_pictures(path: Path, other: Path, tmp_path: Path) -> None:
    pictures = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for picture in pictures:
        told("compare", path, "--with", other, "--plot", picture)
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    assert "relative error" in pictures[0].read_text()


def test_the_layer_at_which_an_error_grows_is_named(tmp_path: Path) -> None:
    """The sum with a large number hides the error, and the difference brings it to light."""
    paths: list[Path] = []
    for number, factor in enumerate((1.0, 1.001)):
        b = ModelBuilder("grown")
        large = b.number(1e3)
        y = b.node("Add", b.node("Mul", b.input("x", [4, 8]), b.number(factor)), large)
        model = renamed(b.model([b.node("Exp", b.node("Sub", y, large))]))
        (tmp_path / str(number)).mkdir()
        paths.append(saved(model, tmp_path / str(number)))
    text = told("compare", paths[0], "--with", paths[1])
    (told_growth,) = re.findall(r"the error grows most in .*", text)
    assert "(Exp)" in told_growth and "000" not in told_growth


def test_floats_of_another_type_are_given_what_the_first_model_is(path: Path, tmp_path: Path) -> None:
    model = layers()
    folder = tmp_path / "half"
    folder.mkdir()
    for tensor in model.graph.initializer:
        array = np.frombuffer(tensor.raw_data, np.float32).astype(np.float16) if tensor.raw_data else None
        assert array is not None
        tensor.raw_data, tensor.data_type = array.tobytes(), TensorProto.FLOAT16
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    text = told("compare", path, "--with", saved(model, folder), "--tolerance", "1e-2")
    assert text.startswith("3 tensors of ")


def test_what_compare_complains_of(path: Path, other: Path, tmp_path: Path) -> None:
    folder = tmp_path / "named"
    folder.mkdir()
    named = saved(layers(name="z"), folder)
    assert complaint("compare", path, "--with", named) == f"{named} has an input z, which {path} has not"
    wanted = "module.mlir has no ONNX tensors: --with and --versus are for .onnx files"
    assert complaint("compare", path, "--with", "module.mlir") == wanted
    assert complaint("compare", path, "--plot", "e.svg") == "--plot does nothing without --with or --versus"
    assert complaint("compare", path, "--with", other, "--of", path) == "--of does nothing with --with or --versus"
    wanted = "--range does nothing with --with or --versus, which compare at one shape; see --dim"
    assert complaint("compare", path, "--with", other, "--range", "n=1,2,3") == wanted
    wanted = "--plot e.txt: there are pictures as .png, .svg, .pdf"
    assert complaint("compare", path, "--with", other, "--plot", "e.txt") == wanted
    wanted = "--versus dim=3: there is no option 'dim'; there are "
    assert complaint("compare", path, "--versus", "dim=3").startswith(wanted)
    assert complaint("compare", path, "--versus", "optimize=no") == "--versus optimize=no: expected true or false"
    assert complaint("compare", path, "--versus", "threads=x") == "--versus threads=x: expected a whole number"
    wanted = "--versus bf16: expected NAME=VALUE, such as precision=bf16"
    assert complaint("compare", path, "--versus", "bf16") == wanted
    assert complaint("compare", path, "--versus", "precision=f8").startswith("--precision is 'f8'; ")
    wanted = "--tolerance: there is no output z; outputs are add"
    assert complaint("compare", path, "--with", other, "--tolerance", "z=1") == wanted


def test_models_without_tensors_in_common(path: Path, tmp_path: Path) -> None:
    b = ModelBuilder("else")
    folder = tmp_path / "else"
    folder.mkdir()
    strange = saved(b.model([b.node("Exp", b.input("x", [4, 8]))]), folder)
    wanted = f"{path} and {strange} have no tensor in common: tensors are compared by their ONNX names"
    assert complaint("compare", path, "--with", strange) == wanted
    tall = layers(scale=1.0)
    tall.graph.output[0].name = tall.graph.node[-1].output[0] = "sum"
    (tmp_path / "tall").mkdir()
    wanted = "has no output add of the same shape and kind"
    assert wanted in complaint("compare", path, "--with", saved(tall, tmp_path / "tall"), "--tolerance", "1")
