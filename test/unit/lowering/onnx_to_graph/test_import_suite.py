"""ONNX's own suite for single operators: what is imported computes what it should, the rest is refused."""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.errors import MiniInferError, UnsupportedError
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.lowering.onnx_to_graph.functions import schema_of
from mini_infer.lowering.onnx_to_graph.node import Node
from mini_infer.lowering.onnx_to_graph.operators import HANDLERS

# Cases that round every step to bfloat16 or float16, where an imported op rounds once, at its end.
ROUNDED = ("bf16", "fp16_expanded")


@dataclass(frozen=True)
class SuiteCase:
    """A case with its first set of data."""

    name: str
    model: ModelProto
    inputs: dict[str, Array]
    outputs: list[Array]
    tolerance: float  # relative


def arrays_of(values: Sequence[Any]) -> list[Array] | None:
    """The values as arrays, or None when one is a sequence or absent."""
    arrays = [numpy_helper.to_array(x) if isinstance(x, TensorProto) else x for x in values]
    if not all(isinstance(x, (np.ndarray, np.generic)) for x in arrays):
        return None
    return [np.asarray(x) for x in arrays]


def suite() -> Iterator[SuiteCase]:
    """The cases that take and give tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = cast(list[Any], load_model_tests(kind="node"))
    for case in cases:
        inputs, outputs = (arrays_of(values) for values in case.data_sets[0])
        if inputs is not None and outputs is not None:
            names = [value.name for value in case.model.graph.input]
            yield SuiteCase(case.name, case.model, dict(zip(names, inputs, strict=True)), outputs, case.rtol)


def imported(model: ModelProto, inputs: dict[str, Array], known: Set[str]) -> tuple[ModuleOp, MiniContext]:
    """The model, with some inputs known when it is imported."""
    special = ModelProto()
    special.CopyFrom(model)
    special.graph.initializer.extend(numpy_helper.from_array(inputs[name], name) for name in known)
    given = {name: x for name, x in inputs.items() if name not in known}
    ctx = MiniContext()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = import_onnx(special, ctx=ctx, shapes={name: x.shape for name, x in given.items()})
    return module, ctx


def attempt(model: ModelProto, inputs: dict[str, Array], known: set[str]) -> list[Array]:
    """What the model computes, with some inputs known when it is imported."""
    module, ctx = imported(model, inputs, known)
    module.verify()
    given = {name: x for name, x in inputs.items() if name not in known}
    return list(interpret(module, given, ctx.blobs).values())


def agree(found: list[Array], wanted: list[Array], tolerance: float) -> bool:
    """Whether types, shapes and values are as they should be."""
    for got, expected in zip(found, wanted, strict=True):
        if (got.dtype, got.shape) != (expected.dtype, expected.shape):
            return False
        numbers = np.asarray(got, np.float64), np.asarray(expected, np.float64)
        largest = max(1.0, np.abs(numbers[1][np.isfinite(numbers[1])]).max(initial=0))  # sums round by what is summed
        if not np.allclose(*numbers, rtol=tolerance, atol=1e-7 * largest, equal_nan=True):
            return False
    return True


def outcome(case: SuiteCase) -> str:
    """How a case ends. Inputs that carry shapes are known to the import where it asks for that."""
    integers = {name for name, x in case.inputs.items() if x.dtype.kind in "iub" or x.size <= 8}
    first = next(iter(case.inputs), "")
    for known in (set[str](), integers - {first}, integers):
        try:
            found = attempt(case.model, case.inputs, known)
        except UnsupportedError as error:
            if "must be known" not in str(error):
                break
        else:
            return "passed" if agree(found, case.outputs, case.tolerance) else "wrong"
    return "unsupported"


def _typed_default(node: Node, name: str) -> Any:
    """What ONNX says an attribute is where it is left out; None where it says nothing."""
    schema = schema_of(node.proto, node.scope.opsets)
    known = None if schema is None else schema.attributes.get(name)
    if known is None or not known.default_value.name:
        return None
    value = helper.get_attribute_value(known.default_value)
    return value.decode() if isinstance(value, bytes) else value


class WrongDefault(Exception):
    """A handler takes an attribute that is left out for something else than ONNX does."""


@pytest.fixture
def defaults(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """The attributes that were read, by operator; a default that is not ONNX's fails."""
    read: set[tuple[str, str]] = set()

    def watched(plain: Callable[..., Any]) -> Callable[..., Any]:
        def method(node: Node, name: str, default: Any = False) -> Any:
            wanted = _typed_default(node, name)
            if wanted is not None:
                read.add((node.op_type, name))
                given = np.float32(default) if isinstance(default, float) else default
                if given != wanted:
                    raise WrongDefault(f"{node.op_type}: {name} left out is {default}, ONNX says {wanted}")
            return plain(node, name, default)

        return method

    for kind in ("number", "integer", "flag", "text"):
        monkeypatch.setattr(Node, kind, watched(getattr(Node, kind)))
    return read


@pytest.mark.slow
def test_onnx_suite() -> None:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for case in suite():
        if not any(entry.domain == "" for entry in case.model.opset_import):
            continue
        result = outcome(case)
        counts[result] += 1
        if result == "wrong" and not any(part in case.name for part in ROUNDED):
            wrong.append(case.name)
    assert wrong == []
    assert counts["passed"] >= 1420


def plain_nodes() -> Iterator[ModelProto]:
    """A node without attributes of each operator, on operands of some shapes: many of them wrong for it."""
    for kind in sorted(HANDLERS):
        if not onnx.defs.has(kind):
            continue
        schema = onnx.defs.get_schema(kind)
        count = min(schema.max_input, max(schema.min_input, 3))
        window: dict[str, Any] = {"kernel_shape": [2, 2]} if "kernel_shape" in schema.attributes else {}
        for first, rest in (
            ((1, 4, 6, 6), (4, 4, 3, 3)),
            ((1, 4, 6, 6), (4,)),
            ((4, 4), (4, 4)),
            ((1, 4, 4), (1, 4, 4)),
        ):
            names = [f"x{index}" for index in range(count)]
            node = helper.make_node(kind, names, ["y"], **window)
            shapes = [first, *[rest] * (count - 1)]
            inputs = [helper.make_tensor_value_info(n, 1, shape) for n, shape in zip(names, shapes, strict=False)]
            result = helper.make_tensor_value_info("y", 0, None)
            yield helper.make_model(helper.make_graph([node], "plain", inputs, [result]))


def test_attributes_that_are_left_out_are_what_onnx_says(defaults: set[tuple[str, str]]) -> None:
    """And what doesn't fit is refused with an error of ours."""
    for model in plain_nodes():
        with contextlib.suppress(MiniInferError):
            imported(model, {}, set())
    assert {("InstanceNormalization", "epsilon"), ("LpPool", "p"), ("Gemm", "alpha"), ("LRN", "beta")} <= defaults
    assert len(defaults) > 60
