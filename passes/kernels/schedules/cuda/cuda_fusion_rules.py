"""A GPU's rules of fusion: every fused op saves a launch and the bytes in between."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute, Operation

from .....dialects.graph.base import ElementwiseOp, ReductionOp
from .....dialects.graph.ops.attention import AttentionOp
from .....dialects.graph.ops.contraction import ConvOp, MatmulOp
from .....dialects.graph.ops.conversion import CastOp
from .....dialects.graph.ops.windows import MaxPoolOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel.targets import GpuAttr
from .....dialects.sizes.sizes import bounds_of
from ...fusion_rules import FusionRules, NormOp
from ..schedule import LARGEST_TILE
from .products import takes_blocks
from .tuning import ROWS_KEPT_WORDS
from .wgmma import ELEMENTS, has_warpgroups, multiplies_rows


def rules(target: GpuAttr, forbid: Sequence[str] = ()) -> FusionRules:
    """The rules for a target."""
    return CudaFusionRules(target, forbid)


class CudaFusionRules(FusionRules):
    """Completed sums are in registers, so elementwise ops after them are applied there."""

    def __init__(self, target: GpuAttr, forbid: Sequence[str]) -> None:
        self._precision = target.precision.data
        self._by_warpgroups = "wgmma" not in forbid and has_warpgroups(target)

    @override
    def reads_views(self, root: Operation) -> bool:
        return isinstance(root, AttentionOp | MatmulOp)

    @override
    def widens_keys(self, root: Operation) -> bool:
        return isinstance(root, AttentionOp)

    @override
    def writes_transposed(self, root: Operation) -> bool:
        return isinstance(root, AttentionOp)

    @override
    def widens_weights(self, root: Operation) -> bool:
        weight = root.operands[1]
        if not isinstance(weight.owner, CastOp) or element_type_of_value(weight) != f32:
            return takes_blocks(root)
        plain = isinstance(root, ConvOp) or len(shape_of(weight)) == 2
        return plain and element_type_of_value(weight.owner.x) in (f16, bf16)

    @override
    def takes_epilogue(self, root: Operation) -> bool:
        return isinstance(root, MatmulOp | ConvOp | ReductionOp | ElementwiseOp)

    @override
    def joins_parts(self) -> bool:
        return True

    @override
    def joins_operands(self) -> bool:
        return True

    @override
    def takes_halves(self, root: MatmulOp) -> bool:
        return False  # blocks have columns that lie side by side

    @override
    def takes_prologue(self, root: Operation) -> bool:
        return False  # each element of the left-hand side would be computed by every block that reads it

    @override
    def takes_pool(self, root: Operation, pool: MaxPoolOp) -> bool:
        return False  # the rows between two blocks would be computed twice

    @override
    def takes_depthwise(self, root: ConvOp, depthwise: ConvOp) -> bool:
        return False  # so would the pixels between two blocks

    @override
    def makes_means(self, root: ConvOp) -> bool:
        return False  # two kernels would be launched for the means of pictures instead of one

    @override
    def narrow_rows(self) -> Attribute | None:
        narrow = ELEMENTS.get(self._precision, f32)
        return narrow if self._by_warpgroups and narrow != f32 else None

    @override
    def makes_rows(self, root: NormOp) -> bool:
        last = [*root.whole_axes] == [len(shape_of(root.x)) - 1]
        return last and bounds_of(shape_of(root.x)[-1])[1] <= ROWS_KEPT_WORDS * LARGEST_TILE  # kept in registers

    @override
    def normalises_rows(self, root: MatmulOp) -> bool:
        return self._by_warpgroups and multiplies_rows(root)

    @override
    def takes_pointwise(self, depthwise: ConvOp, pointwise: ConvOp) -> bool:
        return False
