"""Functions of one float, each type, over the whole range: a few units in the last place from what numpy has in long
doubles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

Function = Callable[[Array], Array]
TYPES = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
MOST_ULPS = 3


def _sigmoid(x: Array) -> Array:
    size = np.exp(-np.abs(x))
    return np.where(x < 0, size, 1) / (1 + size)


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _erf(x: Array) -> Array:
    return np.array([math.erf(each) for each in x.astype(np.float64)])


FUNCTIONS: dict[str, tuple[Function, dict[str, Any]]] = {
    "Acos": (np.arccos, {}),
    "Acosh": (np.arccosh, {}),
    "Asin": (np.arcsin, {}),
    "Asinh": (np.arcsinh, {}),
    "Atan": (np.arctan, {}),
    "Atanh": (np.arctanh, {}),
    "Cos": (np.cos, {}),
    "Cosh": (np.cosh, {}),
    "Celu": (lambda x: np.maximum(x, 0) + np.minimum(2 * np.expm1(x / 2), 0), {"alpha": 2.0}),
    "Elu": (lambda x: np.where(x < 0, np.expm1(x), x), {}),
    "Erf": (_erf, {}),
    "Exp": (np.exp, {}),
    "Log": (np.log, {}),
    "Reciprocal": (lambda x: 1 / x, {}),
    "Round": (np.rint, {}),
    "Selu": (lambda x: 1.25 * np.where(x <= 0, 1.75 * np.expm1(x), x), {"alpha": 1.75, "gamma": 1.25}),
    "Shrink": (lambda x: np.where(x < -0.5, x + 0.25, np.where(x > 0.5, x - 0.25, 0)), {"bias": 0.25}),
    "Sigmoid": (_sigmoid, {}),
    "Sin": (np.sin, {}),
    "Sinh": (np.sinh, {}),
    "Softplus": (_softplus, {}),
    "Softsign": (lambda x: x / (1 + np.abs(x)), {}),
    "Sqrt": (np.sqrt, {}),
    "Tan": (np.tan, {}),
    "Tanh": (np.tanh, {}),
    "ThresholdedRelu": (lambda x: np.where(x > 1, x, 0), {}),
}


def _limits(dtype: Any) -> Any:
    """What there is to know of a float type."""
    return cast("Any", ml_dtypes.finfo)(dtype)


def _numbers(dtype: Any) -> Array:
    """Of every exponent and sign, many around 1, many beside 1, and the special ones."""
    random, limits = np.random.default_rng(11), _limits(dtype)
    low, high = float(limits.minexp), float(limits.maxexp) - 0.01
    spread = [random.uniform(low, high, 1500), random.uniform(-12, 8, 3000), random.uniform(-1, 0, 1000)]
    exponents = np.concatenate(spread)
    numbers = np.exp2(exponents) * random.choice([-1, 1], exponents.size)
    beside = 1 - np.exp2(random.uniform(-24, -1, 700))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5]
    with np.errstate(over="ignore"):
        return np.concatenate([numbers, beside, special]).astype(dtype)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("dtype", TYPES)
def test_functions(dtype: Any) -> None:
    x, limits = _numbers(dtype), _limits(dtype)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [helper.make_node(name, ["x"], [name], **given) for name, (_, given) in FUNCTIONS.items()]
    outputs = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in FUNCTIONS]
    graph = helper.make_graph(nodes, "functions", [helper.make_tensor_value_info("x", element, x.shape)], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    results = mi.compile(model)({"x": x})
    for name, (function, _) in FUNCTIONS.items():
        got = results[name].astype(np.longdouble)
        with np.errstate(all="ignore"):
            exact = function(x.astype(np.longdouble)).astype(np.longdouble)
            wanted = (
                exact.astype(np.float32 if dtype is ml_dtypes.bfloat16 else dtype).astype(dtype).astype(np.longdouble)
            )
        size = np.abs(exact)
        normal = np.isfinite(wanted) & (size >= float(limits.smallest_normal))
        with np.errstate(all="ignore"):
            ulps = np.abs(got - exact) / np.exp2(np.floor(np.log2(size)) + int(np.log2(float(limits.eps))))
        worst = np.argmax(np.where(normal, np.nan_to_num(ulps, nan=np.inf), 0))
        assert ulps[worst] <= MOST_ULPS or not normal[worst], f"{name}({x[worst]}): {ulps[worst]:.2f} ulps"
        small = np.isfinite(wanted) & ~normal
        assert (np.abs(got[small] - exact[small]) <= float(limits.smallest_normal)).all(), name
        np.testing.assert_array_equal(got[~np.isfinite(wanted)], wanted[~np.isfinite(wanted)], name)
