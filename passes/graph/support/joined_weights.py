"""Weights of products of one left-hand side, joined along their columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from ....dialects.graph.ops.block_weight import BlockWeightOp
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.movement import ConcatOp
from ....dialects.graph.ops.structure import ConstantOp, WeightOp
from ....dialects.graph.values import Array, element_type_of_value, shape_of, tensor
from .pattern_utils import Constants


def is_weight(value: SSAValue) -> bool:
    """Whether a right-hand side is a constant matrix, or a block-quantised one."""
    if isinstance(owner := value.owner, BlockWeightOp):
        return all(isinstance(operand.owner, WeightOp | ConstantOp) for operand in owner.operands)
    return isinstance(owner, WeightOp) and len(shape_of(value)) == 2


def kind_of(product: MatmulOp) -> Hashable:
    """Products by weights that agree in it can be one product by the joined weights."""
    weight, blocks = product.rhs, product.rhs.owner
    depth = shape_of(weight)[product.transpose_b is not None]
    kind = (product.transpose_a, product.transpose_b, product.lhs_as, element_type_of_value(weight), depth)
    if not isinstance(blocks, BlockWeightOp):
        return kind
    return (*kind, blocks.numbers, *map(element_type_of_value, blocks.operands))


def joined(products: Sequence[MatmulOp], constants: Constants) -> list[Operation]:
    """Ops, the last of which has the joined weights of products as its result, before the first product."""
    first, weights = products[0], [product.rhs for product in products]
    blocks = [owner for weight in weights if isinstance(owner := weight.owner, BlockWeightOp)]
    if not blocks:
        return concatenated(weights, 1 if first.transpose_b is None else 0, first)
    made = [_computed(parts, constants) for parts in zip(*(each.operands for each in blocks), strict=True)]
    bits, block, depth, middle = blocks[0].numbers
    numbers = {"bits": bits, "block": block, "depth": depth, "middle": middle}
    return [*made, BlockWeightOp(*[each.results[0] for each in made], **numbers, location=first.location)]


def joined_biases(first: MatmulOp, biases: Sequence[SSAValue], constants: Constants) -> list[Operation]:
    """The same for biases of products; at once for block-quantised weights, which constant folding is over for."""
    if isinstance(first.rhs.owner, BlockWeightOp):
        return [_computed(biases, constants)]
    return concatenated(biases, 0, first)


def concatenated(weights: Sequence[SSAValue], axis: int, first: MatmulOp) -> list[Operation]:
    """Copies of weights, which may come after the first product, and their concatenation, for constant folding."""
    copies = [weight.owner.clone() for weight in weights if isinstance(weight.owner, WeightOp)]
    return [*copies, ConcatOp([each.result for each in copies], axis, location=first.location)]


def _computed(parts: Sequence[SSAValue], constants: Constants) -> ConstantOp | WeightOp:
    """The rows of constants after each other."""
    rows, first = sum(shape_of(part)[0] for part in parts), parts[0]
    type = tensor(element_type_of_value(first), (rows, *shape_of(first)[1:]))
    assert isinstance(first.owner, Operation)
    return constants.computed(parts, type, "rows after each other", _stacked, first.owner.location)


def _stacked(*arrays: Array) -> Array:
    return np.concatenate(arrays)
