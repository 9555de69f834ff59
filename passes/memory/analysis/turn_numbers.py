"""The numbers that a host scalar is in the turns of the loops around it."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.errors import PlanError

Numbers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
_ARITHMETIC = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.RemSIOp: np.fmod,
}


def numbers_of(*values: SSAValue) -> list[Numbers]:
    """What each of the values is, for the same turns: an axis for each loop on which one of them depends.

    Raises PlanError for what depends on more than constants and loops with constant bounds.
    """
    turns = _turns(values)
    return [_numbers(value, turns) for value in values]


def _turns(values: tuple[SSAValue, ...]) -> dict[SSAValue, Numbers]:
    """The induction variables that values depend on, each with its numbers along an axis of its own."""
    pending, loops = [*values], dict[SSAValue, scf.ForOp]()
    for each in pending:
        if isinstance(each.owner, Operation):
            pending += each.owner.operands
        elif isinstance(loop := each.owner.parent_op(), scf.ForOp) and each is each.owner.args[0]:
            loops[each] = loop
    turns: dict[SSAValue, Numbers] = {}
    for axis, (each, loop) in enumerate(loops.items()):
        low, high, step = (int(_numbers(bound, {})) for bound in (loop.lb, loop.ub, loop.step))
        numbers = np.arange(low, high, step, dtype=np.int64)
        turns[each] = numbers.reshape([-1 if axis == dim else 1 for dim in range(len(loops))])
    return turns


def _numbers(value: SSAValue, turns: dict[SSAValue, Numbers]) -> Numbers:
    if value in turns:
        return turns[value]
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return np.array(op.value.value.data, np.int64)
    for kind, function in _ARITHMETIC.items():
        if isinstance(op, kind):
            return function(*(_numbers(each, turns) for each in op.operands))
    raise PlanError("the place of a window depends on more than constants and loops with constant bounds")
