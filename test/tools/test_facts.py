"""--json of every command: one header, the fields that docs/json.md lists, and nothing else on standard output."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from command_runs import HEADER, cli, saved, told
from models.build import ModelBuilder

import mini_infer as mi
from mini_infer.tools.json_reports import memory
from mini_infer.tools.mini_infer import app

DOCUMENTED = Path(__file__, "../../../docs/json.md").resolve().read_text(encoding="utf-8")
GROUP: Any = typer.main.get_command(app)
QUIET = {"demo"}
"""Commands that show what others tell."""


def facts(*words: str | Path) -> dict[str, Any]:
    return json.loads(told(*words, "--json", "-"))


def test_every_command_writes_json() -> None:
    without = {name for name, each in GROUP.commands.items() if "json" not in {option.name for option in each.params}}
    assert without == QUIET


def test_the_header_says_what_was_done_where_and_when(model: Path) -> None:
    found = facts("plan", model, "-j", "1", "--alignment", "512")
    assert tuple(found)[: len(HEADER)] == HEADER
    assert (found["command"], found["version"]) == ("plan", mi.__version__)
    age = datetime.now(UTC) - datetime.fromisoformat(found["date"])
    assert 0 <= age.total_seconds() < 600 and found["cpu"] and found["system"]
    assert {"python", "numpy", "onnx", "llvmlite", "onnxruntime"} <= set(found["packages"])
    options = found["options"]
    assert (options["threads"], options["alignment"], options["strategy"]) == (1, 512, "auto")
    assert set(options) == {each.name for each in GROUP.commands["plan"].params} - {"json", "help"}


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        (("run", "-j", "1", "--timing", "--explain"), {"latency", "timing", "schedules", "rewrites", "memory"}),
        (("run", "-j", "1", "--check-memory"), {"memory_check"}),
        (("run", "-j", "1", "--check", "nan", "--dump", "all.npz"), {"check", "dumped"}),
        (("run", "--reference"), {"inputs", "outputs", "seconds"}),
        (("plan", "-j", "1"), {"tensors", "steps", "binding_step", "alignment", "memory"}),
        (("compare", "-j", "1"), {"model", "right", "shapes"}),
        (("quantize", "-o", "few.onnx"), {"model", "layers", "error", "files"}),
        (("machine", "-j", "1"), {"target", "caches", "limits"}),
        (("cache", "list"), {"folder", "limit_bytes", "models"}),
        (("cache", "limit"), {"folder", "limit_bytes"}),
        (("cache", "where"), {"folder"}),
        (("cache", "clear"), {"folder", "forgotten_bytes"}),
    ],
)
def test_what_is_told_is_documented(
    words: tuple[str, ...], fields: set[str], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINI_INFER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    command, *options = words
    found = facts(command, *([model] if command in ("run", "plan", "compare", "quantize") else []), *options)
    own = set(found) - set(HEADER)
    assert fields <= own
    _, separator, section = DOCUMENTED.partition(f"## {command}\n")
    listed = section.partition("\n## ")[0] if separator else re.findall(rf"^\| {command} \|.*$", DOCUMENTED, re.M)[0]
    assert {each for each in own if not re.search(rf"\b{each}\b", listed)} == set()


def test_what_run_finds(model: Path, tmp_path: Path) -> None:
    """In a file beside what is printed."""
    file = tmp_path / "found.json"
    text = told("run", model, "-j", "1", "--repeat", "3", "--json", file)
    found = json.loads(file.read_text())
    assert f"median {found['latency']['median_ms']:.3f} ms" in text and found["latency"]["runs"] == 3
    assert found["inputs"] == [{"name": "x", "type": "float32", "shape": [4, 24]}]
    (output,) = found["outputs"]
    assert (output["name"], output["shape"]) == ("perceptron/gemm_4", [4, 8])
    assert output["min"] <= output["mean"] <= output["max"] and not found["found_compiled"]
    assert (found["device"], found["threads"], found["calls"], found["memory"]["arena_bytes"]) == ("cpu", 1, 3, 1536)


def test_addresses_are_those_of_the_plan(model: Path) -> None:
    plan = mi.plan_memory(model, threads=1, prove_order=True)
    found = facts("plan", model, "-j", "1")
    told_of = {each["name"]: (each["address"], each["bytes"], each["start"], each["end"]) for each in found["tensors"]}
    assert told_of == {each.name: (each.offset, each.bytes, each.birth, each.death) for each in plan.tensors}
    assert found["steps"] == list(plan.steps) and found["memory"] == memory(plan, plan.bytes_of("weight"))


def test_shapes_of_ranges_are_told_apart(any_rows: Path, tmp_path: Path) -> None:
    file = tmp_path / "built.mi"
    built = facts("build", any_rows, "-o", file, "--cpu", "native", "-j", "1", "--range", "n=1,8,16")
    assert (built["inputs"][0]["shape"], built["cpus"]) == ([2, "n", 12], ["native"])
    assert built["files"] == {str(file): file.stat().st_size}
    for command in ("run", "plan"):
        found = facts(command, file, "--at", "n=3", "--at", "n=9")
        assert [each["shape"] for each in found["shapes"]] == [{"n": 3}, {"n": 9}]
        assert [each["inputs"][0]["shape"] for each in found["shapes"]] == [[2, 3, 12], [2, 9, 12]]


def test_what_compare_finds(model: Path) -> None:
    (found,) = facts("compare", model, "-j", "1")["shapes"]
    (output,) = found["outputs"]
    assert (output["name"], output["shape"]) == ("perceptron/gemm_4", [4, 8])
    assert output["error"] <= output["allowed"] > output["onnxruntime"]
    assert (found["right"], output["right"], found["node"]) == (True, True, None)


def test_c_files_are_told_of(model: Path, tmp_path: Path) -> None:
    found = facts("build", model, "-o", tmp_path / "c", "--emit", "c")
    assert found["files"] == {str(file): file.stat().st_size for file in (tmp_path / "c").iterdir()}
    assert [each["shape"] for each in (*found["inputs"], *found["outputs"])] == [[4, 24], [4, 8]]


def test_offsets_are_told_by_id(tmp_path: Path) -> None:
    problem = tmp_path / "problem.csv"
    problem.write_text("id,lower,upper,size\na,0,2,64\nb,1,3,32\n")
    found = facts("allocate", problem)
    assert found["height_bytes"] == found["lower_bound_bytes"] == 96 and sorted(found["offsets"]) == ["a", "b"]


def test_json_has_no_infinite_numbers(tmp_path: Path) -> None:
    b = ModelBuilder("log")
    path = saved(b.model([b.node("Log", b.input("x", [4]))]), tmp_path)
    np.save(tmp_path / "x.npy", np.zeros(4, np.float32))

    def refused(text: str) -> float:
        raise AssertionError(text)

    text = told("run", path, "-j", "1", "-i", tmp_path / "x.npy", "--json", "-")
    (output,) = json.loads(text, parse_constant=refused)["outputs"]
    assert output["min"] == "-inf" and math.isinf(float(output["mean"]))


def test_what_goes_wrong_is_no_json(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    result = cli("plan", model, "--capacity", "10", "--json", file)
    assert (result.exit_code, result.stdout) == (1, "") and not file.exists()
