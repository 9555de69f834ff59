"""Models in ONNX's text form, which shows graphs within graphs as they are."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, parser

from mini_infer.dialects.graph.values import Array


def model_of(text: str, opset: int = 17) -> ModelProto:
    """A model of which only the graph is given."""
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')


def numbers(*shape: int, seed: int = 0) -> Array:
    """Normally distributed float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
