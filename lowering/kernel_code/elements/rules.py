"""The table of what `Values` doesn't know by itself: single elements of all ops that are not elementwise."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....dialects.graph.ops.structure import KernelOp
from ..builder import LoopBuilder
from .block_rules import BLOCK_RULES
from .convolution_rules import CONVOLUTION_RULES
from .movement_rules import MOVEMENT_RULES
from .reduction_rules import REDUCTION_RULES
from .region_rules import REGION_RULES
from .sampling_rules import SAMPLING_RULES
from .values import Rule, Values
from .window_rules import WINDOW_RULES

_RULES: dict[str, Rule] = {
    **MOVEMENT_RULES,
    **REDUCTION_RULES,
    **WINDOW_RULES,
    **BLOCK_RULES,
    **CONVOLUTION_RULES,
    **SAMPLING_RULES,
    **REGION_RULES,
}


def element_values(
    b: LoopBuilder, kernel: KernelOp, operands: Sequence[SSAValue], *, on_demand: bool = False
) -> Values:
    """The values of a kernel's body, with a rule for every op; see `Values`."""
    return Values(b, kernel, operands, _RULES, on_demand=on_demand)
