"""Support vector machines of ai.onnx.ml, as ONNX Runtime computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from microsoft_cases import Case, check, model_of

from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.lowering.onnx_to_graph import import_onnx

RANDOM = np.random.default_rng(6)
X = RANDOM.normal(size=(7, 3)).astype(np.float32)
KERNELS = {"LINEAR": [0.0, 0.0, 0.0], "POLY": [0.5, 1.0, 3.0], "RBF": [0.5, 0.0, 0.0], "SIGMOID": [0.3, 0.1, 0.0]}
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")


def numbers(count: int) -> list[float]:
    return RANDOM.normal(size=count).astype(np.float32).tolist()


def regressor(kernel: str, vectors: int, **more: Any) -> Case:
    attributes = {
        "kernel_type": kernel,
        "kernel_params": KERNELS[kernel],
        **({"n_supports": vectors, "support_vectors": numbers(3 * vectors)} if vectors else {}),
        "coefficients": numbers(vectors or 3),
        "rho": [0.3],
        **more,
    }
    return Case("SVMRegressor", [X], attributes, domain="ai.onnx.ml", note=f"{kernel} {vectors} {more}")


def classifier(kernel: str, vectors: list[int], *, chances: bool = False, **more: Any) -> Case:
    count, total = len(vectors), sum(vectors)
    pairs = count * (count - 1) // 2
    attributes = {
        "kernel_type": kernel,
        "kernel_params": KERNELS[kernel],
        "vectors_per_class": vectors,
        "support_vectors": numbers(3 * total),
        "coefficients": numbers((count - 1) * total),
        "rho": numbers(pairs),
        "classlabels_ints": [4, 9, 11, 2][:count],
        **({"prob_a": (-np.abs(numbers(pairs)) - 0.5).tolist(), "prob_b": numbers(pairs)} if chances else {}),
        **more,
    }
    note = f"{kernel} {vectors} {chances} {more}"
    return Case("SVMClassifier", [X], attributes, results=(0, 1), domain="ai.onnx.ml", note=note, tolerance=2e-5)


LINEAR = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0], "rho": [0.3], "classlabels_ints": [4, 9, 11]}
CASES = [
    *(regressor(kernel, 5) for kernel in KERNELS),
    regressor("LINEAR", 0),
    regressor("RBF", 5, one_class=1),
    *(classifier(kernel, [2, 3, 2]) for kernel in KERNELS),
    *(classifier("RBF", [2, 3], post_transform=each) for each in TRANSFORMS),
    *(classifier("LINEAR", [2, 3, 1, 2], post_transform=each) for each in TRANSFORMS),
    *(classifier("LINEAR", [2, 3], chances=True, post_transform=each) for each in TRANSFORMS),
    classifier("LINEAR", [2, 3, 1], chances=True),
    classifier("POLY", [2, 3, 1, 2], chances=True),
    Case("SVMClassifier", [X], {**LINEAR, "coefficients": numbers(9)}, results=(0, 1), domain="ai.onnx.ml"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_operator(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("number", [2, 6, 12, 19])
def test_a_compiled_operator(number: int) -> None:
    check(CASES[number], compiled=True)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (regressor("RBF", 5, kernel_params=[0.5]), "1 numbers kernel_params instead of 3"),
        (regressor("LINEAR", 2, coefficients=[1.0]), "1 coefficients instead of 2"),
        (regressor("RBF", 2, support_vectors=[1.0]), "1 numbers of 2 support vectors of 3 features"),
        (regressor("RBF", 2, kernel_type="CUBIC"), "kernel_type CUBIC is unknown"),
        (classifier("RBF", [1, 2], vectors_per_class=[1, 2, 3]), r"vectors_per_class \[1, 2, 3\] for 2 classes"),
        (classifier("RBF", [1, 2], prob_a=[1.0]), "1 numbers prob_a and 0 prob_b for 1 pairs"),
        (classifier("RBF", [1, 1, 2], rho=[1.0]), "1 numbers rho instead of 3"),
        (classifier("RBF", [1, 2], post_transform="PROBIT"), "post_transform PROBIT of one score"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_refused(case: Case, message: str) -> None:
    with pytest.raises((InvalidModelError, UnsupportedError), match=rf"the_node \({case.op_type}\): {message}"):
        import_onnx(model_of(case)[0])
