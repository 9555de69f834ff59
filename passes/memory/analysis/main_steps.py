"""Steps of main for the memory passes: what each step reads, writes or only moves, and the loops around it.

A step accesses buffers: a kernel call, or a memref.load of a scalar that controls a loop or a branch. Steps are
numbered in textual order, nested regions included: step i of every pass and report is the i-th of `steps_of(main)`.
What holds of `main` at every level is in dialects/graph/host.py.
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
from ....dialects.kernel.calls import BarrierOp, CallOp, WeightOp, WindowOp
from ....dialects.kernel.kernel_attributes import InterfaceAttr, MoveAttr
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
    WindowOp,
    scf.YieldOp,
    scf.ConditionOp,
    func.ReturnOp,
)


def calls_of(op: Operation) -> Iterator[CallOp]:
    """The kernel calls in an op's regions, in textual order."""
    return (each for each in op.walk() if isinstance(each, CallOp))


def steps_of(op: Operation) -> Iterator[Step]:
    """The steps in an op's regions, in textual order."""
    return (each for each in op.walk() if isinstance(each, CallOp | memref.LoadOp))


def read_by(step: Step) -> tuple[SSAValue, ...]:
    """The buffers that a step reads."""
    return tuple(step.ins) if isinstance(step, CallOp) else (step.memref,)


def written_by(step: Step) -> tuple[SSAValue, ...]:
    """The buffers that a step writes as results."""
    return tuple(step.outs) if isinstance(step, CallOp) else ()


def scratch_of(step: Step) -> tuple[SSAValue, ...]:
    """The buffers that a step uses as scratch."""
    return tuple(step.scratch) if isinstance(step, CallOp) else ()


def touches_nothing(op: Operation) -> bool:
    """Whether an op without regions accesses no memory: an allocation, a view, or scalar arithmetic."""
    return isinstance(op, _NO_ACCESS) or is_scalar(op)


@dataclass(frozen=True)
class Move:
    """A copy inside a kernel: element i of an operand's window `source` goes to element i of a result's `target`.

    `operand` and `result` are their numbers; windows are in elements of the dense tensors.
    """

    operand: int
    source: Box
    result: int
    target: Box

    @property
    def is_view(self) -> bool:
        """Whether the whole result is the operand's elements in their order, from the first one on."""
        return all(box.is_dense and box.offset == 0 for box in (self.source, self.target))


def moves_of(interface: InterfaceAttr) -> list[Move]:
    """The moves that a kernel's interface lists."""

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
    """Result number -> number of the operand that it equals, possibly under another shape."""
    return {
        move.result: move.operand
        for move in moves_of(interface)
        if move.is_view
        and move.source.count == prod(shape_of(operands[move.operand])) == prod(shape_of(results[move.result]))
    }


def loops_around(op: Operation, block: Block) -> Iterator[Loop]:
    """The loops between an op and a block that encloses it, innermost first."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None, "the op lies in the block"
        if isinstance(parent, Loop):
            yield parent
        op = parent


def loop_ranges(main: func.FuncOp) -> dict[Loop, range]:
    """The step numbers of each loop that contains steps."""
    ranges: dict[Loop, range] = {}
    for number, step in enumerate(steps_of(main)):
        for loop in loops_around(step, main.body.block):
            ranges[loop] = range(ranges[loop].start if loop in ranges else number, number + 1)
    return ranges


def home_block(root: SSAValue, main: func.FuncOp) -> Block:
    """The block whose every execution has a buffer of its own for this root: that of the allocation, else main's."""
    op = root.owner
    block = op.parent if isinstance(op, memref.AllocOp) else None
    return main.body.block if block is None else block


def stages_of(block: Block, apart: bool = False) -> Iterator[list[CallOp]]:
    """The calls of a block and its nested regions, grouped by barriers; with `apart` each by itself."""
    stage: list[CallOp] = []
    for op in block.ops:
        if stage and (isinstance(op, BarrierOp | func.CallOp) or op.regions or apart):
            yield stage
            stage = []
        if isinstance(op, CallOp):
            stage.append(op)
        for region in op.regions:
            for inner in region.blocks:
                yield from stages_of(inner, apart)
    if stage:
        yield stage
