"""canonicalize-graph: rewrites equivalent forms of a computation to one, and erases dead ops.

before:  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>}    %2 = graph.matmul %x, %1
         %3 = graph.constant dense<0.0>                               %4 = graph.add %2, %3
after:   %1 = graph.matmul %x, %0 {transpose_b}                       (users of %4 take %1)

The patterns are in `canonical/`: arithmetic, reshapes and transposes, slices, tables, contractions. Dead ops go on
the way, and ops of small constants are evaluated. Weights are not folded (fold-constants does that), except
what a convolution takes into its own. x * sigmoid(x) and its like are left to the recompose passes.
"""

from __future__ import annotations

from ...dialects.modules import classes_in
from .canonical import contractions, reshapes, slices, tables, transposes, windows
from .canonical import elementwise as arithmetic
from .fold_constants import FoldSmallConstants
from .support.pattern_utils import GraphPattern, PatternPass

_FAMILIES = (arithmetic, reshapes, transposes, slices, tables, windows, contractions)
_FOUND = (pattern for file in _FAMILIES for pattern in classes_in(file, GraphPattern))


class CanonicalizeGraph(PatternPass):
    """Applies all canonical patterns until none matches."""

    name = "canonicalize-graph"
    patterns = (FoldSmallConstants, *_FOUND)
    """Of equal ones the first is applied: in the order of the files, and as they stand in each."""
