"""Image: machine code and data as linked by linked.py, and what is left to do when it is loaded."""

from __future__ import annotations

from dataclasses import dataclass

PAGE = 1 << 16  # bytes: the largest page size of a system (aarch64), so that an image fits all


@dataclass(frozen=True)
class Links:
    """The load-time relocations of an image. All numbers are byte offsets in it."""

    architecture: str
    writable: int
    """Offset of the writable part: a multiple of PAGE."""
    imports: tuple[tuple[str, int], ...]
    """Imported C functions, and the offset of the pointer to each."""
    moved: tuple[int, ...]
    """Offsets of words to which the image's address is added."""
    exports: tuple[tuple[str, int], ...]
    """Exported functions and variables, with their offsets."""
    functions: tuple[tuple[str, int, int], ...]
    """All functions, those that are not exported too, in order: names, offsets and sizes."""


@dataclass(frozen=True)
class Image:
    """A linked image."""

    data: bytes
    links: Links
