"""Compilation of the search's inner loops by numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])
_njit = cast(Callable[..., Callable[[Any], Any]], numba.njit)


def compiled(function: Function) -> Function:
    """Compiles a function that only other compiled functions call.

    It is inlined, since passing many arrays is slow.
    """
    return _njit(nogil=True, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def compiled_entry(function: Function) -> Function:
    """Compiles a function that Python calls; it runs without the GIL and is cached on disk after its first call.

    Its callees must be in the same file: numba invalidates its cache by that file alone. Where neither the source's
    folder nor the user's cache folder is writable, each process compiles it again.
    """
    try:
        return _njit(nogil=True, cache=True, no_cfunc_wrapper=True)(function)
    except RuntimeError:  # numba found no folder for its cache
        return _njit(nogil=True)(function)
