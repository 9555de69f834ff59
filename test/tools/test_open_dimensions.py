"""A model with open dimensions: the first command says how to give them sizes, or takes them from the arrays given."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from command_runs import cli, complaint, saved, told
from models.build import ModelBuilder
from onnx import ModelProto

from mini_infer.tools.arrays import save_arrays
from mini_infer.tools.mini_opt.command import main as mini_opt

COMMANDS = {
    "run": ["run", "--repeat", "1"],
    "reference": ["run", "--reference"],
    "plan": ["plan"],
    "compare": ["compare"],
    "build": ["build", "-o", "out.mi"],
    "bench": ["bench", "--runs", "1", "--rounds", "1", "--warmup", "0"],
    "tune": ["tune", "--seconds", "0.01"],
}


def open_model() -> ModelProto:
    """Inputs of which one has dimensions with names, one of them calculated from another input's, and one has none."""
    b = ModelBuilder("open")
    x, past, picture = b.input("x", ["batch", "old + new"]), b.input("past", [4, "old"]), b.input("p", ["", 3, ""])
    return b.model(
        [b.node("Relu", x), b.node("Relu", past), b.node("Relu", b.input("new", [1, "new"])), b.node("Relu", picture)]
    )


def named_model() -> ModelProto:
    b = ModelBuilder("named")
    return b.model([b.node("Relu", b.input("x", ["batch", "the length"]))])


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return saved(open_model(), tmp_path).name


@pytest.mark.parametrize("name", COMMANDS)
def test_all_open_dimensions_are_named_with_the_command_to_copy(name: str, model: str) -> None:
    words = [*COMMANDS[name], model]
    found = complaint(*words)
    named, _, rest = found.partition("; give them sizes, such as: ")
    assert named == "dimensions of inputs have no size: batch, old, new, p[0], p[2]"
    sizes, _, ranges = rest.partition("; or ranges: ")
    proposed = shlex.split(sizes)
    assert Path(proposed[0]).name == "mini-infer"
    assert proposed[1:] == [*words, *["--dim", "batch=1", "--dim", "old=16", "--dim", "new=16", "--shape", "p=1,3,16"]]
    if name not in ("bench", "compare", "tune"):  # which take long
        assert cli(*proposed[1:]).exit_code == 0
    assert bool(ranges) == (name not in ("reference", "tune"))
    if name in ("plan", "build"):
        assert cli(*shlex.split(ranges)[1:]).exit_code == 0


def test_sizes_that_are_proposed_make_sense_together(tmp_path: Path) -> None:
    """The entries of a batch are the same in a state that has its layers in front; what has no rank is no example."""
    b = ModelBuilder("states")
    model = b.model([b.node("Relu", b.input("x", ["", ""])), b.node("Relu", b.input("state", [2, "", 8]))])
    found = complaint("plan", saved(model, tmp_path))
    assert " --shape x=1,16 --shape state=2,1,8; or ranges: " in found
    assert found.endswith(" --range x.0=1,1,8 --range x.1=1,16,128 --range state.1=1,1,8")
    b = ModelBuilder("shapeless")
    model = b.model([b.node("Relu", b.input("x", [4]))])
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert "; give them sizes, in the form: " in complaint("plan", saved(model, tmp_path))


def test_ranges_are_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(named_model(), tmp_path)
    _, sizes, ranges = (each.split(" model.onnx")[-1] for each in complaint("plan", "model.onnx").split(": ", 3)[1:])
    assert shlex.split(sizes.removesuffix("; or ranges")) == ["--dim", "batch=1", "--dim", "the length=16"]
    assert shlex.split(ranges) == ["--range", "batch=1,1,8", "--range", "the length=1,16,128"]
    assert "room for all shapes" in told("plan", "model.onnx", *shlex.split(ranges))


@pytest.mark.parametrize("words", ["tune model.onnx", "run model.onnx --reference", "explain model.onnx memory"])
def test_ranges_are_not_proposed_where_there_are_none(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(named_model(), tmp_path)
    assert complaint(*words.split()).endswith(f"{words} --dim batch=1 --dim 'the length=16'")


def test_mini_opt_names_them_as_well(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert mini_opt([model, "--to", "graph", "--dim", "batch=2"]) == 1
    sizes, _, ranges = capsys.readouterr().err.partition(" such as: ")[2].partition("; or ranges: ")
    given = shlex.split(sizes)[1:]
    assert given[:5] == [model, "--to", "graph", "--dim", "batch=2"] and "batch=1" not in given
    assert mini_opt(given) == 0
    assert "tensor<2x32xf32>" in capsys.readouterr().out
    assert mini_opt(shlex.split(ranges)[1:]) == 0
    assert "tensor<(p.0)x3x(p.2)xf32>" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["run", "--repeat", "1"], ["run", "--reference"]])
def test_sizes_are_taken_from_the_arrays_given(words: list[str], model: str) -> None:
    shapes = {"x": (2, 9), "past": (4, 4), "new": (1, 5), "p": (1, 3, 6)}
    save_arrays("all.npz", {name: np.ones(shape, np.float32) for name, shape in shapes.items()})
    assert cli(*words, model, "-i", "all.npz", "-o", "out.npz").exit_code == 0
    with np.load("out.npz") as outputs:
        assert sorted(outputs[name].shape for name in outputs.files) == sorted(shapes.values())


def test_what_the_arrays_leave_open_is_asked_for(model: str) -> None:
    np.save("x.npy", np.ones((2, 9), np.float32))
    assert complaint("run", model, "-i", "x=x.npy").startswith(
        "dimensions of inputs have no size: old, new, p[0], p[2];"
    )
    np.save("x.npy", np.ones(9, np.float32))
    assert complaint("run", model, "-i", "x=x.npy") == "input 'x' has 2 dimensions, the array given 1"


@pytest.mark.parametrize("command", [["compare"], ["bench", "--runs", "1", "--rounds", "1", "--warmup", "0"]])
@pytest.mark.slow
def test_compare_and_bench_take_them_too(command: list[str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((3, 7), np.float32))
    assert "relu" in told(*command, saved(named_model(), tmp_path), "-i", tmp_path / "x.npy") or command[0] == "bench"


def test_options_win_over_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((3, 7), np.float32))
    told_of = complaint("run", saved(named_model(), tmp_path), "-i", tmp_path / "x.npy", "--dim", "batch=4")
    assert told_of == "input 'x' has shape [3, 7] instead of [4, 7]"


@pytest.mark.parametrize("words", [[], ["--device", "cuda-emulated"]])
def test_dimensions_with_a_range_are_not_asked_for(words: list[str], model: str) -> None:
    """Those that lack one are proposed with a range as well, unnamed ones by input and axis."""
    found = complaint("plan", model, *words, "--range", "batch=1,2,4", "--range", "p.0=1,2,4")
    assert found.startswith("dimensions of inputs have no size: old, p.2, new; give them sizes, such as: ")
    sizes, _, ranges = found.partition("; or ranges: ")
    assert sizes.endswith(" --dim old=16 --dim p.2=16 --dim new=16")
    assert ranges.endswith(" --range old=1,16,128 --range p.2=1,16,128 --range new=1,16,128")
    if not words:
        assert cli(*shlex.split(ranges)[1:]).exit_code == 0


def test_a_dimension_has_a_size_or_a_range(model: str) -> None:
    found = complaint("plan", model, "--range", "batch=1,2,4", "--dim", "batch=2")
    assert found == "--dim gives 'batch' a size, and the profile (--range) a range: leave one of them out"
