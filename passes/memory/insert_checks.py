"""insert-checks: kernels record run-time errors, such as an index out of range, in a status buffer of main.

before:  func.func @main(%x: ..., %i: ..., %y: ..., %arena: ...) {
           kernel.call @gather_0 ins(%x, %i : ...) outs(%y : ...)
after:   func.func @main(%x: ..., %i: ..., %y: ..., %arena: ..., %status: memref<8xi8>
             {graph.role = "status", graph.checks = [["the_node (graph.gather)", 3]]}) {
           %s = memref.view %status[%c0][] : memref<8xi8> to memref<1xi64>
           kernel.call @gather_0 ins(%x, %i : ...) outs(%y : ...) status(%s : memref<1xi64>)

There is an 8-byte slot for each dimension that a gather or scatter indexes. It is unchanged if all indices are in
range, else it holds one that is not (never 0, which is in range of every non-empty dimension). `graph.checks` gives the
node and the size of the dimension for each slot. Indices that are constants in a kernel's body were checked when they
were folded.

A graph.fail has a slot, too, which is 1 once the op has run; its entry in `graph.checks` is its message: `["message"]`.
If no kernel has anything to check, main is unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, i8, i64
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.graph.base import node_name
from ...dialects.graph.host import kernels_of, main_of
from ...dialects.graph.ops.fail import FailOp
from ...dialects.graph.ops.indexing import IndexedOp
from ...dialects.graph.ops.structure import ConstantOp, KernelOp
from ...dialects.graph.values import int_attr
from ...dialects.kernel.calls import CallOp
from ..statistics import count
from .analysis.buffers import IndexConstants, add_argument, argument_with_role, buffer_type
from .analysis.main_steps import calls_of

STATUS = "status"
CHECKS = "graph.checks"


@dataclass(frozen=True)
class IndexCheck:
    """A range check of those indices of `op` that index dimension `number` of `op.indexed()`."""

    op: IndexedOp
    number: int

    @property
    def size(self) -> int:
        """Size of the indexed dimension."""
        return self.op.indexed()[self.number]


def checks_of(kernel: KernelOp) -> Iterator[IndexCheck | FailOp]:
    """The run-time checks of a kernel, one per slot of its calls' status."""
    for op in kernel.body.block.ops:
        if isinstance(op, FailOp):
            yield op
        if isinstance(op, IndexedOp) and not isinstance(op.indices.owner, ConstantOp):
            for number in range(len(op.indexed())):
                yield IndexCheck(op, number)


@dataclass(frozen=True)
class InsertChecks(ModulePass):
    """Kernels record run-time errors in a status buffer of main."""

    name = "insert-checks"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        if argument_with_role(main, STATUS) is not None:
            return
        checks = {name: list(checks_of(kernel)) for name, kernel in kernels_of(op).items()}
        calls = Counter(call.callee.string_value() for call in calls_of(main))
        checked = [call for call in calls_of(main) if checks[call.callee.string_value()]]
        told: list[Attribute] = []
        starts = [0]
        for call in checked:
            for check in checks[call.callee.string_value()]:
                told.append(_told(call, check, shared=calls[call.callee.string_value()] > 1))
            starts.append(len(told))
        if not told:
            return
        status = add_argument(main, buffer_type(i8, (8 * len(told),)), STATUS, {CHECKS: ArrayAttr(told)})
        constants = IndexConstants(main)
        for call, start, end in zip(checked, starts, starts[1:], strict=False):
            view = memref.ViewOp(status, constants[8 * start], [], buffer_type(i64, (end - start,)))
            noting = CallOp(call.callee, call.ins, call.outs, call.scratch, [view.result], call.attributes)
            noting.location = call.location
            Rewriter.replace_op(call, [view, noting], [])
        count(ctx, self.name, "check", len(told))


def _told(call: CallOp, check: IndexCheck | FailOp, *, shared: bool) -> Attribute:
    """The entry of a slot in `graph.checks`."""
    if isinstance(check, FailOp):
        return ArrayAttr([check.message])
    # Of a kernel that several calls share, the call has the name of its own node; the kernel may have more than one.
    names = node_name(call), node_name(check.op)
    node = names[0] or names[1] if shared else names[1] or names[0]
    subject = f"{node} ({check.op.name})" if node else check.op.name
    return ArrayAttr([StringAttr(subject), int_attr(check.size)])
