"""Loads object code by our own linker, or by LLVM's for formats other than ELF."""

from __future__ import annotations

from collections.abc import Sequence

from ..device import Code
from .images.elf import ELF
from .images.linked import link
from .images.loaded import LoadedImage


def loaded(objects: Sequence[bytes]) -> Code:
    """Links and loads object code; by LLVM on systems without ELF. Raises CompileError."""
    if all(each.startswith(ELF) for each in objects):
        return LoadedImage(link(objects))
    from .llvmlite_calls import LoadedCode

    return LoadedCode.load(objects)
