"""mini-infer tune: what it measures and tells."""

from __future__ import annotations

import json
import re
from pathlib import Path

from command_runs import HEADER, complaint, told


def test_tune_shows_estimates_beside_times(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    text = told("tune", model, "-j", "1", "--seconds", "30", "--json", file)
    columns = r"kernel +calls +share +schedule +options +estimated us +hot us +cold us +measured/estimated +taken"
    assert re.search(columns, text)
    assert re.search(r"matmul_relu_0 +\d+ +\d+\.\d% +panels +mr=\d+ nr=\d+", text)
    assert re.search(r"\d kernels: [1-9] measured now, the others before; for \d of them another way", text)
    found = json.loads(file.read_text())
    own = {"model", "threads", "inputs", "outputs", "kept_in", "decided_by", "left", "kernels"}
    assert set(found) == {*HEADER, *own} and found["left"] == 0
    assert [each["shape"] for each in (*found["inputs"], *found["outputs"])] == [[4, 24], [4, 8]]
    for kernel in found["kernels"]:
        assert set(kernel) == {"kernel", "node", "calls", "share", "measured_now", "taken", "candidates"}
        for tried in kernel["candidates"]:
            assert set(tried) == {"schedule", "options", "estimated_us", "hot_us", "cold_us", "failed"}
            assert tried["hot_us"] > 0 < tried["cold_us"] and tried["estimated_us"] > 0
    again = json.loads(told("tune", model, "-j", "1", "--json", "-"))
    assert [each["candidates"] for each in again["kernels"]] == [each["candidates"] for each in found["kernels"]]
    assert not any(each["measured_now"] for each in again["kernels"])
    assert Path(found["kept_in"]).exists()


def test_compiles_say_what_was_measured(model: Path) -> None:
    assert "measured" not in told("run", model, "-j", "1", "--explain")
    kernels = json.loads(told("tune", model, "-j", "1", "--json", "-"))["kernels"]
    explained = told("run", model, "-j", "1", "--explain")
    assert len(re.findall(r"measured +│|measured *$", explained, re.MULTILINE)) == len(kernels)


def test_what_cannot_be_tuned_is_said(tmp_path: Path) -> None:
    assert "none.onnx" in complaint("tune", tmp_path / "none.onnx")
    for seconds in ("inf", "nan", "-1.0", "0.0"):
        told_of = complaint("tune", tmp_path / "none.onnx", f"--seconds={seconds}")
        assert told_of == f"--seconds is {seconds}; it must be a number of seconds"
