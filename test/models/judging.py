"""Judging a compiled model: its error against double precision, beside ONNX Runtime's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from import_cases import imported, onnxruntime
from models.build import example_inputs
from onnx import ModelProto
from onnx.helper import tensor_dtype_to_np_dtype

import mini_infer as mi
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.values import Array

FLOOR = 2e-6  # an error, relative to the largest element, that is always small enough


def distance(found: Array, expected: Array) -> float:
    """max|found - expected| / max|expected|, in double precision."""
    if not expected.size:
        return 0.0
    wide = expected.astype(np.float64)
    return float(np.max(np.abs(found.astype(np.float64) - wide)) / (np.max(np.abs(wide)) or 1))


@dataclass(frozen=True)
class Judge:
    """A model with inputs, what it gives in double precision, and the error that ONNX Runtime makes (or rounding)."""

    model: ModelProto
    inputs: Mapping[str, Array]
    exact: Mapping[str, Array]
    peer_errors: Mapping[str, float]

    @classmethod
    def of(cls, model: ModelProto, seed: int = 0) -> Judge:
        """Evaluates the model in double precision and in ONNX Runtime."""
        inputs = example_inputs(model, seed)
        module, ctx = imported(model)
        exact = interpret(module, inputs, ctx.blobs, precision=np.float64)
        theirs = dict(zip(exact, onnxruntime(model, inputs), strict=True))
        return cls(model, inputs, exact, {name: distance(theirs[name], exact[name]) for name in exact})

    @classmethod
    def of_rounding(cls, model: ModelProto, seed: int = 0) -> Judge:
        """With the error of exact results that are rounded once to the model's own types: no engine's is smaller."""
        inputs = example_inputs(model, seed)
        module, ctx = imported(model)
        exact = interpret(module, inputs, ctx.blobs, precision=np.float64)
        dtypes = [tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in model.graph.output]
        rounded = {name: exact[name].astype(dtype) for name, dtype in zip(exact, dtypes, strict=True)}
        return cls(model, inputs, exact, {name: distance(rounded[name], exact[name]) for name in exact})

    def compiled(self, **options: Any) -> dict[str, Array]:
        """What the compiled model gives, twice over, on a CPU with an arena full of NaN."""
        on_cpu = "device" not in options
        if on_cpu:
            options.setdefault("threads", 1)
        plan = mi.compile(self.model, **options).plan
        context = plan.create_execution_context()
        if on_cpu:
            context.arena.data[:] = 255
        first, second = context.run(self.inputs), context.run(self.inputs)
        assert_same_bits(second, first)
        return first

    def check(self, outputs: Mapping[str, Array]) -> None:
        """Every output is at most 4 times as far from the exact one as the peer's, or within FLOOR."""
        assert list(outputs) == list(self.exact)
        for name, array in outputs.items():
            allowed = max(4 * self.peer_errors[name], FLOOR)
            found = distance(array, self.exact[name])
            assert found <= allowed, f"{name} is off by {found:.2e}, allowed are {allowed:.2e}"


def assert_same_bits(found: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    """The same outputs, bit by bit."""
    assert list(found) == list(expected)
    for name, array in found.items():
        assert (array.dtype, array.shape) == (expected[name].dtype, expected[name].shape)
        np.testing.assert_array_equal(array, expected[name], err_msg=name)
        assert array.tobytes() == expected[name].tobytes(), f"{name}: zeros of another sign"
