"""`mini-infer bench` on a GPU's kind of device: what needs no GPU of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_cupy import FakeCupy, fake
from models.build import SMALL_MODELS, example_inputs
from typer.testing import CliRunner

from mini_infer.lowering.gpu_to_cuda.device_program import Launch
from mini_infer.runtime.compile.entry import compile
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.profiling.kernel_records import KernelTime
from mini_infer.tools.bench import gpu_engines as bench_gpu
from mini_infer.tools.bench.kernel_times import profile_table, timed_calls
from mini_infer.tools.mini_infer import app
from mini_infer.tools.run_trace import CompileSteps, write_run_trace

assert fake  # the fixture


def do_nothing(*_: int) -> None:
    """A kernel."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "mlp.onnx"
    path.write_bytes(SMALL_MODELS["mlp"]().SerializeToString())
    return path


@pytest.mark.slow
def test_peers_that_cannot_be_had_are_left_out_alone(model: Path) -> None:
    words = ["--device", "cuda-emulated", "--rounds", "1", "--runs", "2", "--warmup", "0", "--json", "-"]
    result = CliRunner().invoke(app, ["bench", str(model), *words, "--against", "onnxruntime-cuda"])
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert (told["device"], told["precision"]) == ("cuda-emulated", "fp32")
    (found,) = told["models"]
    assert found["engines"]["mini_infer"]["inferences"] == 2
    assert {*found["engines"]} | {*found["failed"]} == {"mini_infer", "onnxruntime-cuda"}


def test_peers_are_those_of_the_device(model: Path) -> None:
    for device, peer, others in (
        ("cuda-emulated", "openvino", "torch, torch-compile, onnxruntime-cuda"),
        ("cpu", "torch", "onnxruntime, openvino"),
    ):
        result = CliRunner().invoke(app, ["bench", str(model), "--device", device, "--against", peer])
        assert (result.exit_code, result.stderr) == (1, f"mini-infer: error: --against {peer}: there are {others}\n")


def test_kernels_stand_beside_their_costs(fake: FakeCupy, model: Path) -> None:
    """Each launch takes a millisecond here."""
    costs = bench_gpu.costs(str(model), EngineConfig(device="cuda", gpu="sm_90a"))
    engine = compile(str(model), device="cuda", gpu="sm_90a", enable_profiling=True)
    fake.kernels |= {each.kernel: do_nothing for each in engine.plan.launches}
    times, taken = timed_calls(engine.plan, example_inputs(SMALL_MODELS["mlp"]()), 2)
    rows = bench_gpu.by_calls(engine.plan.launches, times, costs)
    assert len(rows) == len(costs) == 1 + max(each.call for each in engine.plan.launches)
    assert sum(row["us"] for row in rows) == 1000 * len(engine.plan.launches)
    assert all(row["of_limit"] == row["limit_us"] / row["us"] > 0 for row in rows)
    assert all(row["estimated_us"] > row["limit_us"] for row in rows)
    table = profile_table({"run_us": taken, "outside_us": 0.0, "kernels": rows})
    assert [column.header for column in table.columns][2:] == [
        "estimated us",
        "limit us",
        "of limit",
        "schedule",
        "kernel",
        "first node",
    ]


def test_turns_of_a_loop_are_added_up() -> None:
    launch, time = Launch("k", (1, 1, 1), (64, 1, 1), 0, ()), KernelTime("k", "node", 6000, runs=3)
    (row,) = bench_gpu.by_calls([launch], [time], [bench_gpu.CallCost("elements", {}, 1.0, 0.5)])
    assert (row["us"], row["runs"], row["estimated_us"], row["of_limit"]) == (6.0, 3, 3.0, 0.25)


def test_launches_are_traced(fake: FakeCupy, model: Path, tmp_path: Path) -> None:
    """One after the other, a millisecond each here, with the costs of their calls."""
    engine = compile(str(model), device="cuda", gpu="sm_90a", enable_profiling=True)
    launches = engine.plan.launches
    fake.kernels |= {each.kernel: do_nothing for each in launches}
    file = tmp_path / "run.json"
    write_run_trace(str(model), engine, example_inputs(SMALL_MODELS["mlp"]()), 2, CompileSteps(), str(file))
    events = [each for each in json.loads(file.read_text())["traceEvents"] if each.get("cat") == "kernel"]
    assert [(each["name"], each["ts"]) for each in events] == [
        (each.kernel, 1000 * n) for n, each in enumerate(launches)
    ]
    assert all(each["args"]["estimated_us"] > each["args"]["limit_us"] > 0 for each in events)
