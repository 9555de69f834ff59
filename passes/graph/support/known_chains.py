"""Values that ops compute from constants, and that are not folded because they are larger than these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.ir import Block, SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.graph.values import Array
from .pattern_utils import Constants

Compute: TypeAlias = "Callable[[Sequence[Array]], Array]"


@dataclass(frozen=True)
class KnownChain:
    """How a value is computed from constants: from which, a text that identifies the ops, and a function."""

    leaves: tuple[SSAValue, ...]
    how: str
    compute: Compute


def known_chain(value: SSAValue, constants: Constants) -> KnownChain | None:
    """How a value is computed from constants; None if it depends on anything else, or takes long."""
    if constants.is_constant(value):
        return KnownChain((value,), "", lambda arrays: arrays[0])
    op = value.owner
    if not isinstance(op, GraphOp) or not op.operands or not op.is_cheap():
        return None
    parts = [known_chain(operand, constants) for operand in op.operands]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    # What is evaluated later must not depend on IR that is gone by then.
    kept, index = (
        op.clone(dict(zip(op.operands, Block(arg_types=op.operand_types).args, strict=True))),
        op.results.index(value),
    )
    ends = np.cumsum([len(part.leaves) for part in known])

    def compute(arrays: Sequence[Array]) -> Array:
        operands = [part.compute(arrays[end - len(part.leaves) : end]) for part, end in zip(known, ends, strict=True)]
        return kept.evaluate(*operands)[index]

    how = f"{op.name} {op.properties} {index}({', '.join(part.how for part in known)})"
    return KnownChain(tuple(leaf for part in known for leaf in part.leaves), how, compute)
