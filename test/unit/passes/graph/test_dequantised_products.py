"""Products by weights that DequantizeLinear makes of integers, as exporters write them: one block weight each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from import_cases import model_of
from onnx import ModelProto, NodeProto, helper
from typing_extensions import override

import mini_infer as mi
from mini_infer.dialects.graph import blobs
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.block_weight import BlockWeightOp
from mini_infer.dialects.graph.ops.contraction import MatmulOp
from mini_infer.dialects.graph.ops.quantization import DequantizeOp
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.lowering.pipelines import phases, run_phases

RANDOM = np.random.default_rng(7)
DEPTH, ROWS = 48, 20


def numbers(kind: str, *shape: int) -> Array:
    """All that a type of so many bits holds."""
    bits, signed = int(kind.removeprefix("u").removeprefix("int")), not kind.startswith("u")
    low = -(2 ** (bits - 1)) if signed else 0
    return RANDOM.integers(low, low + 2**bits, shape).astype(getattr(ml_dtypes, kind, None) or np.dtype(kind))


@dataclass(frozen=True)
class Case:
    """A product by a dequantised weight of a type, per column or by blocks, along the axis of its depth."""

    kind: str = "int4"
    block: int = 16  # 0: one for each column; -1: one for all
    transposed: str = ""  # how the weight [N, K] comes before the product: by "Transpose", or by "Gemm"
    zero: bool = False
    depth: int = DEPTH
    dtype: Any = np.float32

    @override
    def __str__(self) -> str:
        words = [self.kind, f"by {self.block}", self.transposed, "zero points" * self.zero, np.dtype(self.dtype).name]
        return " ".join(word for word in words if word)

    def model(self) -> tuple[ModelProto, Array, Array]:
        """The model, x, and what it is to compute."""
        along = 1 if self.transposed else 0
        shape = (ROWS, self.depth) if self.transposed else (self.depth, ROWS)
        blocks = -(-self.depth // self.block) if self.block > 0 else 1
        entries = list(shape)
        entries[along] = blocks
        entries = [ROWS] if self.block == 0 else [] if self.block < 0 else entries
        weight = numbers(self.kind, *shape)
        scale = RANDOM.uniform(0.01, 0.1, entries).astype(self.dtype)
        zero = numbers(self.kind, *entries) if self.zero else np.zeros(entries, weight.dtype)
        axis = 1 - along if self.block == 0 else along
        attributes: dict[str, Any] = {"axis": axis} | ({"block_size": self.block} if self.block > 0 else {})
        operands = ["w", "s", *(["z"] if self.zero else [])]
        nodes = [helper.make_node("DequantizeLinear", operands, ["d"], **attributes), *self._product()]
        x = RANDOM.standard_normal((3, self.depth)).astype(self.dtype)
        model = model_of(nodes, {"x": x}, {"w": weight, "s": scale} | ({"z": zero} if self.zero else {}), ["y"], 25)

        def spread(parameter: Array) -> Array:
            parameter = parameter.astype(np.float64)
            if self.block > 0:
                return np.repeat(parameter, self.block, along).take(range(self.depth), along)
            return parameter if self.block < 0 else np.expand_dims(parameter, along)

        wide = (weight.astype(np.float64) - spread(zero)) * spread(scale)
        return model, x, x.astype(np.float64) @ (wide.T if self.transposed else wide)

    def _product(self) -> Sequence[NodeProto]:
        if self.transposed == "Transpose":
            return [helper.make_node("Transpose", ["d"], ["t"]), helper.make_node("MatMul", ["x", "t"], ["y"])]
        if self.transposed == "Gemm":
            return [helper.make_node("Gemm", ["x", "d"], ["y"], transB=1)]
        return [helper.make_node("MatMul", ["x", "d"], ["y"])]


CASES = [
    *(Case(kind, zero=zero) for kind in ("int2", "uint2", "int4", "uint4", "int8", "uint8") for zero in (False, True)),
    *(Case(kind, 16, "Transpose", zero=True) for kind in ("uint2", "int4", "uint4", "int8")),
    *(Case(kind, 16, "Gemm") for kind in ("int2", "uint4", "uint8")),
    *(Case("int4", 32, how, zero=True, depth=40) for how in ("", "Transpose")),  # the last block is shorter
    *(Case(kind, 0, how, zero=True) for kind in ("int8", "uint4") for how in ("", "Gemm")),
    Case("int8", -1, depth=45),
    Case("uint4", -1, "Transpose", zero=True, depth=45),
    Case("int4", 16, dtype=np.float16),
    Case("uint8", 16, "Transpose", zero=True, dtype=np.float16),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_block_weights(case: Case) -> None:
    model, x, wanted = case.model()
    ctx = MiniContext()
    module = import_onnx(model, ctx=ctx)
    run_phases(ctx, module, [phase for phase in phases() if phase.level == "graph"])
    kinds = [type(op) for op in module.walk() if isinstance(op, BlockWeightOp | DequantizeOp | MatmulOp)]
    assert kinds == [BlockWeightOp, MatmulOp]
    (found,) = interpret(module, {"x": x}, ctx.blobs).values()
    limit = 1e-5 if case.dtype == np.float32 else 3e-3
    np.testing.assert_allclose(found, wanted, rtol=0, atol=limit * np.abs(wanted).max())


@pytest.mark.thinned(5)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("optimised", [True, False])
def test_compiled(case: Case, optimised: bool) -> None:
    model, x, wanted = case.model()
    engine = mi.compile(model, threads=1, enable_graph_optimization=optimised)
    limit = 1e-5 if case.dtype == np.float32 else 3e-3
    np.testing.assert_allclose(engine(x), wanted, rtol=0, atol=limit * np.abs(wanted).max())


def test_weights_that_are_inputs_stay_dequantised() -> None:
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=16),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    x, w = RANDOM.standard_normal((3, DEPTH)).astype(np.float32), numbers("int8", DEPTH, ROWS)
    s = RANDOM.uniform(0.01, 0.1, (3, ROWS)).astype(np.float32)
    engine = mi.compile(model_of(nodes, {"x": x, "w": w}, {"s": s}, ["y"], 21), threads=1)
    wanted = x.astype(np.float64) @ (w * np.repeat(s, 16, 0).astype(np.float64))
    np.testing.assert_allclose(engine(x, w), wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("how", ["", "Transpose"])
@pytest.mark.parametrize("kind", ["uint4", "int8"])
def test_large_weights_are_made_in_parts(kind: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They give the same whether each of their rows is made by itself, or all are at once."""
    model, x, wanted = Case(kind, 16, how, zero=True).model()
    monkeypatch.setattr(blobs, "EAGER_BYTES", 0)
    monkeypatch.setattr(blobs, "PART_BYTES", 50)
    engine = mi.compile(model, threads=1)
    np.testing.assert_allclose(engine(x), wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(("kind", "block"), [("int4", 16), ("uint8", 16), ("int8", 0)])
def test_rows_of_a_dequantised_table(kind: str, block: int) -> None:
    """Those that are gathered are dequantised, and no others; the product by the table has its weight in blocks."""
    rows, depth = 200, 48
    table = numbers(kind, rows, depth)
    scale = RANDOM.uniform(0.01, 0.1, (rows, depth // block) if block else (rows,)).astype(np.float32)
    attributes: dict[str, Any] = {"axis": 1, "block_size": block} if block else {"axis": 0}
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], **attributes),
        helper.make_node("Gather", ["d", "ids"], ["x"]),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Transpose", ["d"], ["t"]),
        helper.make_node("MatMul", ["r", "t"], ["y"]),
    ]
    ids = np.array([[3, -1], [0, 150]])
    engine = mi.compile(model_of(nodes, {"ids": ids}, {"w": table, "s": scale}, ["y"], 21), threads=1)
    wide = table.astype(np.float64) * (np.repeat(scale, block, 1) if block else scale[:, None])
    wanted = np.maximum(wide[ids], 0) @ wide.T
    np.testing.assert_allclose(engine(ids), wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
    assert engine.plan.arena_bytes < rows * depth * 4
