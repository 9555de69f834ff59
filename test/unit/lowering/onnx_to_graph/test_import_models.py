"""Whole models, imported and interpreted in double precision: what onnxruntime computes is close to it."""

from __future__ import annotations

import numpy as np
import pytest
from import_cases import imported, onnxruntime
from models.build import LIGHT_MODELS, SMALL_MODELS, example_inputs, mlp, seeded_light_model, transformer
from onnx import ModelProto

from mini_infer.dialects.graph.interpreter import interpret


def error(model: ModelProto, **dims: int) -> float:
    """The error of onnxruntime to the imported model in double precision, relative to the largest element."""
    inputs = example_inputs(model, **dims)
    module, ctx = imported(model, dims=dims)
    exact = interpret(module, inputs, ctx.blobs, precision=np.float64).values()
    found = onnxruntime(model, inputs)
    return max(
        float(np.max(np.abs(wanted - got)) / np.max(np.abs(wanted))) for wanted, got in zip(exact, found, strict=True)
    )


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_small_models(name: str) -> None:
    assert error(SMALL_MODELS[name]()) < 1e-6


def test_dynamic_dimensions() -> None:
    assert error(mlp(batch="n"), n=5) < 1e-6
    assert error(transformer(batch="n", tokens="t"), n=2, t=6) < 1e-6


def test_squeezenet() -> None:
    assert error(seeded_light_model("squeezenet")) < 5e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", LIGHT_MODELS)
def test_light_models(name: str) -> None:
    assert error(seeded_light_model(name)) < 5e-6
