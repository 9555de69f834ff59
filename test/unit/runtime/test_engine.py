"""Calling an engine: what goes in, what comes out, from one thread and from many."""

from __future__ import annotations

import io
import logging
import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
from engine_cases import engine, inputs, lookup, perceptron
from models.build import ModelBuilder

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.passes.kernels import limit_threads
from mini_infer.runtime.inputs import checked

pytestmark = pytest.mark.usefixtures("with_cache")


class OnlyArray:
    """Array-like by `__array__` alone."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.array


class OnlyDlpack:
    """Array-like by DLPack alone."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def misaligned(array: Array) -> Array:
    """The same numbers, one byte off."""
    raw = np.zeros(array.nbytes + 1, np.uint8)
    shifted = np.ndarray(array.shape, array.dtype, raw.data, 1)
    shifted[...] = array
    assert not shifted.flags.aligned
    return shifted


def gapped(array: Array) -> Array:
    """The same numbers with others between them."""
    return np.repeat(array, 2, axis=1)[:, ::2]


FORMS: dict[str, Callable[[Array], Any]] = {
    "list": lambda array: array.tolist(),
    "tuple": tuple,
    "__array__": OnlyArray,
    "dlpack": OnlyDlpack,
    "Tensor": mi.Tensor.from_array,
    "read-only": read_only,
    "column-major": lambda array: np.asfortranarray(array),
    "gaps": gapped,
    "backwards": lambda array: np.ascontiguousarray(array[::-1])[::-1],
    "misaligned": misaligned,
    "subclass": lambda array: array.view(np.matrix),
}


def test_a_mapping_gives_a_mapping() -> None:
    run = engine("lookup")
    outputs = run(inputs("lookup"))
    assert outputs.__class__ is dict
    assert tuple(outputs) == run.output_names == run.plan.output_names
    rows, sums = outputs.values()
    assert (rows.shape, sums.shape, sums.dtype) == ((5, 6), (5,), np.float32)
    np.testing.assert_allclose(rows.sum(axis=1), sums, rtol=1e-5)
    again = run(MappingProxyType(inputs("lookup")))
    np.testing.assert_array_equal(again[run.output_names[0]], rows)


def test_arrays_give_a_tuple_or_an_array() -> None:
    given = inputs("lookup")
    expected = tuple(engine("lookup")(given).values())
    for outputs in (
        engine("lookup")(given["ids"], given["scale"]),
        engine("lookup")(given["ids"], scale=given["scale"]),
        engine("lookup")(scale=given["scale"], ids=given["ids"]),
    ):
        assert outputs.__class__ is tuple
        for left, right in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(left, right)
    single = engine("perceptron")(inputs("perceptron")["x"])
    assert single.__class__ is np.ndarray and single.shape == (4, 8)


@pytest.mark.parametrize("form", FORMS)
def test_any_array_like_will_do(form: str) -> None:
    x = inputs("perceptron")["x"]
    expected = engine("perceptron")(x)
    given = FORMS[form](x.copy())
    output = engine("perceptron")(given)
    np.testing.assert_array_equal(output, expected)
    assert type(output) is np.ndarray


def test_numbers_of_a_list_become_the_inputs_type() -> None:
    given = inputs("lookup")
    expected, _ = engine("lookup")(given["ids"], np.ones((5, 1), np.float32))
    rows, _ = engine("lookup")(given["ids"].tolist(), [[1]] * 5)
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("name", ["perceptron", "lookup"])
def test_inputs_stay_and_outputs_are_fresh(name: str, optimize: bool) -> None:
    run = engine(name, enable_graph_optimization=optimize)
    given = inputs(name)
    before = {key: array.copy() for key, array in given.items()}
    first, second = run(given), run(given)
    for key, array in given.items():
        np.testing.assert_array_equal(array, before[key])
    for key, array in first.items():
        assert array.flags.owndata and not np.may_share_memory(array, second[key])
        np.testing.assert_array_equal(array, second[key])
        array[...] = 0
    for key, array in run(given).items():
        np.testing.assert_array_equal(array, second[key])


def test_what_passes_through_is_copied() -> None:
    """An input, a weight and one value twice as outputs; in-place ops on an input."""
    b = ModelBuilder("through")
    x = b.input("x", [3, 4])
    weight = b.weight(3, 4)
    y = b.node("Relu", x)
    model = b.model([b.node("Identity", x), b.node("Identity", weight), y, b.node("Identity", y)])
    given = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    before = given.copy()
    same, constant, *twice = mi.compile(model, threads=1)(given)
    np.testing.assert_array_equal(same, before)
    np.testing.assert_array_equal(given, before)
    np.testing.assert_array_equal(constant, onnx.numpy_helper.to_array(model.graph.initializer[0]))
    for array in twice:
        np.testing.assert_array_equal(array, np.maximum(before, 0))
    for array in (same, constant, *twice):
        array += 1
    np.testing.assert_array_equal(given, before)
    np.testing.assert_array_equal(twice[0], twice[1])


def test_a_model_may_have_no_input() -> None:
    b = ModelBuilder("constant")
    run = mi.compile(b.model([b.node("Relu", b.weight(2, 3))]), threads=1)
    assert run.input_names == ()
    np.testing.assert_array_equal(run(), next(iter(run({}).values())))


def test_tensors_may_be_scalars_or_empty() -> None:
    b = ModelBuilder("shapes")
    scalar, empty = b.input("scalar", []), b.input("empty", [0, 3])
    model = b.model([b.node("Mul", scalar, scalar), b.node("Relu", empty)])
    square, nothing = mi.compile(model, threads=1)(3.0, np.zeros((0, 3), np.float32))
    assert (square.shape, float(square), nothing.shape) == ((), 9.0, (0, 3))


@pytest.mark.parametrize("form", ["path", "text", "bytes", "bytearray", "file", "memory file", "proto"])
def test_a_model_is_a_path_or_bytes_or_a_file_or_a_proto(form: str, tmp_path: Path) -> None:
    model = perceptron()
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    data = path.read_bytes()
    memory = {"bytes": data, "bytearray": bytearray(data), "memory file": io.BytesIO(data)}
    x = inputs("perceptron")
    with path.open("rb") as file:
        source: Any = {"path": path, "text": str(path), "file": file, "proto": model, **memory}[form]
        compiled = mi.compile(source, 1)
    np.testing.assert_array_equal(*(run(x)["perceptron/gemm_4"] for run in (compiled, engine("perceptron"))))


def test_dynamic_dimensions_are_bound_by_name_or_by_shape() -> None:
    b = ModelBuilder("dynamic")
    model = b.model([b.node("Relu", b.input("x", ["rows", 3]))])
    either: list[dict[str, Any]] = [{"dims": {"rows": 5}}, {"shapes": {"x": (5, 3)}}]
    for options in either:
        assert mi.compile(model, threads=1, **options).plan.inputs[0].shape == (5, 3)


def test_the_plan_says_what_there_is() -> None:
    run = engine("perceptron")
    plan = run.plan
    assert [str(spec) for spec in (*plan.inputs, *plan.outputs)] == [
        "x: float32[4, 24]",
        "perceptron/gemm_4: float32[4, 8]",
    ]
    assert plan.arena_bytes == plan.memory.arena_bytes >= plan.memory.lower_bound_bytes > 0
    assert plan.threads == run.config.threads == 1
    assert {"perceptron/gemm_0", "perceptron/gemm_2"} <= {call.node for call in plan.calls}
    assert {"x", "perceptron/gemm_4"} <= {tensor.name for tensor in plan.memory.tensors}
    assert plan.config is run.config


def test_an_engine_shows_itself_in_a_line_and_in_a_table() -> None:
    run = engine("perceptron")
    line = (
        r"\(x: float32\[4, 24\] -> perceptron/gemm_4: float32\[4, 8\]; kernel calls 3, weights \d\d\.\d\d kB, "
        r"arena [\d.]+ k?B \(minimal, \d+% saved\), threads 1\)"
    )
    assert re.fullmatch("Engine" + line, repr(run)) and re.fullmatch("InferencePlan" + line, repr(run.plan))
    many = ModelBuilder("many")
    copies = [many.node("Relu", many.input(f"<{i}>", [2])) for i in range(4)]
    crowd = mi.compile(many.model(copies), threads=1)
    assert repr(crowd).startswith("Engine(4 inputs -> 4 outputs; kernel calls ")
    page = crowd._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert page is not None and page.count("<th>input</th>") == page.count("<th>output</th>") == 4
    assert "<td>&lt;3&gt;: float32[2]</td>" in page and "<th>arena</th><td>" in page


def test_a_notebook_shows_the_arena() -> None:
    plan = engine("perceptron").plan
    page = plan._repr_html_()  # pyright: ignore[reportPrivateUsage]
    picture = ElementTree.fromstring(page[page.index("<svg") :])
    titles = [each.text or "" for each in picture.iter("{http://www.w3.org/2000/svg}title")]
    placed = [each for each in plan.memory.tensors if each.offset is not None]
    assert placed and len(titles) == len(placed)
    assert all(any(text.startswith(f"{each.name}: ") for text in titles) for each in placed)


def test_progress_counts_the_steps(caplog: pytest.LogCaptureFixture) -> None:
    told: list[mi.Progress] = []
    with caplog.at_level(logging.DEBUG, "mini_infer"):
        made = mi.compile(perceptron(), threads=1, progress=told.append)
    assert [each.done for each in told] == list(range(told[0].total + 1))
    names = [each.step for each in told]
    assert names[:2] == ["import", "infer-shapes"] and names[-2:] == ["machine code", "done"]
    assert "lower-kernels" in names
    logged = {record.levelname: record.getMessage() for record in caplog.records}
    assert logged["INFO"].endswith(repr(made)) and re.fullmatch(r"lower-to-llvm: [\d.]+ s", logged["DEBUG"])


def test_a_failure_ends_the_steps() -> None:
    told: list[str] = []
    with pytest.raises(mi.InvalidModelError):
        mi.compile(b"\xff", progress=lambda each: told.append(each.step))
    assert told == ["import"]


def test_statistics_tell_what_the_passes_did() -> None:
    assert any(times > 0 for _, _, times in engine("perceptron").statistics.rows())


def test_lists_of_integers_become_the_inputs_type() -> None:
    b = ModelBuilder("bytes")
    run = mi.compile(b.model([b.node("BitwiseNot", b.input("x", [2], np.uint8))], [np.uint8]), threads=1)
    assert run([0, 255]).tolist() == [255, 0]
    with pytest.raises(mi.InvalidInputError, match=r"^input 'x': .*256"):
        run([0, 256])


def test_native_code_gets_aligned_arrays() -> None:
    block = np.zeros(4 * 96 + 1, np.uint8)
    shifted = block[1:].view(np.float32).reshape(4, 24)
    shifted[...] = inputs("perceptron")["x"]
    assert not shifted.flags.aligned
    plan = engine("perceptron").plan
    assert checked(plan.inputs[0], shifted).flags.aligned
    np.testing.assert_array_equal(engine("perceptron")(shifted), engine("perceptron")(inputs("perceptron")["x"]))


def test_calls_one_after_the_other_share_an_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    make = mi.InferencePlan.create_execution_context

    def counted(plan: mi.InferencePlan) -> mi.ExecutionContext:
        made.append(plan)
        return make(plan)

    monkeypatch.setattr(mi.InferencePlan, "create_execution_context", counted)
    run = mi.compile(perceptron(), threads=1)
    for seed in range(3):
        run(inputs("perceptron", seed))
    with pytest.raises(mi.InvalidInputError):
        run(x=np.zeros(1))
    run(inputs("perceptron"))
    assert len(made) == 1


def run_in_threads(work: Callable[[int], Mapping[str, Array]], threads: int = 6, calls: int = 60) -> None:
    """Checks that `work(seed)` gives in many threads what it gives in one, bit by bit."""
    expected = [work(seed) for seed in range(5)]
    with ThreadPoolExecutor(threads) as pool:
        for call, outputs in enumerate(pool.map(work, (call % 5 for call in range(calls)))):
            for name, array in outputs.items():
                np.testing.assert_array_equal(array, expected[call % 5][name])


@pytest.mark.parametrize("team", [1, 2])
@pytest.mark.parametrize("name", ["perceptron", "lookup"])
def test_many_threads_share_an_engine(name: str, team: int) -> None:
    run = engine(name, threads=team)
    run_in_threads(lambda seed: run(inputs(name, seed)))


def test_a_model_with_little_work_runs_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    large = ModelBuilder("large")
    product = large.node("MatMul", large.input("x", [256, 512]), large.weight(512, 1024))
    for model, threads in ((perceptron(), 1), (large.model([product]), 2)):
        assert mi.compile(model, threads=2).plan.threads == threads


def test_a_model_without_a_step_to_share_runs_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where all its work together is worth two threads, and none of its steps is."""

    def an_hour(kernel: object, target: object) -> int:
        del kernel, target
        return 3600 * 10**9

    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(limit_threads, "nanoseconds", an_hour)
    assert mi.compile(perceptron(), threads=2).plan.threads == 1


@pytest.mark.parametrize("name", ["perceptron", "lookup"])
def test_threads_are_profiled_as_one_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    plan = engine(name, enable_profiling=True, threads=2).plan
    assert plan.threads == 2
    context = plan.create_execution_context()
    outputs = context.run(inputs(name))
    assert [each.kernel for each in context.profile()] == [call.kernel for call in engine(name).plan.calls]
    for output, array in engine(name)(inputs(name)).items():
        np.testing.assert_array_equal(outputs[output], array)


def test_profiling_times_every_call() -> None:
    plan = engine("perceptron", enable_profiling=True).plan
    context = plan.create_execution_context()
    outputs = context.run(inputs("perceptron"))
    times = context.profile()
    assert [(each.kernel, each.node) for each in times] == [(call.kernel, call.node) for call in plan.calls]
    assert all(each.nanoseconds >= 0 for each in times) and sum(each.nanoseconds for each in times) > 0
    np.testing.assert_array_equal(outputs["perceptron/gemm_4"], engine("perceptron")(inputs("perceptron")["x"]))


def test_without_profiling_there_are_no_times() -> None:
    context = engine("perceptron").plan.create_execution_context()
    context.run(inputs("perceptron"))
    assert context.profile() == []


def test_workspace_may_be_just_large_enough() -> None:
    needed = engine("perceptron").plan.arena_bytes
    assert engine("perceptron", max_workspace_size=needed).plan.arena_bytes == needed
    with pytest.raises(mi.PlanError, match=f"{needed} bytes, the capacity is {needed - 1}"):
        engine("perceptron", max_workspace_size=needed - 1)


@pytest.mark.parametrize("alignment", [8, 64, 4096])
def test_buffers_start_at_the_alignment_asked_for(alignment: int) -> None:
    run = engine("perceptron", memory_alignment=alignment)
    offsets = [tensor.offset for tensor in run.plan.memory.tensors if tensor.offset is not None]
    assert offsets and all(offset % alignment == 0 for offset in offsets)
    assert run.plan.create_execution_context().arena.address % alignment == 0
    x = inputs("perceptron")
    np.testing.assert_array_equal(run(x)["perceptron/gemm_4"], engine("perceptron")(x)["perceptron/gemm_4"])


def test_lookup_is_what_numpy_says() -> None:
    given = inputs("lookup")
    table = onnx.numpy_helper.to_array(lookup().graph.initializer[0])
    rows, _ = engine("lookup")(given["ids"], given["scale"])
    np.testing.assert_array_equal(rows, table[given["ids"]] * given["scale"])
