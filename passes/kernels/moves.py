"""Moves: the results of a kernel that only copy operands, by reshape, slice, split, concat or transpose of unit axes.

A move copies a window of an operand to a window of a result, element by element. If both windows can be the same bytes,
nothing is left to do: choose-schedule puts moves on the kernel's interface for the memory passes.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.graph.ops.movement import ConcatOp
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.graph.values import shape_of
from ...dialects.kernel.kernel_attributes import MoveAttr
from ..geometry.boxes import Box, row_major, with_unit_strides
from ..geometry.strided_views import strided_view


def moves_of(kernel: KernelOp) -> list[MoveAttr]:
    """The moves of results that are only copied, as strided windows."""
    return [move for result, value in enumerate(kernel.terminator.arguments) for move in _moves(kernel, result, value)]


def _moves(kernel: KernelOp, result: int, value: SSAValue) -> list[MoveAttr]:
    """The moves that make up a whole result; [] if a part is computed or no window."""
    owner = value.owner
    parts = _parts(owner) if isinstance(owner, ConcatOp) else [(value, Box.dense(shape_of(value)))]
    moves: list[MoveAttr] = []
    for part, target in parts:
        view = strided_view(part)
        if view.base not in kernel.arguments:
            return []
        if any(stride <= 0 for size, stride in zip(view.sizes, view.strides, strict=True) if size != 1):
            return []
        operand = kernel.arguments.index(view.base)
        source = view.offset, with_unit_strides(view.sizes, view.strides)
        moves.append(MoveAttr.of(operand, result, view.sizes, source, (target.offset, target.strides)))
    return moves


def _parts(concat: ConcatOp) -> list[tuple[SSAValue, Box]]:
    """The operands of a concatenation and where they go in its result."""
    axis, strides = concat.axis.value.data, row_major(shape_of(concat.result))
    return [
        (part, Box(begin * strides[axis], shape_of(part), with_unit_strides(shape_of(part), strides)))
        for part, begin in zip(concat.inputs, concat.borders, strict=False)
    ]
