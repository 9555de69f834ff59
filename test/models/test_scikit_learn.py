"""Models of scikit-learn, LightGBM and XGBoost, as their exporters write them, beside ONNX Runtime."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, cast

import numpy as np
import pytest
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

SEVERAL, TWO, TEXTS, NUMBERS = range(4)  # what is learnt: one of three classes, of two, of three texts, or a number


def data() -> tuple[Array, list[Array]]:
    random = np.random.default_rng(0)
    x = random.normal(size=(150, 6)).astype(np.float32)
    value = x[:, 0] - x[:, 1] * x[:, 2]
    kinds = np.digitize(value, [-0.5, 0.7])
    return x, [kinds, (value > 0).astype(np.int64), np.array(["cat", "dog", "emu"])[kinds], value]


def learner(path: str, **options: Any) -> Any:
    """A class of scikit-learn or its like by its path."""
    module, _, name = path.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(pytest.importorskip(module), name)(**options)


def pipeline(*steps: Any) -> Any:
    return pytest.importorskip("sklearn.pipeline").make_pipeline(*steps)


CLASSIFIERS: Mapping[str, Callable[[], Any]] = {
    "forest": lambda: learner("sklearn.ensemble.RandomForestClassifier", n_estimators=5, random_state=0),
    "boosting": lambda: learner("sklearn.ensemble.GradientBoostingClassifier", n_estimators=3),
    "logistic": lambda: pipeline(
        learner("sklearn.preprocessing.StandardScaler"), learner("sklearn.linear_model.LogisticRegression")
    ),
    "vectors": lambda: learner("sklearn.svm.SVC"),
    "chances": lambda: learner("sklearn.svm.SVC", probability=True, random_state=0),
    "neighbours": lambda: learner("sklearn.neighbors.KNeighborsClassifier", n_neighbors=3),
}
REGRESSORS: Mapping[str, Callable[[], Any]] = {
    "forest": lambda: learner("sklearn.ensemble.RandomForestRegressor", n_estimators=5, random_state=0),
    "vectors": lambda: learner("sklearn.svm.SVR", kernel="poly"),
    "pipeline": lambda: pipeline(
        learner("sklearn.impute.SimpleImputer"),
        learner("sklearn.preprocessing.Normalizer"),
        learner("sklearn.preprocessing.Binarizer", threshold=0.1),
        learner("sklearn.linear_model.Ridge"),
    ),
}
BOOSTERS = {
    "lightgbm": ("lightgbm.LGBM{}", {"n_estimators": 8, "min_child_samples": 3, "verbose": -1}),
    "xgboost": ("xgboost.XGB{}", {"n_estimators": 8}),
}


def same(found: Any, expected: Any) -> bool:
    """Whether outputs are the same, numbers but for rounding."""
    if isinstance(expected, list):
        rows: list[tuple[dict[Any, float], dict[Any, float]]] = list(zip(found, cast("Any", expected), strict=True))
        return all([*a] == [*b] and np.allclose([*a.values()], [*b.values()], rtol=1e-3, atol=1e-4) for a, b in rows)
    if np.asarray(expected).dtype.kind in "OU":
        return list(found) == list(expected)
    return found.shape == expected.shape and np.allclose(found, expected, rtol=1e-3, atol=2e-4)


def check(model: ModelProto, x: Array) -> None:
    runtime: Any = import_module("onnxruntime")  # has no usable types
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"X": x})
    found = mi.compile(model, shapes={"X": x.shape}, threads=1)({"X": x})
    assert [*found] == [each.name for each in session.get_outputs()]
    for got, wanted in zip(found.values(), expected, strict=True):
        assert same(got, wanted)


def exported(learnt: Any, target: Array) -> tuple[ModelProto, Array]:
    to_onnx: Any = pytest.importorskip("skl2onnx").to_onnx
    x, _ = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return to_onnx(learnt.fit(x, target), x[:1]), x[:40]


@pytest.mark.slow
@pytest.mark.parametrize("target", [SEVERAL, TWO, TEXTS])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier(name: str, target: int) -> None:
    check(*exported(CLASSIFIERS[name](), data()[1][target]))


@pytest.mark.slow
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor(name: str) -> None:
    check(*exported(REGRESSORS[name](), data()[1][NUMBERS]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:output label has shape")
@pytest.mark.parametrize("target", [SEVERAL, TWO, NUMBERS])
@pytest.mark.parametrize("name", BOOSTERS)
def test_a_booster_that_learnt_with_missing_values(name: str, target: int) -> None:
    path, options = BOOSTERS[name]
    convert = getattr(pytest.importorskip("onnxmltools"), f"convert_{name}")
    types: Any = import_module("onnxmltools.convert.common.data_types")
    x, targets = data()
    x[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    learnt = learner(path.format("Regressor" if target == NUMBERS else "Classifier"), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learnt.fit(x, targets[target])
        model = convert(learnt, initial_types=[("X", types.FloatTensorType([None, 6]))], target_opset=15)
    check(model, x[:40])
