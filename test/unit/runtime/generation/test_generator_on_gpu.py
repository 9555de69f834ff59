"""Generator on a GPU: the tokens of the CPU's, caches that stay on the device, and what a step takes."""

from __future__ import annotations

from ctypes import CDLL
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fake_cupy import FakeCupy, fake, text_as_cubin
from gpu_runs import EMULATORS

import mini_infer as mi
from mini_infer.runtime.device import Array
from mini_infer.runtime.devices.cuda import cuda_device
from mini_infer.runtime.devices.cuda.cuda_session import GRAPHS
from mini_infer.runtime.devices.cuda.nvrtc import compile_kernels
from mini_infer.runtime.devices.emulated import compiled as compiled_text
from mini_infer.runtime.devices.emulated.emulated_device import EmulatedMemory
from mini_infer.tools.demos.llama import FULL_CACHES, LlamaSizes, Style, llama
from mini_infer.tools.demos.quantised_llama import BlockWeights, quantised_llama

assert fake  # the fixture
SIZES = LlamaSizes(vocabulary=50, hidden=64, inner=40, layers=1, heads=4, key_heads=2, capacity=41)
PROMPTS = [[20, 31, 5, 6], [3, 3, 8]]
STYLES: list[Style] = ["concat", "attention", "scatter", "microsoft"]
EMULATED = {"device": "cuda-emulated"}


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo in each spelling, and one with weights of 4 bits in blocks."""
    folder = tmp_path_factory.mktemp("models")
    for style in STYLES:
        (folder / f"{style}.onnx").write_bytes(llama(style, SIZES, seed=3).SerializeToString())
    (folder / "quantised.onnx").write_bytes(quantised_llama(SIZES, BlockWeights()).SerializeToString())
    return folder


def generator(models: Path, name: str, **options: Any) -> mi.Generator:
    given: dict[str, Any] = {"capacity": SIZES.capacity, **options}
    return mi.Generator(models / f"{name}.onnx", **given)


@cache
def told_by_the_cpu(models: Path, name: str, prompts: int, options: tuple[tuple[str, Any], ...]) -> list[Any]:
    made = generator(models, name, threads=1, sequences=2, **dict(options))
    return [*made.generate(prompts_of(name, prompts), 6)]


def prompts_of(name: str, count: int) -> list[list[int]]:
    """Of as many tokens each where the model has no mask, and joins new keys to old ones."""
    both = PROMPTS if name in (*FULL_CACHES, "quantised") else [PROMPTS[0], PROMPTS[0][::-1]]
    return both[:count]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("emulator", EMULATORS)
@pytest.mark.parametrize("name", [*STYLES, "quantised"])
def test_the_tokens_of_the_cpu(models: Path, name: str, emulator: str) -> None:
    """Of one sequence and of two; those of other lengths begin later in their caches, or end earlier."""
    made = generator(models, name, sequences=2, emulator=emulator, **EMULATED)
    for count in (1, 2, 1):
        found = [*made.generate(prompts_of(name, count), 6)]
        assert found == told_by_the_cpu(models, name, count, ())


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("attention", {"cache_type": "f16", "cache_memory": "6K"}),
        ("attention", {"cache_type": "int8"}),
        ("scatter", {"cache_type": "bf16", "chunk": 2}),
        ("concat", {"weights": "int4", "chunk": 2}),
    ],
    ids=str,
)
def test_options(models: Path, name: str, options: dict[str, Any]) -> None:
    """A sequence's part of the scales of 41 tokens is not aligned as code wants it."""
    made = generator(models, name, sequences=2, **options, **EMULATED)
    for count in (1, 2):
        wanted = told_by_the_cpu(models, name, count, tuple(options.items()))
        assert [*made.generate(prompts_of(name, count), 6)] == wanted


def test_narrow_caches_are_widened_where_attention_reads_them(models: Path) -> None:
    """No launch more than with those of f32, and rotations are one launch each."""
    kernels = [
        [each.kernel for each in generator(models, "concat", cache_type=kind, **EMULATED).engine.plan.launches]
        for kind in (None, "f16")
    ]
    assert len(kernels[0]) == len(kernels[1])
    assert sum(each.startswith("concat_") for each in kernels[0]) == 3  # of queries, of keys, and of angles


def test_tokens_are_drawn_as_on_the_cpu(models: Path) -> None:
    made = [generator(models, "scatter", top_k=5, **each) for each in ({"threads": 1}, EMULATED)]
    one, other = ([*each.generate(PROMPTS[:1], 8, temperature=0.8, top_p=0.9, seed=3)] for each in made)
    assert one == other and len({token for (token,) in one}) > 2


def test_caches_stay_on_the_device(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is copied to it in a step are a token and its position."""
    steps = generator(models, "attention", **EMULATED).generate(PROMPTS[:1], 12)
    next(steps)
    written: list[int] = []
    write = EmulatedMemory.write

    def noted(self: EmulatedMemory, offset: int, data: Array) -> None:
        written.append(data.nbytes)
        write(self, offset, data)

    monkeypatch.setattr(EmulatedMemory, "write", noted)
    for _ in range(4):
        next(steps)
    assert sum(written) == 4 * (8 + 8)


@pytest.mark.parametrize(("name", "captured", "replayed"), [("scatter", 1, 9), ("attention", 0, 0)])
def test_a_step_is_a_graph_where_its_shapes_stay(
    fake: FakeCupy, models: Path, monkeypatch: pytest.MonkeyPatch, name: str, captured: int, replayed: int
) -> None:
    """Caches of full capacity have one shape: the second step is captured. Those that grow are launched eagerly."""
    monkeypatch.setattr(cuda_device.Cuda, "objects", text_as_cubin)
    made = generator(models, name, device="cuda")
    first = [*made.generate(PROMPTS[:1], 12)]
    assert first == [*generator(models, name, threads=1).generate(PROMPTS[:1], 12)]
    assert fake.names().count("begin_capture") == captured
    assert fake.names().count("graph.launch") == replayed + captured
    launches = len(fake.of("launch"))
    assert [*made.generate(PROMPTS[:1], 12)] == first
    if name == "attention":  # 12 lengths of caches, which fit the graphs that are kept
        assert len(fake.of("launch")) == 2 * launches and fake.names().count("begin_capture") == 12 < GRAPHS


def test_more_lengths_than_graphs_are_not_captured(
    fake: FakeCupy, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_device.Cuda, "objects", text_as_cubin)
    made = generator(models, "attention", device="cuda")
    for _ in range(2):
        assert len([*made.generate(PROMPTS[:1], GRAPHS + 2)]) == GRAPHS + 2
    assert not fake.of("begin_capture")


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(("name", "options"), [("attention", {"cache_type": "int8"}), ("microsoft", {"top_k": 5})])
def test_cubins_without_spills(
    models: Path, name: str, options: dict[str, Any], architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def noted(text: str) -> compiled_text.Program:
        texts.append(text)
        return compiled_text.Program(CDLL(None), {})

    monkeypatch.setattr(compiled_text, "load", noted)
    generator(models, name, emulator="compiled", gpu=architecture, **options, **EMULATED)
    kernels = compile_kernels(texts[0], architecture).resources
    assert len(kernels) >= 20
    assert not [each.kernel for each in kernels if each.spill_stores or each.spill_loads]


def test_nothing_is_bound_twice(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[str] = []
    bind = mi.ExecutionContext.bind_input

    def noted(context: mi.ExecutionContext, name: str, memory: object) -> None:
        bound.append(name)
        bind(context, name, memory)

    monkeypatch.setattr(mi.ExecutionContext, "bind_input", noted)
    assert len([*generator(models, "scatter", **EMULATED).generate(PROMPTS[:1], 5)]) == 5
    assert sorted(bound) == ["past_key_values.0.key", "past_key_values.0.value"]
