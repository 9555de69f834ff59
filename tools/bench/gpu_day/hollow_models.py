"""Hollow models: ONNX models without the data of large weights, which random numbers replace when they are read.

    python -m mini_infer.tools.bench.gpu_day.hollow_models zoo/*.onnx --into build/hollow       # writes NAME.onnx.gz
    python -m mini_infer.tools.bench.gpu_day.hollow_models build/hollow/*.gz --into /tmp --fill  # writes NAME.onnx

They are carried to machines where only times and rounding matter: a ResNet-50 of 102 MB has 110 kB. The numbers have
the mean, the deviation and the range of those that were there. Weights whose values matter stay: those that are not
finite, or have few distinct values, such as masks. Weights of subgraphs, and constants of nodes, stay as well.
"""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import onnx
import typer
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ....dialects.atomic_file import atomic_file
from ....dialects.errors import InvalidModelError
from ...one_line_errors import run_alone

KEY = "mini_infer.hollow"
"""The model's property with [mean, deviation, least, largest] of each weight that was removed, by its name."""
SUFFIX = ".onnx.gz"
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)
LARGE = 2048  # elements
SAMPLE, DISTINCT = 4096, 64  # elements of a weight that are looked at, and different values among them


def hollow(model: ModelProto) -> ModelProto:
    """The model without the data of its large weights."""
    made, facts = ModelProto(), dict[str, list[float]]()
    made.CopyFrom(model)
    for weight in made.graph.initializer:
        if weight.data_type in FLOATS and np.prod(weight.dims, dtype=np.int64) > LARGE:
            values = numpy_helper.to_array(weight).ravel().astype(np.float64)
            sample = values[:: max(1, values.size // SAMPLE)]
            if np.isfinite(values).all() and np.unique(sample).size >= DISTINCT:
                facts[weight.name] = [float(each(values)) for each in (np.mean, np.std, np.min, np.max)]
                bare = TensorProto(name=weight.name, data_type=weight.data_type, dims=weight.dims)
                weight.CopyFrom(bare)
    helper.set_model_props(made, {**_properties(made), KEY: json.dumps(facts)})
    return made


def filled(model: ModelProto) -> ModelProto:
    """The model with random weights where its own were removed; others are equal. The same every time."""
    made, random = ModelProto(), np.random.default_rng(0)
    made.CopyFrom(model)
    properties = _properties(made)
    facts: dict[str, list[float]] = json.loads(properties.pop(KEY, "{}"))
    for weight in made.graph.initializer:
        if weight.name in facts:
            mean, deviation, least, largest = facts[weight.name]
            numbers = random.standard_normal(tuple(weight.dims), np.float32) * deviation + mean
            kind = helper.tensor_dtype_to_np_dtype(weight.data_type)
            weight.raw_data = np.clip(numbers, least, largest).astype(kind).tobytes()
    del made.metadata_props[:]
    helper.set_model_props(made, properties)
    return made


def _properties(model: ModelProto) -> dict[str, str]:
    return {each.key: each.value for each in model.metadata_props}


def name_of(file: Path) -> str:
    """A model's short name: that of its file, or of its folder if that is model.onnx."""
    stem = file.name.removesuffix(".gz").removesuffix(".onnx")
    return file.resolve().parent.name if stem == "model" else stem


def read_model(file: Path) -> Path | ModelProto:
    """A model to compile: a hollow one, which has SUFFIX, filled. Raises InvalidModelError."""
    return filled(_whole(file)) if file.name.endswith(SUFFIX) else file


def _whole(file: Path) -> ModelProto:
    """A model with all its weights. Raises InvalidModelError."""
    try:
        if file.name.endswith(SUFFIX):
            return onnx.load_model_from_string(gzip.decompress(file.read_bytes()))
        return cast("Any", onnx).load(file)
    except (OSError, EOFError, zlib.error, DecodeError, ValueError) as error:
        raise InvalidModelError(f"{file}: can't be read: {getattr(error, 'strerror', None) or error}") from None


def write(
    models: Annotated[list[Path], typer.Argument(help="ONNX models.")],
    into: Annotated[Path, typer.Option(help="The folder for the files.")],
    fill: Annotated[bool, typer.Option("--fill", help="Write models with random weights again.")] = False,
) -> None:
    """Writes hollow models, or fills them."""
    for file in models:
        model = filled(_whole(file))
        name = f"{name_of(file)}{'.onnx' if fill else SUFFIX}"
        content = model.SerializeToString() if fill else gzip.compress(hollow(model).SerializeToString(), mtime=0)
        with atomic_file(into / name) as stream:
            stream.write(content)
        typer.echo(f"{into / name}: {len(content)} bytes")


if __name__ == "__main__":
    run_alone(write)
