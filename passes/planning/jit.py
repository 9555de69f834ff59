"""Compiling the inner loops of a search with numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])
_njit = cast(Callable[..., Callable[[Any], Any]], numba.njit)


def compiled(function: Function) -> Function:
    """A function for other compiled functions to call, and for them only.

    It becomes a part of them, as passing many arrays costs more.
    """
    return _njit(nogil=True, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def compiled_entry(function: Function) -> Function:
    """A function for Python to call, without the interpreter's lock; compiled at its first call and kept on disk.

    What it calls must stand in the same file: numba looks at no other to see whether what it kept is still good.
    Where neither the folder of the source nor the user's cache folder can be written, each process compiles anew.
    """
    try:
        return _njit(nogil=True, cache=True, no_cfunc_wrapper=True)(function)
    except RuntimeError:  # numba found no folder for its cache
        return _njit(nogil=True)(function)
