"""Small language models as exporters write them: graphs in test/data/language_models, filled with seeded weights.

NAME_builder is by ONNX Runtime's model builder (onnxruntime-genai 0.18), NAME_torch by PyTorch's exporter (torch 2.13,
transformers 4.57) for an opset, "plain" without names for inputs. Their weights were left out.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from mini_infer.dialects.graph.values import Array

FOLDER = Path(__file__).parents[1] / "data" / "language_models"
NAMES = sorted(each.name.removesuffix(".onnx.xz") for each in FOLDER.glob("*.xz"))
HEADS, SIZE = 2, 16
"""Heads of keys and values of all models, and elements of each."""


def exported(name: str) -> ModelProto:
    """The model with weights."""
    model = ModelProto()
    model.ParseFromString(lzma.decompress((FOLDER / f"{name}.onnx.xz").read_bytes()))
    random = np.random.default_rng(len(name))
    for tensor in model.graph.initializer:
        if not tensor.raw_data and all(tensor.dims):
            dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
            tensor.CopyFrom(numpy_helper.from_array(_weights(tensor, random).astype(dtype), tensor.name))
    for attribute in (each for node in model.graph.node for each in node.attribute):
        if attribute.name == "accuracy_level":  # 4, for which a runtime may round what it multiplies, or not
            attribute.i = 0
    return model


def _weights(tensor: TensorProto, random: np.random.Generator) -> Array:
    name, shape = tensor.name, tuple(tensor.dims)
    if "cos" in name or "sin" in name:
        angles = np.arange(shape[0])[:, None] * 10000.0 ** (-np.arange(shape[1]) / shape[1])
        return np.cos(angles) if "cos" in name else np.sin(angles)
    if tensor.data_type == TensorProto.UINT8:
        return random.integers(0, 256, shape)
    numbers = random.standard_normal(shape)
    if "scale" in name:
        return 0.025 + 0.003 * numbers
    if "norm" in name:
        return 1 + 0.2 * numbers
    return numbers if "embed" in name else numbers / 8


def by_onnxruntime(model: ModelProto, prompt: Sequence[int], count: int, capacity: int) -> list[int]:
    """The most likely tokens behind a prompt."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = runtime.InferenceSession(model.SerializeToString(), options)
    inputs, outputs = ([each.name for each in listed] for listed in (session.get_inputs(), session.get_outputs()))
    shared = any(node.op_type == "GroupQueryAttention" for node in model.graph.node)
    room = capacity if shared else 0
    declared = {each.name: each.type.tensor_type.shape.dim for each in model.graph.input}
    pasts = [name for name in inputs if name.startswith("past")]
    presents = [name.replace("past_key_values", "present").replace("past", "present") for name in pasts]
    if presents[0] not in outputs:
        presents = outputs[1:]
    states = {name: [each.dim_value for each in dims[1:]] for name, dims in declared.items()}
    shapes = {name: states[name] if all(states[name]) else [HEADS, room, SIZE] for name in pasts}
    caches = {name: np.zeros((1, *shape), np.float32) for name, shape in shapes.items()}
    length, found = 0, list[int]()
    ids, *later = [[token] for token in prompt] if declared["input_ids"][1].dim_value == 1 else [list(prompt)]
    while len(found) < count:
        end = length + len(ids)
        given = {
            "input_ids": np.array([ids]),
            "attention_mask": np.ones((1, end), np.int64),
            "position_ids": np.arange(length, end)[None],
        }
        results = session.run(None, {**{name: given[name] for name in inputs if name in given}, **caches})
        named = dict(zip(outputs, results, strict=True))
        caches = {past: named[present] for past, present in zip(pasts, presents, strict=True)}
        length, token = end, int(np.argmax(results[0][0, -1]))
        found += [] if later else [token]
        ids = later.pop(0) if later else [token]
    return found
