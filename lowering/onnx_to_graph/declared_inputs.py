"""Types of the graph's inputs: every dynamic dimension is bound to a size, or named in an error.

Inputs that a compile is specialised for become constants and are no inputs any more.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from onnx import GraphProto, TensorShapeProto, ValueInfoProto

from ...dialects.errors import InvalidInputError, UnsupportedError
from ...dialects.graph.values import AnyTensor, Array, numpy_dtype
from ...dialects.sizes.polynomials import InputSymbol
from ...dialects.sizes.sizes import is_fixed, size_of
from ...dialects.sizes.sizes import now as value_of
from .dimension_names import is_calculated, value_of_name
from .element_types import element_type, tensor_of
from .model_file import ModelSource, load_model
from .open_dimensions import check_bound

Dimension = int | str  # a size, or the name of a dynamic one ("" without a name)


def input_values(graph: GraphProto, specialize: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """The values given to inputs, converted to the inputs' types; an initialiser may be an input's default."""
    inputs = {value.name: value for value in graph.input}
    _check_names("specialize", specialize, inputs)
    return {name: _value(inputs[name], value) for name, value in specialize.items()}


def _value(info: ValueInfoProto, given: ArrayLike) -> Array:
    """`given` in the input's type, which an array must have already; Python lists and numbers are converted."""
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
    """Raises InvalidInputError if an option names an unknown input."""
    if unknown := [name for name in given if name not in inputs]:
        known = ", ".join(inputs) or "none"
        raise InvalidInputError(f"{option}: there is no input {unknown[0]}; the inputs are {known}")


def free_inputs(model: ModelSource, specialize: Mapping[str, ArrayLike]) -> tuple[str, ...]:
    """The names of a model's inputs that are neither initialisers nor given a value."""
    return tuple(value.name for value in _free_values(model, specialize))


def _free_values(model: ModelSource, specialize: Mapping[str, ArrayLike]) -> list[ValueInfoProto]:
    graph = load_model(model).proto.graph
    known = {initializer.name for initializer in graph.initializer} | set(specialize)
    return [value for value in graph.input if value.name not in known]


def declared_shapes(model: ModelSource, specialize: Mapping[str, ArrayLike]) -> dict[str, list[Dimension] | None]:
    """The shapes of a model's free inputs as declared; None for an input without a declared shape."""
    values = _free_values(model, specialize)
    return {value.name: _declared(value, None) if _has_shape(value) else None for value in values}


Span = tuple[int, int, int]
"""(smallest, optimal, largest) size of a dimension; code is optimised for the second."""


@dataclass(frozen=True)
class Ranges:
    """The dimensions that stay symbolic, and their ranges."""

    dims: Mapping[str, Span] = field(default_factory=dict[str, Span])
    """Ranges of named dimensions, and of unnamed ones by input and axis ("x.0")."""
    shapes: Mapping[str, tuple[Sequence[int], Sequence[int], Sequence[int]]] = field(
        default_factory=dict[str, "tuple[Sequence[int], Sequence[int], Sequence[int]]"]
    )
    """Shapes of whole inputs (smallest, optimal, largest), which may override declared numbers."""
    best: Mapping[str, Sequence[int]] = field(default_factory=dict[str, "Sequence[int]"])
    """Optimal shapes, in place of those in `shapes`; also of inputs that passes add."""
    units: Mapping[str, int] = field(default_factory=dict[str, int])
    """Known divisors of dimensions."""
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, "tuple[int, int]"])
    """Upper bounds of the optimal and of the largest sizes of dimensions, beside their ranges."""
    open: int = 0
    """Upper bound of dynamic dimensions without any other size; 0: they must be bound."""


def ranged_shapes(graph: GraphProto, ranges: Ranges, dims: Mapping[str, int]) -> dict[str, list[int]]:
    """The shapes of inputs with a symbol for every dimension that has a range.

    A named dimension is one symbol wherever it occurs; an unnamed one is a symbol of its own.
    """
    weights = {initializer.name for initializer in graph.initializer}
    inputs = {value.name: value for value in graph.input if value.name not in weights}
    _check_names("profile", ranges.shapes, inputs)
    known: dict[str, tuple[tuple[int, int], int]] = {}
    found: dict[str, list[int | None]] = {}
    names: set[str] = set()
    places = {place: place for place in ranges.dims} | dict(dims)
    declared = {name: _sized(name, _ranged(value, ranges), places) for name, value in inputs.items()}
    plain = {each for shape in declared.values() for each in shape if isinstance(each, str)}
    calculated = {each for each in plain - set(ranges.dims) if is_calculated(each, plain)}
    for name, shape in declared.items():
        whole, best = ranges.shapes.get(name), ranges.best.get(name)
        names |= {each for each in shape if isinstance(each, str)}
        sizes: list[int | None] = []
        for axis, dimension in enumerate(shape):
            now = best[axis] if best else None
            span = None if dimension in calculated and not whole else _span(ranges, dimension, axis, whole, now, dims)
            if span is None:
                sizes.append(dimension if isinstance(dimension, int) else dims.get(dimension))
                continue
            called = dimension if isinstance(dimension, str) and dimension else place_of(name, axis)
            low, wanted, high = map(min, span, (span[0], *ranges.limits.get(called, span[1:])))
            if called not in known:
                size, unit = wanted if now is None else now, ranges.units.get(called, 1)
                multiples = range(-(-max(low, 1) // unit), high // unit + 1)
                unit = unit if size % unit == 0 and len(multiples) > 1 else 1  # of one alone there is no symbol
                # Empty dimensions need other code, which is compiled when it is asked for.
                symbol = InputSymbol.of(called, low, high, unit) if size and low < high else None
                known[called] = (low, high), size_of(symbol, size // unit) * unit if symbol else size
            if known[called][0] != (low, high):
                raise InvalidInputError(
                    f"input {name}: dimension {called} is from {low} to {high}, elsewhere from {known[called][0]}"
                )
            if now is not None and now != (wanted := value_of(known[called][1])):
                raise InvalidInputError(f"input '{name}': dimension {axis} ({called}) is {now} instead of {wanted}")
            sizes.append(known[called][1])
        found[name] = sizes
    by_name = {**dims, **{name: size for name, (_, size) in known.items()}}
    shapes: dict[str, list[int]] = {}
    for name, sizes in found.items():
        pairs = zip(sizes, declared[name], strict=True)
        full = [value_of_name(str(each), by_name) if size is None else size for size, each in pairs]
        given = [size for size in full if size is not None]
        if len(given) == len(full) and (name in ranges.shapes or given != declared[name]):
            shapes[name] = given
    if unknown := sorted(set(ranges.dims) - names):
        raise _unknown_dimension("profile", unknown[0], declared)
    return shapes


def _dynamic(shapes: Mapping[str, Sequence[Dimension]]) -> set[str]:
    """The dynamic dimensions of inputs; unnamed ones by input and axis."""
    sizes = ((name, axis, each) for name, shape in shapes.items() for axis, each in enumerate(shape))
    return {each or place_of(name, axis) for name, axis, each in sizes if isinstance(each, str)}


def _unknown_dimension(option: str, name: str, shapes: Mapping[str, Sequence[Dimension]]) -> InvalidInputError:
    """The error for an option on a dimension that no input has."""
    known = ", ".join(sorted(_dynamic(shapes))) or "none"
    return InvalidInputError(f"{option}: no input has a dynamic dimension {name}; there are: {known}")


def _ranged(value: ValueInfoProto, ranges: Ranges) -> list[Dimension]:
    """The declared dimensions of an input, checked against its ranges."""
    whole, best = ranges.shapes.get(value.name), ranges.best.get(value.name)
    declared = _declared(value, whole[1] if whole else best)
    for what, given in (("profile", whole[1] if whole else None), ("a call", best)):
        if given is not None and len(given) != len(declared):
            raise InvalidInputError(f"input {value.name} has {len(declared)} dimensions, {what} gives {list(given)}")
    return declared


def _span(
    ranges: Ranges,
    dimension: Dimension,
    axis: int,
    whole: tuple[Sequence[int], Sequence[int], Sequence[int]] | None,
    now: int | None,
    dims: Mapping[str, int],
) -> Span | None:
    """The range of a dimension; None if it has a single size, or no option gives it a range."""
    if whole is not None:
        return whole[0][axis], whole[1][axis], whole[2][axis]
    if isinstance(dimension, int) or dimension in dims:
        return None
    if dimension in ranges.dims:
        return ranges.dims[dimension]
    return (0, now, max(ranges.open, now)) if ranges.open and now is not None else None


def input_types(
    graph: GraphProto,
    dims: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    values: Mapping[str, Array],
    free: Container[str] = (),
    ranged: Collection[str] = (),
) -> dict[str, AnyTensor]:
    """The type of each free input that is not an initialiser, in the model's order.

    `dims` gives sizes to dynamic dimensions by name, to unnamed ones by input and axis ("x.0"); `shapes` gives whole
    input shapes. A size that a shape, or a value's shape, gives to a named dimension holds for every other input, too.
    The shapes of `free` inputs may differ from the declared numbers. `ranged` are dimensions that have ranges.
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
    shapeless = [name for name, value in inputs.items() if name not in shapes and not _has_shape(value)]
    open_shapes = {name: _declared(inputs[name], shapes.get(name)) for name in inputs if name not in shapeless}
    declared = {name: _sized(name, shape, dims) for name, shape in open_shapes.items()}
    _check_dims(dims, open_shapes)
    sizes = _sizes(declared, dims, shapes, values, free)
    check_bound({name: shapes.get(name, shape) for name, shape in declared.items()}, shapeless, sizes, ranged)
    types: dict[str, AnyTensor] = {}
    for name, value in inputs.items():
        if name in values:
            continue
        element = element_type(value.type.tensor_type.elem_type, f"input {name}")
        wanted = [sizes[each] if isinstance(each, str) else each for each in shapes.get(name, declared[name])]
        types[name] = tensor_of(element, wanted, f"input {name}")
    return types


def _declared(value: ValueInfoProto, given: Sequence[int] | None) -> list[Dimension]:
    """The declared dimensions of an input; the given ones if it declares none."""
    if _has_shape(value):
        return [_dimension(dimension) for dimension in value.type.tensor_type.shape.dim]
    if given is None:
        raise InvalidInputError(f"input {value.name} has no shape in the model; give it in shapes")
    return [""] * len(given)


def _sized(name: str, declared: Sequence[Dimension], dims: Mapping[str, Dimension]) -> list[Dimension]:
    """The declared dimensions of an input, the unnamed ones with what `dims` gives to their places."""
    places = (place_of(name, axis) if each == "" else "" for axis, each in enumerate(declared))
    return [dims.get(place, each) for place, each in zip(places, declared, strict=True)]


def place_of(name: str, axis: int) -> str:
    """The name of an unnamed dimension: the input's name and the axis, such as "x.0"."""
    return f"{name}.{axis}"


def _has_shape(value: ValueInfoProto) -> bool:
    _check_tensor(value)
    return value.type.tensor_type.HasField("shape")


def _check_tensor(value: ValueInfoProto) -> None:
    kind = value.type.WhichOneof("value") or "value without a type"
    if kind != "tensor_type":
        raise UnsupportedError(f"input {value.name} is no tensor: a {kind.removesuffix('_type').replace('_', ' ')}")


def _dimension(dimension: TensorShapeProto.Dimension) -> Dimension:
    if dimension.HasField("dim_value") and dimension.dim_value >= 0:
        return dimension.dim_value
    return dimension.dim_param


def _check_dims(dims: Mapping[str, int], declared: Mapping[str, Sequence[Dimension]]) -> None:
    """Raises InvalidInputError for a size of a dimension that no input has, and for a negative one."""
    known = _dynamic(declared)
    for name, size in dims.items():
        if name not in known:
            raise _unknown_dimension("dims", name, declared)
        if size < 0:
            raise InvalidInputError(f"dims: dimension {name} can't be {size}")


def _sizes(
    declared: Mapping[str, Sequence[Dimension]],
    dims: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    values: Mapping[str, Array],
    free: Container[str],
) -> dict[str, int]:
    """The sizes of named dynamic dimensions. Raises InvalidInputError for contradictions."""
    names = {dimension for shape in declared.values() for dimension in shape if isinstance(dimension, str)}
    sizes = dict(dims)
    for name, given in shapes.items():
        option = "specialize" if name in values else "shapes"
        if len(given) != len(declared[name]):
            raise InvalidInputError(f"input {name} has {len(declared[name])} dimensions, {option} gives {list(given)}")
        for axis, (dimension, size) in enumerate(zip(declared[name], given, strict=True)):
            wanted = sizes.setdefault(dimension, size) if isinstance(dimension, str) and dimension else dimension
            if not is_fixed(size) or (name in free and isinstance(dimension, int)):
                continue
            if wanted not in ("", size) or size < 0:
                raise InvalidInputError(f"input {name}: dimension {axis} is {wanted}, but {option} gives {size}")
    calculated = {name: value_of_name(name, sizes) for name in names - set(sizes)}
    return {**sizes, **{name: size for name, size in calculated.items() if size is not None}}
