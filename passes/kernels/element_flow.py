"""Analysis of element positions in a kernel's body: which results may be computed in place."""

from __future__ import annotations

from collections.abc import Container

from xdsl.ir import Operation, SSAValue

from ...dialects.graph.base import ElementwiseOp
from ...dialects.graph.ops.normalization import BatchNormOp
from ...dialects.graph.ops.structure import KernelOp, YieldOp
from ...dialects.graph.values import shape_of, type_of
from .kernel_facts import constant_operands


def same_place_pairs(kernel: KernelOp, also: Container[Operation] = ()) -> list[tuple[int, int]]:
    """(operand, result) pairs of equal type in which result elements depend on the operand's same element only.

    All paths from the operand to any result consist of elementwise ops that keep the shape, and ops of `also`. Empty if
    results differ in shape: then they are not written together.
    """
    results = list(kernel.terminator.arguments)
    if len({shape_of(value) for value in results}) != 1:
        return []
    constants = constant_operands(kernel)
    return [
        (position, number)
        for position, argument in enumerate(kernel.arguments)
        if position not in constants and _stays_in_place(argument, also)
        for number, value in enumerate(results)
        if type_of(value) == type_of(argument)
    ]


def _stays_in_place(argument: SSAValue, also: Container[Operation]) -> bool:
    """Whether all values computed from an argument keep the position of its elements."""
    reached, left = {argument}, [argument]
    while left:
        value = left.pop()
        for use in value.uses:
            user = use.operation
            if isinstance(user, YieldOp):
                continue
            # A batch norm scales each element of its first operand by itself.
            normalised = isinstance(user, BatchNormOp) and use.index == 0
            if not normalised and not isinstance(user, ElementwiseOp) and user not in also:
                return False
            if any(shape_of(result) != shape_of(value) for result in user.results):
                return False
            left += [result for result in user.results if result not in reached]
            reached.update(user.results)
    return True
