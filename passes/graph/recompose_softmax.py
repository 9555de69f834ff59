"""recompose-softmax: recognises softmax and log-softmax.

before:  %1 = graph.reduce_max %x {axes = array<i64: 1>, keepdims}    %2 = graph.sub %x, %1
         %3 = graph.exp %2    %4 = graph.reduce_sum %3 {axes = array<i64: 1>, keepdims}
         %5 = graph.div %3, %4
after:   %5 = graph.softmax %x {axis = 1}

With or without the maximum (graph.softmax never overflows), with a division or a reciprocal.
log(softmax(x)) and x - log(sum(exp(x))) are log_softmax. Sums over several axes stay.
"""

from __future__ import annotations

from typing_extensions import override
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.elementwise import DivOp, MulOp, SubOp
from ...dialects.graph.ops.reduction import LogSoftmaxOp, ReduceMaxOp, ReduceSumOp, SoftmaxOp
from ...dialects.graph.ops.unary import ExpOp, LogOp, ReciprocalOp
from ...dialects.graph.values import ints
from .support.pattern_utils import GraphPattern, PatternPass, defining, only_use, rewrites


def _sum_of_powers(value: SSAValue) -> tuple[ExpOp, int] | None:
    """The exponentials that `value` sums over one axis with keepdims, and the axis."""
    total = defining(value, ReduceSumOp)
    if total is None or total.keepdims is None or len(ints(total.axes)) != 1:
        return None
    powers = defining(total.x, ExpOp)
    return None if powers is None else (powers, ints(total.axes)[0])


def _unshifted(value: SSAValue, axis: int) -> SSAValue:
    """x if `value` is x minus its maximum over the axis; otherwise `value`."""
    shifted = defining(value, SubOp)
    largest = None if shifted is None else defining(shifted.rhs, ReduceMaxOp)
    if shifted is None or largest is None or largest.keepdims is None or ints(largest.axes) != (axis,):
        return value
    return shifted.lhs if largest.x is shifted.lhs else value


class Softmax(GraphPattern):
    """exp(x) / sum(exp(x)) -> softmax(x), where x may be shifted by its maximum"""

    @rewrites
    @override
    def match_and_rewrite(self, op: DivOp | MulOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, DivOp):
            candidates = [(op.lhs, op.rhs)]
        else:
            sides = ((op.lhs, op.rhs), (op.rhs, op.lhs))
            inverses = [(powers, only_use(inverse, ReciprocalOp)) for powers, inverse in sides]
            candidates = [(powers, inverse.x) for powers, inverse in inverses if inverse is not None]
        for powers, total in candidates:
            found = _sum_of_powers(total)
            if found is not None and found[0].result is powers:
                x = _unshifted(found[0].x, found[1])
                rewriter.replace(op, SoftmaxOp(x, found[1], location=op.location))
                return


class LogOfSoftmax(GraphPattern):
    """log(softmax(x)) -> log_softmax(x)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: LogOp, rewriter: PatternRewriter, /) -> None:
        softmax = only_use(op.x, SoftmaxOp)
        if softmax is not None:
            rewriter.replace(op, LogSoftmaxOp(softmax.x, softmax.axis.value.data, location=op.location))


class LogSumExp(GraphPattern):
    """x - log(sum(exp(x))) -> log_softmax(x), where x may be shifted by its maximum"""

    @rewrites
    @override
    def match_and_rewrite(self, op: SubOp, rewriter: PatternRewriter, /) -> None:
        log = only_use(op.rhs, LogOp)
        found = None if log is None else _sum_of_powers(log.x)
        if found is not None and found[0].x is op.lhs:
            x = _unshifted(op.lhs, found[1])
            rewriter.replace(op, LogSoftmaxOp(x, found[1], location=op.location))


class RecomposeSoftmax(PatternPass):
    """Recognises softmax and log-softmax."""

    name = "recompose-softmax"
    patterns = (Softmax, LogOfSoftmax, LogSumExp)
    kinds = (ExpOp, LogOp)
