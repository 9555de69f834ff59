"""For tests of the import: models of one node, interpreted and compared with ONNX's own reference."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

import numpy as np
from models.build import onnx_type
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.fixed_sizes import settle
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.sizes.guards import Guards
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.lowering.onnx_to_graph.declared_inputs import Ranges


@dataclass(frozen=True)
class Case:
    """One node: operands (None is absent), opset, attributes, which operands are initialisers, results."""

    op_type: str
    operands: Sequence[Array | None]
    opset: int
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    known: Sequence[int] = ()
    results: int = 1
    runtime: bool = False  # onnxruntime is asked, because the reference is wrong or incomplete here
    tolerance: float = 1e-5  # of the error, relative to the largest element

    @override
    def __str__(self) -> str:
        return f"{self.op_type}-{self.opset}"


def model_of(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Array],
    weights: Mapping[str, Array],
    outputs: Sequence[str],
    opset: int = 20,
) -> ModelProto:
    """A model of some nodes, whose outputs have no stated type."""
    graph = helper.make_graph(
        nodes,
        "nodes",
        [helper.make_tensor_value_info(name, onnx_type(x.dtype), x.shape) for name, x in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs],
        [numpy_helper.from_array(x, name) for name, x in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def one_node(case: Case) -> tuple[ModelProto, dict[str, Array]]:
    """The case's model, and the arrays for its inputs."""
    names = ["" if x is None else f"x{index}" for index, x in enumerate(case.operands)]
    given = {name: x for name, x in zip(names, case.operands, strict=True) if x is not None}
    weights = {name: given.pop(name) for name in [f"x{index}" for index in case.known] if name in given}
    outputs = [f"y{index}" for index in range(case.results)]
    node = helper.make_node(case.op_type, names, outputs, name="the_node", **case.attributes)
    return model_of([node], given, weights, outputs, case.opset), given


def imported(model: ModelProto, **options: Any) -> tuple[ModuleOp, MiniContext]:
    """The verified module and the context that holds its weights. No warning may be given."""
    ctx = MiniContext()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = import_onnx(model, ctx=ctx, **options)
    module.verify()
    return module, ctx


def computed(model: ModelProto, inputs: Mapping[str, Array], **options: Any) -> dict[str, Array]:
    """What the imported model computes."""
    module, ctx = imported(model, **options)
    return interpret(module, inputs, ctx.blobs)


def computed_of_any_size(model: ModelProto, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """What it computes where each dimension of each input might have another size, and has the one that it has."""
    spans = {name: (x.shape, x.shape, [size + 1 for size in x.shape]) for name, x in inputs.items()}
    with Guards().collecting():
        module, ctx = imported(model, ranges=Ranges(shapes=spans))
    settle(module)
    return interpret(module, inputs, ctx.blobs)


def reference(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """What ONNX's reference computes."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return cast(Any, ReferenceEvaluator(model)).run(None, dict(inputs))


def onnxruntime(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """What onnxruntime computes. Outputs without a type are floats."""
    runtime: Any = import_module("onnxruntime")  # has no usable types
    typed = ModelProto()
    typed.CopyFrom(model)
    for value in typed.graph.output:
        if not value.type.tensor_type.elem_type:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(typed.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(inputs))


def check(case: Case) -> None:
    """Imports the case's node, and compares what it computes with the reference."""
    model, inputs = one_node(case)
    expected = onnxruntime(model, inputs) if case.runtime else reference(model, inputs)
    for compute in (computed, computed_of_any_size):
        found = list(compute(model, inputs).values())
        assert len(found) == len(expected)
        for got, wanted in zip(found, expected, strict=True):
            assert_close(got, np.asarray(wanted), case.tolerance)


def assert_close(got: Array, wanted: Array, tolerance: float = 1e-5) -> None:
    """Same type, same shape, and every element within `tolerance` of the largest one."""
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(got, wanted)
    else:
        finite = wanted[np.isfinite(wanted)]
        scale = float(np.max(np.abs(finite), initial=0))
        np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * max(scale, 1e-30))


def kinds(module: ModuleOp) -> list[str]:
    """The names of the graph ops in a module, without the dialect, in order."""
    return [op.name.removeprefix("graph.") for op in module.walk() if op.name.startswith("graph.")]
