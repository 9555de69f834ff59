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
    for wrong, message in (
        ({}, "it has no 'model'"),
        ({"model": {"decoder": decoder | {"inputs": 5}}}, "it has no 'inputs'"),
        ({"model": {"decoder": decoder | {"head_size": -1}}}, "'head_size' is -1; it must be an integer of at least 1"),
        ({"model": {"decoder": decoder, "context_length": "4K"}}, "'context_length' is '4K'; it must be an integer"),
        (
            {"model": {"decoder": decoder, "eos_token_id": ["</s>"]}},
            r"'eos_token_id' is \['</s>'\]; it must be a token",
        ),
    ):
        (tmp_path / "genai_config.json").write_text(json.dumps(wrong))
        with pytest.raises(mi.InvalidModelError, match=rf"genai_config\.json: {message}"):
            mi.Generator(tmp_path)


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ([], {}, "there are 0 prompts; the generator is for 1 to 1"),
    ([[]], {}, r"prompts\[0\] has no tokens"),
    (5, {}, "prompts is 5; it must be a sequence of prompts"),
    ([5], {}, r"prompts\[0\] is 5; it must be a sequence of tokens"),
    ([["a"]], {}, r"prompts\[0\]: a token is 'a'; it must be an integer from 0 to 9223372036854775807"),
    ([[1, -1]], {}, "a token is -1; it must be"),  # which Gather would count from the end
    ([[2**63]], {}, "a token is 9223372036854775808; it must be"),
    ([[1]], {"stop": 5}, "stop is 5; it must be a sequence of tokens"),
    ([[1]], {"stop": [1.5]}, "stop: a token is 1.5; it must be an integer"),
    ([[1]], {"tokens": 0}, "tokens is 0; it must be an integer of at least 1"),
    ([[1]], {"seed": -1}, "seed is -1; it must be an integer of at least 0"),
    ([[1]], {"temperature": "a"}, "temperature is 'a'; it must be more than 0 and finite"),
    ([[1]], {"temperature": float("inf")}, "temperature is inf; it must be more than 0 and finite"),
    ([[1]], {"temperature": 1e-50}, "temperature is 1e-50; it must be more than 0 and finite, in 32 bits"),
    ([[1]], {"top_p": None}, "top_p is None; it must be more than 0 and at most 1"),
    ([[1] * 39], {"tokens": 3}, "a prompt of 39 tokens with 3 more exceeds the capacity of 40"),
    ([[1]], {"temperature": 0.5}, "temperature does nothing with top_k=1"),
    ([[1]], {"top_p": 1.5}, "top_p is 1.5; it must be more than 0 and at most 1"),
]


def test_what_is_wrong_with_a_call(tmp_path: Path) -> None:
    made = generator(tmp_path)
    for prompts, options, message in WRONG:
        with pytest.raises(mi.InvalidInputError, match=message):
            made.generate(prompts, **options)


def test_the_next_call_takes_the_caches_over(tmp_path: Path) -> None:
    made = generator(tmp_path)
    steps = made.generate([PROMPTS[0]], 6)
    assert next(steps) == [WANTED[0]]
    assert len(single(made, PROMPTS[1], 3)) == 3
    with pytest.raises(mi.InvalidInputError, match="generate was called anew"):
        next(steps)


@pytest.mark.parametrize("top_k", [0, 5])
def test_no_temperature_is_too_extreme(top_k: int, tmp_path: Path) -> None:
    """The coldest gives the most likely token, the hottest any of those that are the most likely ones at all."""
    made = generator(tmp_path, top_k=top_k)
    assert single(made, PROMPTS[0], 8, temperature=1.2e-38) == WANTED[:8]
    drawn = {single(made, PROMPTS[0], 1, temperature=3e38, seed=seed)[0] for seed in range(60)}
    likely = {single(made, PROMPTS[0], 1, temperature=1, seed=seed)[0] for seed in range(60)}
    assert len(drawn) == 5 and drawn >= likely if top_k else len(drawn) > 25


def test_sizes_that_the_loop_sets_are_refused(tmp_path: Path) -> None:
    given: list[tuple[dict[str, Any], str]] = [
        ({"dims": {"past": 2}}, "dims: 'past_key_values.0.key' grows with every token, and has no size of its own"),
        ({"dims": {"batch": 2}, "sequences": 2}, "'past_key_values.0.key' is for 2 sequences, not for 1 to 2"),
        ({"dims": {"sequence": 3}}, "input 'input_ids': dimension 1 is 3, but a step has a single token"),
    ]
    for options, message in given:
        with pytest.raises(mi.InvalidInputError, match=message):
            generator(tmp_path, "concat", **options)
    assert single(generator(tmp_path, "concat", dims={"sequence": 1, "batch": 1}), PROMPTS[0], 8) == WANTED[:8]


def test_a_budget_of_caches_is_the_capacity(tmp_path: Path) -> None:
    made = generator(tmp_path, "concat", cache_memory="3K")  # of which a token takes 2 caches * 2 heads * 16 * 4 bytes
    assert made.capacity == 3000 // 256
    assert single(made, PROMPTS[0], None) == WANTED[: made.capacity - 4 + 1]
    with pytest.raises(mi.InvalidInputError, match="a prompt of 4 tokens with 20 more exceeds the capacity of 11"):
        made.generate([PROMPTS[0]], 20)


def test_what_is_no_language_model(tmp_path: Path) -> None:
    file = tmp_path / "other.onnx"
    file.write_bytes(SMALL_MODELS["mlp"]().SerializeToString())
    with pytest.raises(mi.InvalidModelError, match=r"not a language model: .* 'input_ids' .* inputs are x"):
        mi.Generator(file)
    with pytest.raises(mi.InvalidModelError, match=r"a folder without genai_config\.json"):
        mi.Generator(tmp_path)
    with pytest.raises(mi.ConfigError, match=r"model is b'x'; it must be the path of an \.onnx file"):
        mi.Generator(b"x")  # pyright: ignore[reportArgumentType]
    with pytest.raises(mi.ConfigError, match="profile is no option of a Generator"):
        generator(tmp_path, profile=mi.OptimizationProfile())
