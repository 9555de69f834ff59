"""narrow-rows: what only products read, which round it, is stored rounded by the product or attention that makes it.

before:  %g = graph.gelu %p                             %q = graph.matmul %g, %w
after:   %g = graph.gelu %p    %h = graph.cast %g {to = f16}
         %n = graph.cast %h {to = f32}                  %q = graph.matmul %n, %w

At the precisions fp16 and bf16, where the device's rules of fusion say that products read rows so (`narrow_rows`): half
of the bytes are stored, copied and read from shared memory, and no bit of any result changes. The first cast joins
the kernel of what is rounded, the second that of the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.graph.base import ElementwiseOp
from ...dialects.graph.ops.attention import AttentionOp
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.conversion import CastOp
from ...dialects.graph.ops.movement import ReshapeOp, TransposeOp
from ...dialects.graph.values import element_type_of_value, ints, shape_of
from ...dialects.kernel.targets import target_of
from ..statistics import count
from .fusion_rules import FusionRules
from .schedules import fusion_rules
from .split_norms import made_by_products


@dataclass(frozen=True)
class NarrowRows(ModulePass):
    """What only products read, which round it, is stored rounded."""

    name = "narrow-rows"
    forbid: tuple[str, ...] = ()
    """Schedules that are not to be taken, so that nothing is rounded for their sake."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = fusion_rules(target_of(op), self.forbid)
        narrow = rules.narrow_rows()
        made = [] if narrow is None else [each for each in op.walk() if _rounds(each, rules)]
        for each in made:
            assert narrow is not None
            _round(each, narrow)
        count(ctx, self.name, "results", len(made))


def _rounds(op: Operation, rules: FusionRules) -> bool:
    """Whether an op makes numbers of f32, with a product or an attention, which only products read, and round."""
    if not isinstance(op, ElementwiseOp | MatmulOp | AttentionOp | TransposeOp):
        return False
    value = op.results[0]
    if element_type_of_value(value) != f32 or not (_attends(op) or made_by_products(value, op, rules)):
        return False
    readers = [*_readers(op)]
    return bool(readers) and all(
        isinstance(each, MatmulOp)
        and each.parent is op.parent
        and each.lhs is rows
        and each.rhs is not rows
        and rules.normalises_rows(each)
        for each, rows in readers
    )


def _attends(op: Operation) -> bool:
    """Whether an op is the last of an attention's kernel: it, or a transpose that it is stored through."""
    if isinstance(op, TransposeOp):
        order = ints(op.permutation)
        return isinstance(op.x.owner, AttentionOp) and op.x.has_one_use() and order[-1] == len(order) - 1
    return isinstance(op, AttentionOp)


def _readers(op: Operation) -> Iterator[tuple[Operation, SSAValue]]:
    """The ops that read an op's result, directly or reshaped, each with what it reads."""
    for use in op.results[0].uses:
        if isinstance(use.operation, ReshapeOp):
            yield from _readers(use.operation)
        else:
            yield use.operation, op.results[0]


def _round(op: Operation, narrow: Attribute) -> None:
    readers = [*_readers(op)]
    rounded = CastOp(op.results[0], narrow, location=op.location)
    Rewriter.insert_op(rounded, InsertPoint.after(op))
    unread: list[Operation] = []
    for product, rows in readers:
        before: list[Operation] = []
        narrow_rows = rounded.result
        if rows is not op.results[0]:
            before.append(ReshapeOp(narrow_rows, shape_of(rows), location=product.location))
            unread += _reshapes(rows)
        before.append(CastOp(before[-1].results[0] if before else narrow_rows, f32, location=product.location))
        Rewriter.insert_op(before, InsertPoint.before(product))
        product.operands[0] = before[-1].results[0]
    for each in dict.fromkeys(unread):
        if not any(result.uses for result in each.results):
            Rewriter.erase_op(each)


def _reshapes(value: SSAValue) -> Iterator[Operation]:
    """The reshapes that end in a value, the last one first."""
    while isinstance(owner := value.owner, ReshapeOp):
        yield owner
        value = owner.x
