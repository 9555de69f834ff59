"""What a kernel copies, where copying is all it does: reshape, slice, split, concat, transposes of unit axes.

A move takes a window of an operand to a window of a result, element by element. Where both windows can
be the same bytes there is nothing left to do (see elide-copies).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects.graph import ConcatOp, KernelOp, shape_of
from ...geometry.boxes import Box, row_major, with_unit_strides
from ...geometry.strided_views import strided_view


@dataclass(frozen=True)
class Move:
    """Element i of `source`, a window of operand number `operand`, goes to element i of `target`, a window of
    result number `result`; windows count elements of dense tensors."""

    operand: int
    source: Box
    result: int
    target: Box


def moves_of(kernel: KernelOp) -> list[Move] | None:
    """What the kernel copies, None where it does anything else, or copies what is no window."""
    moves: list[Move] = []
    for result, value in enumerate(kernel.terminator.arguments):
        owner = value.owner
        parts = _parts(owner) if isinstance(owner, ConcatOp) else [(value, Box.dense(shape_of(value)))]
        for part, target in parts:
            found = _window(kernel, part)
            if found is None:
                return None
            moves.append(Move(*found, result, target))
    return moves


def _parts(concat: ConcatOp) -> list[tuple[SSAValue, Box]]:
    """The operands of a concatenation and where they go in its result."""
    axis, position = concat.axis.value.data, 0
    strides = row_major(shape_of(concat.result))
    parts: list[tuple[SSAValue, Box]] = []
    for part in concat.inputs:
        sizes = shape_of(part)
        parts.append((part, Box(position * strides[axis], sizes, with_unit_strides(sizes, strides))))
        position += sizes[axis]
    return parts


def _window(kernel: KernelOp, value: SSAValue) -> tuple[int, Box] | None:
    """The operand that a value in the body is a window of, and the window."""
    view = strided_view(value)
    arguments = kernel.arguments
    if view.base not in arguments:
        return None
    if any(stride <= 0 for size, stride in zip(view.sizes, view.strides, strict=True) if size > 1):
        return None
    return arguments.index(view.base), Box(view.offset, view.sizes, with_unit_strides(view.sizes, view.strides))
