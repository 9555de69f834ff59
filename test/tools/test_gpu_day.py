"""A day with a GPU, on CuPy's stand-in: its parts, what they keep, and that they go on where they were cut."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_cupy import FakeCupy, fake, text_as_cubin
from models.build import SMALL_MODELS
from typer.testing import CliRunner

import mini_infer as mi
from mini_infer.runtime.compute_device import compute_device
from mini_infer.runtime.devices.cuda import cuda_device
from mini_infer.tools.bench.gpu_day import __main__ as gpu_day
from mini_infer.tools.bench.gpu_day import checks, model_times
from mini_infer.tools.bench.gpu_day.each_model import keep_result
from mini_infer.tools.bench.gpu_day.folder import Day, Result, found_models, read_result, write_result
from mini_infer.tools.bench.gpu_day.gpu_environment import copied_gbytes
from mini_infer.tools.bench.gpu_day.model_times import PROFILED, launch_times
from mini_infer.tools.bench.gpu_day.results_page import PAGE, PICTURE, write_page

assert fake  # the fixture
ROOT = Path(__file__).resolve().parents[2]


def not_installed(_: str) -> None:
    """Takes the place of find_spec."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "mlp.onnx"
    path.write_bytes(SMALL_MODELS["mlp"]().SerializeToString())
    return path


def test_parts_that_are_done_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []
    results: dict[str, Result] = {"environment": {"done": True}, "models": {"done": True}, "peers": {"done": False}}

    def part(name: str) -> Callable[[Day, float], Result]:
        def run(day: Day, deadline: float) -> Result:
            assert 0 < deadline - time.monotonic() <= 60
            ran.append(name)
            if name == "schedules":
                raise KeyError("a mistake")
            return results[name]

        return run

    names = ["environment", "models", "schedules", "peers"]
    monkeypatch.setattr(gpu_day, "PARTS", {name: part(name) for name in names})
    assert gpu_day.run_parts(Day(tmp_path), names, 60) == ["schedules", "peers"]
    assert gpu_day.run_parts(Day(tmp_path), names, 60) == ["schedules", "peers"]
    assert ran == [*names, "schedules", "peers"]
    told = capsys.readouterr().out
    assert "models: done before\nschedules: not done after 0 s: KeyError: 'a mistake'\n" in told
    gpu_day.run_parts(Day(tmp_path, models=[Path("other.onnx")]), names[:2], 60)
    assert ran[6:] == ["models"]  # which the environment does not depend on


def test_models_are_those_of_folders(tmp_path: Path) -> None:
    for name in ("a.onnx", "inner/b.onnx.gz", "inner/c.txt", "other/b.onnx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    inner = tmp_path / "inner"
    assert found_models([str(tmp_path / "a.onnx"), str(inner)]) == [tmp_path / "a.onnx", inner / "b.onnx.gz"]
    with pytest.raises(mi.ConfigError, match=r"^there are two models named b$"):
        found_models([str(tmp_path)])
    with pytest.raises(mi.ConfigError, match=r"none: there is no model$"):
        found_models([str(tmp_path / "none")])


def test_copies_are_timed(fake: FakeCupy) -> None:
    """A millisecond each, on the stand-in."""
    device = compute_device("cuda")
    assert isinstance(device, cuda_device.Cuda)
    assert copied_gbytes(device, 4_000_000) == 8.0
    assert {call[2:4] for call in fake.of("memcpyAsync")} == {(4_000_000, 3)}


def test_a_model_is_compared_and_timed(
    fake: FakeCupy, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_device.Cuda, "objects", text_as_cubin)
    monkeypatch.setattr(model_times, "find_spec", not_installed)  # by events, also where PyTorch is
    monkeypatch.setattr(model_times, "REPLAYS", 3)
    keep_result(tmp_path / "found.json", model, "fp32", {}, model_times.measured)
    found = read_result(tmp_path / "found.json")
    assert found is not None and "failed" not in found, found
    launches = len(mi.compile(str(model), device="cuda").plan.launches)
    assert (found["model"], found["launches"], found["differs"], found["kernels_by"]) == ("mlp", launches, [], "events")
    assert 0 <= max(found["errors"].values()) < 1e-5 and found["replay_us"]["min"] > 0
    assert found["kernels_us"] == 1000 * launches and found["estimated_us"] > found["limit_us"] > 0
    assert sum(row["estimated_us"] for row in found["kernels"]) == pytest.approx(found["estimated_us"])


def test_a_model_that_fails_is_told(fake: FakeCupy, tmp_path: Path) -> None:
    keep_result(tmp_path / "found.json", tmp_path / "missing.onnx.gz", "fp32", {}, model_times.measured)
    found = read_result(tmp_path / "found.json")
    assert found is not None and found["failed"]["mini_infer"].startswith("InvalidModelError: ")


def test_times_of_launches_are_medians_over_replays(fake: FakeCupy) -> None:
    engine: Any = SimpleNamespace(plan=SimpleNamespace(launches=[SimpleNamespace(kernel=k, nodes=(k,)) for k in "ab"]))
    events = [(0, "Memcpy HtoD", 7)]
    for run in range(PROFILED):
        events = [(100 * run + 50, "b", 20 + run), (100 * run + 1, "a", 10 - run), *events]
    assert [(each.kernel, each.nanoseconds) for each in launch_times(engine, events)] == [("a", 8), ("b", 22)]
    with pytest.raises(RuntimeError, match="9 kernels instead of 10"):
        launch_times(engine, events[1:])


def write_tests(folder: Path, text: str) -> None:
    (folder / "test" / "cuda").mkdir(parents=True)
    (folder / "test" / "cuda" / "test_it.py").write_text(text)


def test_how_tests_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def test_it(): pass\ndef test_other(): assert False\ndef test_sanitizer(): pass\n"
    write_tests(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checks, "find_spec", not_installed)
    found = checks.tests(Day(tmp_path), time.monotonic() + 200)
    assert (found["done"], found["passed"], found["failed"]) == (True, 1, 1) and "assert False" in found["output"]
    assert checks.sanitizer(Day(tmp_path), time.monotonic() + 200)["passed"] == 1


def test_tests_that_take_too_long_are_not_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mi.ConfigError, match="tests are run in the folder of a checkout"):
        checks.tests(Day(tmp_path), time.monotonic())
    write_tests(tmp_path, "import time\ndef test_it(): time.sleep(600)\n")
    assert not checks.tests(Day(tmp_path), time.monotonic() + 2)["done"]


def kernel(schedule: str, us: float, estimated: float) -> Mapping[str, Any]:
    return {"schedule": schedule, "us": us, "estimated_us": estimated, "limit_us": 1.0}


def test_the_page_shows_what_is_there(tmp_path: Path) -> None:
    assert "- models: not run\n" in write_page(tmp_path, ["models"]).read_text()
    times = {"kernels_us": 30.0, "estimated_us": 20.0, "limit_us": 3.0, "replay_us": {"min": 41.5, "median": 50}}
    kernels = [kernel("mma", 8, 4), kernel("mma", 20, 5), kernel("elements", 2, 2)]
    found = {"model": "net", "precision": "tf32", "launches": 4, "errors": {"y": 1e-4}, "differs": ["y"]}
    write_result(tmp_path / "models" / "net.tf32.json", {**found, **times, "kernels": kernels})
    write_result(
        tmp_path / "models" / "a.fp32.json", {"model": "a", "precision": "fp32", "failed": {"mini_infer": "no | way"}}
    )
    engines = {"mini_infer": {"min_ms": 0.25}, "torch": {"min_ms": 0.5}}
    write_result(
        tmp_path / "peers" / "net.json",
        {"model": "net", "precision": "tf32", "engines": engines, "failed": {"torch-compile": "no"}},
    )
    write_result(tmp_path / "environment.json", {"done": True, "asked": {}, "seconds": 1.2, "name": "H100"})
    write_result(tmp_path / "tests.json", {"done": False, "asked": {}, "seconds": 9, "passed": 3, "why": "cut"})
    lines = write_page(tmp_path, ["environment", "tests"]).read_text().splitlines()
    for expected in (
        "- environment: done in 1 s",
        "- tests: not done in 9 s: 3 passed, cut",
        "| name | H100 |",
        "| net | tf32 | 4 | 41.5 | 30 | 20 | 3 | 1.0e-04 | runs differ: y |",
        "| a | fp32 |  |  |  |  |  |  | mini_infer: no \\| way |",
        "| mma | 2 | 28 | 9 | 2 | 2 | 3 | 4 |",
        "| net | tf32 | 250 | 500 | 2 | torch-compile: no |",
    ):
        assert expected in lines
    assert (tmp_path / PICTURE).read_bytes().startswith(b"\x89PNG")


def test_parts_by_their_names(fake: FakeCupy, tmp_path: Path) -> None:
    from typer import Typer

    app = Typer()
    app.command()(gpu_day.gpu_day)
    with pytest.raises(mi.ConfigError, match=r"^there is no part test; there are environment, tests, models, "):
        CliRunner().invoke(app, ["--parts", "test", "--out", str(tmp_path)], catch_exceptions=False)
    fake.devices = 0
    with pytest.raises(mi.ConfigError, match=r"^there is no cuda device 0"):
        CliRunner().invoke(app, ["--parts", "models", "--out", str(tmp_path)], catch_exceptions=False)
    assert [*tmp_path.iterdir()] == []  # nothing that a later day would pass over
    assert CliRunner().invoke(app, ["--parts", "", "--out", str(tmp_path)]).exit_code == 0
    assert (tmp_path / PAGE).exists()


STAND_IN = "import cuda_stand_in\ncuda_stand_in.pytest_configure()\n"


@pytest.mark.slow
def test_all_of_it_in_processes_to_the_end(tmp_path: Path, model: Path) -> None:
    """As it is run on a GPU, but for the tests: here in a folder that has one. Cut short, it goes on."""
    (tmp_path / "sitecustomize.py").write_text(STAND_IN)
    write_tests(tmp_path, "def test_it(): pass\ndef test_sanitizer(): pass\n")
    paths = [str(tmp_path), str(ROOT), str(ROOT / "test")]
    words = ["--models", str(model), "--precision", "tf32", "--products", "8x64x8", "--runs", "2", "--jobs", "2"]

    def run(limit: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mini_infer.tools.bench.gpu_day", *words, "--limit", str(limit)]
        surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False)

    cut = run(1)
    assert cut.returncode == 1 and "the same command goes on" in cut.stderr
    whole = run(200)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    out = tmp_path / "build" / "gpu-day"
    for name in ("models/mlp.tf32.json", "peers/mlp.tf32.json"):
        assert "mini_infer" not in json.loads((out / name).read_text()).get("failed", {}), name
    page = (out / PAGE).read_text()
    assert page.count(": done in ") == len(gpu_day.PARTS) and "of 1 kernels, 0 failed" in page
    again = run(200)
    assert again.stdout.count("done before") == len(gpu_day.PARTS)
