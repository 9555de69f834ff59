"""Models on a cluster, without one: rows through engines, what workers of a node share, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from command_runs import ENVIRONMENT
from models.build import ModelBuilder, example_inputs
from models.judging import assert_same_bits
from onnx import ModelProto
from text_models import model_of, numbers

import mini_infer as mi
from mini_infer.runtime.cluster import datasets, deployment, infer, nodes, serving
from mini_infer.runtime.cluster.batched_rows import Rows
from mini_infer.runtime.cluster.datasets import Worker
from mini_infer.runtime.cluster.nodes import Model, ray_module, take_cores

ONE: dict[str, Any] = {"threads": 1, "compile_threads": 1, "cache": False}


def two_columns(rows: int | str) -> ModelProto:
    """x[rows, 5], ids[rows] -> a row of a table for each id, and x's sums."""
    b = ModelBuilder("columns")
    x, ids = b.input("x", [rows, 5]), b.input("ids", [rows], np.int64)
    return b.model([b.node("Gather", b.weight(8, 3), ids), b.node("ReduceSum", x, b.ints(1), keepdims=0)])


@pytest.fixture(autouse=True)
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node of this test alone."""
    monkeypatch.setattr(nodes.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("count", [0, 1, 4, 11])
@pytest.mark.parametrize("dynamic", [False, True])
def test_any_number_of_rows_goes_through(dynamic: bool, count: int) -> None:
    if dynamic:
        profile = mi.OptimizationProfile(dims={"n": (1, 4, 4)})
        rows = Rows(mi.compile(two_columns("n"), profile=profile, **ONE))
    else:
        rows = Rows(mi.compile(two_columns(4), **ONE))
    assert rows.most == 4
    given = example_inputs(two_columns(11))
    expected = mi.compile(two_columns(11), **ONE)(given)
    found = rows({name: array[:count] for name, array in given.items()})
    assert_same_bits(found, {name: array[:count] for name, array in expected.items()})


def test_what_has_no_rows_is_refused() -> None:
    sums = model_of(
        "g (float[4, 3] x) => (float[3] y) { a = Constant <value_ints = [0]> () y = ReduceSum <keepdims = 0> (x, a) }"
    )
    with pytest.raises(mi.UnsupportedError, match=r"output y: float32\[3\] has not a row for each of the 4 that go in"):
        Rows(mi.compile(sums, **ONE))
    scalar = model_of("g (float[4, 3] x, float z) => (float[4, 3] y) { y = Add (x, z) }")
    with pytest.raises(mi.ConfigError, match=r"inputs need one number of rows, their first axis: x: .*, z: "):
        Rows(mi.compile(scalar, **ONE))
    rows = Rows(mi.compile(two_columns(4), **ONE))
    with pytest.raises(mi.InvalidInputError, match=r"different numbers of rows: \[1, 2\]"):
        rows({"x": numbers(2, 5), "ids": np.zeros(1, np.int64)})


def test_a_worker_takes_and_keeps_columns(tmp_path: Path) -> None:
    model = Model(two_columns("n").SerializeToString(), dim="n", rows=4, pin=False, cache=str(tmp_path / "cache"))
    worker, given = Worker(model, {"x": "features"}, ["name"]), example_inputs(two_columns(6))
    batch = {"features": given["x"], "ids": given["ids"], "name": np.arange(6)}
    found = worker(batch)
    assert_same_bits(found, {"name": np.arange(6)} | mi.compile(two_columns(6), **ONE)(given))
    with pytest.raises(mi.InvalidInputError, match="the dataset has no column features; it has ids, name"):
        worker({"ids": batch["ids"], "name": batch["name"]})


def test_a_worker_opens_what_was_built(tmp_path: Path) -> None:
    path, given = tmp_path / "model.mi", example_inputs(two_columns(6))
    profile = mi.OptimizationProfile(dims={"n": (1, 4, 4)})
    mi.build(two_columns("n").SerializeToString(), path, threads=1, cpus=["native"], profile=profile)
    model = Model(str(path), pin=False)
    assert_same_bits(Worker(model, {}, [])(given), mi.compile(two_columns(6), **ONE)(given))
    with pytest.raises(mi.ConfigError, match=r"dim, optimise can't be given for .*model\.mi, which is compiled"):
        Model(str(path), dim="n", options={"optimise": False}).open()


_TAKE = """
import os, sys, tempfile
tempfile.tempdir = sys.argv[1]
from mini_infer.runtime.cluster.nodes import take_cores
print(*take_cores(1), flush=True)
print(*os.sched_getaffinity(0), flush=True)
sys.stdin.read()
"""


def test_each_worker_has_cores_of_its_own_while_it_lives(node: Path) -> None:
    cores = os.sched_getaffinity(0)

    def start() -> subprocess.Popen[str]:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        return subprocess.Popen([sys.executable, "-c", _TAKE, str(node)], env=ENVIRONMENT, **pipes)

    workers = [start() for _ in cores]
    told = [[worker.stdout.readline().split() for _ in range(2)] for worker in workers if worker.stdout]
    assert sorted(int(taken[0]) for taken, _ in told) == sorted(cores)
    assert all(taken == affinity for taken, affinity in told)
    assert take_cores(1) == ()
    assert os.sched_getaffinity(0) == cores
    workers[0].kill()
    workers[0].wait()
    again = start()
    assert again.stdout is not None
    assert again.stdout.readline().split() == told[0][0]
    for worker in (*workers, again):
        worker.kill()
        worker.communicate()


def test_a_folder_of_somebody_else_is_not_used(node: Path) -> None:
    (node / f"mini_infer-{os.geteuid()}").mkdir(mode=0o777)
    (node / f"mini_infer-{os.geteuid()}").chmod(0o777)
    with pytest.raises(mi.ConfigError, match="belongs to somebody else, or may be written to by others"):
        take_cores(1)


def test_without_ray_the_error_says_how_to_get_it() -> None:
    with pytest.raises(mi.ConfigError, match=r"no_such_ray can't be imported .*: pip install 'mini-infer\[ray\]'"):
        ray_module("no_such_ray")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """Stands in for Ray's modules: notes what it is asked for."""
    stand_in = MagicMock()
    for module in (datasets, nodes, serving):
        monkeypatch.setattr(module, "ray_module", MagicMock(return_value=stand_in))
    return stand_in


def on_datasets(model: Any, **options: Any) -> Any:
    return infer(MagicMock(), model, workers=1, **options)


@pytest.mark.parametrize("start", [on_datasets, deployment])
def test_the_driver_refuses_a_model_that_workers_could_not_open(
    start: Callable[..., Any], tmp_path: Path, ray: MagicMock
) -> None:
    """Nothing has been asked of Ray then, neither for bytes nor for a file."""
    unknown = two_columns(4)
    unknown.graph.node[0].op_type = "NoSuchOp"
    sums = model_of(
        "g (float[4, 3] x) => (float[3] y) { a = Constant <value_ints = [0]> () y = ReduceSum <keepdims = 0> (x, a) }"
    )
    built = tmp_path / "model.mi"
    mi.build(two_columns(4).SerializeToString(), built, cpus=["native"], threads=1)
    cut = tmp_path / "cut.mi"
    cut.write_bytes(built.read_bytes()[:-1])
    wrong: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (tmp_path / "none.onnx", {}, mi.InvalidModelError, "none.onnx"),
        (b"no model", {}, mi.InvalidModelError, "not an ONNX model"),
        (unknown.SerializeToString(), {}, mi.UnsupportedError, "NoSuchOp"),
        (two_columns("n").SerializeToString(), {}, mi.MiniInferError, "dimensions of inputs have no size: n"),
        (
            two_columns("n").SerializeToString(),
            {"dim": "m"},
            mi.InvalidInputError,
            "no input has a dynamic dimension m",
        ),
        (two_columns(4).SerializeToString(), {"winograd": "x"}, mi.ConfigError, "winograd"),
        (sums.SerializeToString(), {}, mi.UnsupportedError, "has not a row for each of the 4 that go in"),
        (tmp_path / "none.mi", {}, mi.InvalidModelError, "none.mi"),
        (cut, {}, mi.InvalidModelError, "cut.mi"),
        (built, {"dim": "n"}, mi.ConfigError, "dim can't be given for"),
    ]
    for model, options, error, message in wrong:
        with pytest.raises(error, match=message):
            start(model, **options)
    assert not ray.put.called and not ray.deployment.called
    for model, options in ((built, {}), (two_columns("n").SerializeToString(), {"dim": "n"})):
        start(model, **options)
    assert ray.put.call_count == 1
