"""Whole models on a GPU: against double precision and the CPU, replayed, in threads, on memory of other libraries."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_models import CALLS, control_model
from models.build import SMALL_MODELS, example_inputs, wide_lstm
from models.judging import Judge, distance
from shape_cases import Build, encoder, model_of, pictures

import mini_infer as mi
from mini_infer.runtime.device import Array
from mini_infer.tools.demos.llama import LlamaSizes, Style, llama

ROUNDED = {"tf32": 2e-3, "3xtf32": 1e-5, "fp16": 2e-3, "bf16": 2e-2}
"""What the products' rounding may do to outputs of small models, relative to the largest element."""


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_as_exact_as_onnxruntime_and_the_same_in_every_run(name: str) -> None:
    judge = Judge.of(SMALL_MODELS[name]())
    context = mi.compile(judge.model, device="cuda").plan.create_execution_context()
    first, *others = [context.run(judge.inputs) for _ in range(4)]  # eagerly, captured, replayed
    judge.check(first)
    for other in others:
        for output, array in other.items():
            assert array.tobytes() == first[output].tobytes(), output
    for output, array in judge.compiled(threads=1).items():
        assert distance(first[output], array) < 1e-5, output


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("hidden", [256, 448])
def test_recurrent_weights_are_spread_over_blocks(direction: str, hidden: int) -> None:
    """Those of a cluster, or of a cooperative launch; in two contexts at once."""
    model = wide_lstm(hidden=hidden, direction=direction)
    plan = mi.compile(model, device="cuda").plan
    assert hidden < 448 or any(each.cooperative for each in plan.launches)
    given = example_inputs(model)
    (exact,) = mi.compile(model, threads=1)(given).values()

    def work(_: int) -> list[Array]:
        context = plan.create_execution_context()
        return [array for _ in range(4) for array in context.run(given).values()]

    with ThreadPoolExecutor(2) as pool:
        first, *others = [array for each in pool.map(work, range(2)) for array in each]
    assert distance(first, exact) < 1e-5
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("name", CALLS)
def test_loops_and_branches(name: str) -> None:
    """As on the CPU: eagerly, in stretches, captured, replayed."""
    context = mi.compile(control_model(name), device="cuda").plan.create_execution_context()
    cpu = mi.compile(control_model(name), threads=1).plan.create_execution_context()
    for _ in range(4):
        for inputs in CALLS[name][1]:
            for output, array in cpu.run(inputs).items():
                np.testing.assert_allclose(context.run(inputs)[output], array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
@pytest.mark.parametrize("case", [encoder, pictures], ids=lambda build: build.__name__)
def test_shapes_of_a_profile(case: Build, precision: str) -> None:
    """One cubin for all: eagerly, captured, and replayed with other shapes in between."""
    model, tolerance = model_of(case), 1e-5 if precision == "fp32" else ROUNDED[precision]
    dims = {"batch": (1, 2, 8), "tokens": (1, 24, 128)} if case is encoder else {"batch": (1, 2, 8)}
    engine = mi.compile(model, device="cuda", precision=precision, profile=mi.OptimizationProfile(dims=dims))
    at = [dict(zip(dims, sizes, strict=False)) for sizes in ((8, 128), (1, 1), (2, 24), (3, 77))]
    calls = [example_inputs(model, 1, **sizes) for sizes in at]
    wanted = [mi.compile(model, dims=sizes, threads=1)(call) for sizes, call in zip(at, calls, strict=True)]
    for _ in range(3):
        for call, outputs in zip(calls, wanted, strict=True):
            for output, array in engine(call).items():
                assert distance(array, outputs[output]) <= tolerance


@pytest.mark.parametrize("cache_type", [None, "f16", "int8"])
@pytest.mark.parametrize("style", ["attention", "scatter"])
def test_language_models(style: Style, cache_type: str | None, tmp_path: Path) -> None:
    """Caches that grow are launched eagerly, or captured as lengths come again; the others are one graph."""
    sizes = LlamaSizes(vocabulary=50, hidden=64, inner=40, layers=2, heads=4, key_heads=2, capacity=40)
    (file := tmp_path / "model.onnx").write_bytes(llama(style, sizes, seed=3).SerializeToString())
    options: dict[str, Any] = {"capacity": 40, "sequences": 2, "cache_type": cache_type}
    cpu, gpu = mi.Generator(file, 1, **options), mi.Generator(file, device="cuda", **options)
    for prompts in ([[20, 31, 5, 6]], [[20, 31, 5, 6], [3, 3, 8, 1]]) * 3:
        assert [*gpu.generate(prompts, 8)] == [*cpu.generate(prompts, 8)]


@pytest.mark.parametrize("precision", ROUNDED)
@pytest.mark.parametrize("name", ["resnet", "transformer"])
def test_products_are_rounded_as_asked(name: str, precision: str) -> None:
    judge = Judge.of(SMALL_MODELS[name]())
    for output, array in mi.compile(judge.model, device="cuda", precision=precision)(judge.inputs).items():
        assert distance(array, judge.exact[output]) <= ROUNDED[precision]


def test_contexts_run_in_threads() -> None:
    model = SMALL_MODELS["resnet"]()
    engine = mi.compile(model, device="cuda")

    def work(seed: int) -> dict[str, Array]:
        given = example_inputs(model, seed)
        context = engine.plan.create_execution_context()
        found = [context.run(given) for _ in range(20)]
        assert all(np.array_equal(array, found[0][name]) for each in found for name, array in each.items())
        return found[0]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, range(8)))
    for seed, outputs in enumerate(together):
        alone = engine(example_inputs(model, seed))
        assert all(np.array_equal(alone[name], array) for name, array in outputs.items())


def test_arrays_of_cupy_are_used_where_they_lie() -> None:
    """Written on its current stream just before, which is waited for."""
    cupy: Any = pytest.importorskip("cupy")
    if not hasattr(cupy, "zeros"):
        pytest.skip("CuPy's stand-in has no arrays to compute with")
    judge = Judge.of(SMALL_MODELS["mlp"]())
    engine = mi.compile(judge.model, device="cuda")
    context = engine.plan.create_execution_context()
    (name, given), (output, exact) = *judge.inputs.items(), *judge.exact.items()
    x, y = cupy.zeros(given.shape, given.dtype), cupy.zeros(exact.shape, np.float32)
    context.bind_input(name, x)
    context.bind_output(output, y)
    for factor in (0.5, 1.0, 1.0):
        x.set(given * np.float32(factor))
        context.execute()
    judge.check({output: cupy.asnumpy(y)})
    judge.check({output: cupy.asnumpy(cupy.from_dlpack(engine(x)))})


def test_runs_are_ordered_in_a_stream_of_the_caller() -> None:
    """What it writes before is read, and what it copies later is there, without a wait on the host between."""
    cupy: Any = pytest.importorskip("cupy")
    if not hasattr(cupy, "zeros"):
        pytest.skip("CuPy's stand-in has no arrays to compute with")
    judge = Judge.of(SMALL_MODELS["mlp"]())
    context = mi.compile(judge.model, device="cuda").plan.create_execution_context()
    (name, given), (output, exact) = *judge.inputs.items(), *judge.exact.items()
    x, y = cupy.zeros(given.shape, given.dtype), cupy.zeros(exact.shape, np.float32)
    context.bind_input(name, x)
    context.bind_output(output, y)
    stream = cupy.cuda.Stream(non_blocking=True)
    for factor in (0.5, 1.0, 1.0, 1.0):
        with stream:
            x.set(given * np.float32(factor))
            handle = context.enqueue(stream=stream)
            copied = y.copy()
        handle.result(60)
    judge.check({output: cupy.asnumpy(copied)})


def test_results_that_are_kept() -> None:
    """Each lies elsewhere, and is copied from where the session's graph writes it."""
    model = SMALL_MODELS["resnet"]()
    context = mi.compile(model, device="cuda").plan.create_execution_context()
    kept = [context.run_tensors(example_inputs(model, seed)) for seed in range(8)]
    for seed, outputs in enumerate(kept):
        for name, array in context.run(example_inputs(model, seed)).items():
            np.testing.assert_array_equal(outputs[name].to("cpu").numpy(), array)


def test_memory_of_torch_is_used_where_it_lies() -> None:
    """Written on its default stream just before, which is waited for."""
    torch: Any = pytest.importorskip("torch")
    judge = Judge.of(SMALL_MODELS["mlp"]())
    context = mi.compile(judge.model, device="cuda").plan.create_execution_context()
    (name, given), (output, exact) = *judge.inputs.items(), *judge.exact.items()
    x, y = torch.zeros(given.shape, device="cuda"), torch.zeros(exact.shape, device="cuda")
    context.bind_input(name, x)
    context.bind_output(output, y)
    for factor in (0.5, 1.0):
        x.copy_(torch.from_numpy(given * np.float32(factor)), non_blocking=True)
        context.execute()
    judge.check({output: y.cpu().numpy()})
    assert torch.from_dlpack(mi.Tensor.from_dlpack(y)).data_ptr() == y.data_ptr()


def test_kernels_are_timed() -> None:
    model = SMALL_MODELS["resnet"]()
    context = mi.compile(model, device="cuda", enable_profiling=True).plan.create_execution_context()
    context.run(example_inputs(model))
    assert len(context.profile()) == len(context.plan.launches)
    assert all(each.nanoseconds > 0 for each in context.profile())


SANITIZED = """
import mini_infer as mi
from models.build import SMALL_MODELS, example_inputs
for name in SMALL_MODELS:
    model = SMALL_MODELS[name]()
    engine = mi.compile(model, device="cuda")
    for _ in range(2):
        engine(example_inputs(model))
"""


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "synccheck", "initcheck"])
def test_the_sanitizer_finds_nothing(tool: str) -> None:
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        pytest.skip("there is no compute-sanitizer")
    command = [sanitizer, "--tool", tool, "--error-exitcode", "9", sys.executable, "-c", SANITIZED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="test")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
