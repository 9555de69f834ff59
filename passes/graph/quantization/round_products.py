"""round-products: operands of matrix products and convolutions are rounded to bf16; sums stay f32.

before:  %0 = graph.relu %x
         %y = graph.matmul %0, %w                           %w : tensor<1024x4096xf32>
after:   %0 = graph.relu %x
         %1 = graph.cast %0 {to = bf16, flush}
         %y = graph.matmul %1, %w' {sums = f32}             %w' : tensor<1024x4096xbf16>

For CPUs that multiply pairs of bf16; without `to`, and on GPUs, whose kernels round what they load, nothing is done. A
product stays as it is if

- its inner sum is shorter than 16 elements, or has fewer than 8 channels of a group: it takes little time, and such
  products make tables of positions, which must be exact;
- its inner sum has a length of run time;
- it is by a constant that loses more than 2^-8 of its norm: numbers that are infinite or subnormal in bf16;
- it is a convolution of another layout than channels-last, or by blocks of few bits, or its rows are no neighbours.

What products read is rounded behind the op that makes it, so that its kernel can, and in front of reshapes and
transposes, but for those of an attention, whose kernel does them. Other readers have the exact value: a residual
stream would lose as much by that as products do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.arguments import check_choice
from ....dialects.errors import ConfigError
from ....dialects.graph.blobs import blob_store
from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.block_weight import BlockWeight
from ....dialects.graph.ops.contraction import ConvOp, MatmulOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.movement import ReshapeOp, TransposeOp
from ....dialects.graph.ops.structure import ConstantOp, WeightOp
from ....dialects.graph.values import Array, element_type_of_value, numpy_dtype, shape_of, tensor
from ....dialects.kernel.targets import BF16_DOTS, CpuAttr, target_of
from ....dialects.sizes.sizes import is_fixed
from ...statistics import count
from ..support.pattern_utils import Constants, defining, with_operands

LEAST_DEPTH = 16
"""Shortest inner sum of products that are rounded."""
LEAST_CHANNELS = 8
"""Fewest channels of a group of a convolution in groups; with less, tiles are mostly padding."""
MOST_LOSS = 2.0**-8
"""Largest part of a weight's norm that rounding may change; of normal numbers it changes 2^-9.8 on average."""
PART = 1 << 16
"""Elements of a weight that are looked at together."""


def _in_bf16(array: Array) -> Array:
    with np.errstate(all="ignore"):
        return array.astype(numpy_dtype(bf16))


def _loss(array: Array) -> float:
    """The norm of what rounding to bf16 takes away, subnormal numbers included, as a part of the array's norm."""
    flat = array.reshape(-1)
    lost = norm = 0.0
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, PART):  # temporary arrays stay in the cache
            wide = flat[start : start + PART].astype(np.float32)
            rounded = _in_bf16(wide).astype(np.float32)
            rounded[np.abs(rounded) < np.finfo(np.float32).tiny] = 0
            lost += float(np.square(rounded - wide, dtype=np.float64).sum())
            norm += float(np.square(wide, dtype=np.float64).sum())
    return sqrt(lost / norm) if norm else 0.0


class _Rounding:
    """Values in bf16, each rounded once."""

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._rounded: dict[SSAValue, SSAValue] = {}
        self._fits: dict[SSAValue, bool] = {}

    def pays(self, op: Operation) -> bool:
        """Whether a product is to be rounded, by its sizes and types, and by what its constants lose."""
        if not isinstance(op, MatmulOp | ConvOp) or op.sums is not None:
            return False
        if any(element_type_of_value(value) != f32 for value in (*op.operands, op.result)):
            return False
        if isinstance(op, ConvOp):
            channels = shape_of(op.weight)[1]
            suits = op.layout.data == "NHWC" and len(shape_of(op.x)) in (3, 4)
            suits = suits and (op.groups.value.data == 1 or channels >= LEAST_CHANNELS)
            depth = prod(shape_of(op.weight)[1:])
        else:
            suits = op.transpose_a is None and not isinstance(op.rhs.owner, BlockWeight)
            depth = shape_of(op.lhs)[-1]
        return suits and is_fixed(depth) and depth >= LEAST_DEPTH and all(map(self._keeps, op.operands[:2]))

    def _keeps(self, value: SSAValue) -> bool:
        """Whether a value may be rounded: it isn't constant, or loses little."""
        source = self._source(value)
        if source not in self._fits:
            constant = self._constants.array(source) if self._constants.is_constant(source) else None
            loose = element_type_of_value(source) in (f32, f16, bf16)
            self._fits[source] = loose and (constant is None or _loss(constant) <= MOST_LOSS)
        return self._fits[source]

    def _source(self, value: SSAValue) -> SSAValue:
        """The value of 16 bits that a cast widens, if it is one that can be read in its place; else the value."""
        widening = defining(value, CastOp)
        if widening is None:
            return value
        narrow = element_type_of_value(widening.x)
        return widening.x if narrow == bf16 or (narrow == f16 and self._constants.is_constant(widening.x)) else value

    def rounded(self, value: SSAValue) -> SSAValue:
        """The value in bf16, made behind it."""
        source = self._source(value)
        if element_type_of_value(source) == bf16:
            return source
        if source not in self._rounded:
            self._rounded[source] = self._round(source)
        return self._rounded[source]

    def _round(self, value: SSAValue) -> SSAValue:
        owner = value.owner
        if (
            isinstance(owner, ReshapeOp | TransposeOp)
            and value.has_one_use()
            and not isinstance(owner.x.owner, AttentionOp)
        ):
            made: Operation = with_operands(owner, [self.rounded(owner.x)])
        elif isinstance(owner, ConstantOp | WeightOp):
            type = tensor(bf16, shape_of(value))
            made = self._constants.computed([value], type, "bf16", _in_bf16, owner.location, rows=1)
        else:
            location = owner.location if isinstance(owner, Operation) else None
            made = CastOp(value, bf16, location, flush=True)
        behind = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
        Rewriter.insert_op(made, behind)
        return made.results[0]


@dataclass(frozen=True)
class RoundProducts(ModulePass):
    """Rounds operands of matrix products and convolutions to bf16."""

    name = "round-products"

    to: str = ""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        if not self.to or not isinstance(target, CpuAttr):
            return
        check_choice("to", self.to, ("bf16",))
        if not target.multiplies_bf16:
            raise ConfigError(
                f"precision bf16 needs a CPU that multiplies bf16 ({' or '.join(reversed(BF16_DOTS))}), and "
                f"'{target.cpu.data}' with vectors of {target.vector_bits.data} bits doesn't; weights bf16 needs none"
            )
        rounding = _Rounding(Constants(blob_store(ctx)))
        for each in list(op.walk()):
            if isinstance(each, MatmulOp | ConvOp) and rounding.pays(each):
                operands = [*map(rounding.rounded, each.operands[:2]), *each.operands[2:]]
                Rewriter.replace_op(each, with_operands(each, operands, sums=f32))
                count(ctx, self.name, each.name.removeprefix("graph."))
