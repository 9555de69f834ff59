"""pair-gates: on a CPU, a product and the product that gates it, with one left-hand side, become one product.

before:  %g = graph.matmul %x, %wg    %u = graph.matmul %x, %wu                  weights [512, 1376]
         %a = graph.silu %g           %y = graph.mul %a, %u
after:   %0 = graph.matmul %x, concat(%wg, %wu)
         %g = graph.slice %0 [.., 0:1376]    %u = graph.slice %0 [.., 1376:2752]
         %a = graph.silu %g                  %y = graph.mul %a, %u

before:  %1 = graph.add %0, %b        %g = graph.slice %1 [.., 0:1376]    %u = graph.slice %1 [.., 1376:2752]
after:   %g = graph.add (graph.slice %0 [.., 0:1376]), (graph.slice %b [0:1376])    %u = ...

All that follows is done to both halves of a product while they are in registers, and one value is stored, half as wide:
see fusion.py. Only weights may be read beside, as biases and scales are, so that all of it ends up in one kernel.
fold-constants makes one weight of the concatenation; those that are block-quantised are joined at once.
"""

from __future__ import annotations

from typing import TypeGuard

from typing_extensions import override
from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...dialects.graph.base import ElementwiseOp
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.elementwise import AddOp, MulOp
from ...dialects.graph.ops.movement import SliceOp
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import element_type_of_value, shape_of
from ...dialects.kernel.targets import CpuAttr
from ..geometry.axis_halves import halves_of
from .support.joined_weights import is_weight, joined, kind_of
from .support.pattern_utils import GraphPattern, PatternPass, rewrites, with_operands

MOST_OPS = 16
"""Elementwise ops between two products and their multiplication: gelu decomposed has 8."""


class PairGatedProducts(GraphPattern):
    """f(matmul(x, a)) * g(matmul(x, b)) -> the same on halves of matmul(x, concat(a, b))"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MulOp, rewriter: PatternRewriter, /) -> None:
        products = _products_of(op)
        if len(products) != 2 or not _are_alike(*products):
            return
        block = op.parent
        assert block is not None
        first, second = (each for each in block.ops if isinstance(each, MatmulOp) and each in products)
        *weights, weight = joined([first, second], self.constants)
        paired = with_operands(first, [first.lhs, weight.results[0]])
        *rows, width = shape_of(first.result)
        halves = [
            SliceOp(paired, [*[0] * len(rows), start], [*rows, start + width], location=product.location)
            for product, start in ((first, 0), (second, width))
        ]
        rewriter.insert([*weights, weight, paired, *halves], InsertPoint.before(first))
        for product, half in zip((first, second), halves, strict=True):
            rewriter.replace(product, [], [half.result])


def _products_of(op: MulOp) -> set[MatmulOp]:
    """The products by weights that a multiplication combines, if they have no other uses and nothing else is read.

    Empty otherwise.
    """
    shape, products, inside = shape_of(op.result), set[MatmulOp](), set[SSAValue]()
    left = [*op.operands]
    while left:
        value = left.pop()
        owner = value.owner
        if value in inside or isinstance(owner, WeightOp | ConstantOp):
            continue
        if isinstance(owner, Block) or owner.parent is not op.parent or shape_of(value) != shape:
            return set()
        if _is_by_weight(owner):
            products.add(owner)
        elif isinstance(owner, ElementwiseOp) and len(inside) < MOST_OPS:
            left += owner.operands
        else:
            return set()
        inside.add(value)
    users = {use.operation for value in inside for use in value.uses} - {op}
    return products if all(user.results and user.results[0] in inside for user in users) else set()


def _is_by_weight(op: Operation | Block) -> TypeGuard[MatmulOp]:
    """Whether an op is a float product by a single constant matrix."""
    if not isinstance(op, MatmulOp) or not is_weight(op.rhs) or op.transpose_a is not None:
        return False
    return element_type_of_value(op.rhs) in (f32, f64, f16, bf16)


def _are_alike(first: MatmulOp, second: MatmulOp) -> bool:
    """Whether products can be halves of one."""
    return first.lhs is second.lhs and first.rhs.type == second.rhs.type and kind_of(first) == kind_of(second)


class AddBiasToHalves(GraphPattern):
    """halves of x w + b as operands of elementwise ops -> halves of x w plus halves of b"""

    @rewrites
    @override
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        product, bias = (op.lhs, op.rhs) if isinstance(op.lhs.owner, MatmulOp) else (op.rhs, op.lhs)
        if not _is_by_weight(product.owner) or not product.has_one_use() or not isinstance(bias.owner, WeightOp):
            return
        readers = [use.operation for use in op.result.uses]
        halves = halves_of(op.result, readers)
        if len(readers) != 2 or not halves or shape_of(bias) != shape_of(op.result)[-1:]:
            return
        if not all(isinstance(use.operation, ElementwiseOp) for half in halves for use in half.result.uses):
            return
        width = shape_of(halves[0].result)[-1]
        for half, start in zip(halves, (0, width), strict=True):
            part = with_operands(half, [product])
            part_of_bias = SliceOp(bias, [start], [start + width], location=op.location)
            total = AddOp(part, part_of_bias, location=op.location)
            rewriter.replace(half, [part, part_of_bias, total])


class PairGates(PatternPass):
    """On a CPU, a product and the product that gates it, with one left-hand side, become one product."""

    name = "pair-gates"
    patterns = (PairGatedProducts, AddBiasToHalves)
    machine = CpuAttr
