"""The bytes that a kernel.window covers, in all turns of the loops around it, for verify-arena."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.errors import PlanError
from ....dialects.graph.values import numpy_dtype
from ....dialects.kernel.calls import WindowOp
from ...geometry.boxes import row_major
from .byte_map import Region

_Numbers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
_ARITHMETIC = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.RemSIOp: np.fmod,
}


def window_region(op: WindowOp, source: Region, name: str, *, exact: bool) -> Region:
    """The bytes of a window, whose source has the bytes `source`.

    Where its places are at uneven distances, those between the first one and the last; a PlanError with `exact`.
    """
    type = op.result.type
    if source.dims or type.get_strides() != row_major(type.get_shape()):
        raise PlanError(f"{name}: a window is a dense part of a dense buffer")
    itemsize = numpy_dtype(type.element_type).itemsize
    count = prod(type.get_shape()) * itemsize
    starts = np.unique(_values(op.offset, _turns(op.offset), name)) * itemsize
    low, high = int(starts[0]), int(starts[-1]) + count
    if low < 0 or high > source.run:
        raise PlanError(f"{name}: a window covers bytes [{low}, {high}) of a buffer of {source.run}")
    distances = set(np.diff(starts).tolist())
    if max(distances, default=0) <= count:
        return Region(source.space, source.owner, source.start + low, (), high - low)
    if len(distances) == 1:
        return Region(source.space, source.owner, source.start + low, ((len(starts), *distances),), count)
    if exact:
        raise PlanError(f"{name}: a window has places at uneven distances")
    return Region(source.space, source.owner, source.start + low, (), high - low)


def _turns(value: SSAValue) -> dict[SSAValue, _Numbers]:
    """The induction variables that a value depends on, each with its values along an axis of its own."""
    pending, loops = [value], dict[SSAValue, scf.ForOp]()
    for each in pending:
        if isinstance(each.owner, Operation):
            pending += each.owner.operands
        elif isinstance(loop := each.owner.parent_op(), scf.ForOp) and each is each.owner.args[0]:
            loops[each] = loop
    turns: dict[SSAValue, _Numbers] = {}
    for axis, (each, loop) in enumerate(loops.items()):
        low, high, step = (int(_values(bound, {}, "a loop")) for bound in (loop.lb, loop.ub, loop.step))
        values = np.arange(low, high, step, dtype=np.int64)
        turns[each] = values.reshape([-1 if axis == dim else 1 for dim in range(len(loops))])
    return turns


def _values(value: SSAValue, turns: dict[SSAValue, _Numbers], name: str) -> _Numbers:
    """The numbers that a scalar is."""
    if value in turns:
        return turns[value]
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return np.array(op.value.value.data, np.int64)
    for kind, function in _ARITHMETIC.items():
        if isinstance(op, kind):
            return function(*(_values(each, turns, name) for each in op.operands))
    raise PlanError(f"{name}: the place of a window depends on more than constants and loops with constant bounds")
