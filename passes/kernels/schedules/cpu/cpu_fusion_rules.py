"""The CPU's rules of fusion: tiles read the weights once per block or band of rows, so these must stay in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from typing_extensions import override
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, Operation

from .....dialects.graph.base import ElementwiseOp, ReductionOp
from .....dialects.graph.ops.attention import AttentionOp
from .....dialects.graph.ops.block_weight import BlockWeight
from .....dialects.graph.ops.contraction import ConvOp, MatmulOp, is_byte
from .....dialects.graph.ops.recurrence import RecurrenceOp
from .....dialects.graph.ops.structure import WeightOp
from .....dialects.graph.ops.windows import LrnOp, MaxPoolOp
from .....dialects.graph.values import element_type_of_value, ints, nbytes_of, shape_of, type_of
from .....dialects.kernel.targets import CpuAttr
from .....dialects.sizes.sizes import now
from ...forms.contraction import conv_geometry
from ...fusion_rules import FusionRules, NormOp, weight_of
from . import bands, depthwise, lrn, winograd
from .products import tiled_product


def rules(target: CpuAttr, forbid: Sequence[str] = ()) -> FusionRules:
    """The rules for a target."""
    return CpuFusionRules(target.l2.data, forbid)


class CpuFusionRules(FusionRules):
    """`l2` is the size in bytes of the second-level cache; nothing is fused for forbidden schedules."""

    def __init__(self, l2: int, forbid: Sequence[str] = ()) -> None:
        self._l2, self._cache = l2, l2 // 2
        self._transforms, self._bands = "winograd" not in forbid, "bands" not in forbid

    @override
    def reads_views(self, root: Operation) -> bool:
        return isinstance(root, AttentionOp) or (isinstance(root, MatmulOp) and tiled_product.fits(root))

    @override
    def widens_keys(self, root: Operation) -> bool:
        return isinstance(root, AttentionOp)

    @override
    def writes_transposed(self, root: Operation) -> bool:
        return isinstance(root, AttentionOp)

    @override
    def widens_weights(self, root: Operation) -> bool:
        is_float = element_type_of_value(root.operands[1]) in (f32, f64)
        return (
            tiled_product.fits(root) and is_float and (isinstance(root, ConvOp) or len(shape_of(root.operands[1])) == 2)
        )

    @override
    def takes_epilogue(self, root: Operation) -> bool:
        match root:
            case MatmulOp() | ConvOp():
                return tiled_product.fits(root)
            case AttentionOp():
                return False
            case LrnOp():
                return not lrn.fits(root)
            case _:
                return isinstance(root, ReductionOp | ElementwiseOp | RecurrenceOp)

    @override
    def joins_parts(self) -> bool:
        return True

    @override
    def joins_operands(self) -> bool:
        return True

    @override
    def takes_halves(self, root: MatmulOp) -> bool:
        packed = isinstance(root.rhs.owner, WeightOp) or (root.rhs.has_one_use() and self.widens_weights(root))
        return packed and tiled_product.pairs(root) and weight_of(root) is not None

    @override
    def takes_prologue(self, root: Operation) -> bool:
        if not isinstance(root, MatmulOp | ConvOp) or is_byte(element_type_of_value(root.operands[0])):
            return False
        if isinstance(root.operands[1].owner, BlockWeight):
            return False
        if isinstance(root, ConvOp) and tiled_product.fits(root):
            geometry = conv_geometry(root)
            if not geometry.pointwise or geometry.stride != (1, 1) or len(shape_of(root.x)) != 4:
                return False
        return _weight_bytes(root) <= self._cache

    @override
    def takes_pool(self, root: Operation, pool: MaxPoolOp) -> bool:
        if not isinstance(root, ConvOp) or _weight_bytes(root) == inf:
            return False
        if self._transforms and winograd.pays(root):
            return winograd.pools(pool)
        if _weight_bytes(root) > self._cache:
            return False
        has_code = pool.layout.data == "NHWC" and len(shape_of(pool.x)) == 4 and set(ints(pool.dilations)) == {1}
        same = element_type_of_value(pool.x) == element_type_of_value(root.result)
        return has_code and same and now(nbytes_of(type_of(pool.x))) > self._cache  # right at all shapes

    @override
    def takes_depthwise(self, root: ConvOp, depthwise: ConvOp) -> bool:
        return self._bands and bands.takes_depthwise(root, depthwise, self._l2)

    @override
    def makes_means(self, root: ConvOp) -> bool:
        return depthwise.makes_means(root)

    @override
    def narrow_rows(self) -> Attribute | None:
        return None  # what CPUs multiply of 16 bits is rounded by round-products

    @override
    def makes_rows(self, root: NormOp) -> bool:
        return False  # each pass over a row would make it again

    @override
    def normalises_rows(self, root: MatmulOp) -> bool:
        return False  # a row that was made is in a near cache

    @override
    def takes_pointwise(self, depthwise: ConvOp, pointwise: ConvOp) -> bool:
        return bands.takes_pointwise(pointwise, self._l2)


def _weight_bytes(root: Operation) -> float:
    """Bytes of the single weight matrix that tiles of a contraction read; infinite without one."""
    if not tiled_product.fits(root) or depthwise.fits(root):
        return inf
    match root:
        case MatmulOp() if len(shape_of(root.rhs)) == 2 and root.transpose_a is None:
            weight = weight_of(root)
        case ConvOp() if root.groups.value.data == 1:
            weight = weight_of(root)
        case _:
            return inf
    return inf if weight is None else nbytes_of(type_of(weight))
