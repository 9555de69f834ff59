"""Runs a user's kernel on numpy arrays, for the reference interpreter."""

from __future__ import annotations

import ctypes
import os.path
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.operators.attribute_words import packed
from ...dialects.operators.operator import Operator

if TYPE_CHECKING:
    from ..device import Code

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_FUNCTION = ctypes.CFUNCTYPE(None, *[_POINTER] * 5, _NUMBER, _NUMBER)
_NAME = "mini_infer_kernel"
_LINE = 64  # bytes to which scratch is aligned


def run_kernel(
    operator: Operator, inputs: Sequence[Any], outputs: Sequence[Any], scratch: int, attributes: Sequence[Any]
) -> None:
    """Calls the kernel as the only thread. Inputs are contiguous arrays, None where absent; outputs are written."""
    from .operator_identity import contents_of

    code = _code(operator, contents_of(operator))
    shapes = [() if each is None else each.shape for each in (*inputs, *outputs)]
    sizes = [(_NUMBER * (1 + len(shape)))(len(shape), *shape) for shape in shapes]
    starts = [ctypes.addressof(each) + ctypes.sizeof(_NUMBER) for each in sizes]
    room = np.empty(scratch + _LINE, np.uint8)
    kept: list[Any] = []
    words: list[int] = []
    for value in attributes:
        data, count = packed(value)
        if isinstance(value, str | list):
            kept.append(ctypes.create_string_buffer(data, len(data)))
            words += [ctypes.addressof(kept[-1]), count]
        else:
            words.append(int.from_bytes(data, "little", signed=True))
    tables = [
        _pointers([None if each is None else each.ctypes.data for each in inputs]),
        _pointers([each.ctypes.data for each in outputs]),
        _pointers(starts),
        (_NUMBER * max(1, len(words)))(*words),
    ]
    given, written, starting, structure = (ctypes.addressof(each) for each in tables)
    address = room.ctypes.data
    _FUNCTION(code.address(_NAME))(given, written, address + -address % _LINE, starting, structure, 0, 1)


def _pointers(addresses: Sequence[int | None]) -> Any:
    return (_POINTER * max(1, len(addresses)))(*addresses)


@lru_cache(maxsize=64)
def _code(operator: Operator, contents: tuple[bytes, ...]) -> Code:
    """The kernel's code, made again when its source has changed."""
    del contents
    from ..native.cpu_targets import host_target
    from ..native.loaded_code import loaded
    from ..native.user_objects import object_of

    return loaded([object_of(operator, _NAME, host_target().machine)])


def source_path(source: str, function_file: str) -> Path:
    """The path of a kernel's source; a relative one is beside the Python file of its rule, or in the current folder."""
    beside = Path(function_file).absolute().parent / source
    return beside if function_file and os.path.exists(beside) else Path(source).absolute()
