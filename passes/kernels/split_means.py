"""split-means: means of a depthwise convolution's images are computed from the means of their rows.

before:  %y = graph.conv %x, %w    %z = graph.relu %y
         %m = graph.reduce_mean %z {axes = array<i64: 1, 2>}        %p = graph.mul %z, ...
after:   %y = graph.conv %x, %w    %z = graph.relu %y
         %r = graph.reduce_mean %z {axes = array<i64: 2>, keepdims}
         %m = graph.reduce_mean %r {axes = array<i64: 1, 2>}        %p = graph.mul %z, ...

Those of the rows come first of all that reads the pictures, so that form-kernels can have them made with these, while a
row is in registers: that is how squeeze-and-excitation blocks (Hu et al., 2018) weigh their channels. Only where the
device's rules of fusion say so, and where something else reads the pictures too.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.graph.base import ElementwiseOp
from ...dialects.graph.ops.contraction import ConvOp
from ...dialects.graph.ops.reduction import ReduceMeanOp
from ...dialects.graph.values import element_type_of_value, ints, shape_of
from ...dialects.kernel.targets import target_of
from ..statistics import count
from .fusion_rules import FusionRules
from .schedules import fusion_rules


@dataclass(frozen=True)
class SplitMeans(ModulePass):
    """Means of a depthwise convolution's images are computed from the means of their rows."""

    name = "split-means"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = fusion_rules(target_of(op))
        means = [each for each in op.walk() if isinstance(each, ReduceMeanOp) and _splits(each, rules)]
        for each in means:
            made = each.x.owner
            assert isinstance(made, Operation)
            rows = ReduceMeanOp(each.x, (2,), keepdims=True, location=each.location)
            Rewriter.insert_op(rows, InsertPoint.after(made))
            each.operands[0] = rows.result
        count(ctx, self.name, "means", len(means))


def _splits(op: ReduceMeanOp, rules: FusionRules) -> bool:
    """Whether these are means of channels-last images that a convolution computes and that have another user."""
    if ints(op.axes) != (1, 2) or op.x.has_one_use():
        return False
    value = op.x
    while isinstance(owner := value.owner, ElementwiseOp) and owner.parent is op.parent:
        value = next((each for each in owner.operands if shape_of(each) == shape_of(value)), owner.operands[0])
    if not isinstance(owner, ConvOp) or owner.parent is not op.parent:
        return False
    return element_type_of_value(owner.result) == element_type_of_value(op.x) and rules.makes_means(owner)
