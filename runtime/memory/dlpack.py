"""Arrays over DLPack memory on the CPU, of bfloat16 too, which numpy doesn't know."""

from __future__ import annotations

import ctypes
from typing import Any, cast

import ml_dtypes
import numpy as np

from ..device import Array

_BFLOAT, _UNSIGNED = 4, 1  # DLPack's codes of kinds of numbers
_DTYPE = {b"dltensor": 20, b"dltensor_versioned": 52}
"""Where, in bytes, the kind, the bits and the lanes of an element stand in what a capsule of that name points to."""

_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class _Exported:
    """A producer's capsule, handed on to numpy."""

    def __init__(self, memory: Any, capsule: object) -> None:
        self._memory, self._capsule = memory, capsule

    def __dlpack__(self, **_: Any) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._memory.__dlpack_device__()


def from_dlpack(memory: Any) -> Array:
    """An array over a producer's memory; raises BufferError, RuntimeError or TypeError where numpy can't have one."""
    try:
        return cast("Array", np.from_dlpack(memory))
    except RuntimeError:
        try:
            capsule = memory.__dlpack__(max_version=(1, 0))
        except TypeError:  # of a producer that is older than versions
            capsule = memory.__dlpack__()
        if not _bfloat16_as_words(capsule):
            raise
        return from_dlpack(_Exported(memory, capsule)).view(ml_dtypes.bfloat16)


def _bfloat16_as_words(capsule: object) -> bool:
    """Says in a capsule, which is the consumer's own, that its bfloat16s are unsigned words; whether they are any."""
    name = _name_of(capsule)
    if name not in _DTYPE:
        return False
    address = cast("int", _pointer_of(capsule, name)) + _DTYPE[name]
    dtype = (ctypes.c_uint8 * 4).from_address(address)
    if [*dtype] != [_BFLOAT, 16, 1, 0]:
        return False
    dtype[0] = _UNSIGNED
    return True
