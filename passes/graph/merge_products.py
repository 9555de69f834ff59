"""merge-products: products of one left-hand side by several weights become one product by their concatenation.

before:  %q = graph.matmul %x, %wq   %k = graph.matmul %x, %wk                  weights [256, 64]
         %1 = graph.add %q, %bq      %2 = graph.add %k, %bk
after:   %0 = graph.matmul %x, concat(%wq, %wk)       %3 = graph.add %0, concat(%bq, %bk)
         %1 = graph.slice %3 [.., 0:64]               %2 = graph.slice %3 [.., 64:128]

Queries, keys and values of attention: one launch instead of three, and blocks for more multiprocessors; on a CPU
threads wait for each other once instead of three times (BERT base takes 47.7 ms on two threads instead of 48.6, as
much on one, Zen 5). Only where what follows the bias are views, which read parts of the one result where they lie;
elementwise ops would rather be done with a product of their own. On a CPU attention alone must follow the views: other
code there would want its part by itself. fold-constants makes one weight of the concatenation; those that are
block-quantised are joined at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.attention import AttentionOp
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.elementwise import AddOp
from ...dialects.graph.ops.movement import ReshapeOp, SliceOp, TransposeOp
from ...dialects.graph.ops.structure import WeightOp
from ...dialects.graph.values import shape_of
from ...dialects.kernel.targets import GpuAttr, target_of
from .support.joined_weights import is_weight, joined, joined_biases, kind_of
from .support.pattern_utils import GraphPattern, apply_patterns, rewrites, with_operands

_VIEWS = (ReshapeOp, TransposeOp, SliceOp)


@dataclass(frozen=True)
class _Product:
    """A product by a weight, and its value after an optional bias."""

    op: MatmulOp
    bias: SSAValue | None

    @property
    def last(self) -> SSAValue:
        """The value with the bias."""
        return self.op.result if self.bias is None else next(iter(self.op.result.uses)).operation.results[0]

    def like(self, other: _Product) -> bool:
        """Whether both can be parts of one product."""
        return kind_of(self.op) == kind_of(other.op) and (self.bias is None) == (other.bias is None)


def _product(op: Operation) -> _Product | None:
    """An op as a product by a weight, if it is one."""
    if not isinstance(op, MatmulOp) or op.transpose_a is not None or not is_weight(op.rhs):
        return None
    found = _Product(op, None)
    users = [use.operation for use in op.result.uses]
    if len(users) == 1 and isinstance(add := users[0], AddOp):
        bias = add.rhs if add.lhs is op.result else add.lhs
        shape = shape_of(op.result)
        if isinstance(bias.owner, WeightOp) and shape_of(bias) == shape[-1:] and shape_of(add.result) == shape:
            found = _Product(op, bias)
    return found


def _views(value: SSAValue) -> bool:
    """Whether all users of a value are views."""
    readers = [use.operation for use in value.uses]
    return bool(readers) and all(isinstance(each, _VIEWS) for each in readers)


def _views_for_attention(value: SSAValue) -> bool:
    """Whether all users of a value are views whose users are attention ops."""
    left = [value]
    while left:
        viewed = left.pop()
        readers = [use.operation for use in viewed.uses]
        if not all(
            isinstance(each, _VIEWS) or (isinstance(each, AttentionOp) and viewed is not value) for each in readers
        ):
            return False
        left += [result for each in readers if isinstance(each, _VIEWS) for result in each.results]
    return _views(value)


class MergeProductsOfOneLeftSide(GraphPattern):
    """matmul(x, a), matmul(x, b) -> slices of matmul(x, concat(a, b)), if all users are views"""

    may_be_part: Callable[[SSAValue], bool] = staticmethod(_views)

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        first = _product(op)
        if first is None or not self.may_be_part(first.last):
            return
        found = [_product(use.operation) for use in op.lhs.uses if use.index == 0 and use.operation.parent is op.parent]
        alike = [each for each in found if each is not None and each.like(first) and self.may_be_part(each.last)]
        block = op.parent
        assert block is not None
        order = {each: number for number, each in enumerate(block.ops)} if len(alike) > 1 else {}
        products = sorted(alike, key=lambda each: order.get(each.op, 0))
        if len(products) < 2 or products[0].op is not op:
            return
        columns = -1 if op.transpose_b is None else -2
        sizes = [shape_of(each.op.rhs)[columns] for each in products]
        *weights, weight = joined([each.op for each in products], self.constants)
        merged = with_operands(op, [op.lhs, weight.results[0]])
        made: list[Operation] = [*weights, weight, merged]
        whole: SSAValue = merged.result
        if first.bias is not None:
            biases = [each.bias for each in products if each.bias is not None]
            *parts, bias = joined_biases(op, biases, self.constants)
            add = AddOp(whole, bias.results[0], location=op.location)
            made += [*parts, bias, add]
            whole = add.result
        rewriter.insert(made)
        shape = shape_of(whole)
        for each, (start, stop) in zip(products, pairwise(accumulate(sizes, initial=0)), strict=True):
            last = each.last.owner
            assert isinstance(last, Operation)
            starts, stops = [*[0] * (len(shape) - 1), start], [*shape[:-1], stop]
            rewriter.replace(last, SliceOp(whole, starts, stops, location=last.location))
            if last is not each.op:
                rewriter.erase(each.op)


class MergeProductsForAttention(MergeProductsOfOneLeftSide):
    """The same, if the views are operands of attention"""

    may_be_part = staticmethod(_views_for_attention)


@dataclass(frozen=True)
class MergeProducts(ModulePass):
    """Products of one left-hand side by several weights become one product by their concatenation."""

    name = "merge-products"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        on_gpu = isinstance(target_of(op), GpuAttr)
        apply_patterns(ctx, op, self.name, [MergeProductsOfOneLeftSide if on_gpu else MergeProductsForAttention])
