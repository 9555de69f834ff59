"""Element types as texts such as "tensor(float)", and as numpy types."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

_TEXTS: dict[str, str] = {
    "float32": "float",
    "uint8": "uint8",
    "int8": "int8",
    "uint16": "uint16",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "bool": "bool",
    "float16": "float16",
    "float64": "double",
    "uint32": "uint32",
    "uint64": "uint64",
    "complex64": "complex64",
    "complex128": "complex128",
    "bfloat16": "bfloat16",
}
_NUMBERS = {
    "float": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "string": 8,
    "bool": 9,
    "float16": 10,
    "double": 11,
    "uint32": 12,
    "uint64": 13,
    "complex64": 14,
    "complex128": 15,
    "bfloat16": 16,
}
_TYPES = {f"tensor({text})": name for name, text in _TEXTS.items()}


def type_text(dtype: np.dtype[Any]) -> str:
    """The text of a tensor's type with elements of a numpy type."""
    if dtype.kind in "USO":
        return "tensor(string)"
    return f"tensor({_TEXTS.get(dtype.name, dtype.name)})"


def type_number(dtype: np.dtype[Any]) -> int:
    """ONNX's number of a numpy type; 0 for one that ONNX doesn't have."""
    return _NUMBERS.get(type_text(dtype)[7:-1], 0)


def dtype_of_text(text: str) -> np.dtype[Any] | None:
    """The numpy type of the elements of a tensor; None for what is no tensor of numbers."""
    name = _TYPES.get(text)
    return None if name is None else _dtype(name)


def dtype_of(element: Any) -> np.dtype[Any]:
    """The numpy type for an argument of the interface: a numpy type, or ONNX's number of one.

    Raises RuntimeError for anything else.
    """
    if isinstance(element, int) and not isinstance(element, bool):
        texts = {number: text for text, number in _NUMBERS.items()}
        found = dtype_of_text(f"tensor({texts.get(element, '')})")
        if found is None:
            raise RuntimeError(f"{element} is no element type of a tensor of numbers")
        return found
    try:
        return np.dtype(cast("Any", element))
    except TypeError:
        raise RuntimeError(f"{element!r} is no element type") from None


def _dtype(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)
