"""The graph's inputs as tensor types: every dynamic dimension is bound to a number, or named in an error.

Inputs that a compile is specialised for are values, and no inputs any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from onnx import GraphProto, TensorShapeProto, ValueInfoProto

from ...dialects.errors import InvalidInputError, UnsupportedError
from ...dialects.graph.values import AnyTensor, Array, numpy_dtype
from .types import element_type, tensor_of

Dimension = int | str  # a size, or the name of a dynamic one ("" where it has no name)


def input_values(graph: GraphProto, specialize: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """The values that are given to inputs, each in its input's type; an initialiser may be an input's default."""
    inputs = {value.name: value for value in graph.input}
    _check_names("specialize", specialize, inputs)
    return {name: _value(inputs[name], value) for name, value in specialize.items()}


def _value(info: ValueInfoProto, given: ArrayLike) -> Array:
    """`given` in the input's type, which an array has already; Python's lists and numbers are converted."""
    _check_tensor(info)
    subject = f"specialize: input {info.name}"
    dtype = numpy_dtype(element_type(info.type.tensor_type.elem_type, subject))
    try:
        array = np.asarray(given)
        if not isinstance(given, (np.ndarray, np.generic)):
            both_integers = array.dtype.kind in "iu" and dtype.kind in "iu"
            if array.size == 0 or both_integers or np.can_cast(array.dtype, dtype, "same_kind"):
                array = np.asarray(given, dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{subject}: {error}") from None
    if array.dtype != dtype:
        raise InvalidInputError(f"{subject} has type {array.dtype} instead of {dtype}")
    return array


def _check_names(option: str, given: Mapping[str, object], inputs: Mapping[str, object]) -> None:
    """Raises InvalidInputError where an option names an input that there isn't."""
    if unknown := [name for name in given if name not in inputs]:
        known = ", ".join(inputs) or "none"
        raise InvalidInputError(f"{option}: there is no input {unknown[0]}; the inputs are {known}")


def input_types(
    graph: GraphProto, dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]], values: Mapping[str, Array]
) -> dict[str, AnyTensor]:
    """The type of each input that has no value and is not an initialiser, in the model's order.

    `dims` gives sizes to dynamic dimensions by their names in the model, `shapes` gives whole input shapes.
    A size that a shape, or a value's shape, gives to a named dimension holds for every other input too.
    """
    weights = {initializer.name for initializer in graph.initializer} - set(values)
    inputs = {value.name: value for value in graph.input if value.name not in weights}
    _check_names("shapes", shapes, inputs)
    for name, value in values.items():
        if tuple(shapes.get(name, value.shape)) != value.shape:
            raise InvalidInputError(
                f"input {name}: shapes gives {list(shapes[name])}, but specialize a value of shape {list(value.shape)}"
            )
    shapes = {**shapes, **{name: value.shape for name, value in values.items()}}
    declared = {name: _declared(value, shapes.get(name)) for name, value in inputs.items()}
    sizes = _sizes(declared, dims, shapes, values)
    types: dict[str, AnyTensor] = {}
    for name, value in inputs.items():
        if name in values:
            continue
        element = element_type(value.type.tensor_type.elem_type, f"input {name}")
        wanted = enumerate(shapes.get(name, declared[name]))
        types[name] = tensor_of(element, [_size(name, axis, each, sizes) for axis, each in wanted], f"input {name}")
    return types


def _declared(value: ValueInfoProto, given: Sequence[int] | None) -> list[Dimension]:
    """The dimensions that the model states for an input, or those given where it states none."""
    _check_tensor(value)
    if value.type.tensor_type.HasField("shape"):
        return [_dimension(dimension) for dimension in value.type.tensor_type.shape.dim]
    if given is None:
        raise InvalidInputError(f"input {value.name} has no shape in the model; give it in shapes")
    return [""] * len(given)


def _check_tensor(value: ValueInfoProto) -> None:
    kind = value.type.WhichOneof("value") or "value without a type"
    if kind != "tensor_type":
        raise UnsupportedError(f"input {value.name} is no tensor: a {kind.removesuffix('_type').replace('_', ' ')}")


def _dimension(dimension: TensorShapeProto.Dimension) -> Dimension:
    if dimension.HasField("dim_value") and dimension.dim_value >= 0:
        return dimension.dim_value
    return dimension.dim_param


def _sizes(
    declared: Mapping[str, Sequence[Dimension]],
    dims: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    values: Mapping[str, Array],
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
        option = "specialize" if name in values else "shapes"
        if len(given) != len(declared[name]):
            raise InvalidInputError(f"input {name} has {len(declared[name])} dimensions, {option} gives {list(given)}")
        for axis, (dimension, size) in enumerate(zip(declared[name], given, strict=True)):
            wanted = sizes.setdefault(dimension, size) if isinstance(dimension, str) and dimension else dimension
            if wanted not in ("", size) or size < 0:
                raise InvalidInputError(f"input {name}: dimension {axis} is {wanted}, but {option} gives {size}")
    return sizes


def _size(name: str, axis: int, dimension: Dimension, sizes: Mapping[str, int]) -> int:
    if isinstance(dimension, int):
        return dimension
    if dimension in sizes:
        return sizes[dimension]
    called = f"is dynamic ({dimension}): bind it with dims or shapes" if dimension else "is dynamic: give shapes"
    raise InvalidInputError(f"input {name}: dimension {axis} {called}")
