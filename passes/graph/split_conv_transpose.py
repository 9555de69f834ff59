"""split-conv-transpose: a transposed convolution whose copies of the kernel don't overlap is a matrix product.

before:  %y = graph.conv_transpose %x, %w, %b {strides = array<i64: 2, 2>, layout = "NHWC", ..}     %w: [C, D, 2, 2]
after:   %0 = graph.reshape %x            [N * H * W, C]
         %1 = graph.matmul %0, %w'        %w': [C, 2 * 2 * D], %w with its filters last
         %2 = graph.add %1, %b'           %b': %b for each tap
         %3 = graph.reshape %2            [N, H, W, 2, 2, D]
         %4 = graph.transpose %3          [N, H, 2, W, 2, D]
         %y = graph.reshape %4            [N, 2 * H, 2 * W, D]

That is so where the strides are the kernel's sizes: each element of x makes a block of the result of its own. Only
channels-last, with constant weights, without groups, pads or output padding; the rest stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.contraction import ConvTransposeOp, MatmulOp
from ...dialects.graph.elementwise import AddOp
from ...dialects.graph.movement import ReshapeOp, TransposeOp
from ...dialects.graph.values import element_type_of_value, ints, shape_of
from .support.pattern_utils import GraphPattern, apply_patterns, rewrites


def _blocks_are_apart(op: ConvTransposeOp) -> bool:
    """Whether every element of the result comes from one element of x."""
    kernel = shape_of(op.weight)[2:]
    steps = zip(kernel, ints(op.strides), ints(op.dilations), strict=True)
    if not all(size == stride and (size == 1 or dilation == 1) for size, stride, dilation in steps):
        return False
    return not any((*ints(op.pads), *ints(op.output_padding)))


class ConvTransposeAsMatmul(GraphPattern):
    """conv_transpose(x) with strides as large as its kernel -> the blocks as rows of a product, put in place"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvTransposeOp, rewriter: PatternRewriter, /) -> None:
        if op.layout.data != "NHWC" or op.groups.value.data != 1 or not _blocks_are_apart(op):
            return
        weight = self.constants.array(op.weight)
        bias = None if op.bias is None else self.constants.array(op.bias)
        known = weight is not None and (op.bias is None or bias is not None)
        if weight is None or not known or element_type_of_value(op.x) not in (f32, f64):
            return
        inputs, outputs, *kernel = weight.shape
        batch, *spatial, _ = shape_of(op.x)
        matrix = np.moveaxis(weight, 1, -1).reshape(inputs, -1)
        made: list[Operation] = [
            ReshapeOp(op.x, [batch * prod(spatial), inputs], location=op.location),
            self.constants.make(np.ascontiguousarray(matrix), op.location),
        ]
        made.append(MatmulOp(made[0], made[1], location=op.location))
        if bias is not None:
            made.append(self.constants.make(np.tile(bias, prod(kernel)), op.location))
            made.append(AddOp(made[-2], made[-1], location=op.location))
        made += self._in_place(op, made[-1].results[0], [batch, *spatial, *kernel, outputs])
        rewriter.replace(op, made)

    def _in_place(self, op: ConvTransposeOp, blocks: SSAValue, shape: list[int]) -> list[Operation]:
        """The blocks of each element of x moved to where they belong in the result."""
        rank = (len(shape) - 2) // 2
        order = [axis for i in range(1, rank + 1) for axis in (i, i + rank)]
        split = ReshapeOp(blocks, shape, location=op.location)
        moved = TransposeOp(split, [0, *order, len(shape) - 1], location=op.location)
        return [split, moved, ReshapeOp(moved, shape_of(op.result), location=op.location)]


@dataclass(frozen=True)
class SplitConvTranspose(ModulePass):
    """Makes matrix products of transposed convolutions that are ones."""

    name = "split-conv-transpose"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(ctx, op, self.name, [ConvTransposeAsMatmul])
