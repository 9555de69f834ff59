"""The form "transposition": one transpose that changes the innermost axis, with elementwise ops.

Axes of size 1 are dropped and axes that stay adjacent are merged, which leaves a permutation of few axes: [batch,
height, width, channels] -> [batch, channels, height, width] is (0, 2, 1) of three.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ....dialects.graph.base import ElementwiseOp
from ....dialects.graph.ops.movement import ReshapeOp, TransposeOp
from ....dialects.graph.ops.structure import ConstantOp, KernelOp, YieldOp
from ....dialects.graph.values import ints, shape_of


@dataclass(frozen=True)
class Transposition:
    """A kernel's transpose. `groups` are the merged axes of its result, outermost first.

    `row` is the group that is innermost in x, and the last group the innermost of the result.
    """

    root: TransposeOp
    groups: tuple[tuple[int, ...], ...]
    row: int

    @property
    def sizes(self) -> list[int]:
        """The size of each group."""
        shape = shape_of(self.root.result)
        return [prod(shape[axis] for axis in group) for group in self.groups]

    @property
    def faces(self) -> int:
        """Number of (row, column) planes to transpose."""
        return prod(size for number, size in enumerate(self.sizes[:-1]) if number != self.row)


def transposition(kernel: KernelOp) -> Transposition | None:
    """The form of a kernel; None for any other body, or if the innermost axis stays."""
    ops = [op for op in kernel.body.block.ops if not isinstance(op, YieldOp | ConstantOp)]
    roots = [op for op in ops if isinstance(op, TransposeOp)]
    if len(roots) != 1 or any(op is not roots[0] and not isinstance(op, ElementwiseOp | ReshapeOp) for op in ops):
        return None
    root = roots[0]
    shape, behind = shape_of(root.result), {root.result}
    for op in ops:
        if behind.intersection(op.operands):
            if not isinstance(op, ElementwiseOp):
                return None
            behind.update(op.results)
    results = kernel.terminator.operands
    if 0 in shape or any(value not in behind or shape_of(value) != shape for value in results):
        return None
    groups = _groups(shape, ints(root.permutation))
    if len(groups) < 2:
        return None
    innermost = max(range(len(groups)), key=lambda number: ints(root.permutation)[groups[number][-1]])
    return Transposition(root, tuple(groups), innermost) if innermost != len(groups) - 1 else None


def _groups(shape: Sequence[int], permutation: Sequence[int]) -> list[tuple[int, ...]]:
    """The axes of the result, without those of size 1, merged where they are adjacent and in the same order in x."""
    long = [axis for axis, size in enumerate(shape) if size != 1]
    of_x = sorted(permutation[axis] for axis in long)
    groups: list[tuple[int, ...]] = []
    for axis in long:
        place = of_x.index(permutation[axis])
        if groups and of_x.index(permutation[groups[-1][-1]]) == place - 1:
            groups[-1] = (*groups[-1], axis)
        else:
            groups.append((axis,))
    return groups
