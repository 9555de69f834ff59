"""What a device says of fusion: where there is code for what rides along, and where it is worth the while.

Legality is not asked here: fusion.py sees to it that `main` stays acyclic and that nothing is computed twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.ir import Operation, SSAValue

from ...dialects.graph.ops.block_weight import BlockWeightOp
from ...dialects.graph.ops.contraction import ConvOp, MatmulOp
from ...dialects.graph.ops.conversion import CastOp
from ...dialects.graph.ops.structure import WeightOp
from ...dialects.graph.ops.windows import MaxPoolOp


def weight_of(value: SSAValue) -> SSAValue | None:
    """The weight that a contraction's operand is, perhaps widened; None where it is none."""
    if isinstance(value.owner, CastOp | BlockWeightOp):
        value = value.owner.operands[0]
    return value if isinstance(value.owner, WeightOp) else None


class FusionRules(ABC):
    """The rules of one device."""

    @abstractmethod
    def reads_views(self, root: Operation) -> bool:
        """Whether the code of `root` reads its operands through strided views."""

    @abstractmethod
    def writes_transposed(self, root: Operation) -> bool:
        """Whether the code of `root` can store its result through a transpose."""

    @abstractmethod
    def widens_weights(self, root: Operation) -> bool:
        """Whether the code of `root`, a contraction, reads a weight of narrower elements than it computes with."""

    @abstractmethod
    def takes_epilogue(self, root: Operation) -> bool:
        """Whether elementwise ops behind `root` can be done with it."""

    @abstractmethod
    def takes_halves(self, root: MatmulOp) -> bool:
        """Whether elementwise ops that join the two halves of `root`'s columns can be done with it."""

    @abstractmethod
    def takes_prologue(self, root: Operation) -> bool:
        """Whether elementwise ops in front of `root`, one of the contractions, should be done with it."""

    @abstractmethod
    def takes_pool(self, root: Operation, pool: MaxPoolOp) -> bool:
        """Whether a pool that alone reads what follows from `root` should be done with it."""

    @abstractmethod
    def takes_depthwise(self, root: ConvOp, depthwise: ConvOp) -> bool:
        """Whether a convolution that alone reads what follows from `root` is a depthwise one to be done with it."""

    @abstractmethod
    def makes_means(self, root: ConvOp) -> bool:
        """Whether the means of the rows of pictures that follow from `root` should be made with them."""

    @abstractmethod
    def takes_pointwise(self, depthwise: ConvOp, pointwise: ConvOp) -> bool:
        """Whether one that alone reads what follows from `depthwise` is of single pixels, to be done with both."""
