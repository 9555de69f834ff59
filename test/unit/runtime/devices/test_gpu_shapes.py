"""One compile for all shapes of a profile on a GPU: kernels take sizes as numbers, and each shape has its launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import CDLL
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from fake_cupy import FakeCupy, fake, text_as_cubin
from gpu_runs import EMULATORS
from import_cases import reference
from models.build import ModelBuilder, example_inputs
from shape_cases import CASES, ROWS, Case, Span, dense, encoder, joined, model_of, pictures

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.devices.cuda import cuda_device
from mini_infer.runtime.devices.cuda.nvrtc import compile_kernels
from mini_infer.runtime.devices.emulated import compiled as compiled_text
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

assert fake  # the fixture
TOKENS: Mapping[str, Span] = {"batch": (1, 2, 8), "tokens": (1, 24, 128)}
BATCH: Mapping[str, Span] = {"batch": (1, 4, 16)}
MODELS = [
    Case(encoder, TOKENS, [[2, 24], [1, 1], [8, 128], [3, 77], [1, 2], [2, 24]]),
    Case(pictures, BATCH, [[4], [1], [16], [7], [4]]),
]


def compiled(case: Case, emulator: str = "interpreter", **options: Any) -> DynamicEngine:
    """An engine for the case's dimensions on an emulated GPU."""
    profile = mi.OptimizationProfile(dims=case.dims)
    chosen: dict[str, Any] = {"device": "cuda-emulated", "emulator": emulator, **options}
    return cast("DynamicEngine", mi.compile(model_of(case.build), profile=profile, **chosen))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.build.__name__)
def test_results_at_many_shapes(case: Case) -> None:
    """As on a CPU, from no more compiles."""
    model, engine = model_of(case.build), compiled(case)
    for sizes in case.sizes:
        inputs = example_inputs(model, 1, **sizes)
        for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
            assert found.shape == wanted.shape, sizes
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str(sizes))
    assert engine.compiles <= case.compiles


@pytest.mark.parametrize("emulator", EMULATORS)
@pytest.mark.parametrize("case", MODELS, ids=lambda case: case.build.__name__)
def test_models(case: Case, emulator: str) -> None:
    """From one end of the ranges to the other, and back."""
    model, engine = model_of(case.build), compiled(case, emulator)
    for sizes in case.sizes:
        inputs = example_inputs(model, 1, **sizes)
        for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str(sizes))
    assert engine.compiles == 1


def test_nearly_the_bits_of_a_compile_for_the_shape() -> None:
    case = MODELS[0]
    model, engine = model_of(case.build), compiled(case)
    for sizes in case.sizes[1:4]:
        inputs = example_inputs(model, 1, **sizes)
        wanted = mi.compile(model, dims=sizes, device="cuda-emulated")(inputs)
        for name, found in engine(inputs).items():  # another schedule may add up in another order
            np.testing.assert_allclose(found, wanted[name], rtol=1e-5, atol=1e-6, err_msg=str(sizes))


@pytest.mark.parametrize("precision", ["tf32", "fp16"])
def test_tensor_cores(precision: str) -> None:
    case = MODELS[0]
    model, engine = model_of(case.build), compiled(case, precision=precision)
    for sizes in case.sizes[:4]:
        inputs = example_inputs(model, 1, **sizes)
        for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=3e-2, atol=3e-2, err_msg=str(sizes))
    assert engine.compiles == 1


def projections(b: ModelBuilder) -> Sequence[str]:
    """Products with many columns, whose rows are boxes of tensors."""
    x = b.input("x", ["batch", "tokens", 128])
    y = b.node("Relu", b.node("MatMul", x, b.weight(128, 512)))
    return [b.node("MatMul", y, b.weight(512, 256))]


PROJECTIONS = Case(projections, {"batch": (1, 2, 8), "tokens": (1, 96, 128)}, [[2, 96], [1, 1], [8, 128], [3, 77]])


@pytest.mark.parametrize("emulator", EMULATORS)
def test_maps_of_tensors_are_of_each_shape(emulator: str) -> None:
    model, engine = model_of(projections), compiled(PROJECTIONS, emulator, gpu="sm_90a", precision="fp16")
    for sizes in PROJECTIONS.sizes:
        inputs = example_inputs(model, 1, **sizes)
        (found,), (wanted,) = engine(inputs).values(), reference(model, inputs)
        assert np.abs(found - wanted).max() < 3e-3 * np.abs(wanted).max(), sizes
        maps = [each for launch in engine.plan_for({"x": inputs["x"].shape}).launches for each in launch.maps]
        rows = sizes["batch"] * sizes["tokens"]
        assert [each.sizes for each in maps] == [(rows, 128), (rows, 512)]
    assert engine.compiles == 1


def test_maps_are_made_at_the_addresses_of_bound_tensors(fake: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the driver's stand-in, with kernels as C++: eagerly, captured, replayed, and at another shape."""
    monkeypatch.setattr(cuda_device.Cuda, "objects", text_as_cubin)
    model = model_of(projections)
    profile = mi.OptimizationProfile(dims=PROJECTIONS.dims)
    engine = cast("DynamicEngine", mi.compile(model, profile=profile, device="cuda", precision="fp16"))
    assert all(each.maps for each in engine.plan_for({"x": (2, 96, 128)}).launches)
    for sizes in [*PROJECTIONS.sizes[:1] * 3, *PROJECTIONS.sizes[2:]]:
        inputs = example_inputs(model, 1, **sizes)
        (found,), (wanted,) = engine(inputs).values(), reference(model, inputs)
        assert np.abs(found - wanted).max() < 3e-3 * np.abs(wanted).max(), sizes


def heads(b: ModelBuilder) -> Sequence[str]:
    """Attention whose heads may have any size."""
    q, k, v = (b.input(name, [1, 2, "t", "d"]) for name in "qkv")
    scores = b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2]))
    return [b.node("MatMul", b.node("Softmax", b.node("Mul", scores, b.number(0.3))), v)]


@pytest.mark.parametrize(("precision", "compiles", "tolerance"), [("fp32", 1, 1e-5), ("tf32", 2, 5e-3)])
def test_heads_of_any_size(precision: str, compiles: int, tolerance: float) -> None:
    """Shared memory is computed for each shape; registers of fragments are for one size, of eights."""
    case = Case(heads, {"t": (1, 16, 70), "d": (4, 16, 64)}, [[16, 16], [70, 15], [1, 33], [33, 38]])
    model, engine = model_of(heads), compiled(case, precision=precision)
    for sizes in case.sizes:
        inputs = example_inputs(model, 1, **sizes)
        for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=str(sizes))
    assert engine.compiles == compiles
    (least,), (most,) = (engine.plan_for(dict.fromkeys("qkv", (1, 2, 16, d))).launches for d in (16, 33))
    assert least.shared < most.shared


def recurrent(b: ModelBuilder) -> Sequence[str]:
    """An LSTM with more weights than a multiprocessor holds."""
    hidden = 200
    weights = b.weight(1, 4 * hidden, 8), b.weight(1, 4 * hidden, hidden), b.weight(1, 8 * hidden)
    return b.nodes("LSTM", 2, b.input("x", ["steps", "batch", 8]), *weights, hidden_size=hidden)


@pytest.mark.parametrize("emulator", EMULATORS)
@pytest.mark.parametrize("gpu", ["sm_80", "sm_90a"])
def test_weights_on_several_multiprocessors(gpu: str, emulator: str) -> None:
    """In one cooperative launch, or in clusters: any number of steps, and of batch elements."""
    case = Case(recurrent, {"steps": (1, 20, 24), "batch": (1, 2, 5)}, [[4, 2], [1, 1], [9, 5], [4, 2]])
    model, engine = model_of(recurrent), compiled(case, emulator, gpu=gpu)
    for sizes in case.sizes:
        inputs = example_inputs(model, 1, **sizes)
        for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str(sizes))
    assert engine.compiles == 1
    *_, steps = engine.plan_for({"x": (4, 2, 8)}).launches
    assert steps.cooperative == (gpu == "sm_80")


@cache
def dense_engine() -> DynamicEngine:
    """The perceptron, for 1 to 16 rows."""
    return compiled(Case(dense, ROWS, []))


def rows_of(count: int) -> dict[str, Array]:
    """So many rows for it."""
    return example_inputs(model_of(dense), 0, n=count)


def test_a_context_switches_between_shapes() -> None:
    """On arrays, which are staged, and on memory of the device; a shape gives the same bits whatever came before."""
    engine = dense_engine()
    (output,) = engine.output_names
    wanted = {rows: engine(rows_of(rows))[output] for rows in (1, 7, 16)}
    context = engine.plan_for({"x": (7, 12)}).create_execution_context()
    arena = context.arena.address
    for rows in (7, 16, 1, 16, 7):
        context.set_shapes({"x": (rows, 12)})
        assert np.array_equal(context.run(rows_of(rows))[output], wanted[rows])
        with pytest.raises(mi.InvalidInputError, match="nothing is bound to 'x'"):
            context.execute()
        x = mi.Tensor.from_array(rows_of(rows)["x"]).to("cuda-emulated")
        y = mi.Tensor.empty([rows, 7], np.float32, device="cuda-emulated")
        context.bind_input("x", x)
        context.bind_output(output, y)
        context.execute()
        assert np.array_equal(y.to("cpu").numpy(), wanted[rows])
    assert context.arena.address == arena


def test_launches_are_those_of_the_shape() -> None:
    engine = dense_engine()
    few, many = (engine.plan_for({"x": (rows, 12)}) for rows in (1, 16))
    assert [each.kernel for each in few.launches] == [each.kernel for each in many.launches]
    assert {each.sizes for each in few.launches} == {(1,)}
    assert {each.sizes for each in many.launches} == {(16,)}
    assert sum(each.grid[0] for each in few.launches) < sum(each.grid[0] for each in many.launches)
    assert few.memory.arena_bytes < many.memory.arena_bytes <= few.arena_bytes


@pytest.mark.parametrize(("rows", "why"), [(17, "must be from 1 to 16"), (0, "must be from 1 to 16")])
def test_shapes_outside_of_the_profile(rows: int, why: str) -> None:
    with pytest.raises(mi.InvalidInputError, match=why):
        dense_engine()(np.zeros((rows, 12), np.float32))


def turned(b: ModelBuilder) -> Sequence[str]:
    """Of dimensions whose names a printer of IR might give to others."""
    return [b.node("Transpose", b.input("x", ["n", "n_1", "n_1_2", "m"]), perm=[3, 1, 0, 2])]


def test_names_of_dimensions() -> None:
    dims: dict[str, Span] = dict.fromkeys(("n", "n_1", "n_1_2", "m"), (1, 2, 4))
    engine, model = compiled(Case(turned, dims, [])), model_of(turned)
    inputs = example_inputs(model, 1, **dict(zip(dims, (1, 2, 3, 4), strict=True)))
    for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("emulator", EMULATORS)
def test_empty_dimensions(emulator: str) -> None:
    """What has no blocks is not launched."""
    engine, model = compiled(Case(joined, {"n": (0, 2, 8), "m": (0, 3, 9)}, []), emulator), model_of(joined)
    for n, m in ((2, 3), (0, 9), (8, 0), (0, 0)):
        inputs = example_inputs(model, 1, n=n, m=m)
        for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert engine.compiles == 1


def test_each_shape_has_a_graph(fake: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run of a shape launches, the second is captured, and later ones replay, whatever ran in between."""
    monkeypatch.setattr(cuda_device.Cuda, "objects", text_as_cubin)
    engine = mi.compile(model_of(dense), profile=mi.OptimizationProfile(dims=ROWS), device="cuda")
    (output,) = engine.output_names
    context = engine.plan_for({"x": (16, 12)}).create_execution_context()
    for _ in range(3):
        for rows in (16, 4, 1):
            context.set_shapes({"x": (rows, 12)})
            found = context.run(rows_of(rows))[output]
            np.testing.assert_allclose(found, dense_engine()(rows_of(rows))[output], rtol=1e-5)
    assert fake.names().count("begin_capture") == 3
    assert fake.names().count("graph.launch") == 6


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("case", MODELS[:2], ids=lambda case: case.build.__name__)
def test_cubins_without_spills(case: Case, architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def noted(text: str) -> compiled_text.Program:
        texts.append(text)
        return compiled_text.Program(CDLL(None), {})

    monkeypatch.setattr(compiled_text, "load", noted)
    compiled(case, "compiled", gpu=architecture)
    kernels = compile_kernels(texts[0], architecture).resources
    assert len(kernels) >= 6
    assert not [each.kernel for each in kernels if each.spill_stores or each.spill_loads]


def test_a_window_that_does_not_fit_at_a_shape_is_told_with_the_shape() -> None:
    b = ModelBuilder("window")
    model = b.model([b.node("Conv", b.input("x", [1, 3, "h", 16]), b.weight(4, 3, 5, 5))])
    engine = mi.compile(model, profile=mi.OptimizationProfile(dims={"h": (2, 16, 32)}), cache=False)
    wanted = r"window/conv_0 \(Conv\): a window of 5 doesn't fit into h = 3 elements padded by 0 and 0"
    with pytest.raises(mi.InvalidModelError, match=wanted):
        engine({"x": np.zeros((1, 3, 3, 16), np.float32)})
