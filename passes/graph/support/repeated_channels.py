"""Elementwise ops after a convolution, applied to its result in a form with repeated channels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.graph.base import ElementwiseOp
from ....dialects.graph.ops.structure import ConstantOp, WeightOp
from ....dialects.graph.values import Array, element_type_of_value, shape_of, tensor
from .pattern_utils import Constants, with_operands


def followers_of(value: SSAValue, constants: Constants) -> list[ElementwiseOp]:
    """The chain of elementwise ops after a value [N, C, ...] whose other operands are per-channel constants."""
    found: list[ElementwiseOp] = []
    shape, block = shape_of(value), value.owner.parent if isinstance(value.owner, Operation) else value.owner
    while isinstance(user := value.get_user_of_unique_use(), ElementwiseOp) and user.parent is block:
        others = [operand for operand in user.operands if operand is not value]
        fit = all(constants.is_constant(other) and is_per_channel(shape_of(other), len(shape)) for other in others)
        if not fit or shape_of(user.results[0]) != shape:
            break
        found.append(user)
        value = user.results[0]
    return found


def is_per_channel(shape: Sequence[int], rank: int) -> bool:
    """Whether a value of that shape, broadcast to a value [N, C, ...] of that rank, varies by channel only."""
    return len(shape) <= rank and all(size == 1 for axis, size in enumerate(reversed(shape), 1) if axis != rank - 1)


def followed(
    followers: Sequence[ElementwiseOp], value: SSAValue, part: SSAValue, times: int, constants: Constants
) -> list[Operation]:
    """Ops, in order, that apply `followers` of `value` to `part`, which has each channel `times` times."""
    made: list[Operation] = []
    for op in followers:
        operands: list[SSAValue] = []
        for operand in op.operands:
            if operand is value:
                operands.append(part)
            elif times > 1 and prod(shape_of(operand)) > 1:
                made.append(repeated(operand, times, len(shape_of(part)) - 2, constants, op.location))
                operands.append(made[-1].results[0])
            else:
                operands.append(operand)
        made.append(with_operands(op, operands))
        value, part = op.results[0], made[-1].results[0]
    return made


def repeated(
    value: SSAValue, times: int, axes: int, constants: Constants, location: LocationAttr
) -> ConstantOp | WeightOp:
    """A per-channel constant repeated `times` times, reshaped to precede `axes` axes."""
    shape = (times * prod(shape_of(value)), *[1] * axes)

    def tiled(array: Array) -> Array:
        return np.tile(array.reshape(-1), times).reshape(shape)

    type = tensor(element_type_of_value(value), shape)
    return constants.computed([value], type, f"{times} times, {axes} axes", tiled, location)
