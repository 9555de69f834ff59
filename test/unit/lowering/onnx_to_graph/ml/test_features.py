"""Operators of ai.onnx.ml on features, and linear models, as ONNX Runtime computes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from import_cases import computed
from microsoft_cases import Case, check, model_of, onnxruntime
from onnx import TensorProto, numpy_helper

from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph import import_onnx

RANDOM = np.random.default_rng(5)
NAN = float("nan")
X = RANDOM.uniform(-2, 2, (5, 4)).astype(np.float32)
WITH_NAN = np.where(RANDOM.random((5, 4)) < 0.4, np.float32(NAN), X)
WHOLE = RANDOM.integers(-3, 4, (5, 4))
ROW = X[0]


def case(op_type: str, *operands: Array, version: int = 1, note: str = "", results: int = 1, **attributes: Any) -> Case:
    return Case(
        op_type,
        operands,
        attributes,
        results=range(results),
        domain="ai.onnx.ml",
        version=version,
        note=f"{[x.shape for x in operands]} {[str(x.dtype) for x in operands]} {attributes} {note}",
    )


def encoder(x: Array, keys: Array, values: Array, default: Array | None = None) -> Case:
    tables = {
        "keys_tensor": numpy_helper.from_array(keys),
        "values_tensor": numpy_helper.from_array(values),
        "default_tensor": numpy_helper.from_array(np.zeros(1, values.dtype) if default is None else default),
    }
    return replace(case("LabelEncoder", x, version=4, note=f"{keys} {values}"), attributes=tables)


FOUR = [0.5, 1.0, -2.0, 0.25]
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
WEIGHTS = RANDOM.uniform(-1, 1, 12).astype(np.float32).tolist()
CASES = [
    case("Scaler", X, offset=FOUR, scale=[2.0, 0.5, 3.0, 1.0]),
    case("Scaler", X, offset=[0.5], scale=[2.0]),
    case("Scaler", X.astype(np.float64), offset=FOUR, scale=FOUR),
    case("Scaler", WHOLE, offset=FOUR, scale=FOUR),
    case("Scaler", ROW, offset=FOUR, scale=FOUR),
    *(case("Normalizer", x, norm=norm) for norm in ("MAX", "L1", "L2") for x in (X, np.abs(X), ROW, X * 0)),
    case("Normalizer", WHOLE, norm="L2"),
    case("Normalizer", X.astype(np.float64), norm="L1"),
    case("Imputer", WITH_NAN, imputed_value_floats=FOUR, replaced_value_float=NAN),
    case("Imputer", WITH_NAN, imputed_value_floats=[7.0], replaced_value_float=NAN),
    case("Imputer", WHOLE, imputed_value_int64s=[7, 8, 9, 10], replaced_value_int64=2),
    case("Binarizer", X, threshold=0.5),
    case("Binarizer", X),
    case("ArrayFeatureExtractor", X, np.array([2, 0, 2])),
    case("ArrayFeatureExtractor", X, np.array([[1]])),
    case("ArrayFeatureExtractor", ROW, np.array([[3, 0]])),
    case("ArrayFeatureExtractor", WHOLE, np.array([3])),
    case("FeatureVectorizer", X, X[:, :2], inputdimensions=[4, 2]),
    case("FeatureVectorizer", X, X[:, :2], inputdimensions=[3, 5]),
    case("OneHotEncoder", WHOLE, cats_int64s=[-3, 0, 2, 1]),
    case("OneHotEncoder", WHOLE[:, 0], cats_int64s=[-3, 0, 2, 1], zeros=1),
    case("OneHotEncoder", X, cats_int64s=[-1, 0, 1]),
    case("LabelEncoder", WHOLE, version=2, keys_int64s=[2, -1, 0], values_floats=[0.5, 1.5, 2.5], default_float=-7.0),
    case("LabelEncoder", X, version=2, keys_floats=ROW.tolist(), values_int64s=[4, 5, 6, 7]),
    case("LabelEncoder", WHOLE, version=2, keys_int64s=[3, -3, 1], values_int64s=[4, 5, 6], default_int64=9),
    case("LabelEncoder", WITH_NAN, version=2, keys_floats=[*ROW.tolist(), NAN], values_floats=[*FOUR, 8.0]),
    encoder(WITH_NAN, np.array([*ROW, NAN], np.float32), np.array([1, 2, 3, 4, 5])),
    encoder(WHOLE, np.array([2, 0, 5]), np.array([7, 8, 9])),
    encoder(X.astype(np.float64), ROW.astype(np.float64), np.array([0.1, 0.2, 0.3, 0.4])),
    case("LinearRegressor", X, coefficients=WEIGHTS[:4], intercepts=[0.5]),
    case("LinearRegressor", X, coefficients=WEIGHTS[:4]),
    case("LinearRegressor", ROW[None], coefficients=WEIGHTS, intercepts=[0.5, 1.0, -0.5], targets=3),
    *(case("LinearRegressor", X, coefficients=WEIGHTS, targets=3, post_transform=each) for each in TRANSFORMS),
    *(
        case(
            "LinearClassifier",
            X,
            results=2,
            coefficients=WEIGHTS,
            intercepts=[0.5, 1.0, -0.5],
            classlabels_ints=[2, 5, 1],
            post_transform=each,
        )
        for each in TRANSFORMS
    ),
    *(
        case(
            "LinearClassifier",
            X,
            results=2,
            coefficients=WEIGHTS[:8],
            intercepts=[0.5, 1.0],
            classlabels_ints=[2, 5],
            post_transform=each,
        )
        for each in TRANSFORMS
    ),
    *(
        case(
            "LinearClassifier",
            X,
            results=2,
            coefficients=WEIGHTS[:4],
            intercepts=[0.25],
            classlabels_ints=[3, 8],
            post_transform=each,
        )
        for each in TRANSFORMS
    ),
]


@pytest.mark.parametrize("each", CASES, ids=str)
def test_an_operator(each: Case) -> None:
    check(each)


def test_a_maximum_leaves_nan_out() -> None:
    x = np.array([[2.0, NAN, -4.0], [NAN, NAN, NAN], [NAN, 0.0, -1.0], [NAN, -2.0, -1.0]], np.float32)
    model, inputs = model_of(case("Normalizer", x, norm="MAX"), [TensorProto.FLOAT])
    np.testing.assert_array_equal(computed(model, inputs)["y0"], onnxruntime(model, inputs)[0])


@pytest.mark.parametrize("number", [0, 5, 17, 22, 26, 27, 33])
def test_a_compiled_operator(number: int) -> None:
    check(CASES[number], compiled=True)


@pytest.mark.parametrize(
    ("each", "message"),
    [
        (case("Scaler", X, offset=[1.0, 2.0], scale=[1.0]), "2 numbers offset for 4 columns"),
        (case("Normalizer", X, norm="L3"), "norm L3 is unknown"),
        (case("Imputer", X, imputed_value_floats=[1.0, 2.0]), "2 imputed values for 4 columns"),
        (case("Imputer", X), "imputed_value_floats is missing"),
        (case("FeatureVectorizer", X, inputdimensions=[1, 2]), "2 inputdimensions for 1 operands"),
        (case("FeatureVectorizer", X, inputdimensions=[-1]), "inputdimensions of -1"),
        (case("OneHotEncoder", WHOLE, cats_strings=["a"]), "cats_strings: categories that are texts"),
        (case("OneHotEncoder", WHOLE, cats_int64s=[1], zeros=0), "zeros = 0: an error for an unknown category"),
        (case("LabelEncoder", WHOLE, version=2, keys_strings=["a"], values_int64s=[1]), "keys_strings: labels that"),
        (case("LabelEncoder", WHOLE, version=2, keys_int64s=[1], values_strings=["a", "b"]), "1 keys and 2 values"),
        (case("LabelEncoder", WHOLE, version=2, keys_int64s=[1], values_int64s=[1, 2]), "1 keys and 2 values"),
        (case("LabelEncoder", WHOLE, version=1, classes_strings=["a"]), "classes_strings: labels that are texts"),
        (case("LinearRegressor", X, coefficients=WEIGHTS[:5]), "5 coefficients for 4 features"),
        (case("LinearRegressor", X, coefficients=WEIGHTS[:8]), "coefficients for 2 targets of 1"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_refused(each: Case, message: str) -> None:
    with pytest.raises((InvalidModelError, UnsupportedError), match=rf"the_node \({each.op_type}\): {message}"):
        import_onnx(model_of(each)[0])


def test_operators_on_texts_and_maps_are_refused_by_name() -> None:
    for op_type, why in (("CategoryMapper", "it computes with strings"), ("DictVectorizer", "it takes a map")):
        model, _ = model_of(Case(op_type, [X], domain="ai.onnx.ml"))
        with pytest.raises(UnsupportedError, match=rf"ai.onnx.ml.{op_type} \(the_node: {why}"):
            import_onnx(model)
