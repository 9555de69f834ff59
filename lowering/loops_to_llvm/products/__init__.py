"""Lowering of products of small numbers: to instructions that CPUs have for them, or to multiply-adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..body import Handler
from . import amx_tiles, bf16_dots, byte_dots

HANDLERS: dict[str, Handler] = {**byte_dots.HANDLERS, **bf16_dots.HANDLERS, **amx_tiles.HANDLERS}
INTRINSICS: Mapping[str, Sequence[str]] = {**byte_dots.INTRINSICS, **bf16_dots.INTRINSICS, **amx_tiles.INTRINSICS}
"""Prefixes of the names of LLVM's intrinsics, by feature of a target; LLVM aborts the process if a CPU lacks one."""
