"""For tests of graph ops: build one on arrays, run it, and compare it with ONNX's own reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.test import TestOp
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.values import Array, element_type_of, tensor, type_of

Build = Callable[..., GraphOp]


def random(*shape: int, seed: int = 0, dtype: Any = np.float32, low: float = -2, high: float = 2) -> Array:
    """Uniform numbers in [low, high)."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def values_of(arrays: Sequence[Array]) -> list[SSAValue]:
    """Values with the types of the arrays."""
    return list(TestOp(result_types=[tensor(element_type_of(a.dtype), a.shape) for a in arrays]).results)


def run(build: Build, *arrays: Array) -> tuple[Array, ...]:
    """Builds an op on values like the arrays, verifies and evaluates it, and compares results and types."""
    op = build(*values_of(arrays))
    op.verify()
    results = op.evaluate(*arrays)
    for value, result in zip(op.results, results, strict=True):
        assert type_of(value) == tensor(element_type_of(result.dtype), result.shape)
    return results


def onnx_results(
    op_type: str, inputs: Sequence[Array | None], attributes: Mapping[str, Any], outputs: int = 1
) -> list[Array]:
    """What ONNX's reference gives for one node; None is an absent input."""
    names = ["" if array is None else f"x{index}" for index, array in enumerate(inputs)]
    results = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(op_type, names, results, **attributes)
    given = {name: array for name, array in zip(names, inputs, strict=True) if array is not None}
    declared = [
        helper.make_tensor_value_info(name, numpy_helper.from_array(array).data_type, array.shape)
        for name, array in given.items()
    ]
    unknown = [helper.make_tensor_value_info(name, onnx.TensorProto.UNDEFINED, None) for name in results]
    graph = helper.make_graph([node], "one node", declared, unknown)
    reference = cast(Any, ReferenceEvaluator(helper.make_model(graph)))
    with np.errstate(all="ignore"):
        return reference.run(None, given)


def check(
    build: Build,
    arrays: Sequence[Array],
    op_type: str,
    attributes: Mapping[str, Any] | None = None,
    *,
    inputs: Sequence[Array | None] | None = None,
    outputs: int = 1,
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> None:
    """The op on the arrays must give what the ONNX node gives on `inputs` (absent: the same arrays)."""
    results = run(build, *arrays)
    expected = onnx_results(op_type, arrays if inputs is None else inputs, attributes or {}, outputs)
    for result, wanted in zip(results, expected, strict=True):
        wanted = np.asarray(wanted)
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        if result.dtype.kind in "biu":
            np.testing.assert_array_equal(result, wanted)
        else:
            np.testing.assert_allclose(result.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=atol)
