"""Reproducible results: the same bits on every CPU, with any number of threads, at any place of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from c_programs import c_program
from models.build import SMALL_MODELS
from models.builder import ModelBuilder, rng
from models.test_cpus_run import CPUS, judge, runs_here, target_of, tools_for
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.runtime.compile.module_to_plan import build_plan
from mini_infer.runtime.config import EngineConfig

Results = Mapping[str, Array]


def run(model: ModelProto, inputs: Results, cpu: str = "", threads: int = 1) -> Results:
    """Results of code for a CPU that this machine can stand in for."""
    config = EngineConfig(threads=threads, compile_threads=1, reproducible=True)
    ctx = MiniContext()
    plan = build_plan(import_onnx(model, ctx=ctx), ctx, config, machine=cpu)
    return plan.create_execution_context().run(inputs)


@cache
def usual(name: str) -> Results:
    return run(SMALL_MODELS[name](), judge(name).inputs)


def assert_bits(found: Results, wanted: Results) -> None:
    assert {name: array.tobytes() for name, array in found.items()} == {
        name: array.tobytes() for name, array in wanted.items()
    }


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_results_are_right(name: str) -> None:
    judge(name).check(usual(name))


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_bits_do_not_depend_on_threads(name: str) -> None:
    for threads in (2, 5):
        assert_bits(run(SMALL_MODELS[name](), judge(name).inputs, threads=threads), usual(name))


@pytest.mark.thinned(5)
@pytest.mark.parametrize("cpu", [cpu for cpu in CPUS if cpu.startswith("x86")])
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_bits_do_not_depend_on_instructions(name: str, cpu: str) -> None:
    """x86-64 and its second level have no fused multiply-adds, which are computed in f64 there."""
    if not runs_here(cpu):
        pytest.skip(f"this machine has not what {cpu} has")
    assert_bits(run(SMALL_MODELS[name](), judge(name).inputs, target_of(cpu)), usual(name))


@pytest.mark.thinned(5)
@pytest.mark.parametrize("cpu", ["neoverse-n1", "generic"])
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_bits_do_not_depend_on_the_architecture(name: str, cpu: str, tmp_path: Path) -> None:
    made = c_program(
        SMALL_MODELS[name](), tmp_path, "-static", tools=tools_for(cpu), cpu=target_of(cpu), reproducible=True
    )
    assert_bits(made(judge(name).inputs), usual(name))


def convolutions() -> ModelProto:
    """Pictures by Winograd's transforms of both sizes, depthwise, in bands and pooled; then a product of few rows."""
    b = ModelBuilder("convolutions")
    x = b.input("x", ["batch", 16, 28, 28])
    for channels, stride in ((32, 1), (32, 2)):
        x = b.node("Conv", x, b.weight(channels, 16 if stride == 1 else 32, 3, 3), pads=[1] * 4)
        x = b.node("Relu", x)
        x = b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("Conv", x, b.weight(64, 32, 1, 1))
    x = b.node("Relu", b.node("Conv", x, b.weight(64, 1, 3, 3), pads=[1] * 4, group=64))
    x = b.node("Conv", x, b.weight(32, 64, 1, 1))
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    return b.model([b.node("Softmax", b.node("Gemm", x, b.weight(10, 32), b.weight(10), transB=1))])


def tokens() -> ModelProto:
    """Attention and layer norms of a few tokens."""
    b = ModelBuilder("tokens")
    x = b.input("x", ["batch", 5, 32])
    normed = b.node("LayerNormalization", x, b.weight(32), b.weight(32))
    q, k, v = (b.node("MatMul", normed, b.weight(32, 32)) for _ in range(3))
    heads = b.ints(0, 5, 4, 8)
    q, k, v = (b.node("Transpose", b.node("Reshape", each, heads), perm=[0, 2, 1, 3]) for each in (q, k, v))
    scores = b.node("Softmax", b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2])), axis=-1)
    joined = b.node("Transpose", b.node("MatMul", scores, v), perm=[0, 2, 1, 3])
    return b.model([b.node("Add", x, b.node("Reshape", joined, b.ints(0, 5, 32)))])


@pytest.mark.parametrize("build", [convolutions, tokens], ids=["convolutions", "tokens"])
def test_an_entry_of_a_batch_has_the_bits_that_it_has_alone(build: Any) -> None:
    alone: dict[int, bytes] = {}
    for batch in (1, 2, 3, 8):
        engine = mi.compile(build(), dims={"batch": batch}, reproducible=True, threads=1 + batch % 2)
        (spec,) = engine.plan.inputs
        numbers = [entry % 5 for entry in range(batch)]
        x: Array = np.stack([rng(each).standard_normal(spec.shape[1:]) for each in numbers]).astype(np.float32)
        (found,) = engine({"x": x}).values()
        for number, entry in zip(numbers, found, strict=True):
            assert entry.tobytes() == alone.setdefault(number, entry.tobytes()), (batch, number)


def test_a_cpu_without_fused_multiply_adds_refuses_float64() -> None:
    b = ModelBuilder("wide")
    x = b.input("x", [3, 4], np.float64)
    model = b.model([b.node("MatMul", x, b.constant(np.ones((4, 5))))], [np.float64])
    with pytest.raises(mi.UnsupportedError, match="reproducible results of float64 need a CPU with fused"):
        run(model, {"x": np.ones((3, 4))}, target_of("x86-64"))


@pytest.mark.parametrize(("option", "value"), [("vector_bits", 128), ("precision", "bf16")])
def test_what_differs_by_cpu_is_refused(option: str, value: object) -> None:
    with pytest.raises(mi.ConfigError, match=f"reproducible does nothing with {option}="):
        mi.compile(SMALL_MODELS["mlp"](), reproducible=True, **cast(Any, {option: value}))


def test_what_the_c_library_computes_is_refused() -> None:
    b = ModelBuilder("tangent")
    model = b.model([b.node("Tan", b.input("x", [3]))])
    with pytest.raises(mi.UnsupportedError, match=r"tangent/tan_0 \(math.tan\): the C library computes it"):
        mi.compile(model, reproducible=True)
