"""canonicalize-graph: rewrites equivalent forms of a computation to one, and erases dead ops.

before:  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>}    %2 = graph.matmul %x, %1
         %3 = graph.constant dense<0.0>                               %4 = graph.add %2, %3
after:   %1 = graph.matmul %x, %0 {transpose_b}                       (users of %4 take %1)

The patterns are in `canonical/`: arithmetic, reshapes and transposes, slices, contractions. Dead ops go on
the way, and ops of small constants are evaluated. Weights are not folded (fold-constants does that), except
what a convolution takes into its own. x * sigmoid(x) and its like are left to the recompose passes.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .canonical.arithmetic import ARITHMETIC
from .canonical.contractions import CONTRACTIONS
from .canonical.reshapes import RESHAPES
from .canonical.slices import SLICES
from .canonical.transposes import TRANSPOSES
from .canonical.windows import WINDOWS
from .fold_constants import FoldSmallConstants
from .support.pattern_utils import apply_patterns


@dataclass(frozen=True)
class CanonicalizeGraph(ModulePass):
    """Applies all canonical patterns until none matches."""

    name = "canonicalize-graph"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_patterns(
            ctx,
            op,
            self.name,
            (FoldSmallConstants, *ARITHMETIC, *RESHAPES, *TRANSPOSES, *SLICES, *WINDOWS, *CONTRACTIONS),
        )
