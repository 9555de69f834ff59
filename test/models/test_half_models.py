"""Models in f16 and bf16, end to end: as exact as ONNX Runtime, whose error is that of rounding results at the least.

Where ONNX Runtime's results are of 16 bits, none of them can be nearer than the 16-bit float nearest to the exact one.
Four times the error of that is at most four times ONNX Runtime's own, which has no code for bf16 on CPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import cycle, product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from models.build import SMALL_MODELS, ModelBuilder, in_halves
from models.judging import Judge, assert_same_bits
from onnx import ModelProto


def squeezenet() -> ModelProto:
    """Eight fire modules, as deep as SqueezeNet, with logits as large as training makes them."""
    b = ModelBuilder("squeezenet")

    def convolution(x: str, inputs: int, outputs: int, kernel: int = 1, gain: float = 2**0.5) -> str:
        weight, bias = b.weight(outputs, inputs, kernel, kernel, gain=gain), b.uniform(-0.1, 0.1, outputs)
        return b.node("Relu", b.node("Conv", x, weight, bias, pads=[kernel // 2] * 4))

    x = convolution(b.input("x", [1, 3, 16, 16]), 3, 16, 3)
    x = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    for _ in range(8):
        narrow = convolution(x, 16, 8)
        x = b.node("Concat", convolution(narrow, 8, 8), convolution(narrow, 8, 8, 3), axis=1)
    x = b.node("Flatten", b.node("GlobalAveragePool", convolution(x, 16, 20, gain=10)))
    return b.model([b.node("Softmax", x)])


def activations() -> ModelProto:
    """Operators that take several steps, one after the other."""
    b = ModelBuilder("activations")
    x = b.input("x", [2, 33])
    for name in ("HardSwish", "Mish", "Selu", "Celu") * 3:
        x = b.node(name, b.node("MatMul", x, b.weight(33, 33, gain=1.4)))
    return b.model([b.node("Softmax", b.node("MatMul", x, b.weight(33, 9, gain=8)))])


MODELS: dict[str, Callable[[], ModelProto]] = {"squeezenet": squeezenet, "activations": activations, **SMALL_MODELS}
HALVES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
QUICK = list(zip(MODELS, cycle(HALVES)))
CASES = [
    pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow, id="-".join(case))
    for case in product(MODELS, HALVES)
]


@cache
def judge(name: str, half: str) -> Judge:
    return Judge.of_rounding(in_halves(MODELS[name](), HALVES[half]))


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("name", "half"), CASES)
def test_as_exact_as_rounding(name: str, half: str) -> None:
    judge(name, half).check(judge(name, half).compiled())


@pytest.mark.thinned(4)
@pytest.mark.parametrize("options", [{"enable_memory_planning": False}, {"threads": 3}], ids=str)
@pytest.mark.parametrize(("name", "half"), QUICK)
def test_memory_passes_and_threads_change_no_bit(name: str, half: str, options: dict[str, Any]) -> None:
    assert_same_bits(judge(name, half).compiled(**options), judge(name, half).compiled())
