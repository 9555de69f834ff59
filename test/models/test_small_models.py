"""Small models of the usual architectures, end to end: as exact as ONNX Runtime whatever is switched on or off."""

from __future__ import annotations

from functools import cache
from itertools import cycle
from typing import Any

import pytest
from models.build import SMALL_MODELS
from models.judging import Judge, assert_same_bits, distance

from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import target_attribute

# Fusion, folding and vector width change the order in which numbers are added and rounded, no more. Outputs that
# differ by that alone lie this close together, relative to the largest element.
ROUNDING = 4e-6
MULTIPLIES_BF16 = target_attribute(EngineConfig()).multiplies_bf16


@cache
def judge(name: str) -> Judge:
    return Judge.of(SMALL_MODELS[name]())


@cache
def plain(name: str) -> dict[str, Array]:
    """Outputs of the model as it is compiled by default, on one thread."""
    return judge(name).compiled()


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_as_exact_as_onnxruntime(name: str) -> None:
    judge(name).check(plain(name))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_memory_passes_change_no_bit(name: str) -> None:
    assert_same_bits(judge(name).compiled(enable_memory_planning=False), plain(name))


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("name", "threads"), list(zip(SMALL_MODELS, cycle([2, 3, 5]))))
def test_threads_change_no_bit(name: str, threads: int) -> None:
    assert_same_bits(judge(name).compiled(threads=threads), plain(name))


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_threads_change_no_bit_without_fusion_either(name: str, threads: int) -> None:
    unfused = {"enable_graph_optimization": False}
    assert_same_bits(judge(name).compiled(threads=threads, **unfused), judge(name).compiled(**unfused))


@pytest.mark.skipif(not MULTIPLIES_BF16, reason="this CPU multiplies no bf16")
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_bf16_is_off_by_few_roundings(name: str) -> None:
    """Threads change no bit. An LSTM's products are none of the graph's, and stay in f32."""
    found = judge(name).compiled(precision="bf16")
    errors = [distance(array, judge(name).exact[output]) for output, array in found.items()]
    if name == "lstm":
        assert_same_bits(found, plain(name))
    else:
        assert 2.0**-14 < max(errors) < 2.0**-6, errors
    assert_same_bits(judge(name).compiled(precision="bf16", threads=2), found)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("planner", ["pools", "first-fit"])
@pytest.mark.parametrize("name", ["mobilenet", "transformer"])
def test_planners_change_no_bit(name: str, planner: str) -> None:
    assert_same_bits(judge(name).compiled(planner=planner), plain(name))


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    "options",
    [{"enable_graph_optimization": False}, {"vector_bits": 256}, {"vector_bits": 128}],
    ids=["unfused", "256 bits", "128 bits"],
)
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_options_change_rounding_only(name: str, options: dict[str, Any]) -> None:
    outputs = judge(name).compiled(**options)
    judge(name).check(outputs)
    for output, array in outputs.items():
        assert distance(array, plain(name)[output]) <= ROUNDING


@pytest.mark.parametrize("name", ["mlp", "unet"])
def test_profiling_changes_no_bit(name: str) -> None:
    assert_same_bits(judge(name).compiled(enable_profiling=True), plain(name))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"vector_bits": 512}, {"vector_bits": 128, "threads": 3}, {"planner": "naive"}], ids=str
)
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_more_options_change_rounding_only(name: str, options: dict[str, Any]) -> None:
    unfused = {**options, "enable_graph_optimization": False}
    for outputs in (judge(name).compiled(**options), judge(name).compiled(**unfused)):
        judge(name).check(outputs)
