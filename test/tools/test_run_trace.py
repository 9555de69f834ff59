"""`mini-infer run --trace`, and traces from Python: what Perfetto reads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import complaint, saved, told
from text_models import LOOPS, model_of

import mini_infer as mi
from mini_infer.runtime.profiling import perf_map


def given(turns: int, on: bool) -> Mapping[str, Any]:
    return {"x": np.ones((8, 16), np.float32), "turns": np.array(turns), "on": np.array(on)}


@pytest.fixture
def context() -> mi.ExecutionContext:
    return mi.compile(model_of(LOOPS), threads=1, enable_profiling=True).plan.create_execution_context()


def events_of(path: Path, category: str) -> list[dict[str, Any]]:
    """The complete events of a category, which must not overlap."""
    events = [each for each in json.loads(path.read_text())["traceEvents"] if each.get("cat") == category]
    assert all(each["ph"] == "X" and each["dur"] >= 0 for each in events)
    ends = [each["ts"] + each["dur"] for each in events]
    assert all(end <= after["ts"] + 1e-3 for end, after in zip(ends, events[1:], strict=False))
    return events


def test_turns_are_told_in_order_and_branches_if_taken(context: mi.ExecutionContext) -> None:
    assert context.timeline() == []
    context.run(given(3, on=False))
    turns = context.timeline()
    assert [each.kernel.partition("_")[0] for each in turns] == ["relu", *["softmax"] * 3, "tanh"]
    assert turns[0].begin == 0 and all(each.nanoseconds > 0 for each in turns)
    for each, time in enumerate(context.profile()):
        assert time.nanoseconds == sum(turn.nanoseconds for turn in turns if turn.call == each)
        assert time.runs == sum(turn.call == each for turn in turns)
        assert time.mean_nanoseconds * time.runs == pytest.approx(time.nanoseconds)  # pyright: ignore[reportUnknownMemberType]
    context.run(given(0, on=True))
    assert [each.kernel.partition("_")[0] for each in context.timeline()] == ["relu", "exp"]


def test_of_very_many_turns_the_first_are_told(context: mi.ExecutionContext) -> None:
    context.run(given(20_000, on=True))
    assert len(context.timeline()) == 16_384
    assert {time.runs for time in context.profile()} == {20_000, 1, 0}


def test_a_context_writes_its_last_run(context: mi.ExecutionContext, tmp_path: Path) -> None:
    context.run(given(2, on=True))
    context.write_trace(tmp_path / "run.json")
    kernels = events_of(tmp_path / "run.json", "kernel")
    assert [(each["name"].partition("_")[0], each["args"]["turn"]) for each in kernels] == [
        ("relu", 0),
        ("softmax", 0),
        ("softmax", 1),
        ("exp", 0),
    ]
    assert all(each["args"]["node"] for each in kernels)


def test_a_plan_without_times_has_nothing_to_write(tmp_path: Path) -> None:
    context = mi.compile(model_of(LOOPS), threads=1).plan.create_execution_context()
    assert context.timeline() == []
    with pytest.raises(mi.InvalidInputError, match=r"the plan has no times to write: compile with en"):
        context.write_trace(tmp_path / "run.json")


def test_run_writes_kernels_with_what_they_do_and_the_compile(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    text = told("run", model, "-j", "1", "--repeat", "2", "--timing", "--trace", file)
    kernels, passes = events_of(file, "kernel"), events_of(file, "pass")
    assert f"trace: {len(kernels)} kernel calls of the last of 2 runs, and the compile, in {file}" in text
    facts = {"node", "call", "turn", "schedule", "flops", "bytes", "estimated_us", "limit_us", "limited_by"}
    assert all(set(each["args"]) == facts for each in kernels)
    phases = [*dict.fromkeys(each["args"]["phase"] for each in passes)]
    assert phases == ["import", "graph", "kernels", "buffers", "arena", "loops", "machine code"]
    assert {"form-kernels", "plan-arena", "LLVM: optimize"} <= {each["name"] for each in passes}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--trace", "a.txt"), "--trace a.txt: the name must end in .json"),
        (("--trace", "a.json", "--check-memory"), "--trace does nothing with --check-memory and --check"),
        (("--trace", "a.json", "--reference"), "--trace does nothing with --reference"),
        (
            ("--trace", "a.json", "--device", "cuda-emulated"),
            "--trace does nothing with --device cuda-emulated, which has no clock",
        ),
        (
            ("--trace", "a.json", "--keep"),
            "--keep does nothing with --timing, --explain, --trace, --check-memory and --check, which compile",
        ),
    ],
)
def test_where_there_is_nothing_to_trace(words: tuple[str, ...], message: str, model: Path) -> None:
    assert complaint("run", model, *words) == message


def test_traces_of_many_shapes_are_refused(any_rows: Path) -> None:
    words = ("--range", "n=1,16,100", "--trace", "a.json")
    assert complaint("run", any_rows, *words) == "--trace does nothing with --range"


def test_loops_of_a_saved_model_are_traced(tmp_path: Path) -> None:
    path = saved(model_of(LOOPS), tmp_path)
    inputs = tmp_path / "in.npz"
    np.savez(inputs, **given(4, on=True))
    told("run", path, "-i", inputs, "--repeat", "1", "--trace", tmp_path / "run.json")
    assert [each["args"]["turn"] for each in events_of(tmp_path / "run.json", "kernel")] == [0, 0, 1, 2, 3, 0]


def test_run_names_its_code_for_perf(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_map, "FOLDER", str(tmp_path))
    file = tmp_path / f"perf-{os.getpid()}.map"
    assert f"names for perf: {file}" in told("run", model, "-j", "1", "--repeat", "1", "--perf-map")
    assert " main\n" in file.read_text()
    message = "--perf-map does nothing with --device cuda-emulated, as the CPU runs none of its code"
    assert complaint("run", model, "--perf-map", "--device", "cuda-emulated") == message


def test_each_shape_of_a_range_has_a_profile_of_its_own() -> None:
    model = model_of("g (float[n,16] x) => (float[n,16] y) { a = Softmax(x) y = Transpose <perm = [0, 1]> (a) }")
    sizes = mi.OptimizationProfile(dims={"n": (1, 8, 64)})
    context = mi.compile(model, profile=sizes, threads=1, enable_profiling=True).plan.create_execution_context()
    for rows in (8, 64, 1):
        context.set_shapes({"x": (rows, 16)})
        context.run({"x": np.ones((rows, 16), np.float32)})
        calls = [call.kernel for call in context.plan.calls]
        assert [turn.kernel for turn in context.timeline()] == calls == [each.kernel for each in context.profile()]
        assert {each.runs for each in context.profile()} == {1}
