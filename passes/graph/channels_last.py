"""channels-last: converts convolutions, and ops between them, to channels-last layout.

before:  %1 = graph.conv %x, %w, %b {layout = "NCHW", ..}    %2 = graph.relu %1    %3 = graph.conv %2, ..
after:   %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>}
         %1 = graph.conv %0, %w, %b {layout = "NHWC", ..}    %2 = graph.relu %1    %3 = graph.conv %2, ..
         (and a transpose back where somebody needs the original order)

In one walk every op is rebuilt in the layout in which its operands are held: elementwise ops, concat,
slice, pad, resize, reductions, softmax, and reshapes that split or merge dims one by one. Transposes cost
nothing there; other ops get their operands as the graph says. A reshape that flattens channels and space in
front of a matrix product with a constant needs no transpose: the constant's rows are reordered instead.
Convolutions' own weights keep their order. On CPUs pictures of few columns are turned, [batch, columns, rows,
channels], with the weights of their convolutions. The module tells in which order the axes of the model's
tensors lie (`record_orders`). A graph without convolutions is left alone, and so is instance_norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter

from ...dialects.graph.base import GraphOp
from ...dialects.graph.blobs import blob_store
from ...dialects.graph.model_nodes import record_orders, value_node
from ...dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from ...dialects.graph.ops.movement import ReshapeOp, TransposeOp
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import Array, ints, shape_of, type_of
from ..geometry.shape_maps import Permutation, identity, inverse, is_identity
from ..statistics import count
from .support.layout_rules import rebuild
from .support.layouts import HeldValues
from .support.pattern_utils import Constants, GraphPattern, apply_patterns, defining, only_use, rewrites, with_operands


def _relayout(block: Block, held: HeldValues, orders: dict[str, Permutation]) -> dict[str, int]:
    """Rebuilds the ops of a block; returns how many of each kind, and notes the orders of axes of nodes' values."""
    rebuilt: dict[str, int] = {}
    replaced: list[Operation] = []
    for op in list(block.ops):
        held.here = op
        if isinstance(op, (WeightOp, ConstantOp)):
            continue
        if isinstance(op, GraphOp) and rebuild(op, held):
            kind = op.name.removeprefix("graph.")
            rebuilt[kind] = rebuilt.get(kind, 0) + 1
            replaced.append(op)
            if node := value_node(op):
                orders[node] = held.home(op.results[0])
            continue
        for reader in op.walk():  # branches and loops read what lies outside of them
            for index, operand in enumerate(reader.operands):
                if held.is_moved(operand):
                    reader.operands[index] = held.get(operand, identity(len(shape_of(operand))))
    for op in reversed(replaced):
        Rewriter.erase_op(op)
    return rebuilt


class FlattenIntoMatmul(GraphPattern):
    """matmul(reshape(transpose(x)), w), constant w -> matmul(reshape(x), w with its rows permuted)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        reshape = only_use(op.lhs, ReshapeOp)
        transpose = None if reshape is None else defining(reshape.x, TransposeOp)
        if reshape is None or transpose is None or op.transpose_a is not None or len(shape_of(op.rhs)) != 2:
            return
        flattened = self._flattened_dims(reshape)
        permutation = ints(transpose.permutation)
        rows = len(permutation) - flattened
        if not flattened or permutation[:rows] != tuple(range(rows)):
            return
        if not self.constants.is_constant(op.rhs):
            return
        order = inverse([dim - rows for dim in permutation[rows:]])
        sizes = shape_of(reshape.x)[rows:]
        transposed = op.transpose_b is not None

        def reordered(weight: Array) -> Array:
            return _reordered(weight, sizes, order, transposed)

        how = f"{sizes} in order {order}, transposed {transposed}"
        made = self.constants.computed(
            [op.rhs], type_of(op.rhs), how, reordered, op.location, rows=1 if transposed else 0
        )
        flat = ReshapeOp(transpose.x, shape_of(reshape.result), location=reshape.location)
        new = with_operands(op, [flat.result, made.results[0]])
        rewriter.replace(op, [made, flat, new])

    def _flattened_dims(self, reshape: ReshapeOp) -> int:
        """How many of the last dims are flattened into the last one, if all others are kept; otherwise 0."""
        old, new = shape_of(reshape.x), shape_of(reshape.result)
        rows = len(new) - 1
        return len(old) - rows if old[:rows] == new[:-1] and prod(old[rows:]) == new[-1] else 0


def _reordered(weight: Array, sizes: tuple[int, ...], order: tuple[int, ...], transposed: bool) -> Array:
    """A weight [K, N] (or [N, K]) with K composed of dims of these sizes, in another order."""
    if transposed:
        split = weight.reshape(weight.shape[0], *sizes)
        return np.ascontiguousarray(split.transpose(0, *(dim + 1 for dim in order))).reshape(weight.shape)
    split = weight.reshape(*sizes, weight.shape[1])
    return np.ascontiguousarray(split.transpose(*order, len(sizes))).reshape(weight.shape)


@dataclass(frozen=True)
class ChannelsLast(ModulePass):
    """Converts convolutions, and ops between them, to channels-last layout."""

    name = "channels-last"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convolutions = [inner for inner in op.walk() if isinstance(inner, (ConvOp, ConvTransposeOp))]
        orders: dict[str, Permutation] = {}
        for block in dict.fromkeys(convolution.parent for convolution in convolutions):
            assert block is not None
            held = HeldValues(Constants(blob_store(ctx)))
            for kind, times in _relayout(block, held, orders).items():
                count(ctx, self.name, kind, times)
            count(ctx, self.name, "transposes-inserted", held.transposes)
        record_orders(op, {node: order for node, order in orders.items() if not is_identity(order)})
        if convolutions:
            apply_patterns(ctx, op, self.name, [FlattenIntoMatmul])
