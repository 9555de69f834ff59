"""ONNX's own suite for single operators: what is imported computes what it should, the rest is refused."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

from mini_infer.dialects.errors import UnsupportedError
from mini_infer.dialects.graph import Array, MiniContext, interpret
from mini_infer.lowering.onnx_to_graph import import_onnx

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


def attempt(model: ModelProto, inputs: dict[str, Array], known: set[str]) -> list[Array]:
    """What the model computes, with some inputs known when it is imported."""
    special = ModelProto()
    special.CopyFrom(model)
    special.graph.initializer.extend(numpy_helper.from_array(inputs[name], name) for name in known)
    given = {name: x for name, x in inputs.items() if name not in known}
    ctx = MiniContext()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = import_onnx(special, ctx=ctx, shapes={name: x.shape for name, x in given.items()})
    module.verify()
    return list(interpret(module, given, ctx.blobs).values())


def agree(found: list[Array], wanted: list[Array], tolerance: float) -> bool:
    """Whether types, shapes and values are as they should be."""
    for got, expected in zip(found, wanted, strict=True):
        if (got.dtype, got.shape) != (expected.dtype, expected.shape):
            return False
        numbers = np.asarray(got, np.float64), np.asarray(expected, np.float64)
        if not np.allclose(*numbers, rtol=tolerance, atol=1e-7, equal_nan=True):
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
