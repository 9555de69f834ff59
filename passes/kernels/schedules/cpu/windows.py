"""The windows schedule: the loops follow from the shapes; no result lies over what its windows read."""

from __future__ import annotations

from dataclasses import dataclass

from .direct import Direct


@dataclass(frozen=True)
class Windows(Direct):
    """In place only over an operand that elementwise ops behind the window read."""

    name = "windows"
