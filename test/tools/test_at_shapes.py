"""mini-infer with --range: one compile, and what each command tells of many shapes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_runs import cli, complaint, saved, told
from models.build import ModelBuilder

import mini_infer as mi
from mini_infer.dialects.graph.ops.reduction import SoftmaxOp
from mini_infer.dialects.graph.values import Array

RANGE = ("--range", "n=1,16,100", "-j", "1")


def test_run_at_shapes_of_a_range(any_rows: Path) -> None:
    text = told("run", any_rows, *RANGE, "--repeat", "2")
    assert re.findall(r"^ *(n=\d+) +[\d.]+ +1 +[\d.]+ +[\d.]+ +[\d.]+ kB", text, re.MULTILINE) == [
        "n=16",
        "n=1",
        "n=100",
    ]


def test_run_writes_what_it_makes_of_one_shape(any_rows: Path) -> None:
    given, written = any_rows.with_name("x.npy"), any_rows.with_name("made.npz")
    x = np.random.default_rng(0).standard_normal((2, 77, 12)).astype(np.float32)
    np.save(given, x)
    text = told("run", any_rows, *RANGE, "--at", "n=77", "--repeat", "1", "-i", f"x={given}", "-o", written)
    assert f"outputs written to {written}" in text
    (made,) = np.load(written).values()
    wanted = mi.compile(any_rows, dims={"n": 77}, threads=1)(x)
    np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-6)


def test_plan_at_shapes_of_a_range(any_rows: Path) -> None:
    text = told("plan", any_rows, *RANGE, "--at", "n=3", "--at", "n=100")
    rows = re.findall(r"^ *n=(\d+) +([\d,]+) +([\d,]+) +[\d.]+ +1 *$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["3", "100"]
    (small, largest) = (int(row[1].replace(",", "")) for row in rows)
    assert small < largest
    assert f"a context has room for all shapes: {largest:,} bytes" in text


@pytest.mark.slow
def test_bench_at_shapes_of_a_range(any_rows: Path) -> None:
    amount = ("--rounds", "1", "--runs", "1", "--warmup", "0", "--at", "n=9", "--at", "n=8")
    found = json.loads(told("bench", any_rows, *RANGE, *amount, "--json", "-"))["models"]
    assert [each["engines"]["mini_infer"]["inferences"] for each in found] == [1, 1]
    assert [each["shape"] for each in found] == ["n=9", "n=8"]


@pytest.mark.slow
def test_compare_at_shapes_of_a_range(any_rows: Path) -> None:
    text = told("compare", any_rows, *RANGE)
    assert re.findall(r"^max\|e\| / max\|reference\| at (n=\d+)", text, re.MULTILINE) == ["n=16", "n=1", "n=100"]
    assert len(re.findall(r"attention/reshape_14 +\d\.\d\de-0[678] +\d\.\d\de-0[678]", text)) == 3
    assert text.count("every node of the unfused pipeline is right, as rounding goes") == 3


def test_compare_at_a_shape_of_another_compile(tmp_path: Path) -> None:
    """Code for nothing is for that only; the first compile's is right again for the second shape."""
    b = ModelBuilder("empty")
    path = saved(b.model([b.node("Tanh", b.input("x", ["n", 4]))]), tmp_path)
    text = told("compare", path, "--range", "n=0,0,9", "--at", "n=3", "--at", "n=0", "-j", "1")
    assert text.count("every node of the unfused pipeline is right, as rounding goes") == 2


@pytest.mark.slow
def test_compare_names_the_node_that_differs_at_a_shape(any_rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = SoftmaxOp.evaluate

    def wrong(op: SoftmaxOp, *operands: Array) -> tuple[Array, ...]:
        return tuple(values + 0.01 * (values.shape[-1] == 77) for values in right(op, *operands))

    monkeypatch.setattr(SoftmaxOp, "evaluate", wrong)
    result = cli("compare", any_rows, *RANGE, "--at", "n=20", "--at", "n=77")
    assert (result.exit_code, result.stderr) == (1, "")
    good, bad = result.stdout.split(" at n=77")
    assert "every node of the unfused pipeline is right, as rounding goes" in good
    assert re.search(r"first node that differs, unfused: attention/softmax_\d+ \(graph\.softmax\)", bad)


@pytest.mark.parametrize("command", ["run", "plan", pytest.param("bench", marks=pytest.mark.slow), "compare"])
def test_every_command_takes_caches_that_grow(command: str, tmp_path: Path) -> None:
    b = ModelBuilder("decoder")
    past, new = b.input("past", ["P", 3]), b.input("new", [1, 3])
    path = saved(b.model([b.node("Concat", past, new, axis=0)]), tmp_path)
    options = ["--cache", "past=decoder/concat_0", "-j", "1", *(["--rounds", "1"] if command == "bench" else [])]
    assert "P=4" in told(command, path, "--range", "P=0,4,9", *options)
    assert "--cache: there is no output" in complaint(command, path, "--cache", "past=new", "--range", "P=0,4,9")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--at", "n=3"), "--at does nothing without --range"),
        ((*RANGE, "--at", "n=101"), "--at n=101: n is from 1 to 100"),
        ((*RANGE, "--at", "m=3"), "--at m=3: there is no --range of m"),
        ((*RANGE, "--at", "n=x"), "--at n=x: expected NAME=SIZE,NAME=SIZE,..."),
        (("--range", "n=3"), "--range n=3: expected NAME=MIN,OPT,MAX with 0 <= MIN <= OPT <= MAX"),
        (("--range", "m=1,2,3"), "--range: no input has a dynamic dimension m; there are: n"),
    ],
)
def test_ranges_that_are_none(options: tuple[str, ...], message: str, any_rows: Path) -> None:
    for command in ("run", "plan", "bench", "compare"):
        assert complaint(command, any_rows, *options) == message


@pytest.mark.parametrize(("command", "option"), [("run", "--reference"), ("run", "--timing"), ("plan", "--table")])
def test_what_is_for_one_shape_only(command: str, option: str, any_rows: Path) -> None:
    assert complaint(command, any_rows, *RANGE, option) == f"{option} does nothing with --range"


def test_arrays_given_tell_the_shape(any_rows: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((2, 37, 12)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    for command in ("run", "--repeat", "1"), ("compare",):
        assert "n=37" in told(*command, any_rows, *RANGE, "-i", f"x={tmp_path / 'x.npy'}")
    np.save(tmp_path / "x.npy", np.concatenate([x] * 3, 1))
    assert complaint("run", any_rows, *RANGE, "-i", f"x={tmp_path / 'x.npy'}") == (
        "input 'x' has n=111; n is from 1 to 100"
    )
