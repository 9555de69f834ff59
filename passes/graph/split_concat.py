"""split-concat: a concatenation of very many operands becomes a tree of concatenations.

before:  %y = graph.concat %0, %1, .., %99 {axis = 0}
after:   %a = graph.concat %0, .., %24     %b = graph.concat %25, .., %49     %c = graph.concat %50, .., %74
         %d = graph.concat %75, .., %99    %y = graph.concat %a, %b, %c, %d

A kernel has a loop and a pointer for each operand, so its size would grow with them. elide-copies makes the inner
results parts of the outer one, so nothing is copied twice where operands can't be.
"""

from __future__ import annotations

from itertools import pairwise

from typing_extensions import override
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.movement import ConcatOp
from .support.pattern_utils import GraphPattern, PatternPass, rewrites

# Loops are cut at the seams between operands while that makes at most 48 pieces, and models in use have up to 26
# operands (DenseNet-121's last block).
MOST_OPERANDS = 32


class ConcatOfConcats(GraphPattern):
    """concat(a, b, c, d, ...) -> concat(concat(a, b), concat(c, d), ...)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter, /) -> None:
        operands, axis = op.inputs, op.axis.value.data
        if len(operands) <= MOST_OPERANDS:
            return
        count = -(-len(operands) // MOST_OPERANDS)
        ends = [len(operands) * number // count for number in range(count + 1)]
        parts = [ConcatOp(operands[start:end], axis, location=op.location) for start, end in pairwise(ends)]
        rewriter.replace(op, [*parts, ConcatOp(parts, axis, location=op.location)])


class SplitConcat(PatternPass):
    """Concatenations of very many operands become trees of concatenations."""

    name = "split-concat"
    patterns = (ConcatOfConcats,)
