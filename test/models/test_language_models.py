"""Language models with caches of keys and values: every spelling of them gives the same text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import typer
from typer.testing import CliRunner

import mini_infer as mi
from mini_infer.dialects.graph import blobs
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine
from mini_infer.tools.demos.llama import FULL_CACHES, LlamaSizes, Style, llama, past_names
from mini_infer.tools.demos.quantised_llama import BlockWeights, main, quantised_llama, write

STYLES: list[Style] = ["concat", "attention", "scatter", "microsoft"]


SMALL = LlamaSizes(vocabulary=50, hidden=64, inner=40, layers=1, heads=4, key_heads=2, capacity=40)
Run = Callable[[dict[str, Array]], list[Array]]


def by_onnxruntime(style: Style, sizes: LlamaSizes) -> Run:
    """What ONNX Runtime makes of the demo."""
    options = cast("Any", ort).SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = cast("Any", ort).InferenceSession(llama(style, sizes).SerializeToString(), options)
    return lambda inputs: session.run(None, inputs)


def first_inputs(style: Style, ids: Array, sizes: LlamaSizes) -> dict[str, Array]:
    """Inputs of the first call, by name: tokens [batch, sequence], and empty caches."""
    length = sizes.capacity if style in FULL_CACHES else 0
    empty = np.zeros((len(ids), sizes.key_heads, length, sizes.size), np.float32)
    caches = dict.fromkeys(past_names(sizes.layers), empty)
    return {"input_ids": ids, **positions(style, ids.shape, 0), **caches}


def next_inputs(style: Style, ids: Array, length: int, presents: list[Array]) -> dict[str, Array]:
    """Inputs of a later call: tokens after `length` others, and the caches that the last call returned."""
    caches = dict(zip(past_names(len(presents) // 2), presents, strict=True))
    return {"input_ids": ids, **positions(style, ids.shape, length), **caches}


def positions(style: Style, shape: tuple[int, ...], length: int) -> dict[str, Array]:
    """The inputs that give the tokens' positions."""
    batch, rows = shape
    if style == "scatter":
        return {"lengths": np.full((batch,), length, np.int64)}
    if style == "microsoft":
        last = np.full((batch,), length + rows - 1, np.int32)
        return {"seqlens_k": last, "total_sequence_length": np.array(length + rows, np.int32)}
    return {"position_ids": np.tile(np.arange(length, length + rows, dtype=np.int64), (batch, 1))}


def generated(run: Run, style: Style, ids: Array, steps: int, sizes: LlamaSizes) -> Array:
    """The logits of a prompt and of the most likely tokens behind it."""
    logits, *presents = run(first_inputs(style, ids, sizes))
    parts = [logits]
    for step in range(steps):
        token = np.argmax(parts[-1][:, -1:], -1)
        logits, *presents = run(next_inputs(style, token, ids.shape[1] + step, presents))
        parts.append(logits)
    return np.concatenate(parts, 1)


def prompt(batch: int, count: int) -> Array:
    """So many tokens."""
    return np.random.default_rng(count).integers(0, SMALL.vocabulary, (batch, count))


@pytest.mark.parametrize("style", STYLES)
def test_every_spelling_of_the_demo_says_the_same(style: Style) -> None:
    cast("Any", onnx.checker).check_model(llama(style, SMALL))
    found, wanted = (
        generated(by_onnxruntime(each, SMALL), each, prompt(2, 7), 3, SMALL) for each in (style, STYLES[0])
    )
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("style", STYLES)
def test_one_compile_reads_prompts_and_says_what_follows(style: Style) -> None:
    dims = {"batch": (1, 1, 3), "sequence": (1, 1, 12)}
    if style in ("concat", "attention"):
        dims["past"] = (0, 8, SMALL.capacity - 1)
    profile = mi.OptimizationProfile(dims=dims)
    engine = cast("DynamicEngine", mi.compile(llama(style, SMALL), profile=profile, threads=1, compile_threads=1))

    def run(inputs: dict[str, Array]) -> list[Array]:
        return list(engine(inputs).values())

    for batch, count, steps in ((1, 5, 20), (2, 12, 3), (3, 1, 2)):
        ids = prompt(batch, count)
        found, wanted = (generated(each, style, ids, steps, SMALL) for each in (run, by_onnxruntime(style, SMALL)))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    assert engine.compiles == 1


@pytest.mark.thinned(2)
@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("weights", "packed"),
    [(BlockWeights(accuracy_level=1), True), (BlockWeights(8, 16, zero_points=True, accuracy_level=0), False)],
)
def test_the_quantised_demo_says_what_onnxruntime_does(
    weights: BlockWeights, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "PART_BYTES", 2**14)
    sizes = LlamaSizes(vocabulary=1200, hidden=64, inner=96, layers=2, heads=4, key_heads=2, capacity=40)
    path = tmp_path / "model.onnx"
    write(quantised_llama(sizes, weights, packed=packed), path)
    dims = {"batch_size": (1, 1, 2), "sequence_length": (1, 1, 12)}
    dims |= {"past_sequence_length": (0, 8, 30), "total_sequence_length": (1, 9, 40)}
    engine = mi.compile(path, profile=mi.OptimizationProfile(dims=dims), threads=1, compile_threads=1)
    session = cast("Any", ort).InferenceSession(str(path))
    pasts = dict.fromkeys(past_names(2), np.zeros((2, 2, 0, 16), np.float32))
    for count, total in ((7, 7), (1, 8), (1, 9)):
        inputs = {"input_ids": prompt(2, count), "attention_mask": np.ones((2, total), np.int64), **pasts}
        found, wanted = list(engine(inputs).values()), session.run(None, inputs)
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-5)
        pasts = dict(zip(past_names(2), wanted[1:], strict=True))


@pytest.mark.parametrize("options", [["--seed", "-1"], ["--block", "20"], ["--bits", "5"]])
def test_wrong_options_of_the_quantised_demo(options: list[str], tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(main)
    result = CliRunner().invoke(app, [str(tmp_path / "model.onnx"), "--layers", "1", "--vocabulary", "8", *options])
    assert result.exit_code == 2 and not [*tmp_path.iterdir()]
