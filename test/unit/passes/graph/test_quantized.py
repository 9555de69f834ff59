"""Quantised operators: products of integers, against ONNX's reference and against floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from import_cases import model_of, reference
from onnx import ModelProto, NodeProto, helper
from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp

import mini_infer as mi
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.values import Array, element_type_of_value, numpy_dtype
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.lowering.pipelines import phases, run_phases

RANDOM = np.random.default_rng(3)


def numbers(dtype: type[np.integer[Any]], *shape: int) -> Array:
    """All that a type holds."""
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)


def scales(*shape: int) -> Array:
    """Scales of weights."""
    return np.asarray(RANDOM.uniform(0.01, 0.03, shape), np.float32)


U8, S8 = np.uint8, np.int8
ZERO, FAR = np.array(77, U8), np.array(-5, S8)


@dataclass(frozen=True)
class Case:
    """Nodes from x (or a, b) to y; the weights are known, and `exact` says that no float is in between."""

    label: str
    nodes: Sequence[NodeProto]
    inputs: Mapping[str, Array]
    weights: Mapping[str, Array] = field(default_factory=dict[str, Array])
    exact: bool = False
    products: int = 1  # of integers

    @override
    def __str__(self) -> str:
        return self.label

    def model(self) -> ModelProto:
        return model_of(self.nodes, self.inputs, self.weights, ["y"], 21)


def node(op_type: str, inputs: str, output: str = "y", **attributes: Any) -> NodeProto:
    return helper.make_node(op_type, ["" if name == "-" else name for name in inputs.split()], [output], **attributes)


def qlinear_conv(
    label: str, x: Array, w: Array, zw: Array, *, bias: bool = True, products: int = 1, **attributes: Any
) -> Case:
    weights = {
        "w": w,
        "sx": np.array(0.02, np.float32),
        "zx": np.array(9, x.dtype),
        "sw": scales(*zw.shape),
        "zw": zw,
        "sy": np.array(0.6, np.float32),
        "zy": np.array(3, x.dtype),
        "bias": RANDOM.integers(-900, 900, len(w)).astype(np.int32),
    }
    names = "x sx zx w sw zw sy zy bias" if bias else "x sx zx w sw zw sy zy"
    return Case(label, [node("QLinearConv", names, **attributes)], {"x": x}, weights, products=products)


PADDED: dict[str, Any] = {"pads": [1, 1, 1, 1]}
CASES = [
    Case(
        "no zero points", [node("MatMulInteger", "a b")], {"a": numbers(U8, 3, 8), "b": numbers(S8, 8, 5)}, exact=True
    ),
    Case(
        "both zero points",
        [node("MatMulInteger", "a b za zb")],
        {"a": numbers(U8, 2, 3, 8), "b": numbers(S8, 8, 5), "za": ZERO, "zb": FAR},
        exact=True,
    ),
    Case(
        "a zero point for each row and column",
        [node("MatMulInteger", "a b za zb")],
        {"a": numbers(S8, 3, 8), "b": numbers(U8, 8, 5), "za": numbers(S8, 3, 1)},
        {"zb": numbers(U8, 5)},
        exact=True,
    ),
    Case(
        "weights that keep their zero point",
        [node("MatMulInteger", "a b za zb")],
        {"a": numbers(U8, 3, 8)},
        {"b": numbers(U8, 8, 5), "za": ZERO, "zb": np.array(3, U8)},
        exact=True,
    ),
    Case(
        "weights that lose it",
        [node("MatMulInteger", "a b za zb")],
        {"a": numbers(U8, 3, 8)},
        {"b": numbers(U8, 8, 5), "za": ZERO, "zb": np.array(128, U8)},
        exact=True,
    ),
    Case(
        "a convolution padded with what is not known",
        [node("ConvInteger", "x w zx", pads=[1, 0, 1, 1])],
        {"x": numbers(U8, 1, 2, 5, 6), "zx": ZERO},
        {"w": numbers(S8, 3, 2, 3, 3)},
        exact=True,
    ),
    Case(
        "a convolution's weights that keep their zero points",
        [node("ConvInteger", "x w zx zw", **PADDED)],
        {"x": numbers(U8, 1, 2, 5, 6)},
        {"w": numbers(U8, 3, 2, 3, 3), "zx": ZERO, "zw": numbers(U8, 3)},
        exact=True,
        products=2,
    ),
    Case(
        "of which there is one",
        [node("ConvInteger", "x w zx zw", **PADDED)],
        {"x": numbers(U8, 1, 2, 5, 6)},
        {"w": numbers(U8, 3, 2, 3, 3), "zx": ZERO, "zw": np.array(3, U8)},
        exact=True,
        products=2,
    ),
    Case(
        "groups with zero points stay i32",
        [node("ConvInteger", "x w zx zw", group=2, **PADDED)],
        {"x": numbers(U8, 1, 2, 5, 6)},
        {"w": numbers(U8, 4, 1, 3, 3), "zx": ZERO, "zw": np.array(3, U8)},
        exact=True,
        products=0,
    ),
    qlinear_conv("conv", numbers(U8, 1, 4, 6, 6), numbers(S8, 8, 4, 3, 3), np.array(0, S8), **PADDED),
    qlinear_conv("conv per channel", numbers(U8, 2, 4, 6, 6), numbers(S8, 8, 4, 3, 3), np.zeros(8, S8), strides=[2, 2]),
    qlinear_conv("signed conv", numbers(S8, 1, 4, 6, 6), numbers(S8, 8, 4, 1, 1), np.array(0, S8), bias=False),
    qlinear_conv("depthwise", numbers(U8, 1, 4, 6, 6), numbers(S8, 4, 1, 3, 3), np.zeros(4, S8), group=4, **PADDED),
    qlinear_conv(
        "conv of weights with a zero point",
        numbers(U8, 1, 4, 6, 6),
        numbers(U8, 8, 4, 3, 3),
        ZERO,
        products=2,
        **PADDED,
    ),
    qlinear_conv("1-D", numbers(U8, 1, 4, 9), numbers(S8, 8, 4, 3), np.array(0, S8), pads=[1, 1]),
    Case(
        "QLinearMatMul",
        [node("QLinearMatMul", "a sa za b sb zb sy zy")],
        {"a": numbers(U8, 3, 8)},
        {"sa": scales(), "za": ZERO, "b": numbers(S8, 8, 5), "sb": scales(5), "zb": numbers(S8, 5) // S8(20)}
        | {"sy": np.array(0.3, np.float32), "zy": np.array(9, U8)},
    ),
]


def graph_of(model: ModelProto) -> tuple[ModuleOp, MiniContext]:
    """The graph that kernels are formed of."""
    ctx = MiniContext()
    module = import_onnx(model, ctx=ctx)
    run_phases(ctx, module, phases()[:2])
    return module, ctx


def products_of(module: ModuleOp) -> int:
    """Products of 8-bit numbers."""
    roots = [op for op in module.walk() if isinstance(op, MatmulOp | ConvOp)]
    return sum(numpy_dtype(element_type_of_value(op.operands[1])).itemsize == 1 for op in roots)


def assert_near(found: Array, wanted: Array, *, exact: bool) -> None:
    """The same numbers; off by one where floats are in between."""
    assert found.dtype == wanted.dtype
    assert np.abs(found.astype(np.int64) - wanted.astype(np.int64)).max() <= (0 if exact else 1)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_products_of_integers(case: Case) -> None:
    model = case.model()
    module, ctx = graph_of(model)
    assert products_of(module) == case.products
    (wanted,) = reference(model, case.inputs)
    assert_near(interpret(module, case.inputs, ctx.blobs)["y"], wanted, exact=case.exact)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled_with_and_without(case: Case) -> None:
    model = case.model()
    (wanted,) = reference(model, case.inputs)
    for integers in (True, False):
        (y,) = mi.compile(model, threads=1, integer_products=integers)(dict(case.inputs)).values()
        assert_near(y, wanted, exact=case.exact)


@pytest.mark.thinned(9)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_integers_on_a_gpu(case: Case) -> None:
    here, there = (
        mi.compile(case.model(), device=device)(dict(case.inputs))["y"] for device in ("cpu", "cuda-emulated")
    )
    np.testing.assert_array_equal(there, here)
