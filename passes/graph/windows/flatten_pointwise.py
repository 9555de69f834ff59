"""flatten-pointwise: a 1x1 convolution between transposes of its pictures becomes a product.

before:  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>}       %x: [N, C, H, W], %w: [F, C, 1, 1]
         %1 = graph.conv %0, %w, %b {layout = "NHWC", ..}    %2 = graph.relu %1
         %y = graph.transpose %2 {permutation = array<i64: 0, 3, 1, 2>}
after:   %1 = graph.matmul (graph.reshape %w), (graph.reshape %x)             [F, C] by [N, C, H * W]
         %2 = graph.relu (graph.add %1, (graph.reshape %b))                   %b as [F, 1]
         %y = graph.reshape %2                                                as [N, F, H, W]

Channels-first pictures are matrices of channels by pixels, which products read as they are, so neither transpose is
left. Columns of pixels are multiplied in whole tiles, so that pictures of few pixels stay: where what is added to fill
the last tile takes longer than the transposes. With strides the pixels are sliced first.

Between the convolution and the transpose may be elementwise ops with scalars. Comes after channels-last. What stays:
what is neither f32 nor f64, weights that are computed, convolutions with pads, and those that others read.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from typing_extensions import override
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.base import ElementwiseOp, GraphOp
from ....dialects.graph.ops.contraction import ConvOp, MatmulOp
from ....dialects.graph.ops.elementwise import AddOp
from ....dialects.graph.ops.movement import ReshapeOp, SliceOp, TransposeOp
from ....dialects.graph.values import element_type_of_value, ints, nbytes_of, shape_of, type_of
from ....dialects.kernel.targets import CpuAttr, cpu_of
from ....dialects.sizes.sizes import now
from ...cost_model import moving_seconds, multiplying_seconds
from ...geometry.shape_maps import inverse
from ..support.pattern_utils import GraphPattern, PatternPass, only_use, rewrites, with_operands

REGISTERS_OF_COLUMNS = 4
"""Registers of a tile's columns: of 512 channels and filters, 196 pixels, which are 3.1 tiles of 64, take 1.3 times as
long as channels-last (Zen 5, AVX-512); 784 and more take less."""


@dataclass(frozen=True)
class _Chain:
    """A transpose, a 1x1 convolution, elementwise ops, and the transpose back."""

    first: TransposeOp
    conv: ConvOp
    between: list[Operation]


class PointwiseOfChannelsFirst(GraphPattern):
    """transpose(elementwise(conv(transpose(x), w))) -> reshape(elementwise(matmul(w, reshape(x))))"""

    @rewrites
    @override
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        chain = self._chain(op)
        if chain is None or not _pays(chain):
            return
        conv, permutation, location = chain.conv, ints(chain.first.permutation), chain.conv.location
        made: list[GraphOp] = []

        def add(new: GraphOp) -> SSAValue:
            made.append(new)
            return new.results[0]

        x = chain.first.x
        if set(ints(conv.strides)) != {1}:
            steps = [1] * len(permutation)
            for axis, stride in zip(permutation[1:], ints(conv.strides), strict=False):
                steps[axis] = stride
            x = add(SliceOp(x, [0] * len(steps), shape_of(x), steps, location=location))
        batch, channels, *pixels = shape_of(x)
        filters = shape_of(conv.weight)[0]
        flat = add(ReshapeOp(x, [batch, channels, prod(pixels)], location=location))
        weight = add(ReshapeOp(conv.weight, [filters, channels], location=location))
        value = add(MatmulOp(weight, flat, location=location))
        if conv.bias is not None:
            value = add(AddOp(value, add(ReshapeOp(conv.bias, [filters, 1], location=location)), location=location))
        known: dict[SSAValue, SSAValue] = {conv.result: value}
        for each in chain.between:
            assert isinstance(each, ElementwiseOp)
            known[each.results[0]] = add(with_operands(each, [known.get(v, v) for v in each.operands]))
        made.append(ReshapeOp(known[op.x], shape_of(op.result), location=op.location))
        rewriter.replace(op, made)

    def _chain(self, op: TransposeOp) -> _Chain | None:
        """What ends in a transpose; None unless it can be flattened."""
        between: list[Operation] = []
        value = op.x
        while isinstance(owner := value.owner, ElementwiseOp) and value.has_one_use() and len(owner.results) == 1:
            computed = [v for v in owner.operands if not _is_scalar(v)]
            if len(computed) != 1 or shape_of(computed[0]) != shape_of(value):
                return None
            between.insert(0, owner)
            value = computed[0]
        conv = only_use(value, ConvOp)
        first = None if conv is None else only_use(conv.x, TransposeOp)
        if conv is None or first is None or conv.layout.data != "NHWC" or conv.groups.value.data != 1:
            return None
        permutation = ints(first.permutation)
        spatial = shape_of(conv.weight)[2:]
        if permutation[0] != 0 or permutation[-1] != 1 or ints(op.permutation) != inverse(permutation):
            return None
        plain = set(spatial) == {1} and not any(ints(conv.pads)) and conv.sums is None
        constant = self.constants.is_constant(conv.weight) and (
            conv.bias is None or self.constants.is_constant(conv.bias)
        )
        floats = element_type_of_value(conv.result) in (f32, f64)
        return _Chain(first, conv, between) if plain and constant and floats else None


def _is_scalar(value: SSAValue) -> bool:
    """Whether a value is a scalar, of rank 0 or with one element of any rank up to that of a matrix."""
    return len(shape_of(value)) <= 2 and prod(shape_of(value)) == 1


def _pays(chain: _Chain) -> bool:
    """Whether transposes there and back take longer than what fills the last tile of columns."""
    module = chain.conv.get_toplevel_object()
    assert isinstance(module, Operation)
    target = cpu_of(module)
    batch, filters = shape_of(chain.conv.result)[0], shape_of(chain.conv.weight)[0]
    pixels = now(prod(shape_of(chain.conv.result)[1:-1]))
    tile = REGISTERS_OF_COLUMNS * target.lanes(32)
    products = now(batch * filters * shape_of(chain.conv.weight)[1]) * (-pixels % tile)
    moved = [now(nbytes_of(type_of(value))) for value in (chain.first.x, chain.conv.result)]
    return multiplying_seconds(products, target) < sum(moving_seconds(each, target, 2) for each in moved)


class FlattenPointwise(PatternPass):
    """Pointwise convolutions of channels-first pictures become products."""

    name = "flatten-pointwise"
    patterns = (PointwiseOfChannelsFirst,)
    kinds = (ConvOp,)
    machine = CpuAttr
