"""Facts about a kernel's operands that several schedules ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Operation, SSAValue

from ..dialects.graph import KernelOp, YieldOp, ints, type_of


def argument_index(kernel: KernelOp, value: SSAValue) -> int:
    """Which operand of the kernel a block argument is."""
    return next(i for i, argument in enumerate(kernel.arguments) if argument is value)


def constant_operands(kernel: KernelOp) -> tuple[int, ...]:
    """Operands that are weights in every call (`constant_operands`, written by form-kernels)."""
    attribute = kernel.attributes.get("constant_operands")
    if not isinstance(attribute, DenseArrayBase):
        return ()
    return ints(cast("DenseArrayBase[IntegerType]", attribute))


def plain_operands(kernel: KernelOp, ops: Sequence[Operation]) -> list[int]:
    """Operands that are no weights and that only `ops` read, as they are and not through views."""
    inside, constants = set(ops), constant_operands(kernel)
    return [
        position
        for position, argument in enumerate(kernel.arguments)
        if position not in constants and all(use.operation in inside for use in argument.uses)
    ]


def same_place_operands(kernel: KernelOp, ops: Sequence[Operation]) -> list[tuple[int, int]]:
    """(operand, result) pairs of equal type where only `ops` read the operand.

    `ops` are elementwise, so each of its elements is read where the result's element of the same index is
    written, and the two may be the same bytes.
    """
    inside = set(ops)
    last = kernel.body.block.last_op
    assert isinstance(last, YieldOp)
    constants = constant_operands(kernel)
    pairs: list[tuple[int, int]] = []
    for position, argument in enumerate(kernel.body.block.args):
        if position in constants or not all(use.operation in inside for use in argument.uses):
            continue
        for result, value in enumerate(last.operands):
            if type_of(value) == type_of(argument):
                pairs.append((position, result))
    return pairs
