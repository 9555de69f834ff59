"""Conversion of the values that a program feeds to arrays of the inputs' types, with ONNX Runtime's errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..device import Array
from .element_texts import dtype_of_text, type_text
from .node_args import NodeArg
from .ort_values import OrtValue
from .status_errors import Fail, InvalidArgument


def fed_arrays(
    feed: Mapping[str, Any], inputs: Sequence[NodeArg], defaults: Sequence[NodeArg], without_rank: set[str]
) -> dict[str, Array]:
    """The arrays for a run by name, those of `inputs` first, in order, then the given ones of `defaults`.

    Raises ValueError for missing inputs, RuntimeError for values that are no tensors, and InvalidArgument for unknown
    names, types, ranks and sizes that differ from the declared ones. The rank of inputs `without_rank` is any.
    """
    check_complete(feed, inputs)
    known = {each.name: each for each in (*inputs, *defaults)}
    for name in feed:
        if name not in known:
            raise InvalidArgument(f"Invalid input name: {name}")
    given = (each for each in known.values() if each.name in feed)
    return {each.name: _checked(each, _array(each, feed[each.name]), each.name in without_rank) for each in given}


def check_complete(feed: Mapping[str, Any], inputs: Sequence[NodeArg]) -> None:
    """Raises ValueError if there are inputs that are not fed."""
    if missing := [each.name for each in inputs if each.name not in feed]:
        raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feed)}).")


def _array(arg: NodeArg, value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return cast("Array", value)
    if isinstance(value, OrtValue):
        return value.numpy()
    if value is None:
        raise Fail(f"Missing Input: {arg.name}")
    if isinstance(value, list):
        try:
            return np.asarray(cast("list[Any]", value), dtype_of_text(arg.type))
        except (TypeError, ValueError, OverflowError):
            raise RuntimeError("Could not create tensor from given input list") from None
    if isinstance(value, str | bytes | dict | tuple):
        raise RuntimeError(f"Input must be a list of dictionaries or a single numpy array for input '{arg.name}'.")
    raise RuntimeError(f"Unable to handle object of type {type(value)}")


def _checked(arg: NodeArg, array: Array, any_rank: bool) -> Array:
    wanted = dtype_of_text(arg.type)
    if wanted is not None and array.dtype != wanted:
        native = array.dtype.newbyteorder("=")
        if native != wanted:
            raise InvalidArgument(
                f"Unexpected input data type. Actual: ({type_text(array.dtype)}) , expected: ({arg.type})"
            )
        array = array.astype(native)  # the same type in the other order of bytes
    if any_rank:
        return array
    if not arg.shape and array.size == 1:
        return array.reshape(())  # for a number, an array with one is often given
    if array.ndim != len(arg.shape):
        raise InvalidArgument(
            f"Invalid rank for input: {arg.name} Got: {array.ndim} Expected: {len(arg.shape)} "
            "Please fix either the inputs/outputs or the model."
        )
    wrong = [
        f" index: {axis} Got: {size} Expected: {wanted}\n"
        for axis, (size, wanted) in enumerate(zip(array.shape, arg.shape, strict=True))
        if isinstance(wanted, int) and size != wanted
    ]
    if wrong:
        raise InvalidArgument(
            f"Got invalid dimensions for input: {arg.name} for the following indices\n{''.join(wrong)} "
            "Please fix either the inputs/outputs or the model."
        )
    return array
