"""For tests of operators that are ONNX Runtime's own: models of one node, judged by what ONNX Runtime computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from import_cases import computed, computed_of_any_size
from models.build import onnx_type
from onnx import ModelProto, helper, numpy_helper
from typing_extensions import override

import mini_infer as mi
from mini_infer.dialects.graph.narrow_types import packed
from mini_infer.dialects.graph.values import Array


@dataclass(frozen=True)
class Case:
    """One node of com.microsoft, or of `domain`: operands (None is absent), attributes, which are initialisers."""

    op_type: str
    operands: Sequence[Array | None]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    known: Sequence[int] = ()
    results: Sequence[int] = (0,)  # those that are wanted
    tolerance: float = 1e-5  # relative to the largest element; of integers, how far off some may be
    domain: str = "com.microsoft"
    version: int = 1  # of the domain
    opset: int = 17
    note: str = ""

    @override
    def __str__(self) -> str:
        return f"{self.op_type} {self.note}".strip()


def model_of(case: Case, types: Sequence[int] = ()) -> tuple[ModelProto, dict[str, Array]]:
    """The case's model, and the arrays for its inputs; its results have the given types."""
    names = ["" if x is None else f"x{index}" for index, x in enumerate(case.operands)]
    given = {name: x for name, x in zip(names, case.operands, strict=True) if x is not None}
    weights = {name: given.pop(name) for name in [f"x{index}" for index in case.known] if name in given}
    results = [f"y{index}" if index in case.results else "" for index in range(max(case.results) + 1)]
    node = helper.make_node(case.op_type, names, results, name="the_node", domain=case.domain, **case.attributes)
    wanted = [name for name in results if name]
    graph = helper.make_graph(
        [node],
        "nodes",
        [helper.make_tensor_value_info(name, onnx_type(x.dtype), x.shape) for name, x in given.items()],
        [
            helper.make_tensor_value_info(name, kind, None)
            for name, kind in zip(wanted, types or [0] * len(wanted), strict=True)
        ],
        [numpy_helper.from_array(x, name) for name, x in weights.items()],
    )
    opsets = [helper.make_opsetid("", case.opset), helper.make_opsetid(case.domain, case.version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), given


def bytes_of(array: Array, bits: int) -> Array:
    """Numbers packed row by row, each row in bytes of its own."""
    rows = array.reshape(-1, array.shape[-1])
    return np.stack([packed(np.ascontiguousarray(row), bits) for row in rows]).reshape(*array.shape[:-1], -1)


def onnxruntime(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """What ONNX Runtime computes, without optimisations."""
    runtime: Any = import_module("onnxruntime")  # has no usable types
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(inputs))


def check(case: Case, *, compiled: bool = False) -> None:
    """The imported node, interpreted or compiled, gives what ONNX Runtime gives."""
    model, inputs = model_of(case)
    if compiled:
        found = [*mi.compile(model, threads=1)(inputs).values()]
    else:
        found = [*computed(model, inputs).values(), *computed_of_any_size(model, inputs).values()]
    types = [onnx_type(each.dtype) for each in found[: len(case.results)]]
    wanted = onnxruntime(model_of(case, types)[0], inputs)
    for got, expected in zip(found, wanted if compiled else wanted * 2, strict=True):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        limit = case.tolerance
        if got.dtype.kind == "f":
            limit *= float(np.abs(expected).max(initial=1.0))
        far = np.abs(got.astype(np.float64) - expected.astype(np.float64)).max(initial=0.0)
        assert far <= limit, f"off by {far}, {limit} allowed"
