"""DLPack import on the CPU, with bfloat16, which numpy doesn't support."""

from __future__ import annotations

import ctypes
from typing import Any, cast

import numpy as np

from ..device import Array

_BFLOAT, _UNSIGNED = 4, 1  # DLPack's type codes
_DTYPE = {b"dltensor": 20, b"dltensor_versioned": 52}
"""Byte offset of the element type (code, bits and lanes) in the struct that a capsule of that name points to."""

_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class _Exported:
    """A producer for numpy that hands on a given capsule."""

    def __init__(self, memory: Any, capsule: object) -> None:
        self._memory, self._capsule = memory, capsule

    def __dlpack__(self, **_: Any) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._memory.__dlpack_device__()


def from_dlpack(memory: Any) -> Array:
    """An array over a producer's memory. Raises BufferError, RuntimeError or TypeError where numpy can't import it."""
    try:
        return cast("Array", np.from_dlpack(memory))
    except RuntimeError:
        try:
            capsule = memory.__dlpack__(max_version=(1, 0))
        except TypeError:  # for a producer without versioned DLPack
            capsule = memory.__dlpack__()
        if not _bfloat16_as_words(capsule):
            raise
        import ml_dtypes

        return from_dlpack(_Exported(memory, capsule)).view(ml_dtypes.bfloat16)


def _bfloat16_as_words(capsule: object) -> bool:
    """Relabels bfloat16 as uint16 in a capsule owned by the consumer; returns whether it was bfloat16."""
    name = _name_of(capsule)
    if name not in _DTYPE:
        return False
    address = cast("int", _pointer_of(capsule, name)) + _DTYPE[name]
    dtype = (ctypes.c_uint8 * 4).from_address(address)
    if [*dtype] != [_BFLOAT, 16, 1, 0]:
        return False
    dtype[0] = _UNSIGNED
    return True
