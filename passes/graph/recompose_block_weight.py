"""recompose-block-weight: block-wise dequantisation of a matrix before a product becomes one op.

before:  %0 = graph.unpack_bits %w {to = ui4, ..}    %1 = graph.dequantize %0, %s, %z    %2 = graph.reshape %1
         %y = graph.matmul %x, %2 {transpose_b}      %0, %1: [N, blocks, block]  %2: [N, K]
after:   %2 = graph.block_weight %w', %s', %z' {bits = 4, block = 32, depth = 4096, ..}
         %y = graph.matmul %x, %2 {transpose_b}

So the product's kernel can take it in, and the weight stays as small as it was. Blocks of a matrix [K, N] lie along its
first axis: [blocks, block, N]. Weights, scales and zero points must be known; zero points that are no integers are
subtracted as products with the scales. Signed numbers become unsigned ones, with other zero points, and numbers of a
width that the op doesn't have get the next larger one.

before:  %0 = graph.gather %w, %i    %1 = graph.unpack_bits %0    %2 = graph.dequantize %1, %s    %3 = graph.reshape %2
after:   %3 = graph.stacked_block_weight %i, %w', %s' {rows = N, ..}      %w: [matrices, N, bytes]  %i: a number

Of a matrix that is taken out of a stack no other one is read.

With `lhs_as=i8`, left operands of all products by block weights may be rounded to 8 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr, i8
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.arguments import check_choice
from ...dialects.graph.narrow_types import packed
from ...dialects.graph.ops.block_weight import UI8, WIDTHS, BlockWeight, BlockWeightOp, StackedBlockWeightOp
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.quantization import integer_range
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import Array, element_type_of_value, shape_of, tensor
from .support.dequantised_matrices import Blocks, DequantisedMatrix, dequantised_matrix
from .support.known_chains import Compute, KnownChain
from .support.pattern_utils import GraphPattern, PatternPass, rewrites, with_operands
from .support.stacked_matrices import stacked_matrices


class BlocksInFrontOfProduct(GraphPattern):
    """matmul(x, reshape(dequantize(w, s, z))) -> matmul(x, block_weight(w, s, z)) {transpose_b}"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        matrix = dequantised_matrix(op, self.constants)
        if matrix is None or matrix.bits > WIDTHS[-1]:
            return
        width = min(each for each in WIDTHS if each >= matrix.bits)
        padding = -matrix.blocks.block % (8 // width)
        if padding and matrix.blocks.blocks > 1:
            return
        zeros = self._zeros(matrix)
        made = [self._numbers(matrix, width, padding), self._scales(matrix)]
        if zeros.ndim == 2:
            made.append(self.constants.make(zeros, matrix.location))
        whole = BlockWeightOp(
            *(each.results[0] for each in made),
            bits=width,
            block=matrix.blocks.block + padding,
            depth=matrix.depth,
            middle=0 if zeros.ndim == 2 else int(zeros[0]),
            location=matrix.location,
        )
        rewriter.replace(op, [*made, whole, with_operands(op, [op.lhs, whole.result], transpose_b=UnitAttr())])

    def _numbers(self, matrix: DequantisedMatrix, width: int, padding: int) -> ConstantOp | WeightOp:
        """The weight's bytes, in which the highest bit of signed numbers is flipped: that adds half of their range."""
        blocks, stored, flipped = matrix.blocks, matrix.stored, -integer_range(matrix.type)[0]
        size = (blocks.rows, blocks.blocks * (blocks.block + padding) * width // 8)
        if stored is None or blocks.turned or padding or width != matrix.bits:
            how = f"{matrix.numbers.how} {blocks} {matrix.bits} as {width} bits ^ {flipped}"
            compute = partial(_repacked, matrix.numbers.compute, blocks, matrix.bits, width, padding, flipped)
            return self.constants.computed(matrix.numbers.leaves, tensor(UI8, size), how, compute, matrix.location)
        if not flipped and isinstance(stored.owner, WeightOp):
            return WeightOp(stored.owner.blob, tensor(UI8, size), location=matrix.location)
        flips = sum(flipped << place for place in range(0, 8, width))
        rows = {size[0]: 1}.get(shape_of(stored)[0], size[1] if len(shape_of(stored)) == 1 else 0)
        compute = partial(_flipped, size[1], flips)
        return self.constants.computed([stored], tensor(UI8, size), f"bytes ^ {flips}", compute, matrix.location, rows)

    def _scales(self, matrix: DequantisedMatrix) -> ConstantOp | WeightOp:
        blocks, chain = matrix.blocks, matrix.scale
        type = tensor(matrix.scale_type, (blocks.rows, blocks.blocks))
        return self.constants.computed(
            chain.leaves, type, f"{chain.how} {blocks}", partial(_entries, chain.compute, blocks), matrix.location
        )

    def _zeros(self, matrix: DequantisedMatrix) -> Array:
        """Zero points of unsigned numbers: [1], or [rows, blocks], which may be of f32."""
        low = integer_range(matrix.type)[0]
        if matrix.offset is not None:
            offset, scale = (
                self._known(each, matrix.blocks).astype(np.float32) for each in (matrix.offset, matrix.scale)
            )
            return np.divide(offset, scale, out=np.zeros_like(offset), where=scale != 0) - low
        if matrix.zero is None:
            return np.array([-low])
        zeros = (self._known(matrix.zero, matrix.blocks).astype(np.int16) - low).astype(np.uint8)
        return zeros[0, 0, np.newaxis] if (zeros == zeros[0, 0]).all() else zeros

    def _known(self, chain: KnownChain, blocks: Blocks) -> Array:
        return blocks.entries(chain.compute([self.constants.known(leaf) for leaf in chain.leaves]))


def _flipped(row: int, flips: int, stored: Array) -> Array:
    """Rows of bytes with some bits flipped; also of a part of all rows."""
    return stored.view(np.uint8).reshape(-1, row) ^ np.uint8(flips)


def _repacked(
    compute: Compute, blocks: Blocks, bits: int, width: int, padding: int, flipped: int, *leaves: Array
) -> Array:
    """Bytes of numbers in the order of rows."""
    numbers = blocks.numbers(compute(leaves).view(np.uint8)) & np.uint8(2**bits - 1) ^ np.uint8(flipped)
    whole = np.pad(numbers, ((0, 0), (0, 0), (0, padding)))
    return packed(np.ascontiguousarray(whole), width).reshape(blocks.rows, -1)


def _entries(compute: Compute, blocks: Blocks, *leaves: Array) -> Array:
    return blocks.entries(compute(leaves))


class StackInFrontOfProduct(GraphPattern):
    """matmul(x, reshape(dequantize(gather(w, i), gather(s, i)))) -> matmul(x, stacked_block_weight(i, w, s))"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        stack = stacked_matrices(op, self.constants)
        if stack is None:
            return
        rows, depth = shape_of(op.rhs)
        every = shape_of(stack.scale.result)[0] * rows
        made: list[ConstantOp | WeightOp] = [_as_rows(each, every) for each in (stack.weight, stack.scale)]
        if stack.zeros.size > 1:
            made.append(self.constants.make(stack.zeros.reshape(every, -1), stack.location))
        whole = StackedBlockWeightOp(
            stack.which,
            *(each.results[0] for each in made),
            rows=rows,
            bits=stack.bits,
            block=stack.block,
            depth=depth,
            middle=0 if stack.zeros.size > 1 else int(stack.zeros.reshape(())),
            location=stack.location,
        )
        rewriter.replace(op, [*made, whole, with_operands(op, [op.lhs, whole.result])])


def _as_rows(weight: WeightOp, rows: int) -> WeightOp:
    """A weight of several matrices as their rows."""
    type = tensor(element_type_of_value(weight.result), (rows, shape_of(weight.result)[-1]))
    return WeightOp(weight.blob, type, location=weight.location)


@dataclass(frozen=True)
class RecomposeBlockWeight(PatternPass):
    """Recognises block-wise dequantisation of a matrix before a product."""

    name = "recompose-block-weight"
    patterns = (BlocksInFrontOfProduct, StackInFrontOfProduct)

    lhs_as: str | None = None

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        super().apply(ctx, op)
        if self.lhs_as is None:
            return
        check_choice("lhs_as", self.lhs_as, ("i8",))
        for each in op.walk():
            if isinstance(each, MatmulOp) and isinstance(each.rhs.owner, BlockWeight):
                each.lhs_as = i8
