"""Graphs of many ops, and ops with many operands: nothing recurses over them, nothing takes exponential time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from import_cases import onnxruntime
from kernel_runs import Writer, check, kernel_of
from models.build import ModelBuilder
from xdsl.ir import SSAValue

import mini_infer as mi
from mini_infer.dialects.graph.ops.elementwise import AddOp, SubOp
from mini_infer.dialects.graph.ops.unary import ReluOp, SigmoidOp
from mini_infer.passes.kernels.element_flow import same_place_pairs

Build = Callable[[ModelBuilder, int], str]


def chain(b: ModelBuilder, count: int) -> str:
    x = b.input("x", [2, 3])
    for _ in range(count):
        x = b.node("Sigmoid", x)
    return x


def residual_chain(b: ModelBuilder, count: int) -> str:
    """Every value is used twice: 2^(count / 2) ways lead through the graph."""
    x = b.input("x", [2, 3])
    for _ in range(count // 2):
        x = b.node("Max", x, b.node("Sigmoid", x))
    return x


def chain_of_kernels(b: ModelBuilder, count: int) -> str:
    """Rows that can't be fused with each other: as many calls as there are nodes."""
    x = b.input("x", [2, 3])
    for _ in range(count):
        x = b.node("Softmax", x, axis=-1)
    return x


def views(b: ModelBuilder, count: int) -> str:
    """Movement that doesn't cancel."""
    x = b.input("x", [4, 6, 1])
    for _ in range(count // 2):
        x = b.node("Transpose", b.node("Reshape", x, b.ints(6, 2, 2)), perm=[1, 0, 2])
        x = b.node("Reshape", x, b.ints(4, 6, 1))
    return x


def identities(b: ModelBuilder, count: int) -> str:
    x = b.node("Relu", b.input("x", [2, 3]))
    for _ in range(count):
        x = b.node("Identity", x)
    return b.node("Tanh", x)


def branches(b: ModelBuilder, count: int) -> str:
    """Parallel branches of 10 nodes."""
    width = count // 10
    parts = b.nodes("Split", width, b.input("x", [2 * width, 3]), num_outputs=width)
    for _ in range(9):
        parts = [b.node("Tanh" if n % 2 else "Sigmoid", part) for n, part in enumerate(parts)]
    return b.node("Concat", *parts, axis=0)


def wide_sum(b: ModelBuilder, count: int) -> str:
    return b.node("Sum", *[b.input("x", [2, 3])] * count)


def sum_of_branches(b: ModelBuilder, count: int) -> str:
    x = b.input("x", [count, 3])
    parts = b.nodes("Split", count, x, num_outputs=count)
    return b.node("Sum", *parts)


def concat_of_one(b: ModelBuilder, count: int) -> str:
    return b.node("Concat", *[b.input("x", [2, 3])] * count, axis=0)


def concat_of_many(b: ModelBuilder, count: int) -> str:
    """Backwards, so that it isn't the operand of the split again, along an inner axis."""
    parts = b.nodes("Split", count, b.input("x", [2, count * 3]), num_outputs=count, axis=1)
    return b.node("Concat", *reversed(parts), axis=1)


QUICK = {chain: 1_000, residual_chain: 1_000, chain_of_kernels: 200, views: 300, identities: 5_000, branches: 100}
WIDE = {wide_sum: 1_000, sum_of_branches: 60, concat_of_one: 3_000, concat_of_many: 50}
SLOW = {
    chain: 20_000,
    residual_chain: 20_000,
    chain_of_kernels: 5_000,
    identities: 50_000,
    branches: 20_000,
    wide_sum: 2_000,
    concat_of_many: 1_000,
}


def run(build: Build, count: int, **options: Any) -> mi.Engine:
    """Compiles a graph of so many nodes, and compares its results with ONNX Runtime's."""
    b = ModelBuilder("g")
    model = b.model([build(b, count)])
    engine = mi.compile(model, threads=1, **options)
    shape = engine.plan.inputs[0].shape
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_allclose(engine(x), onnxruntime(model, {"x": x})[0], rtol=2e-5, atol=2e-6)
    return engine


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("build", "count"), (QUICK | WIDE).items(), ids=[build.__name__ for build in QUICK | WIDE])
def test_many_ops_compile(build: Build, count: int) -> None:
    run(build, count)


@pytest.mark.slow
@pytest.mark.parametrize(("build", "count"), SLOW.items(), ids=[build.__name__ for build in SLOW])
def test_very_many_ops_compile(build: Build, count: int) -> None:
    run(build, count)


def test_without_optimisation_every_op_is_a_kernel() -> None:
    assert len(run(chain, 300, enable_graph_optimization=False).plan.calls) == 300


def test_body_of_any_length_is_written_without_recursion() -> None:
    def body(w: Writer) -> SSAValue:
        x = w[0]
        for _ in range(300):
            x = w(SubOp(w(ReluOp(x)), w[0]))
        return x

    check("map", body, np.arange(-32, 32, dtype=np.float32))  # whole numbers, so that nothing is rounded


def test_each_value_of_a_body_is_looked_at_once() -> None:
    """Without that, 2^100 ways from the operand to the result."""

    def body(w: Writer) -> SSAValue:
        x = w[0]
        for _ in range(100):
            x = w(AddOp(x, w(SigmoidOp(x))))
        return x

    assert same_place_pairs(kernel_of("map", body, [np.zeros(8, np.float32)])) == [(0, 0)]
