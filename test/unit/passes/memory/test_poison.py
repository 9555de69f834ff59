"""Overwriting what is dead: harmless to a right plan, and it shows when a lifetime ends a step too soon."""

from __future__ import annotations

import numpy as np
from models.build import ModelBuilder, example_inputs
from onnx import ModelProto
from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr

from mini_infer.dialects.graph.values import Array, int_attr
from mini_infer.lowering.pipelines import parse_passes, run_passes
from mini_infer.runtime.compile.module_to_plan import build_plan, plan_memory
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.config import EngineConfig


def chain() -> ModelProto:
    """Products one after the other: each result is read by the next one only, and not in place."""
    b = ModelBuilder("chain")
    x = b.input("x", (20, 32))
    for _ in range(4):
        x = b.node("MatMul", x, b.weight(32, 32))
    return b.model([x])


def run(shorten: int, poison: bool) -> Array:
    """The model's output, with every lifetime that many steps shorter than planned."""
    config = EngineConfig(threads=1)
    module, ctx = source_of(chain()).load(config)
    plan_memory(module, ctx, config)
    for op in module.walk():
        death = op.attributes.get("death")
        if isinstance(op, memref.ViewOp) and isinstance(death, IntegerAttr):
            op.attributes["death"] = int_attr(death.value.data - shorten)
    if poison:
        run_passes(ctx, module, parse_passes("poison-dead"))
    context = build_plan(module, ctx, config).create_execution_context()
    (output,) = context.run(example_inputs(chain())).values()
    return output


def test_a_right_plan_gives_the_same_bits() -> None:
    assert np.array_equal(run(0, poison=True), run(0, poison=False))


def test_a_lifetime_that_is_a_step_too_short_shows() -> None:
    assert np.isnan(run(1, poison=True)).all()
