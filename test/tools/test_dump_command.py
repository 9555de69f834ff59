"""`mini-infer run --dump` and `--check`."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from command_runs import complaint, saved, told
from models.build import example_inputs
from models.small import mlp
from text_models import model_of

import mini_infer as mi
from mini_infer.tools.arrays import load_named, save_arrays

ROOTS = """
    roots (float[4] x, bfloat16[2] b) => (float[4] y, bfloat16[2] c) {
        a = Sub (x, x)
        r = Sqrt (x)
        y = Add (a, r)
        c = Neg (b)
    }"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return saved(mlp(), tmp_path)


def test_a_run_is_repeated_from_its_dump(model: Path) -> None:
    text = told("run", model, "--seed", "3", "--dump", "all.npz", "-o", "first.npz")
    inputs = example_inputs(mlp())
    dumped = load_named("all.npz")
    assert f"{len(dumped)} tensors written to all.npz" in text
    assert dumped.keys() == mi.intermediates(mlp(), inputs).keys()
    told("run", model, "-i", "all.npz", "-o", "again.npz")
    for name, value in load_named("first.npz").items():
        np.testing.assert_array_equal(load_named("again.npz")[name], value)
        np.testing.assert_array_equal(dumped[name], value)


def test_only_some_tensors_beside_inputs_and_outputs(model: Path) -> None:
    hidden = mlp().graph.node[0].output[0]
    told("run", model, "--dump", "some.npz", "--tensors", f"{hidden},", "--tensors", hidden)
    graph = mlp().graph
    assert load_named("some.npz").keys() == {graph.input[0].name, hidden, graph.output[0].name}


def test_narrow_types_and_any_names_go_through_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = saved(model_of(ROOTS), tmp_path)
    told("run", path, "--dump", "all.npz", "-o", "first.npz")
    told("run", path, "-i", "all.npz", "-o", "again.npz")
    assert np.array_equal(load_named("first.npz")["c"], load_named("again.npz")["c"])
    arrays = {"file": np.ones(2), "/layer/a.npy": np.zeros(1), "b": np.ones(2, ml_dtypes.bfloat16)}
    save_arrays("names.npz", arrays)
    assert load_named("names.npz").keys() == arrays.keys()


def test_wrong_dumps_are_refused(model: Path) -> None:
    assert complaint("run", model, "--tensors", "a") == "--tensors does nothing without --dump"
    assert complaint("run", model, "--dump", "all.txt") == "--dump all.txt: the name must end in .npz"
    assert complaint("run", "m.mi", "--dump", "a.npz") == "--dump a.npz: m.mi has no ONNX tensors; the .onnx file has"
    assert "--dump does nothing" in complaint("run", model, "--reference", "--dump", "all.npz")
    assert "--repeat does nothing with" in complaint("run", model, "--check", "nan", "--repeat", "2")
    assert "--check does nothing with --check-memory" in complaint("run", model, "--check", "nan", "--check-memory")


def test_a_file_without_all_inputs_must_have_inputs_only(model: Path) -> None:
    save_arrays("other.npz", {"hidden": np.ones(3)})
    assert complaint("run", model, "-i", "other.npz").startswith("there is no input hidden; the model has")


def test_check_finds_where_a_nan_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = saved(model_of(ROOTS), tmp_path)
    save_arrays("bad.npz", {"x": np.array([1, 2, -3, 4], np.float32), "b": np.ones(2, ml_dtypes.bfloat16)})
    found = complaint("run", path, "--check", "nan", "-i", "bad.npz")
    assert "has a NaN at [2]: made by kernel" in found and "Sqrt" in found
    save_arrays("good.npz", {"x": np.ones(4, np.float32), "b": np.ones(2, ml_dtypes.bfloat16)})
    assert "check: no NaN in the inputs, and none made by a call" in told(
        "run", path, "--check", "nan", "-i", "good.npz"
    )
