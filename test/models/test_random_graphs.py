"""Random graphs, compiled in several ways: what they give is what the reference interpreter gives in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models.judging import assert_same_bits, distance
from random_graphs import RandomGraph
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, f32, f64
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from mini_infer.dialects.graph import (
    Array,
    BlobStore,
    ConstantOp,
    MiniContext,
    WeightOp,
    interpret,
    main_of,
    numpy_dtype,
    tensor,
    type_of,
)
from mini_infer.runtime.build import build_plan
from mini_infer.runtime.engine import EngineConfig

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "unfused": {"enable_graph_optimization": False},
    "2 threads": {"threads": 2},
    "128 bits": {"vector_bits": 128, "planner": "pools"},
}


def narrow(module: ModuleOp, store: BlobStore) -> None:
    """Makes every f64 of a module an f32."""
    main = main_of(module)
    for argument in main.args:
        _narrow_value(argument)
    for op in list(main.body.block.ops):
        if isinstance(op, ConstantOp | WeightOp) and type_of(op.results[0]).element_type == f64:
            numbers = (op.evaluate()[0] if isinstance(op, ConstantOp) else _read(op, store)).astype(np.float32)
            replacement = (
                ConstantOp.from_numpy(numbers)
                if isinstance(op, ConstantOp)
                else WeightOp(store.add(numbers), tensor(f32, numbers.shape))
            )
            replacement.location = op.location
            Rewriter.replace_op(op, replacement)
        else:
            for result in op.results:
                _narrow_value(result)
    main.update_function_type()


def _read(op: WeightOp, store: BlobStore) -> Array:
    return store.read(op.blob, type_of(op.result))


def _narrow_value(value: SSAValue) -> None:
    type = type_of(value)
    if type.element_type == f64:
        Rewriter.replace_value_with_new_type(value, tensor(f32, type.get_shape()))


def named(count: int, kind: str) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"graph.name": StringAttr(f"{kind}{index}")}) for index in range(count)])


def grown(seed: int, single: bool) -> tuple[ModuleOp, MiniContext]:
    """A module of 12 random ops, and what holds its weights."""
    graph = RandomGraph(seed)
    outputs = graph.grow(12)
    module = graph.finish(*outputs)
    if single:
        narrow(module, graph.ctx.blobs)
    main = main_of(module)
    main.arg_attrs, main.res_attrs = named(len(main.args), "input"), named(len(outputs), "output")
    module.verify()
    return module, graph.ctx


def check(seed: int, single: bool) -> None:
    """Compiles a graph in all ways and compares."""
    module, ctx = grown(seed, single)
    random = np.random.default_rng(seed)
    types = {f"input{index}": type_of(argument) for index, argument in enumerate(main_of(module).args)}
    inputs: dict[str, Array] = {
        name: random.standard_normal(type.get_shape()).astype(numpy_dtype(type.element_type))
        for name, type in types.items()
    }
    exact = interpret(module, inputs, ctx.blobs, precision=np.float64)
    rounded = interpret(module, inputs, ctx.blobs)
    tolerance = 2e-5 if single else 1e-12
    for label, options in OPTIONS.items():
        outputs = run(module, ctx, inputs, options)
        if label in ("default", "128 bits"):
            assert_same_bits(run(module, ctx, inputs, {**options, "enable_memory_planning": False}), outputs)
        for name, array in outputs.items():
            # Cancellation, which hits numpy's own arithmetic alike, may cost more digits than that.
            allowed = max(tolerance, 8 * distance(rounded[name], exact[name]))
            assert distance(array, exact[name]) <= allowed, f"{name}, {label}"


def run(module: ModuleOp, ctx: MiniContext, inputs: dict[str, Array], options: dict[str, Any]) -> dict[str, Array]:
    """Outputs of the compiled module, on an arena full of NaN."""
    plan = build_plan(module.clone(), ctx, EngineConfig.of(**{"threads": 1, **options}))
    context = plan.create_execution_context()
    context.arena.data[:] = 255
    return context.run(inputs)


@pytest.mark.parametrize("seed", range(3))
def test_single_precision(seed: int) -> None:
    check(seed, single=True)


@pytest.mark.parametrize("seed", range(100, 101))
def test_double_precision(seed: int) -> None:
    check(seed, single=False)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1080, 8))
def test_many(first: int) -> None:
    for seed in range(first, first + 8):
        check(seed, single=seed % 4 != 0)
