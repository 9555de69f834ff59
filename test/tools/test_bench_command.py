"""mini-infer bench: what it tells of models and engines, and those that fail."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from command_runs import ENVIRONMENT, HEADER, cli, complaint, saved, told
from models.builder import ModelBuilder
from text_models import LOOPS, model_of

import mini_infer as mi
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.lowering.pipelines import PLAIN_GRAPH, parse_passes, run_passes
from mini_infer.passes.work_bounds import Work, work_of_model
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.devices.cpu.machine_limits import MachineLimits
from mini_infer.tools.bench import benchmark as benching
from mini_infer.tools.bench import turns as bench_turns
from mini_infer.tools.bench.chart import draw_chart
from mini_infer.tools.bench.engine_process import ENGINES
from mini_infer.tools.bench.kernel_times import profile, profile_table
from mini_infer.tools.bench.models import Given, names_of, subjects
from mini_infer.tools.bench.report import Benchmark, Measured, ModelResult
from mini_infer.tools.bench.turns import Amount, Turns
from mini_infer.tools.mini_opt.command import main as mini_opt

QUICK = ("-j", "1", "--rounds", "1", "--runs", "2", "--warmup", "1")
NODES = {"perceptron/gemm_0", "perceptron/gemm_2", "perceptron/gemm_4"}


def close(value: float) -> Any:
    return pytest.approx(value)  # pyright: ignore[reportUnknownMemberType]


def test_bench_stands_beside_a_peer_and_profiles(model: Path) -> None:
    text = told("bench", model, *QUICK, "--against", "onnxruntime", "--profile")
    assert re.match(r"latency in ms, 1 thread\(s\).*, .+ \(.+\)", text)
    number = r" +\d+\.\d+"
    assert re.search(rf"mini_infer{7 * number} +\d+ +\d\.\de-\d+", text)
    assert re.search(rf"onnxruntime{9 * number} +\d+ +\d\.\de-\d+", text)
    assert re.search(r"limits measured meanwhile: \d+\.\d GFLOP/s of f32, \d+\.\d GB/s from memory", text)
    assert re.search(r"best peer / mini_infer: geometric mean \d+\.\d{3} of 1, least", text)
    assert re.search(
        r"us +share +estimated us +MFLOP +kB +GFLOP/s +limit us +of limit +schedule +kernel +first node", text
    )
    assert re.search(r"panels +matmul_relu_0 +perceptron/gemm_0", text)


@pytest.mark.parametrize(
    ("worker", "message"),
    [
        ('print(\'{"error": "Refusal: opset 99"}\')', "Refusal: opset 99"),
        ("raise SystemExit(3)", "ended with status 3"),
        ("print('{\"load\": 1}', flush=True); input(); raise SystemExit(4)", "ended with status 4"),
    ],
)
def test_bench_tells_how_an_engine_fails(
    worker: str, message: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model.parent / "failing_worker.py").write_text(worker)
    monkeypatch.chdir(model.parent)
    monkeypatch.setattr(bench_turns, "WORKER", "failing_worker")
    result = cli("bench", model, "--rounds", "1", "--json", "-")
    assert (result.exit_code, result.stderr) == (1, "")
    (found,) = json.loads(result.stdout)["models"]
    assert (found["engines"], found["failed"]["mini_infer"], found["ratio"]) == ({}, message, None)


def test_bench_goes_on_where_a_model_fails(model: Path) -> None:
    broken = model.with_name("broken.onnx")
    broken.write_bytes(b"no model")
    result = cli("bench", model.parent, *QUICK)
    assert result.exit_code == 1
    assert re.search(r"failed: broken, mini_infer: .*broken\.onnx", result.stdout)
    assert re.search(r"mini_infer +\d", result.stdout)


def test_bench_needs_models(tmp_path: Path) -> None:
    assert complaint("bench", tmp_path / "none.onnx") == f"{tmp_path / 'none.onnx'}: no such file"
    assert complaint("bench", tmp_path) == f"{tmp_path}: there is no .onnx file in this folder"
    picture = complaint("bench", tmp_path, "--chart", "chart.txt")
    assert picture == "--chart chart.txt: there are pictures as .png, .svg, .pdf"


def test_a_file_beside_no_model_is_a_mistake(model: Path) -> None:
    assert complaint("bench", model, "--beside", "oi.npz") == "--beside oi.npz: no model has such a file in its folder"


def test_bench_writes_json_and_a_picture(model: Path, tmp_path: Path) -> None:
    file, chart = tmp_path / "found.json", tmp_path / "chart.svg"
    beside = tmp_path / "io.npz"
    x = np.linspace(-1, 1, 64).reshape(1, 64).astype(np.float32)
    inputs = {spec.name: np.resize(x, spec.shape) for spec in mi.compile(str(model)).plan.inputs}
    outputs = mi.compile(str(model))(inputs)
    arrays = {f"in.{name}": each for name, each in inputs.items()}
    arrays |= {f"f64.{name}": each * (1 + 1e-3) for name, each in outputs.items()}
    np.savez(beside, **arrays)  # pyright: ignore[reportArgumentType]
    words = ("--duration", "0.01", "--warmup", "0", "--rounds", "2", "--profile", "--beside", "io.npz")
    told("bench", model, *words, "--json", file, "--chart", chart, "--against", "onnxruntime")
    found = json.loads(file.read_text())
    own = {"device", "precision", "threads", "cores", "geometric_mean", "models", "failed"}
    assert set(found) == {*HEADER, *own} and not found["failed"]
    assert found["threads"] == mi.EngineConfig().thread_count
    (entry,) = found["models"]
    known = {
        "name",
        "model",
        "shape",
        "threads",
        "inputs",
        "engines",
        "failed",
        "best_peer",
        "ratio",
        "work",
        "limits",
        "profile",
    }
    assert set(entry) == known and entry["failed"] == {} and entry["best_peer"] == "onnxruntime"
    ours, theirs = entry["engines"]["mini_infer"], entry["engines"]["onnxruntime"]
    assert ours["min_ms"] <= ours["median_ms"] <= ours["p90_ms"] <= ours["p99_ms"]
    assert ours["per_second"] == close(1e3 / ours["mean_ms"])
    assert ours["load_s"] > 0 and ours["import_s"] > 0 and ours["memory_mb"] > 0 < ours["peak_mb"]
    assert entry["ratio"] == close(theirs["median_ms"] / ours["median_ms"]) == close(found["geometric_mean"])
    assert 0.9e-3 < ours["error"] < 1.1e-3 and 0.9e-3 < theirs["error"] < 1.1e-3
    work, limits = entry["work"], entry["limits"]
    least = max(work["flops"] / limits["gflops"], work["nbytes"] / limits["gbytes"]) * 1e-6
    assert ours["of_limit"] == close(least / ours["median_ms"])
    profile = entry["profile"]
    assert {each["node"] for each in profile["kernels"]} == NODES
    assert sum(each["us"] for each in profile["kernels"]) + profile["outside_us"] == close(profile["run_us"])
    assert profile["outside_us"] > 0 and all(each["estimated_us"] > 0 for each in profile["kernels"])
    assert sum(each["flops"] for each in profile["kernels"]) == work["flops"]
    assert "fraction of the machine" in chart.read_text()


def test_latencies_are_counted_as_they_are_told() -> None:
    turns = Turns(imports=1, load=2, memory={"resident": 3_000_000}, times=[0.001 * each for each in range(1, 102)])
    found = Measured.of(turns, Work(flops=10**9, nbytes=10**6), MachineLimits(1, gflops=100, gbytes=10), 1e-6)
    assert (found.inferences, found.import_s, found.load_s, found.error, found.memory_mb) == (101, 1, 2, 1e-6, 3)
    expected = {"median_ms": 51, "p90_ms": 91, "p99_ms": 100, "min_ms": 1, "mean_ms": 51, "per_second": 1000 / 51}
    assert {name: getattr(found, name) for name in expected} == close(expected)  # pyright: ignore[reportArgumentType]
    assert found.of_limit == close(10 / 51)  # 10 ms of operations, 0.1 ms of bytes
    assert Measured.of(turns).of_limit is None


def measured(milliseconds: float) -> Measured:
    """Of a model whose limit is 1 ms."""
    limits = MachineLimits(1, gflops=100, gbytes=10)
    return Measured.of(Turns(times=[milliseconds * 1e-3]), Work(flops=10**8, nbytes=10**6), limits)


def test_ratios_are_to_the_best_peer() -> None:
    engines = {"mini_infer": measured(2), "onnxruntime": measured(8), "openvino": measured(4)}
    fast = ModelResult("fast", "fast.onnx", "n=1", engines)
    slow = ModelResult("slow", "slow.onnx", engines={"mini_infer": measured(2), "onnxruntime": measured(1)})
    alone = ModelResult("alone", "alone.onnx", engines={"mini_infer": measured(2)}, failed={"openvino": "why"})
    assert (fast.best_peer, fast.ratio, slow.ratio, alone.best_peer, alone.ratio) == ("openvino", 2, 0.5, None, None)
    benchmark = Benchmark("a CPU", "cpu", "fp32", 1, (0,), [fast, slow, alone])
    assert benchmark.geometric_mean == close(1)
    assert benchmark.remarks() == [
        "failed: alone, openvino: why",
        "best peer / mini_infer: geometric mean 1.000 of 2, least 0.500 (slow)",
    ]
    ratios, fractions = draw_chart(benchmark).axes
    assert [bar.get_width() for bar in ratios.patches] == [2, 0.5]
    assert [each.get_text() for each in ratios.get_yticklabels()] == ["fast n=1", "slow", "alone"]
    assert [each.get_text() for each in fractions.get_legend().get_texts()] == [*engines]


def test_a_duration_is_for_all_rounds() -> None:
    amount = Amount(rounds=5, duration=2)
    assert (amount.runs_of([0.1, 0.2]), amount.runs_of([7.0])) == (4, 1)
    assert Amount(runs=3).runs_of([1.0]) == 3


def test_models_are_called_by_what_tells_them_apart() -> None:
    assert names_of([Path("a/model.onnx"), Path("b/net.onnx")]) == ["a", "net"]
    assert names_of([Path("a/net.onnx"), Path("b/net.onnx")]) == ["a", "b"]
    assert names_of([Path("a/net.onnx"), Path("a/net.mi"), Path("b/net.onnx")]) == ["net.onnx", "net.mi", "b"]


FAILING_PEER = """
import sys
from mini_infer.tools.bench import engine_process
if sys.argv[1] in ("mini_infer", "limits"):
    engine_process.main()
elif {loads}:
    print('{{"load": 1}}', flush=True); input(); print('{{"times": [1]}}', flush=True); input(); raise SystemExit(4)
else:
    print('{{"error": "Refusal: opset 99"}}')
"""


@pytest.mark.parametrize(
    ("peer", "loads", "why"),
    [
        ("onnxruntime", False, "Refusal: opset 99"),
        ("onnxruntime", True, "ended with status 4"),
    ],
)
def test_a_peer_that_fails_is_left_out_alone(
    peer: str, loads: bool, why: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model.parent / "failing_peer.py").write_text(FAILING_PEER.format(loads=loads))
    monkeypatch.setenv("PYTHONPATH", f"{model.parent}:{ENVIRONMENT['PYTHONPATH']}")
    monkeypatch.setattr(bench_turns, "WORKER", "failing_peer")
    (found,) = json.loads(told("bench", model, *QUICK, "--against", peer, "--json", "-"))["models"]
    assert list(found["engines"]) == ["mini_infer"] and found["failed"] == {peer: why}


@pytest.mark.parametrize(("precision", "hint"), [("fp32", "f32"), ("bf16", "bf16")])
def test_openvino_computes_in_the_same_precision(precision: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    openvino = MagicMock()
    monkeypatch.setitem(__import__("sys").modules, "openvino", openvino)
    ENGINES["openvino"]("model.onnx", {"threads": 1, "precision": precision}, {})
    _, device, settings = openvino.Core().compile_model.call_args[0]
    assert (device, settings["INFERENCE_PRECISION_HINT"]) == ("CPU", hint)


@pytest.mark.parametrize(("peer", "needed"), [("openvino", "'mini-infer[bench]'"), ("torch", "torch onnx2torch")])
def test_a_peer_that_is_missing_ends_the_command(
    peer: str, needed: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is measured, with the command that installs it."""
    monkeypatch.setattr(bench_turns, "find_spec", lambda name: None if name == peer else name)  # pyright: ignore
    monkeypatch.setitem(benching.PEERS, "cpu", ("onnxruntime", peer))
    assert complaint("bench", model, "--against", f"onnxruntime,{peer}") == (
        f"--against {peer}: it is not installed: pip install {needed}"
    )


def test_calls_in_loops_are_profiled(tmp_path: Path) -> None:
    """Each call together over all its runs, and a branch that isn't taken with none."""
    path = saved(model_of(LOOPS.replace("Tanh(a)", "Identity(a)")), tmp_path)
    inputs = {"x": np.ones((8, 16), np.float32), "turns": np.array(3), "on": np.array(False)}
    found = profile(str(path), mi.EngineConfig(threads=1), inputs, 2, (), None)
    runs = {each["kernel"].rpartition("_")[0]: each["runs"] for each in found["kernels"]}
    assert runs == {"relu": 1, "softmax": 3, "exp": 0, "copy": 1}
    whole = sum(each["us"] for each in found["kernels"]) + found["outside_us"]
    assert whole == close(found["run_us"]) and found["outside_us"] > 0
    assert [column.header for column in profile_table(found).columns][:3] == ["us", "share", "runs"]


def test_kernels_are_profiled_at_shapes_of_ranges(any_rows: Path) -> None:
    """What they do is counted at the shape, not at the one that code is made for."""
    config = mi.EngineConfig(threads=1, profile=mi.OptimizationProfile(dims={"n": (1, 8, 64)}))
    found = profile(str(any_rows), config, {"x": np.ones((2, 32, 12), np.float32)}, 1, (), None)
    module, _ = source_of(str(any_rows)).load(mi.EngineConfig(threads=1, dims={"n": 32}))
    run_passes(MiniContext(), module, parse_passes(PLAIN_GRAPH))
    assert sum(each["flops"] for each in found["kernels"]) == work_of_model(module).flops > 0


@pytest.mark.slow
def test_a_profile_that_cannot_be_made_leaves_the_table(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benching, "profile", MagicMock(side_effect=mi.OutOfMemoryError("no memory for it")))
    result = cli("bench", model, *QUICK, "--profile")
    assert (result.exit_code, result.stderr) == (1, "")
    assert re.search(r"failed: \w+, profile: no memory for it", result.stdout)
    assert re.search(r"mini_infer +\d", result.stdout)


def test_a_compiled_file_is_measured(any_rows: Path) -> None:
    file, ranged = any_rows.with_name("built.mi"), any_rows.with_name("ranged.mi")
    mi.build(any_rows, file, 1, cpus=["native"], dims={"n": 4})
    profile = mi.OptimizationProfile(dims={"n": (1, 8, 64)})
    mi.build(any_rows, ranged, 1, cpus=["native"], profile=profile)
    text = told("bench", file, *QUICK[2:], "--against", "onnxruntime")
    assert re.search(r"1 thread\(s\).*\n.*\n built +mini_infer +\d", text)
    assert "failed: built, onnxruntime: it takes no .mi file" in text
    assert "built: no fraction of the limit, as what there is to compute stands in the model's graph only" in text
    each = subjects(ranged, {"threads": 2}, Given(at=({"n": 3}, {"n": 9})))
    found = [(one.shape, one.inputs["x"].shape, one.options["threads"]) for one in each]
    assert found == [("n=3", (2, 3, 12), 1), ("n=9", (2, 9, 12), 1)]
    assert complaint("bench", ranged, "--at", "n=65") == "--at n=65: n is from 1 to 64"
    assert complaint("bench", file, "--at", "n=3") == f"--at does nothing with {file}, which is for one shape"
    assert "--threads does nothing with a .mi file" in complaint("bench", file, "-j", "1")
    assert "is compiled without times of kernels" in complaint("bench", file, any_rows, "--profile")


def test_a_module_s_kernels_keep_their_threads(tmp_path: Path) -> None:
    """As many as they were scheduled for, whatever this machine has."""
    b = ModelBuilder("small")
    model = saved(b.model([b.node("Relu", b.node("MatMul", b.input("x", [4, 8]), b.weight(8, 16)))]), tmp_path)
    written = tmp_path / "kernels.mlir"
    assert mini_opt([str(model), "--to", "kernels", "-o", str(written)]) == 0
    assert "latency in ms, 1 thread(s)" in told("bench", written, "--runs", "2", "--rounds", "1", "--warmup", "0")


def test_engines_alone_are_drawn_by_what_is_known_of_them() -> None:
    known = ModelResult("m", "m.onnx", engines={"mini_infer": measured(2)})
    (axes,) = draw_chart(Benchmark("a CPU", "cpu", "fp32", 1, (0,), [known])).axes
    assert axes.get_xlabel() == "fraction of the machine's limit"
    assert [bar.get_width() for bar in axes.patches] == [close(0.5)]
    unknown = ModelResult("m", "m.mi", engines={"mini_infer": Measured.of(Turns(times=[0.002]))})
    (axes,) = draw_chart(Benchmark("a CPU", "cpu", "fp32", 1, (0,), [unknown])).axes
    assert axes.get_xlabel() == "median latency in ms" and [bar.get_width() for bar in axes.patches] == [close(2)]


def test_the_machine_is_measured() -> None:
    found = json.loads(told("machine", "-j", "1", "--json", "-"))
    (limits,) = found["limits"]
    assert limits["threads"] == 1 and limits["gflops"] > 0 < limits["gbytes"]
    assert found["target"].startswith("#kernel.cpu<")
    text = told("machine", "-j", "1")
    assert text.startswith(found["cpu"]) and re.search(r"threads +GFLOP/s of f32 +GB/s from memory", text)
