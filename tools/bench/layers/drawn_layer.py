"""A single layer: drawn at random, built as an ONNX model with inputs, and written as its name, from which it is read.

conv:batch=1,channels=64,height=56,width=56,filters=64,window=3x3,stride=1x1,...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import prod
from random import Random
from typing import Any, Self, cast

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ....dialects.errors import ConfigError
from ....dialects.graph.values import Array

Sizes = tuple[int, ...]


class Net:
    """The nodes, weights and inputs of a model; float weights and inputs are seeded and of type `dtype`."""

    def __init__(self, dtype: str = "float32") -> None:
        self.inputs: dict[str, Array] = {}
        self._dtype = dtype
        self._nodes: list[NodeProto] = []
        self._weights: list[TensorProto] = []
        self._random = np.random.default_rng(0)

    def input(self, *shape: int) -> str:
        """An input of normally distributed floats."""
        return self.given(self._random.standard_normal(shape).astype(self._dtype))

    def integers(self, least: int, end: int, *shape: int) -> str:
        """An int64 input of numbers in [least, end)."""
        return self.given(self._random.integers(least, end, shape))

    def given(self, array: Array) -> str:
        """An input for which a run gets this array."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = array
        return name

    def weight(self, *shape: int) -> str:
        """A weight whose last axes, all but the first, are summed up: scaled to keep the variance."""
        return self.constant(self._random.standard_normal(shape).astype(self._dtype) / np.sqrt(max(1, prod(shape[1:]))))

    def constant(self, array: Array | Sequence[float]) -> str:
        """An initialiser; numbers in a sequence are int64, and floats of the net's type."""
        array = np.asarray(array)
        name = f"w{len(self._weights)}"
        typed = array.astype(self._dtype) if array.dtype.kind == "f" else array
        self._weights.append(numpy_helper.from_array(typed, name))
        return name

    def node(self, op: str, *operands: str, results: int = 1, **attributes: Any) -> str:
        """A node; returns the name of its first result, the others are `NAME.1`, `NAME.2`, ..."""
        name = f"y{len(self._nodes)}"
        names = [name, *(f"{name}.{number}" for number in range(1, results))]
        self._nodes.append(helper.make_node(op, operands, names, name, **attributes))
        return name

    def model(self, outputs: Sequence[str]) -> ModelProto:
        """The model that returns these values."""
        given = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in self.inputs.items()
        ]
        results = [ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self._nodes, "layer", given, results, self._weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@dataclass(frozen=True)
class Layer(ABC):
    """The parameters of a layer. Fields are numbers, words, and sizes such as (3, 3)."""

    @classmethod
    @abstractmethod
    def drawn(cls, random: Random) -> Self:
        """A layer with random parameters, possibly senseless or too large: `MOST_ELEMENTS` and `MOST_WORK` decide."""

    @property
    @abstractmethod
    def size(self) -> tuple[int, int]:
        """Its elements of operands and results, and its multiplications; raises ValueError for a senseless one."""

    @abstractmethod
    def build(self, net: Net) -> str | list[str]:
        """Adds the layer to a net; returns its results."""

    @property
    def text(self) -> str:
        """The parameters, as `read` takes them."""
        return ",".join(f"{field.name}={_text(getattr(self, field.name))}" for field in fields(self))

    @classmethod
    def read(cls, text: str) -> Self:
        """The layer with the parameters of `text`. Raises ConfigError for any other text."""
        given: dict[str, str] = {}
        for each in text.split(","):
            name, _, value = each.partition("=")
            given[name] = value
        names = [field.name for field in fields(cls)]
        if sorted(given) != sorted(names):
            raise ConfigError(f"{text}: the parameters are {', '.join(names)}")
        try:
            return cls(**{field.name: _value(str(field.type), given[field.name]) for field in fields(cls)})
        except ValueError as error:
            raise ConfigError(f"{text}: {error}") from error


def _text(value: object) -> str:
    return "x".join(map(str, cast("Sizes", value))) if isinstance(value, tuple) else str(value)


def _value(kind: str, text: str) -> int | str | Sizes:
    match kind:
        case "int":
            return int(text)
        case "Sizes":
            return tuple(map(int, text.split("x"))) if text else ()
        case _:
            return text
