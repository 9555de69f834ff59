"""Arena: the planning problem of an arena whose sizes are known at run time."""

from __future__ import annotations

from dataclasses import dataclass

from ..dialects.sizes.offsets import Offset
from ..dialects.sizes.polynomials import Symbol
from ..passes.planning import Problem


@dataclass(frozen=True)
class Arena:
    """The arena at all shapes: what is to be placed, and where each buffer's offset stands in the table of sizes."""

    problem: Problem
    symbols: tuple[Symbol, ...]  # of the table, those of the buffers' offsets last

    @property
    def dims(self) -> tuple[Symbol, ...]:
        """The symbols that stand for sizes of inputs."""
        return tuple(each for each in self.symbols if not isinstance(each, Offset))
