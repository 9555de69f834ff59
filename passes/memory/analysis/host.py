"""Main as its memory passes see it: which steps there are, what each touches or only moves, and the loops around it.

A step is what touches buffers: a call of a kernel, or a memref.load of a scalar that decides about a loop or a branch.
Steps are counted in the order of the text, nested regions included: step number i of every pass and report is the i-th
of `steps_of(main)`. What holds of `main` at every level is in dialects/graph/host.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.graph.host import Loop, is_scalar
from ....dialects.graph.values import shape_of
from ....dialects.kernel.attributes import InterfaceAttr, MoveAttr
from ....dialects.kernel.calls import CallOp, WeightOp
from ...geometry.boxes import Box

Step: TypeAlias = CallOp | memref.LoadOp

_NO_ACCESS = (
    memref.AllocOp,
    memref.ViewOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.CastOp,
    WeightOp,
    scf.YieldOp,
    scf.ConditionOp,
    func.ReturnOp,
)


def calls_of(op: Operation) -> Iterator[CallOp]:
    """The calls in main, or in a loop or a branch of it, in order."""
    return (each for each in op.walk() if isinstance(each, CallOp))


def steps_of(op: Operation) -> Iterator[Step]:
    """The steps of main, or of a loop or a branch in it, in order."""
    return (each for each in op.walk() if isinstance(each, CallOp | memref.LoadOp))


def read_by(step: Step) -> tuple[SSAValue, ...]:
    """The buffers that a step reads."""
    return tuple(step.ins) if isinstance(step, CallOp) else (step.memref,)


def written_by(step: Step) -> tuple[SSAValue, ...]:
    """The buffers that a step writes results to."""
    return tuple(step.outs) if isinstance(step, CallOp) else ()


def scratch_of(step: Step) -> tuple[SSAValue, ...]:
    """The buffers that a step spoils."""
    return tuple(step.scratch) if isinstance(step, CallOp) else ()


def touches_nothing(op: Operation) -> bool:
    """Whether an op of main without regions reads and writes no buffer: it makes one, looks at one, or is a scalar."""
    return isinstance(op, _NO_ACCESS) or is_scalar(op)


@dataclass(frozen=True)
class Move:
    """Element i of `source`, a window of operand number `operand`, goes to element i of `target`, a window of
    result number `result`; windows count elements of dense tensors."""

    operand: int
    source: Box
    result: int
    target: Box

    @property
    def is_view(self) -> bool:
        """Whether the elements keep their order, from the first one on."""
        return all(box.is_dense and box.offset == 0 for box in (self.source, self.target))


def moves_of(interface: InterfaceAttr) -> list[Move]:
    """What a kernel only moves, as its interface says."""

    def box(move: MoveAttr, offset: IntAttr, strides: ArrayAttr[IntAttr]) -> Box:
        return Box(offset.data, tuple(size.data for size in move.sizes), tuple(each.data for each in strides))

    return [
        Move(
            each.operand.data,
            box(each, each.source_offset, each.source_strides),
            each.result.data,
            box(each, each.target_offset, each.target_strides),
        )
        for each in interface.moves
    ]


def views_of(interface: InterfaceAttr, operands: Sequence[SSAValue], results: Sequence[SSAValue]) -> dict[int, int]:
    """Result number -> number of the operand that it is, perhaps under another shape."""
    return {
        move.result: move.operand
        for move in moves_of(interface)
        if move.is_view
        and move.source.count == prod(shape_of(operands[move.operand])) == prod(shape_of(results[move.result]))
    }


def loops_around(op: Operation, block: Block) -> Iterator[Loop]:
    """The loops between an op and a block that it lies in, inner ones first."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None, "the op lies in the block"
        if isinstance(parent, Loop):
            yield parent
        op = parent


def loop_ranges(main: func.FuncOp) -> dict[Loop, range]:
    """The numbers of the steps in each loop that has any."""
    ranges: dict[Loop, range] = {}
    for number, step in enumerate(steps_of(main)):
        for loop in loops_around(step, main.body.block):
            ranges[loop] = range(ranges[loop].start if loop in ranges else number, number + 1)
    return ranges


def home_block(root: SSAValue, main: func.FuncOp) -> Block:
    """The block for whose every run there is a buffer of its own: where it is allocated, else that of main."""
    op = root.owner
    block = op.parent if isinstance(op, memref.AllocOp) else None
    return main.body.block if block is None else block
