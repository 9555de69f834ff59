"""The tuner: what it tries and takes, what it keeps, and that later compiles go by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from models.build import ModelBuilder
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.module_text import print_module
from mini_infer.passes.kernels.choose_schedule import Choice, ChooseSchedule, choices_of
from mini_infer.passes.kernels.schedules.cpu.tuning import PANELS_WIDE
from mini_infer.runtime.compile import tuner as tuning
from mini_infer.runtime.compile.module_to_plan import build_plan, plan_memory
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.compile.tuner import Bench, Times, TuningReport, Variant, tune
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.kept.cpus import host_cpu
from mini_infer.runtime.kept.tuning_store import Decision, Tried, TuningStore
from mini_infer.tools.mini_opt.command import main

ONE = EngineConfig(threads=1)


def network() -> ModelProto:
    """Two products alike, one other, and a transposition, which can be done in one way only."""
    b = ModelBuilder("network")
    x = b.input("x", [32, 64])
    for _ in range(2):
        x = b.node("Relu", b.node("MatMul", x, b.weight(64, 64)))
    return b.model([b.node("Transpose", b.node("MatMul", x, b.weight(64, 16)), perm=[1, 0])])


def takes(wanted: Callable[[Variant], bool], seen: list[Variant] | None = None) -> Callable[..., Sequence[Times | str]]:
    """A timer to which the variants that are wanted are fast, and all others slow."""

    def measure(variants: Sequence[Variant]) -> Sequence[Times | str]:
        if seen is not None:
            seen.extend(variants)
        return [Times(1e-6, 2e-6) if wanted(each) else Times(1e-3, 2e-3) for each in variants]

    return measure


def without_prefetch(variant: Variant) -> bool:
    return variant.schedule.name == "panels" and "prefetch" not in variant.schedule.attribute().numbers()


def wide(variant: Variant) -> bool:
    numbers = variant.schedule.attribute().numbers()
    return variant.schedule.name == "panels" and numbers["nr"] == PANELS_WIDE * numbers["lanes"]


def choices(config: EngineConfig = ONE) -> list[Choice]:
    """What choose-schedule takes for the network."""
    module, ctx = source_of(network()).load(config)
    plan_memory(module, ctx, config)
    return choices_of(ctx)


def report(wanted: Callable[[Variant], bool] = wide, seconds: float = 60, again: bool = False) -> TuningReport:
    return tune(network(), ONE, seconds, again=again, measure=takes(wanted))


def test_what_is_fastest_is_taken_now_and_later() -> None:
    seen: list[Variant] = []
    found = tune(network(), ONE, 60, measure=takes(wide, seen))
    assert [each.calls for each in found.kernels if each.kernel == "matmul_relu_0"] == [2]
    assert all(each.measured_now and each.decision.taken > 0 for each in found.kernels)
    assert not any(each.tuned for each in choices(EngineConfig(threads=1, tuned=False)))
    after = {each.kernel: each for each in choices()}
    for each in found.kernels:
        assert after[each.kernel].tuned
        taken = after[each.kernel].taken.attribute()
        assert (taken.kind.data, taken.numbers()) == (each.decision.chosen.schedule, each.decision.chosen.options)
    assert {each.kernel for each in after.values() if each.tuned} == {each.kernel for each in found.kernels}


@pytest.mark.parametrize(("target", "goes_by_it"), [((), True), (("--cpu", "x86_64-linux-gnu:x86-64"), False)])
def test_mini_opt_goes_by_what_was_measured_on_its_machine(
    target: Sequence[str], goes_by_it: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report()
    path = tmp_path / "network.onnx"
    path.write_bytes(network().SerializeToString())
    assert main([str(path), "--to", "kernels", *target]) == 0
    text = capsys.readouterr().out
    taken = {str(each.taken.attribute()) for each in choices() if each.tuned}
    assert taken and all(each in text for each in taken) == goes_by_it


def test_results_are_the_same_and_so_is_the_plan() -> None:
    x = np.random.default_rng(0).standard_normal((32, 64)).astype(np.float32)
    plain = mi.compile(network(), threads=1)(x)
    report()
    module, ctx = source_of(network()).load(ONE)
    plan_memory(module, ctx, ONE)
    other, ctx_of_other = source_of(network()).load(ONE)
    plan_memory(other, ctx_of_other, ONE)
    assert print_module(ctx, module) == print_module(ctx_of_other, other)
    tuned = mi.compile(network(), threads=1)
    np.testing.assert_allclose(tuned(x), plain, rtol=1e-5, atol=1e-6)
    assert tuned.statistics.counts[ChooseSchedule.name, "schedules that were measured"] == 2


def test_what_was_measured_is_not_measured_again_unless_asked() -> None:
    first = report()
    known = report(without_prefetch)
    assert [each.decision for each in known.kernels] == [each.decision for each in first.kernels]
    assert not any(each.measured_now for each in known.kernels)
    again = report(without_prefetch, again=True)
    assert all(each.measured_now for each in again.kernels)
    assert [each.decision for each in again.kernels] != [each.decision for each in first.kernels]


def test_the_heaviest_kernels_come_first_and_time_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    found = report()
    shares = [each.share for each in found.kernels]
    assert shares == sorted(shares, reverse=True) and sum(shares) <= 1 and found.left == 0
    clock = iter([0.0, 0.5, 2.0, 2.0, 2.0])
    monkeypatch.setattr(tuning.time, "monotonic", lambda: next(clock))
    short = report(seconds=1, again=True)
    assert [each.kernel for each in short.kernels] == ["matmul_relu_0"] and short.left == 1


def test_a_gain_that_could_be_noise_changes_nothing() -> None:
    module, ctx = source_of(network()).load(ONE)
    plan_memory(module, ctx, EngineConfig(threads=1, tuned=False))
    (schedule, _), *_ = choices_of(ctx)[0].candidates
    ways = [(schedule, 1e-6), (schedule, 2e-6)]
    decide = tuning.decided
    assert decide("k", ways, [Times(1.0, 1.0), Times(0.98, 0.98)], cold=False).taken == 0
    assert decide("k", ways, [Times(1.0, 1.0), Times(0.9, 1.0)], cold=False).taken == 1
    assert decide("k", ways, [Times(1.0, 1.0), Times(0.9, 1.1)], cold=False).taken == 0
    assert decide("k", ways, [Times(1.0, 1.0), Times(0.9, 1.0)], cold=True).taken == 0
    refused = decide("k", ways, ["LLVM refuses", Times(2.0, 2.0)], cold=True)
    assert (refused.taken, refused.candidates[0].failed, refused.candidates[0].hot_us) == (1, "LLVM refuses", None)


def test_measuring_takes_time() -> None:
    module, ctx = source_of(network()).load(ONE)
    plan_memory(module, ctx, ONE)
    found = tune(network(), ONE, 0.001 + 1e-9, measure=Bench())
    for each in found.kernels:
        assert all(tried.hot_us and tried.cold_us and not tried.failed for tried in each.decision.candidates)
    assert found.left + len(found.kernels) == 2


def test_compile_tunes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "Bench", lambda: takes(wide))
    path = tmp_path / "model.onnx"
    path.write_bytes(network().SerializeToString())
    with path.open("rb") as stream:
        engine = mi.compile(stream, threads=1, tune=5)
    assert engine.statistics.counts[ChooseSchedule.name, "schedules that were measured"] == 2
    for wrong in (0, -1, float("nan"), True, "5"):
        with pytest.raises(mi.ConfigError, match=r"tune is .*; it must be a number of seconds"):
            mi.compile(str(path), threads=1, tune=wrong)  # pyright: ignore[reportArgumentType]


def test_what_cannot_be_tuned_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mi.ConfigError, match="tune is for one shape"):
        tune(network(), EngineConfig(enable_dynamic_shapes=True), 1)
    with pytest.raises(mi.ConfigError, match="tune does nothing on the device 'cuda-emulated'"):
        tune(network(), EngineConfig(device="cuda-emulated"), 1)
    b = ModelBuilder("weightless")
    module, ctx = source_of(b.model([b.node("Softmax", b.input("x", [4, 4]))])).load(ONE)
    plan_memory(module, ctx, ONE)
    (tmp_path / "planned.mlir").write_text(print_module(ctx, module))
    with pytest.raises(mi.ConfigError, match="tune does nothing at the arena level: kernels have their schedules"):
        tune(tmp_path / "planned.mlir", ONE, 1)
    with pytest.raises(mi.ConfigError, match="tuned does nothing on the device 'cuda'"):
        EngineConfig(device="cuda", tuned=False)


def contractions(columns: int) -> ModelProto:
    """Products and convolutions, dense, depthwise and grouped, of odd sizes."""
    b = ModelBuilder("contractions")
    x = b.input("x", [1, 5, 11, 13])
    x = b.node("Relu", b.node("Conv", x, b.weight(columns, 5, 3, 3), b.weight(columns), pads=[1, 1, 1, 1]))
    x = b.node("Conv", x, b.weight(columns, 1, 3, 3), group=columns, strides=[2, 2], pads=[1, 1, 1, 1])
    x = b.node("Sigmoid", b.node("Conv", x, b.weight(7, columns, 1, 1)))
    x = b.node("Reshape", x, b.constant(np.array([7, 42])))
    return b.model([b.node("MatMul", x, b.weight(42, columns))])


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("columns", "bits"), [(70, 128), (1, 256), (17, 512), (70, 512)])
def test_everything_that_is_tried_computes_the_same(columns: int, bits: int) -> None:
    config = EngineConfig(threads=1, vector_bits=bits)
    results: dict[str, list[Array]] = {}

    def run(variants: Sequence[Variant]) -> Sequence[Times | str]:
        for each in variants:
            module, ctx = tuning.alone(each)
            plan = build_plan(module, ctx, config)
            given = {spec.name: np.sin(np.arange(prod(spec.shape))) for spec in plan.inputs}
            given = {spec.name: given[spec.name].reshape(spec.shape).astype(spec.dtype) for spec in plan.inputs}
            (result,) = plan.create_execution_context().run(given).values()
            results.setdefault(each.kernel.sym_name.data, []).append(result)
        return [Times(1, 1)] * len(variants)

    tune(contractions(columns), config, 60, measure=run)
    assert sum(map(len, results.values())) > 3 * len(results) >= 9
    for first, *others in results.values():
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-4, atol=1e-5)


DECISION = Decision("k", 1, (Tried("panels", {"mr": 4}, 2.0, 1.0, 1.5), Tried("elements", {}, 9.0, failed="why")))


def test_decisions_come_back(tmp_path: Path) -> None:
    store = TuningStore.of("A CPU (znver5)", tmp_path)
    assert store.load() == {} and store.digest() == ""
    store.add({"key": DECISION})
    first = store.digest()
    store.add({"other": DECISION})
    assert store.load() == {"key": DECISION, "other": DECISION}
    assert store.file.name == "a-cpu-znver5.json" and store.digest() not in ("", first)
    assert TuningStore(store.file, "another version").load() == {}


def test_decisions_of_others_who_write_at_once_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second writer begins while the first one has read and not yet written: it waits."""
    store, load = TuningStore(tmp_path / "cpu.json", "M"), TuningStore.load
    others: list[Thread] = []

    def slow(self: TuningStore) -> dict[str, Decision]:
        found = load(self)
        if not others:
            others.append(Thread(target=lambda: store.add({"other": DECISION})))
            others[0].start()
            others[0].join(0.2)
        return found

    monkeypatch.setattr(TuningStore, "load", slow)
    store.add({"key": DECISION})
    others[0].join()
    assert load(store) == {"key": DECISION, "other": DECISION}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no json", "Expecting value"),
        ("[" * 100_000, "nested too deeply"),
        ('{"format": 1}', "there is no 'made_by'"),
        ("[]", "list indices"),
        ('{"format": 1, "made_by": "M", "kernels": []}', "has no attribute 'items'"),
        (
            '{"format": 1, "made_by": "M", "kernels": {"k": {"candidates": [], "taken": 0, "kernel": "c"}}}',
            "takes cand",
        ),
        ('{"format": 1, "made_by": "M", "kernels": {"k": {"candidates": [{}]}}}', "there is no 'schedule'"),
    ],
)
def test_what_cannot_be_understood_is_ignored_and_said(text: str, why: str, tmp_path: Path) -> None:
    store = TuningStore(tmp_path / "cpu.json", "M")
    store.file.write_text(text)
    with pytest.warns(UserWarning, match=f"what was measured of kernels is ignored: .*cpu.json .*{why}.*tune again"):
        assert store.load() == {}
    store.add({"key": DECISION})
    assert store.load() == {"key": DECISION}


def test_what_cannot_be_kept_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = TuningStore(tmp_path / "file" / "below" / "cpu.json", "M")
    with pytest.raises(mi.MiniInferError, match=r"below/cpu\.json: can't be written: "):
        store.add({"key": DECISION})


def test_a_file_that_others_may_write_to_is_ignored(tmp_path: Path) -> None:
    store = TuningStore.of("cpu", tmp_path)
    store.add({"key": DECISION})
    store.file.chmod(0o666)
    with pytest.warns(UserWarning, match="others may write to it"):
        assert store.load() == {}


def test_a_decision_that_is_no_candidate_any_more_is_passed_over() -> None:
    report()
    store = TuningStore.of(host_cpu().model)
    told = json.loads(store.file.read_text())
    for each in told["kernels"].values():
        each["candidates"][each["taken"]]["options"]["mr"] = 999
    store.file.write_text(json.dumps(told))
    assert not any(each.tuned for each in choices())


def test_a_kept_model_is_another_once_something_was_tuned(tmp_path: Path) -> None:
    x = np.ones((32, 64), np.float32)
    mi.compile(network().SerializeToString(), threads=1, cache=tmp_path)(x)
    report()
    measured = (ChooseSchedule.name, "schedules that were measured")
    for _ in range(2):  # compiled, and found
        engine = mi.compile(network().SerializeToString(), threads=1, cache=tmp_path)
        assert engine.statistics.counts[measured] == 2
