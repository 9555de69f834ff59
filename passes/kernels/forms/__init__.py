"""Forms: what a kernel's body computes, named by the op that the others ride along with."""

from __future__ import annotations

from xdsl.ir import Operation

from ....dialects.graph.base import ReductionOp
from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.contraction import ConvOp, MatmulOp
from ....dialects.graph.ops.linear_attention import LinearAttentionOp
from ....dialects.graph.ops.patches import Col2ImOp
from ....dialects.graph.ops.recurrence import RecurrenceOp
from ....dialects.graph.ops.sampling import SampleOp
from ....dialects.graph.ops.selection import TopKOp
from ....dialects.graph.ops.windows import LrnOp, PoolOp


def form_of(op: Operation) -> str:
    """The form of a kernel whose root `op` is; `map` where every element stands for itself.

    A convolution that another one is done with is `separable`, which is told by both.
    """
    match op:
        case MatmulOp() | ConvOp():
            return "contraction"
        case AttentionOp():
            return "attention"
        case LinearAttentionOp():
            return "linear_attention"
        case RecurrenceOp():
            return "recurrence"
        case TopKOp():
            return "selection"
        case PoolOp() | LrnOp() | SampleOp() | Col2ImOp():
            return "windows"
        case ReductionOp():
            return "rows"
        case _:
            return "map"
