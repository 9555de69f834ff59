"""mini-infer bench: what it tells of engines, and those that fail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_runs import ENVIRONMENT, cli, complaint, told

import mini_infer as mi
from mini_infer.tools import benching
from mini_infer.tools.bench_report import Measured


def test_bench_stands_beside_a_peer_and_profiles(model: Path) -> None:
    text = told("bench", model, "-j", "1", "--rounds", "1", "--runs", "2", "--against", "onnxruntime", "--profile")
    assert "latency in ms, 1 thread(s)" in text
    assert re.search(r"engine +median +p90 +p99 +min +per second +ours/theirs: median +min +load s", text)
    number = r" +\d+\.\d+"
    assert re.search(rf"mini_infer{6 * number} *\n", text)
    assert re.search(rf"onnxruntime{8 * number} *\n", text)
    assert re.search(r"\d+\.\d +\d+\.\d % +matmul_relu_0 +perceptron/gemm_0", text)


@pytest.mark.parametrize(
    ("worker", "message"),
    [
        ('print(\'{"error": "Refusal: opset 99"}\')', "mini_infer: Refusal: opset 99"),
        ("raise SystemExit(3)", "mini_infer ended with status 3"),
        ("print('{\"load\": 1}', flush=True); input(); raise SystemExit(4)", "mini_infer ended with status 4"),
    ],
)
def test_bench_tells_how_an_engine_fails(
    worker: str, message: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model.parent / "failing_worker.py").write_text(worker)
    monkeypatch.chdir(model.parent)
    monkeypatch.setattr(benching, "WORKER", "failing_worker")
    assert complaint("bench", model) == message


def test_bench_gives_json_for_the_same_threads_as_run(model: Path) -> None:
    found = json.loads(told("bench", model, "--duration", "0.01", "--warmup", "0", "--profile", "--json"))
    assert found["threads"] == mi.EngineConfig().thread_count
    ours = found["engines"]["mini_infer"]
    assert ours["inferences"] % 20 == 0 and ours["inferences"] * ours["mean_ms"] >= 10
    assert ours["min_ms"] <= ours["median_ms"] <= ours["p90_ms"] <= ours["p99_ms"]
    assert ours["per_second"] == pytest.approx(1e3 / ours["mean_ms"])  # pyright: ignore[reportUnknownMemberType]
    assert {each["node"] for each in found["kernels"]} == {
        "perceptron/gemm_0",
        "perceptron/gemm_2",
        "perceptron/gemm_4",
    }
    assert found["dropped"] == {}


def test_latencies_are_counted_as_they_are_told() -> None:
    found = Measured.of([0.001 * each for each in range(1, 102)], load=2)
    assert (found.inferences, found.load_s) == (101, 2)
    expected = {"median_ms": 51, "p90_ms": 91, "p99_ms": 100, "min_ms": 1, "mean_ms": 51, "per_second": 1000 / 51}
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected)  # pyright: ignore[reportUnknownMemberType]


FAILING_PEER = """
import sys
from mini_infer.tools import bench_worker
if sys.argv[1] == "mini_infer":
    bench_worker.main()
elif {loads}:
    print('{{"load": 1}}', flush=True); input(); print('{{"times": []}}', flush=True); input(); raise SystemExit(4)
else:
    print('{{"error": "Refusal: opset 99"}}')
"""


@pytest.mark.parametrize(
    ("peer", "loads", "why"),
    [
        ("openvino", False, "openvino is not installed: pip install openvino"),
        ("onnxruntime", False, "onnxruntime: Refusal: opset 99"),
        ("onnxruntime", True, "onnxruntime ended with status 4"),
    ],
)
def test_a_peer_that_fails_is_left_out_alone(
    peer: str, loads: bool, why: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model.parent / "failing_peer.py").write_text(FAILING_PEER.format(loads=loads))
    monkeypatch.setenv("PYTHONPATH", f"{model.parent}:{ENVIRONMENT['PYTHONPATH']}")
    monkeypatch.setattr(benching, "WORKER", "failing_peer")
    monkeypatch.setattr(benching, "find_spec", lambda name: None if name == "openvino" else name)  # pyright: ignore
    result = cli("bench", model, "-j", "1", "--rounds", "1", "--runs", "1", "--against", peer, "--json")
    assert (result.exit_code, result.stderr) == (0, f"mini-infer: warning: left out: {why}\n")
    found = json.loads(result.stdout)
    assert list(found["engines"]) == ["mini_infer"] and found["dropped"] == {peer: why}
