"""onnx.reference, mended: test_judge.py shows what is wrong.

Before opset 14 its BatchNormalization moves the mean that it is given; its LRN sums over as many channels as there are
images; its LpNormalization sums x instead of |x|; in float64 its Erf, and the sixth of its HardSwish, are float32.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from typing_extensions import override

from mini_infer.dialects.graph.values import Array


class LRN(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Array, alpha: float, beta: float, bias: float, size: int) -> tuple[Array]:
        below, above = (size - 1) // 2, size // 2
        squares = np.pad(x * x, ((0, 0), (below, above), *((0, 0),) * (x.ndim - 2)))
        sums = np.lib.stride_tricks.sliding_window_view(squares, size, axis=1).sum(-1)
        return ((x / (float(bias) + float(alpha) / size * sums) ** float(beta)).astype(x.dtype),)


class BatchNormalization(OpRun):
    op_domain = ""

    @override
    def _run(
        self, x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float = 1e-5, **_: Any
    ) -> tuple[Array]:
        shape = (-1, *[1] * (x.ndim - 2))
        scale, bias, mean, variance = (each.reshape(shape) for each in (scale, bias, mean, variance))
        return (((x - mean) / np.sqrt(variance + float(epsilon)) * scale + bias).astype(x.dtype),)


class Erf(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Array) -> tuple[Array]:
        return (np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype),)


class HardSwish(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Array) -> tuple[Array]:
        return ((x * np.clip(x / 6 + 0.5, 0, 1)).astype(x.dtype),)


class LpNormalization(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Array, axis: int = -1, p: int = 2) -> tuple[Array]:
        norms = (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        return (np.where(norms == 0, 0, x / norms).astype(x.dtype),)


def evaluate(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """The model's outputs, in order."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        evaluator = cast(Any, ReferenceEvaluator)(
            model, new_ops=[BatchNormalization, Erf, HardSwish, LRN, LpNormalization]
        )
        return [np.asarray(each) for each in evaluator.run(None, dict(inputs))]
