"""NodeArg and ModelMetadata: what a session says about its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from typing_extensions import override

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_description import ModelDescription, ValueDescription

UNKNOWN_VERSION = 2**63 - 1
"""The version of a model that states none."""


@dataclass(frozen=True)
class NodeArg:
    """An input, output or initialiser: its name, type (such as "tensor(float)") and shape.

    A dimension is a number, the name of a dynamic dimension, or None for an unnamed one. A shape that isn't known has
    no dimensions.
    """

    name: str
    type: str
    shape: list[Any]

    @override
    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"

    __str__ = __repr__


@dataclass(frozen=True)
class ModelMetadata:
    """What a model says about itself; `version` is 2**63 - 1 if it states none."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = UNKNOWN_VERSION
    custom_metadata_map: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, description: ModelDescription) -> ModelMetadata:
        """The metadata in a model's description."""
        version = description["version"]
        return cls(
            **description["metadata"],
            version=UNKNOWN_VERSION if version is None else version,
            custom_metadata_map=dict(description["custom"]),
        )


def node_arg(value: ValueDescription, sizes: Mapping[str, int]) -> NodeArg:
    """The NodeArg of a described value; `sizes` are those that options give to dimensions, as `dims` of `compile`."""
    name, shape = value["name"], enumerate(value["shape"] or ())
    return NodeArg(
        name,
        value["type"],
        [each if isinstance(each, int) else sizes.get(each or f"{name}.{axis}", each) for axis, each in shape],
    )
