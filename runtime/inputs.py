"""Conversion of values passed for inputs to arrays of the inputs' types and shapes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import numpy as np

from ..dialects.errors import InvalidInputError
from .device import Array
from .memory.host_memory import as_array
from .memory.tensor import Tensor, lies_on_gpu
from .specs import TensorSpec, check_placed


def checked(spec: TensorSpec, value: Any) -> Array:
    """`value` as a row-major array of the input's type and shape. Raises InvalidInputError naming the input.

    Arrays must have the type already; Python lists and numbers are converted.
    """
    array = typed(spec, value)
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")


def typed(spec: TensorSpec, value: Any) -> Array:
    """`value` as an array of the input's type and shape."""
    array = of_any_shape(spec, value)
    check_placed(spec, array.dtype, array.shape, "input ")
    return array


def of_any_shape(spec: TensorSpec, value: Any) -> Array:
    """`value` as an array, of the input's type where it is a list or a number."""
    return cast("Array", value) if isinstance(value, np.ndarray) else _converted(spec, value)


def _converted(spec: TensorSpec, value: Any) -> Array:
    """An array from a value that is not a numpy array."""
    if value is None:
        raise InvalidInputError(f"input '{spec.name}' is None; it takes an array of {spec.dtype}")
    try:
        if lies_on_gpu(value):
            value = Tensor.from_dlpack(value)
        if isinstance(value, Tensor):
            return value.to("cpu").numpy()
        if hasattr(value, "__array__"):
            with suppress(TypeError):  # PyTorch's of bfloat16 have none, but DLPack
                return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return as_array(value)
        natural: Array = np.asarray(value)
        both_integers = natural.dtype.kind in "iu" and spec.dtype.kind in "iu"
        if both_integers or np.can_cast(natural.dtype, spec.dtype, "same_kind"):
            return np.asarray(value, spec.dtype)
    except (BufferError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(f"input '{spec.name}': {error}") from None
    return natural
