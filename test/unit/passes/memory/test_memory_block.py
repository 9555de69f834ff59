"""The block that memory planners are explained with: convolution, ReLU, pool, at 64 x 112 x 112 in f32.

The convolution's result is 3.2 MB. Every op has a kernel of its own here.
"""

from __future__ import annotations

from typing import Any

from models.build import ModelBuilder
from onnx import ModelProto

from mini_infer.passes.memory.report.memory_report import MemoryPlan
from mini_infer.runtime.compile.module_to_plan import plan_memory
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.config import EngineConfig

PICTURE = 64 * 112 * 112 * 4  # bytes of the convolution's result
POOLED = PICTURE // 4


def block(*after: str) -> ModelProto:
    """The block, with more unary operators behind the pool."""
    b = ModelBuilder("block")
    x = b.input("x", (1, 16, 112, 112))
    x = b.node("Conv", x, b.weight(64, 16, 3, 3), pads=[1, 1, 1, 1])
    x = b.node("Relu", x)
    x = b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    for operator in after:
        x = b.node(operator, x)
    return b.model([x])


def plan(model: ModelProto, **options: Any) -> MemoryPlan:
    config = EngineConfig(threads=1, enable_graph_optimization=False, **options)
    module, ctx = source_of(model).load(config)
    return plan_memory(module, ctx, config)


def test_the_relu_works_in_place_and_the_pool_writes_the_callers_memory() -> None:
    assert plan(block()).arena_bytes == PICTURE


def test_without_reuse_the_relu_has_bytes_of_its_own() -> None:
    assert plan(block(), enable_memory_planning=False).arena_bytes == 2 * PICTURE


def test_an_elementwise_op_behind_it_works_in_the_callers_memory() -> None:
    # The pool writes where the model's output will be, and the sigmoid works there in place.
    assert plan(block("Sigmoid")).arena_bytes == PICTURE


def test_an_op_behind_two_pools_takes_dead_bytes() -> None:
    # The second pool's result lies where the ReLU's was: that is dead once the first pool has read it.
    b = ModelBuilder("block")
    x = b.node("Conv", b.input("x", (1, 16, 112, 112)), b.weight(64, 16, 3, 3), pads=[1, 1, 1, 1])
    x = b.node("Relu", x)
    x = b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    memory = plan(b.model([b.node("Sigmoid", x)]))
    assert memory.arena_bytes == PICTURE + POOLED
    assert memory.optimal
