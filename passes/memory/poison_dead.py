"""poison-dead: overwrites bytes of the arena with 0xFF after their last planned use.

before:  kernel.call @relu_0 ins(%a : ...) outs(%b : ...)             %a dies here
after:   kernel.call @relu_0 ins(%a : ...) outs(%b : ...)
         kernel.barrier
         %d = memref.view %arena[%at][] : memref<8192xi8> to memref<1024xi8>
         kernel.call @poison_1024 outs(%d : memref<1024xi8>)
         kernel.barrier

For checking memory: a kernel that reads a buffer after its planned death finds 0xFF, which is NaN in every float type;
a kernel that writes dead bytes leaves a trace there. Gaps in a lifetime are deaths, too. A buffer whose lifetime ends
inside a loop is poisoned in each iteration, one that lives through the loop after it; one that dies in one branch of an
scf.if is poisoned at the start of the branches that don't access it. Runs after plan-arena, which records lifetimes on
the views.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, IntegerType, MemRefType, ModuleOp, i8
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.graph.host import Loop, inner_blocks, main_of
from ...dialects.graph.ops.movement import BroadcastToOp
from ...dialects.graph.ops.structure import ConstantOp, KernelOp, YieldOp
from ...dialects.graph.values import tensor
from ...dialects.kernel.calls import BarrierOp, CallOp
from .analysis.buffers import constant_of, int_attribute
from .analysis.created_kernels import add_map_kernel
from .analysis.main_steps import Step, steps_of


@dataclass
class _ArenaRange:
    """Bytes [low, high) of the arena, the intervals of steps at which they are live, and the steps that access them."""

    arena: SSAValue
    low: int
    high: int
    live: list[tuple[int, int]]
    steps: list[Step] = field(default_factory=list[Step])


@dataclass(frozen=True)
class PoisonDead(ModulePass):
    """Overwrites bytes of the arena with 0xFF after their last planned use."""

    name = "poison-dead"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        steps = {op: step for step, op in enumerate(steps_of(main))}
        kernels: dict[int, str] = {}
        for buffer in _buffers(main):
            size = buffer.high - buffer.low
            if not size:
                continue
            if size not in kernels:
                kernels[size] = _fill_kernel(op, size)
            for birth, death in buffer.live:
                inside = {op for op in buffer.steps if birth <= steps[op] < death}
                for place in _ends(main.body.block, inside, (birth, death), steps):
                    at = arith.ConstantOp(IntegerAttr(buffer.low, IndexType()))
                    view = memref.ViewOp(buffer.arena, at.result, [], MemRefType(i8, [size]))
                    fill = CallOp(kernels[size], [], [view.result])
                    Rewriter.insert_op([BarrierOp(), at, view, fill, BarrierOp()], place)


def _ends(block: Block, touching: set[Step], life: tuple[int, int], steps: dict[Step, int]) -> Iterator[InsertPoint]:
    """The points after the last of the steps, on every path through the block."""
    inside = [op for op in touching if block.find_ancestor_op_in_block(op) is not None]
    last = block.find_ancestor_op_in_block(max(inside, key=steps.__getitem__)) if inside else None
    if last is None:
        yield InsertPoint.at_start(block)
        return
    numbers = [steps[op] for op in steps_of(last) if op in steps]
    through = isinstance(last, Loop) and life[0] <= min(numbers) and max(numbers) < life[1]
    if isinstance(last, Step) or through:
        yield InsertPoint.after(last)
        return
    for region in last.regions:
        if not region.blocks:  # an scf.if without the other branch
            region.add_block(Block([scf.YieldOp()]))
    for inner in inner_blocks(last):
        yield from _ends(inner, touching, life, steps)


def _buffers(main: func.FuncOp) -> list[_ArenaRange]:
    """The arena's buffers, each with the byte range that its views cover."""
    found: dict[int, _ArenaRange] = {}
    for op in main.body.walk():
        number = int_attribute(op, "buffer")
        if number is None:
            continue
        if isinstance(op, memref.ViewOp):
            low = constant_of(op.byte_shift)
            buffer = found.setdefault(number, _ArenaRange(op.source, low, low, _live(op)))
            buffer.low, buffer.high = min(buffer.low, low), max(buffer.high, low + _extent(op.result))
        found[number].steps += [use.operation for use in op.results[0].uses if isinstance(use.operation, Step)]
    return list(found.values())


def _live(view: memref.ViewOp) -> list[tuple[int, int]]:
    gaps = cast("ArrayAttr[ArrayAttr[IntegerAttr]]", view.attributes.get("gaps", ArrayAttr([])))
    ends = (int_attribute(view, "birth") or 0, int_attribute(view, "death") or 0)
    edges = [ends[0], *(step.value.data for gap in gaps for step in gap), ends[1]]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _extent(buffer: SSAValue) -> int:
    """Bytes from a view's first element to the end of its last."""
    type = cast("MemRefType[IntegerType]", buffer.type)
    strides = type.get_strides() or ()
    pairs = zip(type.get_shape(), strides, strict=True)
    elements = 1 + sum((size - 1) * (stride or 0) for size, stride in pairs)
    return elements * max(1, type.element_type.size)


def _fill_kernel(module: ModuleOp, size: int) -> str:
    """A kernel that writes 0xFF to `size` bytes."""
    kernel = KernelOp(f"poison_{size}", [], [tensor(i8, (size,))])
    ones = ConstantOp.from_numpy(np.array([-1], np.int8))
    fill = BroadcastToOp(ones.results[0], (size,))
    kernel.body.block.add_ops([ones, fill, YieldOp(fill.results[0])])
    add_map_kernel(module, kernel)
    return kernel.sym_name.data
