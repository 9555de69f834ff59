"""What a device says of fusion: where there is code for what rides along, and where it is worth the while.

Legality is not asked here: fusion.py sees to it that `main` stays acyclic and that nothing is computed twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.ir import Operation

from ...dialects.graph.windows import MaxPoolOp


class FusionRules(ABC):
    """The rules of one device."""

    @abstractmethod
    def reads_views(self, root: Operation) -> bool:
        """Whether the code of `root` reads its operands through strided views."""

    @abstractmethod
    def writes_transposed(self, root: Operation) -> bool:
        """Whether the code of `root` can store its result through a transpose."""

    @abstractmethod
    def takes_epilogue(self, root: Operation) -> bool:
        """Whether elementwise ops behind `root` can be done with it."""

    @abstractmethod
    def takes_prologue(self, root: Operation) -> bool:
        """Whether elementwise ops in front of `root`, one of the contractions, should be done with it."""

    @abstractmethod
    def takes_pool(self, root: Operation, pool: MaxPoolOp) -> bool:
        """Whether a pool that alone reads what follows from `root` should be done with it."""
