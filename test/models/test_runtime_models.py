"""Models as ONNX Runtime's optimiser and its quantiser write them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.lowering.pipelines import run_phases
from mini_infer.runtime.compile.engine_phases import engine_phases

from .build import SMALL_MODELS, example_inputs

RUNTIME: Any = import_module("onnxruntime")  # has no usable types
QUANTIZATION: Any = import_module("onnxruntime.quantization")
WITHOUT = RUNTIME.GraphOptimizationLevel.ORT_DISABLE_ALL
FUSED = RUNTIME.GraphOptimizationLevel.ORT_ENABLE_EXTENDED


def run(model: ModelProto, inputs: dict[str, Array], level: Any, written: Path | None = None) -> list[Array]:
    """What ONNX Runtime computes; with a path it writes there what it made of the model."""
    options = RUNTIME.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    if written is not None:
        options.optimized_model_filepath = str(written)
    session = RUNTIME.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def read(path: Path) -> ModelProto:
    return ModelProto.FromString(path.read_bytes())


def own(model: ModelProto, inputs: dict[str, Array], *, compiled: bool, integers: bool = True) -> list[Array]:
    """What the model's graph computes, optimised and then interpreted, or compiled."""
    if compiled:
        return list(mi.compile(model, threads=1, integer_products=integers)(inputs).values())
    ctx = MiniContext()
    module = import_onnx(model, ctx=ctx)
    run_phases(ctx, module, engine_phases(mi.EngineConfig(integer_products=integers))[:2])
    return list(interpret(module, inputs, ctx.blobs).values())


def farthest(found: list[Array], wanted: list[Array]) -> float:
    """The largest difference, relative to the largest result."""
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(found, wanted, strict=True))


COMPILED = [False, pytest.param(True, marks=pytest.mark.slow)]


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_optimised(name: str, compiled: bool, tmp_path: Path) -> None:
    model = SMALL_MODELS[name]()
    inputs = example_inputs(model)
    wanted = run(model, inputs, FUSED, tmp_path / "optimised.onnx")
    assert farthest(own(read(tmp_path / "optimised.onnx"), inputs, compiled=compiled), wanted) < 1e-5


def quantised(name: str, how: str, folder: Path) -> ModelProto:
    """A small model as the quantiser writes it, calibrated on its example inputs."""
    before, after = folder / "before.onnx", folder / "after.onnx"
    model = SMALL_MODELS[name]()
    before.write_bytes(model.SerializeToString())
    # Weights of 7 bits: without VNNI, ONNX Runtime's sums of two products of bytes overflow with 8.
    if how == "dynamic":
        QUANTIZATION.quantize_dynamic(before, after, reduce_range=True)
        return read(after)

    class Reader(QUANTIZATION.CalibrationDataReader):
        def __init__(self) -> None:
            self.left = [example_inputs(model)]

        def get_next(self) -> dict[str, Array] | None:
            return self.left.pop() if self.left else None

    form = QUANTIZATION.QuantFormat.QOperator if how == "QOperator" else QUANTIZATION.QuantFormat.QDQ
    QUANTIZATION.quantize_static(before, after, Reader(), form, per_channel=how == "QDQ", reduce_range=True)
    return read(after)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("how", ["QDQ", "QOperator", "dynamic"])
@pytest.mark.parametrize("name", ["resnet", "mobilenet", "transformer"])
def test_quantised(name: str, how: str, compiled: bool, tmp_path: Path) -> None:
    """A result may be off by a few of 256 steps, as ONNX Runtime's own are with and without optimisation."""
    model = quantised(name, how, tmp_path)
    inputs = example_inputs(model)
    wanted = run(model, inputs, WITHOUT)
    allowed = 0.03 + farthest(run(model, inputs, FUSED), wanted)
    for integers in (True, False):
        assert farthest(own(model, inputs, compiled=compiled, integers=integers), wanted) < allowed
