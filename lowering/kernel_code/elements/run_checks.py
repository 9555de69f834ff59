"""Run-time checks of a kernel, recorded in the call's status buffer; see passes/memory/insert_checks.py.

    smallest, largest = those of this thread's part of the indices
    if smallest < -size: status[place] = smallest
    elif largest >= size: status[place] = largest

Checks precede the kernel's own loops, which clamp indices without a test: a vectorised pass over the indices is cheap
compared with moving the elements. Several threads may store different wrong indices; any of them is valid. The indices
have not been overwritten yet: results work in place only where elements keep their position.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....dialects.errors import CompileError
from ....dialects.extensions.arith import CmpiOp, IndexCastOp
from ....dialects.graph.base import describe
from ....dialects.graph.ops.fail import FailOp
from ....dialects.graph.ops.indexing import GatherNdOp, ScatterNdOp
from ....dialects.graph.ops.structure import KernelOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import Size
from ....passes.memory.insert_checks import IndexCheck, checks_of
from ..arithmetic import convert, is_unsigned
from ..index_expr import Expr, delinearize
from ..instance_base import AnyInstance
from ..loop_builder import memref_type
from ..reductions import Reduction
from .element_values import Values


def write_checks(k: AnyInstance, status: SSAValue) -> None:
    """Builds all checks of a kernel."""
    checks = list(checks_of(k.kernel))
    if memref_type(status).get_shape() != (len(checks),):
        raise CompileError(
            f"{describe(k.kernel)} @{k.name}: {len(checks)} checks, but a status {status.type}; see insert-checks"
        )
    v = Values(k.b, k.kernel, k.operands)
    for place, check in enumerate(checks):
        if isinstance(check, FailOp):
            k.items(1, lambda _, place=place: k.b.store(k.b.constant(1, i64), status, [place]))
        else:
            _note(k, v, check, status, place)


def positions_checked(kernel: KernelOp) -> int:
    """The largest number of indices of any of a kernel's checks; 1 for a graph.fail."""
    return max((prod(_shape_checked(check)) for check in checks_of(kernel)), default=0)


def _shape_checked(check: IndexCheck | FailOp) -> tuple[int, ...]:
    if isinstance(check, FailOp):
        return ()
    shape = shape_of(check.op.indices)
    return shape[:-1] if isinstance(check.op, GatherNdOp | ScatterNdOp) else shape


def _note(k: AnyInstance, v: Values, check: IndexCheck, status: SSAValue, place: int) -> None:
    b, indices = k.b, check.op.indices
    shape, element = _shape_checked(check), element_type_of_value(indices)
    last = [Expr.of(check.number)] if len(shape) < len(shape_of(indices)) else []
    total = prod(shape)
    if not total:
        return
    below, above = ("min", "slt", -check.size), ("max", "sgt", check.size - 1)
    wrong = [("max", "ugt", check.size - 1)] if is_unsigned(element) else [below, above]
    extremes = [Reduction(b, kind, element) for kind, _, _ in wrong]

    def step(position: Expr, before: Sequence[SSAValue]) -> list[SSAValue]:
        index = v.at(indices, [*delinearize(position, shape), *last])
        return [extreme.combine(each, index) for extreme, each in zip(extremes, before, strict=True)]

    low, high = k.part(total)
    found = v.carry_between(low, high, total, [extreme.start() for extreme in extremes], step)
    for extreme, (_, predicate, bound) in zip(found, wrong, strict=True):
        index = convert(b, extreme, element, i64)  # in which it is compared: a GPU's `index` may have 32 bits
        limit = b.insert(IndexCastOp(b.index(bound), i64)) if isinstance(bound, Size) else b.constant(bound, i64)
        b.when(b.make(CmpiOp, index, limit, extra=(predicate,)), partial(b.store, index, status, [place]))
