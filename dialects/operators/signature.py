"""The signature of a user's operator: inputs and typed attributes, read from a Python function's parameters.

    def scaled_add(x, y, bias=None, *, scale: float = 1.0, mode: str): ...

Positional parameters are the node's inputs (optional ones default to None, `*rest` takes any number), keyword-only ones
are its attributes, typed by their annotations or their defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin

import numpy as np

from ..errors import OperatorError

Kind: TypeAlias = Literal["int", "float", "bool", "str", "ints", "floats", "strings", "array"]
_SCALARS: dict[type, Kind] = {bool: "bool", int: "int", float: "float", str: "str"}
_LISTS: dict[type, Kind] = {int: "ints", float: "floats", str: "strings"}
_ITEMS: dict[Kind, Kind] = {name: _SCALARS[item] for item, name in _LISTS.items()}
_ACCEPTED: dict[Kind, tuple[tuple[type, ...], Callable[[Any], Any]]] = {
    "bool": ((Integral, np.bool_), bool),
    "int": ((Integral,), int),
    "float": ((Real,), float),
    "str": ((str,), str),
}
"""The types of defaults of each kind, and what converts them."""


@dataclass(frozen=True)
class AttributeSpec:
    """An attribute: its name, kind and default, of that kind or None; `required` if the node must give it."""

    name: str
    kind: Kind
    default: Any = None
    required: bool = True


@dataclass(frozen=True)
class OperatorSignature:
    """Names of inputs, of which the first `required` must be given; with `variadic`, more may follow."""

    inputs: tuple[str, ...]
    required: int
    variadic: bool
    attributes: tuple[AttributeSpec, ...]

    def attribute(self, name: str) -> AttributeSpec | None:
        """The attribute of that name; None if there is none."""
        return next((each for each in self.attributes if each.name == name), None)

    def refuses(self, count: int, present: Sequence[bool]) -> str:
        """Why a node can't have `count` inputs, of which some are `present`; "" if it can."""
        most = len(self.inputs)
        if count > most and not self.variadic:
            return f"{count} inputs, but the operator has {_range(self.required, most)}"
        given = [*present, *[False] * (self.required - count)]
        missing = [name for name, there in zip(self.inputs[: self.required], given, strict=False) if not there]
        return f"input {missing[0]} is missing" if missing else ""


def _range(least: int, most: int) -> str:
    return str(most) if least == most else f"{least} to {most}"


def signature_of(function: Callable[..., Any], what: str) -> OperatorSignature:
    """The operator's signature; `what` names it in errors. Raises OperatorError for parameters without a meaning."""
    try:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
    except (NameError, AttributeError, SyntaxError) as error:
        raise OperatorError(f"{what}: an annotation of its function can't be evaluated: {error}") from None
    except (TypeError, ValueError) as error:
        raise OperatorError(f"{what}: its function has no readable signature: {error}") from None
    inputs: list[str] = []
    attributes: list[AttributeSpec] = []
    required, variadic = 0, False
    for each in parameters:
        if each.kind is each.VAR_KEYWORD:
            raise OperatorError(
                f"{what}: **{each.name} has no meaning: name each attribute as a keyword-only parameter"
            )
        if each.kind is each.KEYWORD_ONLY:
            attributes.append(_attribute(each, what))
        elif each.kind is each.VAR_POSITIONAL:
            variadic = True
        elif each.default is each.empty:
            inputs.append(each.name)
            required = len(inputs)
        elif each.default is None:
            inputs.append(each.name)
        else:
            raise OperatorError(
                f"{what}: input {each.name} has a default other than None; attributes come after a * in the signature"
            )
    return OperatorSignature(tuple(inputs), required, variadic, tuple(attributes))


def _attribute(parameter: inspect.Parameter, what: str) -> AttributeSpec:
    required = parameter.default is parameter.empty
    default: Any = None if required else parameter.default
    if parameter.annotation is parameter.empty:
        kind = None if default is None else _SCALARS.get(type(cast("object", default)))
        if kind is None:
            raise OperatorError(
                f"{what}: attribute {parameter.name} needs an annotation: int, float, str, list[int], ..."
            )
    else:
        kind = _kind(parameter.annotation)
        if kind is None:
            raise OperatorError(
                f"{what}: attribute {parameter.name} has type {parameter.annotation!r}; it may be int, float, bool, "
                "str, a list of ints, floats or strings, or numpy.ndarray"
            )
    if default is not None:
        try:
            default = _of_kind(kind, default)
        except TypeError:
            raise OperatorError(
                f"{what}: attribute {parameter.name} is of kind {kind}, but its default is {default!r}"
            ) from None
    return AttributeSpec(parameter.name, kind, default, required)


def _of_kind(kind: Kind, value: Any) -> Any:
    """A default as its attribute's kind has it, a list as a tuple. Raises TypeError for a value of another kind."""
    if kind == "array":
        return value
    if kind in _ITEMS:
        if isinstance(value, str):
            raise TypeError
        return tuple(_of_kind(_ITEMS[kind], each) for each in value)
    types, convert = _ACCEPTED[kind]
    if not isinstance(value, types):
        raise TypeError
    return convert(value)


def _kind(annotation: Any) -> Kind | None:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):  # `int | None`
        others = [each for each in arguments if each is not NoneType]
        return _kind(others[0]) if len(others) == 1 else None
    if annotation is np.ndarray or origin is np.ndarray:
        return "array"
    if origin is not None and isinstance(origin, type) and issubclass(origin, Sequence):
        return _LISTS.get(arguments[0])
    return _SCALARS.get(annotation) if isinstance(annotation, type) else None
