"""Arena: the memory planning problem of an arena with symbolic sizes."""

from __future__ import annotations

from dataclasses import dataclass

from ..dialects.sizes.offsets import Offset
from ..dialects.sizes.polynomials import Symbol
from ..passes.planning import Problem


@dataclass(frozen=True)
class Arena:
    """The planning problem with symbolic sizes, and the index of each buffer's offset in the table of sizes."""

    problem: Problem
    symbols: tuple[Symbol, ...]  # of the table, those of the buffers' offsets last

    @property
    def dims(self) -> tuple[Symbol, ...]:
        """The symbols for sizes of inputs."""
        return tuple(each for each in self.symbols if not isinstance(each, Offset))
