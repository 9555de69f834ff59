"""recompose-silu: recognises x * sigmoid(x), also called swish.

before:  %1 = graph.sigmoid %x    %2 = graph.mul %x, %1
after:   %2 = graph.silu %x

A sigmoid that has other users, too, stays, and so does its product.
"""

from __future__ import annotations

from typing_extensions import override
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.elementwise import MulOp
from ...dialects.graph.ops.unary import SigmoidOp, SiluOp
from .support.pattern_utils import GraphPattern, PatternPass, only_use, rewrites


class Silu(GraphPattern):
    """x * sigmoid(x) -> silu(x)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MulOp, rewriter: PatternRewriter, /) -> None:
        for x, gate in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            sigmoid = only_use(gate, SigmoidOp)
            if sigmoid is not None and sigmoid.x is x:
                rewriter.replace(op, SiluOp(x, location=op.location))
                return


class RecomposeSilu(PatternPass):
    """Recognises silu."""

    name = "recompose-silu"
    patterns = (Silu,)
    kinds = (SigmoidOp,)
