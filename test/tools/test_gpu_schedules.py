"""Candidates of schedules on a GPU: what is measured, what is kept of it, and constants fitted to it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_cupy import FakeCupy, fake
from models.build import SMALL_MODELS
from typer.testing import CliRunner
from typing_extensions import override

import mini_infer as mi
from mini_infer.passes.kernels.choose_schedule import candidates_of
from mini_infer.passes.kernels.schedules.cuda import products, tuning
from mini_infer.runtime.compile.tuner import worth_trying
from mini_infer.runtime.config import EngineConfig
from mini_infer.tools.bench.gpu_day import candidates, fitting
from mini_infer.tools.bench.gpu_day.candidates import ROUNDS, kernels_to_measure, measure_kernel, product_model
from mini_infer.tools.bench.gpu_day.measurements import (
    Measurement,
    read_measurements,
    regret_table,
    regrets,
    subject_of,
)
from mini_infer.tools.bench.gpu_day.processes import in_processes

assert fake  # the fixture
RUNS = 5


class AnyKernel(dict[str, Callable[..., object]]):
    """Kernels of any name, which do nothing."""

    @override
    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Callable[..., object]:
        return lambda *_: None


def kernel(product: str = "64x256x48", precision: str = "fp32") -> str:
    config = EngineConfig(device="cuda", precision=precision, gpu="sm_90a")
    (found,) = kernels_to_measure(product_model(product), config, products=True)
    return found


@pytest.mark.parametrize(
    ("product", "title"),
    [
        ("197x768x96:gelu", "matmul_gelu_0 197x768x96"),
        ("49x512x64", "matmul_add_0 49x512x64"),
        ("3x32x30:8x7/2", "conv_relu_0 240x147x8"),
    ],
)
def test_products_by_their_sizes(product: str, title: str) -> None:
    subject = subject_of(kernel(product, "tf32"))
    assert (subject.title, subject.target.precision.data) == (title, "tf32")


def test_kernels_of_a_model() -> None:
    config = EngineConfig(device="cuda", gpu="sm_90a")
    every, products = (
        [subject_of(text).title for text in kernels_to_measure(SMALL_MODELS["resnet"](), config, products=each)]
        for each in (False, True)
    )
    assert [title for title in every if title not in products] == [
        "transpose_0 1x30x30x3",
        "max_pool_0 1x8x8x16",
        "reduce_mean_0 1x1x1x24",
    ]
    assert products[0] == "conv_relu_0 225x147x16" and products[-1] == "matmul_add_0 1x24x10"


def test_what_is_no_product_is_told() -> None:
    with pytest.raises(mi.ConfigError, match=r"^product 3x4: expected one such as 197x768x3072:gelu or "):
        product_model("3x4")


def test_each_candidate_is_measured_once(fake: FakeCupy, tmp_path: Path) -> None:
    """An event of the stand-in counts as a millisecond."""
    fake.kernels, file, text = AnyKernel(), tmp_path / "found.jsonl", kernel()
    measure_kernel(file, text, RUNS)
    subject = subject_of(text)
    expected = worth_trying(subject.kernel, subject.target, candidates_of(subject.kernel, subject.target))
    found = read_measurements(file)
    assert [each.schedule for each in found] == [way for way, _ in expected] and len(found) > 5
    assert all(each.times == (1000 / RUNS,) * ROUNDS and each.us == 1000 / RUNS for each in found)
    assert [json.loads(line)["predicted_us"] for line in file.open()] == [cost * 1e6 for _, cost in expected]
    launches = len(fake.of("launch"))
    kept = file.read_text().splitlines(keepends=True)
    file.write_text("".join(kept[:3]))
    measure_kernel(file, text, RUNS)
    assert file.read_text() == "".join(kept)
    assert launches < len(fake.of("launch")) < 2 * launches
    measure_kernel(file, kernel(precision="tf32"), RUNS)
    assert len(read_measurements(file)) > len(kept) == len(read_measurements(file, text))


def test_after_a_fault_another_process_goes_on_behind_it(fake: FakeCupy, tmp_path: Path) -> None:
    fake.kernels, file, text = AnyKernel(), tmp_path / "found.jsonl", kernel()
    fake.refused = "matmul_add_0_sum"  # of those that split the depth without clusters

    def in_this(work: Callable[..., None], tasks: list[tuple[Path, str, int]], *_: object) -> Iterator[object]:
        for task in tasks:
            try:
                work(*task)
                yield task, ""
            except mi.DeviceError as error:
                yield task, str(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "in_processes", in_this)
        assert candidates.measure(file, [text, text], RUNS, 1, 0.0) == []
    found = read_measurements(file)
    options = {each.key: each.schedule.attribute().numbers() for each in found}
    split = [each for each in found if "splits" in options[each.key] and "cluster" not in options[each.key]]
    assert 0 < len(split) < len(found) == len({each.key for each in found})
    assert [each for each in found if not each.times] == split
    assert all("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" in each.failed for each in split)
    assert f"{len(found)} candidates of 1 kernels, {len(split)} failed" in regret_table(found)


def measurements(text: str, change: Callable[[int, float], float]) -> list[Measurement]:
    """Candidates that take as long as `change` says, of their number and predicted time."""
    subject = subject_of(text)
    ways = [way for way, _ in candidates_of(subject.kernel, subject.target) if way.name in ("mma", "tiles")]
    made = [Measurement(subject, way, (1.0,)) for way in ways]
    return [
        Measurement(subject, each.schedule, (2 * us, us))
        for number, each in enumerate(made)
        if (us := change(number, each.predicted_us))
    ]


def test_regret_is_of_the_lowest_cost() -> None:
    found = [
        *measurements(kernel(), lambda _, us: us),
        *measurements(kernel(precision="tf32"), lambda number, us: us if number else us / 1000),
    ]
    right, wrong = regrets(found)
    assert (right.ratio, wrong.measured) == (1.0, len(found) - right.measured)
    assert wrong.preferred is not wrong.fastest is found[right.measured]
    assert wrong.ratio == wrong.preferred.us / wrong.fastest.us > 50
    table = regret_table(found)
    assert [line.split(" | ")[0] for line in table.splitlines()[2:4]] == ["| fp32", "| tf32"]
    assert f"{len(found)} candidates of 2 kernels, 0 failed" in table


def test_constants_are_found_again() -> None:
    """Times as costs would be with others, of products that those tell on."""
    sizes = ("256x2048x512", "3136x64x256", "197x768x3072:gelu", "49x2304x512")
    hidden = {name: 1.3 * float(getattr(tuning, name)) for name in ("TILES_REACHED", "PRODUCTS_STEP")}
    hidden["LAUNCH"] = 2.5e-6
    with fitting.constants(hidden):
        found = [each for size in sizes for each in measurements(kernel(size), lambda _, us: us)]
    assert products.LAUNCH == tuning.LAUNCH  # only meanwhile
    before = [abs(each) for each in fitting.log_errors(found)]
    fitted = fitting.fitted(found)
    with fitting.constants(fitted):
        after = [abs(each) for each in fitting.log_errors(found)]
    assert max(after) < 0.02 < max(before)
    assert {name: fitted[name] for name in hidden} == pytest.approx(hidden, rel=0.05)
    assert fitted["MMA_READS"] == pytest.approx(tuning.MMA_READS)  # which nothing measured depends on
    text = fitting.fit_tables(found)
    assert all(f"| {name} | " in text for name in fitted) and "| tiles | fp32 | " in text


def test_the_command_needs_no_gpu_for_what_was_measured(tmp_path: Path) -> None:
    from typer import Typer

    from mini_infer.tools.bench.gpu_day.gpu_schedules import gpu_schedules

    app = Typer()
    app.command()(gpu_schedules)
    file = tmp_path / "found.jsonl"
    file.write_text("".join(each.line() for each in measurements(kernel(), lambda _, us: us)))
    result = CliRunner().invoke(app, [str(file), "--seconds", "0"])
    assert result.exit_code == 0 and "1.000 times as long as the fastest" in result.stdout
    assert "TILES_REACHED" in CliRunner().invoke(app, [str(file), "--fit"]).stdout
    file.write_text("{}\n")
    with pytest.raises(mi.InvalidInputError, match=r"found.jsonl, line 1: not a measurement"):
        CliRunner().invoke(app, [str(file), "--seconds", "0"], catch_exceptions=False)
    with pytest.raises(mi.ConfigError, match=r"^there is nothing to fit to"):
        CliRunner().invoke(app, [str(tmp_path / "none"), "--fit"], catch_exceptions=False)


def test_processes_end_badly_or_late_alone() -> None:
    now, tasks = time.monotonic(), [(600,), (0,), ("x",)]
    running = in_processes(time.sleep, tasks, 2, now + 500)
    assert [next(running) for _ in range(2)] == [((0,), ""), (("x",), "ended with status 1")]
    running.close()
    assert not list(in_processes(time.sleep, tasks, 1, now + 1))
