"""mini-infer with --range: one compile, and what each command tells of many shapes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_runs import complaint, told

import mini_infer as mi

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


def test_bench_at_shapes_of_a_range(any_rows: Path) -> None:
    amount = ("--rounds", "1", "--runs", "1", "--warmup", "0", "--at", "n=9", "--at", "n=8")
    found = json.loads(told("bench", any_rows, *RANGE, *amount, "--json"))
    assert [each["engines"]["mini_infer"]["inferences"] for each in found.values()] == [1, 1]
    assert list(found) == ["n=9", "n=8"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--at", "n=3"), "--at does nothing without --range"),
        ((*RANGE, "--at", "n=101"), "--at n=101: n is from 1 to 100"),
        ((*RANGE, "--at", "m=3"), "--at m=3: there is no --range of m"),
        ((*RANGE, "--at", "n=x"), "--at n=x: expected NAME=SIZE,NAME=SIZE,..."),
        (("--range", "n=3"), "--range n=3: expected NAME=MIN,OPT,MAX with 0 <= MIN <= OPT <= MAX"),
        (("--range", "m=1,2,3"), "profile: no input has a dynamic dimension m; there are: n"),
    ],
)
def test_ranges_that_are_none(options: tuple[str, ...], message: str, any_rows: Path) -> None:
    for command in ("run", "plan", "bench"):
        assert complaint(command, any_rows, *options) == message


@pytest.mark.parametrize(
    ("command", "option"), [("run", "--reference"), ("run", "--timing"), ("plan", "--table"), ("bench", "--profile")]
)
def test_what_is_for_one_shape_only(command: str, option: str, any_rows: Path) -> None:
    assert complaint(command, any_rows, *RANGE, option) == f"{option} does nothing with --range"
