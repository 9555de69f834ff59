"""Generator: what it draws, how sequences end, that a step is one native call, and what it refuses."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.small import SMALL_MODELS
from numpy.lib import tracemalloc_domain

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.compute_device import Wrong
from mini_infer.runtime.devices.cpu.cpu_device import CpuSession
from mini_infer.tools.demos.llama import FULL_CACHES, LlamaSizes, Style, llama

SIZES = LlamaSizes(vocabulary=50, hidden=64, inner=40, layers=1, heads=4, key_heads=2, capacity=40)
PROMPTS = [[20, 31, 5, 6], [3, 3, 8]]
WANTED = [47, 16, 24, 37, 25, 30, 44, 34, 20, 42, 24, 37]
"""What ONNX Runtime makes of the first one."""
STYLES: list[Style] = ["concat", "attention", "scatter", "microsoft"]


def generator(folder: Path, style: Style = "scatter", **options: Any) -> mi.Generator:
    """Of the demo in a file."""
    file = folder / f"{style}.onnx"
    file.write_bytes(llama(style, SIZES, seed=3).SerializeToString())
    given: dict[str, Any] = {"capacity": 40, "compile_threads": 1, **options}
    return mi.Generator(file, 1, **given)


def single(made: mi.Generator, prompt: list[int], tokens: int | None, **options: Any) -> list[int | None]:
    """What follows one prompt."""
    return [token for (token,) in made.generate([prompt], tokens, **options)]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("style", STYLES)
def test_every_spelling_continues_the_same(style: Style, tmp_path: Path) -> None:
    made = generator(tmp_path, style, sequences=2)
    found = single(made, PROMPTS[0], 12)
    assert found == WANTED[:12]
    assert single(made, PROMPTS[0], 12) == found  # caches begin anew
    if style in FULL_CACHES:  # sequences have lengths of their own
        both = [*zip(*made.generate(PROMPTS, 6), strict=True)]
        assert both == [tuple(found[:6]), tuple(single(made, PROMPTS[1], 6))]
    else:
        with pytest.raises(mi.InvalidInputError, match="prompts have 3 to 4 tokens; without a mask"):
            made.generate(PROMPTS, 6)


def test_tokens_are_drawn_by_the_numbers_alone(tmp_path: Path) -> None:
    """By the rule that choose-token states, from what an engine gives as logits."""
    made = generator(tmp_path, sequences=2, top_k=5)
    first = [*made.generate([PROMPTS[0]], 8, temperature=0.8, top_p=0.9, seed=3)]
    assert [*made.generate([PROMPTS[0]], 8, temperature=0.8, top_p=0.9, seed=3)] == first
    engine: Any = mi.compile(llama("scatter", SIZES, seed=3), 1, dims={"batch": 1, "sequence": 4}, compile_threads=1)
    empty = np.zeros((1, 2, 40, 16), np.float32)
    logits: Array = engine(np.array([PROMPTS[0]]), np.zeros(1, np.int64), empty, empty)[0][0, -1]
    drawn = {seed: next(made.generate([PROMPTS[0]], 1, temperature=0.8, top_p=0.9, seed=seed))[0] for seed in range(40)}
    assert drawn == {seed: _drawn(logits, 5, 0.8, 0.9, seed) for seed in drawn}
    assert len(set(drawn.values())) > 2
    assert single(made, PROMPTS[0], 8, top_p=1e-6) == WANTED[:8]
    every = generator(tmp_path, top_k=0)
    powers: Array = np.exp((logits - logits.max()) / 0.8)
    for seed in range(10):
        uniform = np.random.default_rng(seed).random((1, 1), np.float32)[0, 0]
        wanted = int(np.sum(np.cumsum(powers) <= uniform * np.sum(powers)))
        assert single(every, PROMPTS[0], 1, temperature=0.8, seed=seed) == [wanted]
    with pytest.raises(mi.InvalidInputError, match="top_p needs a top_k"):
        every.generate(PROMPTS[:1], 1, top_p=0.5)


def _drawn(logits: Array, top_k: int, temperature: float, top_p: float, seed: int) -> int:
    order = np.argsort(-logits, kind="stable")[:top_k]
    powers = np.exp((logits[order] - logits[order[0]]) / temperature)
    likely = powers / powers.sum()
    likely = np.where(np.cumsum(likely) - likely < top_p, likely, 0)
    uniform = np.random.default_rng(seed).random((1, 1), np.float32)[0, 0]
    return int(order[np.searchsorted(np.cumsum(likely), uniform * likely.sum(), side="right")])


def test_a_sequence_ends_with_a_stop_token(tmp_path: Path) -> None:
    made = generator(tmp_path, sequences=2)
    found = [*made.generate(PROMPTS, 6, stop=[WANTED[2]])]
    assert [each[0] for each in found] == [*WANTED[:3], *[None] * (len(found) - 3)]
    assert len(found) == 6 and found[-1][1] is not None
    assert single(made, PROMPTS[0], 6, stop=[WANTED[2]]) == WANTED[:3]
    assert len(single(made, PROMPTS[0], None, stop=())) == 40 - 4 + 1  # as long as there is room


def test_a_step_is_one_native_call_and_allocates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    entered = CpuSession.execute

    def counted(session: CpuSession) -> Wrong | None:
        calls.append(1)
        return entered(session)

    monkeypatch.setattr(CpuSession, "execute", counted)
    steps = generator(tmp_path, top_k=5).generate([PROMPTS[0]], 30, temperature=0.5)
    for _ in range(3):
        next(steps)
    assert len(calls) == 3
    tracemalloc.start()
    try:
        before = tracemalloc.take_snapshot()
        for _ in range(20):
            next(steps)
        after = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    assert len(calls) == 23
    only = [tracemalloc.DomainFilter(inclusive=True, domain=tracemalloc_domain)]
    arrays = after.filter_traces(only).compare_to(before.filter_traces(only), "filename")
    assert sum(each.size_diff for each in arrays) < 64  # numbers that are drawn, of the last step in place of another's


def test_a_configuration_names_inputs_and_stop_tokens(tmp_path: Path) -> None:
    decoder = {
        "filename": "scatter.onnx",
        "inputs": {"past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"},
        "outputs": {"present_key_names": "present.%d.key", "present_value_names": "present.%d.value"},
    }
    generator(tmp_path)
    config = {"model": {"decoder": decoder, "eos_token_id": [WANTED[1], 49]}}
    (tmp_path / "genai_config.json").write_text(json.dumps(config))
    made = mi.Generator(tmp_path, 1, capacity=40, compile_threads=1)
    assert made.stop == (WANTED[1], 49) and single(made, PROMPTS[0], 6) == WANTED[:2]
    (tmp_path / "genai_config.json").write_text("{}")
    with pytest.raises(mi.InvalidModelError, match=r"genai_config\.json: it has no 'model'"):
        mi.Generator(tmp_path)


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ([], {}, "there are 0 prompts; the generator is for 1 to 1"),
    ([[]], {}, "a prompt is a sequence of tokens"),
    ([["a"]], {}, "a prompt is a sequence of tokens"),
    ([[1] * 39], {"tokens": 3}, "a prompt of 39 tokens with 3 more exceeds the capacity of 40"),
    ([[1]], {"temperature": 0.5}, "temperature does nothing with top_k=1"),
    ([[1]], {"top_p": 1.5}, "top_p is 1.5; it must be more than 0, and at most 1"),
]


def test_what_is_wrong_with_a_call(tmp_path: Path) -> None:
    made = generator(tmp_path)
    for prompts, options, message in WRONG:
        with pytest.raises(mi.InvalidInputError, match=message):
            made.generate(prompts, **options)


def test_what_is_no_language_model(tmp_path: Path) -> None:
    file = tmp_path / "other.onnx"
    file.write_bytes(SMALL_MODELS["mlp"]().SerializeToString())
    with pytest.raises(mi.InvalidModelError, match=r"not a language model: .* 'input_ids' .* inputs are x"):
        mi.Generator(file)
    with pytest.raises(mi.InvalidModelError, match=r"a folder without genai_config\.json"):
        mi.Generator(tmp_path)
    with pytest.raises(mi.ConfigError, match="profile is no option of a Generator"):
        generator(tmp_path, profile=mi.OptimizationProfile())
