"""The graph's inputs as tensor types: every dynamic dimension is bound to a number, or named in an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import GraphProto, TensorShapeProto, ValueInfoProto

from ...dialects.errors import InvalidInputError, UnsupportedError
from ...dialects.graph.values import AnyTensor
from .types import element_type, tensor_of

Dimension = int | str  # a size, or the name of a dynamic one ("" where it has no name)


def input_types(
    graph: GraphProto, dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> dict[str, AnyTensor]:
    """The type of each input that is not an initialiser, in the model's order.

    `dims` gives sizes to dynamic dimensions by their names in the model, `shapes` gives whole input shapes.
    A size that a shape gives to a named dimension holds for every other input too.
    """
    weights = {initializer.name for initializer in graph.initializer}
    inputs = {value.name: value for value in graph.input if value.name not in weights}
    unknown = [name for name in shapes if name not in inputs]
    if unknown:
        raise InvalidInputError(f"shapes: there is no input {unknown[0]}; the inputs are {', '.join(inputs)}")
    declared = {name: _declared(value, shapes.get(name)) for name, value in inputs.items()}
    sizes = _sizes(declared, dims, shapes)
    types: dict[str, AnyTensor] = {}
    for name, value in inputs.items():
        element = element_type(value.type.tensor_type.elem_type, f"input {name}")
        wanted = enumerate(shapes.get(name, declared[name]))
        types[name] = tensor_of(element, [_size(name, axis, each, sizes) for axis, each in wanted], f"input {name}")
    return types


def _declared(value: ValueInfoProto, given: Sequence[int] | None) -> list[Dimension]:
    """The dimensions that the model states for an input, or those given where it states none."""
    if value.type.WhichOneof("value") != "tensor_type":
        raise UnsupportedError(f"input {value.name} is no tensor")
    if value.type.tensor_type.HasField("shape"):
        return [_dimension(dimension) for dimension in value.type.tensor_type.shape.dim]
    if given is None:
        raise InvalidInputError(f"input {value.name} has no shape in the model; give it in shapes")
    return [""] * len(given)


def _dimension(dimension: TensorShapeProto.Dimension) -> Dimension:
    if dimension.HasField("dim_value") and dimension.dim_value >= 0:
        return dimension.dim_value
    return dimension.dim_param


def _sizes(
    declared: Mapping[str, Sequence[Dimension]], dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    """Named dynamic dimensions and their sizes; raises InvalidInputError for contradictions."""
    names = {dimension for shape in declared.values() for dimension in shape if isinstance(dimension, str)}
    for name, size in dims.items():
        if name not in names or not name:
            known = ", ".join(sorted(names - {""})) or "none"
            raise InvalidInputError(f"dims: no input has a dynamic dimension {name}; there are: {known}")
        if size < 0:
            raise InvalidInputError(f"dims: dimension {name} can't be {size}")
    sizes = dict(dims)
    for name, given in shapes.items():
        if len(given) != len(declared[name]):
            raise InvalidInputError(f"input {name} has {len(declared[name])} dimensions, shapes gives {list(given)}")
        for axis, (dimension, size) in enumerate(zip(declared[name], given, strict=True)):
            wanted = sizes.setdefault(dimension, size) if isinstance(dimension, str) and dimension else dimension
            if wanted not in ("", size) or size < 0:
                raise InvalidInputError(f"input {name}: dimension {axis} is {wanted}, but shapes gives {size}")
    return sizes


def _size(name: str, axis: int, dimension: Dimension, sizes: Mapping[str, int]) -> int:
    if isinstance(dimension, int):
        return dimension
    if dimension in sizes:
        return sizes[dimension]
    called = f"is dynamic ({dimension}): bind it with dims or shapes" if dimension else "is dynamic: give shapes"
    raise InvalidInputError(f"input {name}: dimension {axis} {called}")
