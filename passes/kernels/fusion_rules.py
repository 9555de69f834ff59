"""A device's rules of fusion: what its code supports, and what is profitable.

Legality is not decided here: fusion.py ensures that `main` stays acyclic and that nothing is computed twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.graph.ops.block_weight import BlockWeight
from ...dialects.graph.ops.contraction import ConvOp, MatmulOp
from ...dialects.graph.ops.conversion import CastOp
from ...dialects.graph.ops.normalization import LayerNormOp, RmsNormOp
from ...dialects.graph.ops.reduction import SoftmaxOp
from ...dialects.graph.ops.structure import WeightOp
from ...dialects.graph.ops.windows import MaxPoolOp

NormOp: TypeAlias = LayerNormOp | RmsNormOp | SoftmaxOp


def weight_of(root: Operation) -> SSAValue | None:
    """The weight that is a contraction's right-hand side, or is widened to it in its block; None if there is none."""
    value = root.operands[1]
    if isinstance(owner := value.owner, CastOp | BlockWeight) and owner.parent is root.parent:
        value = owner.x if isinstance(owner, CastOp) else owner.weight
    return value if isinstance(value.owner, WeightOp) else None


class FusionRules(ABC):
    """The rules of one device."""

    @abstractmethod
    def reads_views(self, root: Operation) -> bool:
        """Whether the code of `root` reads its operands through strided views."""

    @abstractmethod
    def widens_keys(self, root: Operation) -> bool:
        """Whether the code of `root`, an attention, supports keys and values of narrower elements than its queries."""

    @abstractmethod
    def writes_transposed(self, root: Operation) -> bool:
        """Whether the code of `root` can store its result through a transpose."""

    @abstractmethod
    def widens_weights(self, root: Operation) -> bool:
        """Whether the code of `root`, a contraction, supports a weight of narrower elements than it computes with."""

    @abstractmethod
    def takes_epilogue(self, root: Operation) -> bool:
        """Whether elementwise ops after `root` can be fused with it."""

    @abstractmethod
    def joins_parts(self) -> bool:
        """Whether a concatenation is computed with its parts, and with elementwise ops after it."""

    @abstractmethod
    def joins_operands(self) -> bool:
        """Whether elementwise ops are computed with those that make their other operands."""

    @abstractmethod
    def takes_halves(self, root: MatmulOp) -> bool:
        """Whether elementwise ops that combine the two halves of `root`'s columns can be fused with it."""

    @abstractmethod
    def takes_prologue(self, root: Operation) -> bool:
        """Whether elementwise ops before `root`, a contraction, should be fused with it."""

    @abstractmethod
    def takes_pool(self, root: Operation, pool: MaxPoolOp) -> bool:
        """Whether a pool that is the only user of `root`'s epilogue should be fused with it."""

    @abstractmethod
    def takes_depthwise(self, root: ConvOp, depthwise: ConvOp) -> bool:
        """Whether a convolution that is the only user of `root`'s epilogue is depthwise and should be fused."""

    @abstractmethod
    def makes_means(self, root: ConvOp) -> bool:
        """Whether the means of rows after `root` should be computed with it."""

    @abstractmethod
    def narrow_rows(self) -> Attribute | None:
        """The type to which products that normalise rows round these, if they can read them rounded; None if not."""

    @abstractmethod
    def makes_rows(self, root: NormOp) -> bool:
        """Whether elementwise ops and gathers that make the rows of `root` are computed with it."""

    @abstractmethod
    def normalises_rows(self, root: MatmulOp) -> bool:
        """Whether the code of `root` makes moments of its rows, and normalises rows of operands as it reads them."""

    @abstractmethod
    def takes_pointwise(self, depthwise: ConvOp, pointwise: ConvOp) -> bool:
        """Whether a convolution that is the only user of `depthwise`'s epilogue is 1x1 and should be fused."""
