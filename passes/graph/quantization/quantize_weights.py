"""quantize-weights: weights of products are rounded to integers in blocks, or to floats of 16 bits.

before:  %w = graph.weight .. : tensor<4096x1024xf32>             %y = graph.matmul %x, %w
after:   %0 = graph.weight .. : tensor<1024x2048xui8>             to=int4 block=32
         %1 = graph.unpack_bits %0 {to = ui4}                     : tensor<1024x128x32xui4>
         %2 = graph.dequantize %1, %s, %z                         %s : tensor<1024x128x1xf32>
         %3 = graph.reshape %2                                    %y = graph.matmul %x, %3 {transpose_b}
after:   %0 = graph.weight .. : tensor<4096x1024xbf16>            to=bf16
         %1 = graph.cast %0 {to = f32}                            %y = graph.matmul %x, %1

Blocks lie along the product's depth. A table of which a gather takes rows is stored once if a product by its transpose
has it, too, and with `embeddings` all of them are rounded. What is no matrix of f32, f16 or bf16, is less deep than a
block, not finite in the new type or of no more bits than it stays as it is. Without `to`, nothing is done.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.arguments import check_choice
from ....dialects.graph.base import GraphOp
from ....dialects.graph.blobs import blob_store
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import TransposeOp
from ....dialects.graph.ops.structure import WeightOp
from ....dialects.graph.values import element_type_of_value, ints, shape_of
from ...statistics import count
from ..support.pattern_utils import Constants, defining
from .block_quantiser import BITS, check_block
from .rounded_weights import Rounded, Write, rounded_to_blocks, rounded_to_halves

_HALVES = {"bf16": bf16, "f16": f16}
_INTEGERS = {f"int{bits}": bits for bits in BITS}
WEIGHTS = (*_INTEGERS, *_HALVES)
"""The types that weights can be rounded to."""


def _weight_of(op: MatmulOp) -> tuple[SSAValue, bool, bool]:
    """What may be the weight of a product; whether it is transposed there, and whether it is widened to f32."""
    value, transposed = op.rhs, op.transpose_b is not None
    widening = defining(value, CastOp)
    widens = widening is not None and widening.to == f32
    if widening is not None and widens:
        value = widening.x
    turned = defining(value, TransposeOp)
    if turned is not None and ints(turned.permutation) == (1, 0):
        value, transposed = turned.x, not transposed
    return value, transposed, widens


def _before(op: GraphOp) -> Write:
    """A function that inserts ops before another one, with its location."""

    def write(new: GraphOp) -> SSAValue:
        new.location = op.location
        Rewriter.insert_op(new, InsertPoint.before(op))
        return new.results[0]

    return write


@dataclass(frozen=True)
class QuantizeWeights(ModulePass):
    """Rounds the weights of products to fewer bits."""

    name = "quantize-weights"

    to: str = ""
    block: int = 32
    symmetric: bool = True
    embeddings: bool = False

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.to:
            return
        check_choice("to", self.to, WEIGHTS)
        check_block("block", self.block)
        constants, ops = Constants(blob_store(ctx)), list(op.walk())
        rounded: dict[tuple[SSAValue, bool], Rounded | None] = {}

        def found(weight: SSAValue, transposed: bool) -> Rounded | None:
            key = weight, transposed
            if key not in rounded:
                rounded[key] = self._rounded(constants, weight, transposed)
            return rounded[key]

        for each in ops:
            if not isinstance(each, MatmulOp) or each.sums is not None:
                continue
            weight, transposed, widens = _weight_of(each)
            new = found(weight, transposed)
            if new is None:
                continue
            write = _before(each)
            matrix, transposed = new.matrix(write)
            flags = each.transpose_a is not None, transposed
            matrix = write(CastOp(matrix, f32)) if widens else matrix
            product = MatmulOp(each.lhs, matrix, *flags, location=each.location, lhs_as=each.lhs_as)
            Rewriter.replace_op(each, product)
            count(ctx, self.name, "matmul")
        for each in ops:
            if isinstance(each, GatherOp) and each.axis.value.data == 0:
                new = rounded.get((each.x, True)) or (found(each.x, True) if self.embeddings else None)
                if new is not None:
                    rows = new.rows(_before(each), each.indices)
                    each.result.replace_all_uses_with(rows)
                    Rewriter.erase_op(each)
                    count(ctx, self.name, "gather")

    def _rounded(self, constants: Constants, weight: SSAValue, transposed: bool) -> Rounded | None:
        """The weight in fewer bits; None if it is left as it is."""
        made, floats = weight.owner, element_type_of_value(weight) in (f32, f16, bf16)
        if not isinstance(made, WeightOp) or len(shape_of(weight)) != 2 or not floats:
            return None
        if self.to in _HALVES:
            return rounded_to_halves(constants, made, _HALVES[self.to], transposed)
        bits = _INTEGERS[self.to]
        return rounded_to_blocks(constants, made, bits, self.block, symmetric=self.symmetric, transposed=transposed)
