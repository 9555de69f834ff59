"""mark-inplace: marks results that may overwrite an operand.

before:  %r = graph.call @relu(%a) : (tensor<8xf32>) -> tensor<8xf32>
after:   %r = graph.call @relu(%a) {inplace = [[0, 0]]} : (tensor<8xf32>) -> tensor<8xf32>

A pair [operand, result] is marked where the kernel's interface permits it, the types are equal, and the operand's bytes
have no later reader: neither the operand, nor a reshape of it, nor a value that it overwrote in place. Inputs, weights
and values that main returns are never overwritten. A result takes the bytes of at most one operand. Inside a loop or a
branch, values from outside are not overwritten, loop-carried values may be. `disable` names graph ops
(`disable=add,MatMul`, with graph or ONNX names) whose kernels are not marked.

Marks are permissions: bufferize carries them out, and without this pass every value has its own buffer. Needs
choose-schedule for the interfaces, and the final order.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.passes import ModulePass

from ...dialects.graph.host import blocks_of, kernels_of, main_of
from ...dialects.graph.values import int_attr
from ...dialects.kernel.targets import target_of
from ..statistics import count
from .analysis.aliasing import disabled_ops, read_programs, share
from .analysis.buffers import INPLACE


@dataclass(frozen=True)
class MarkInplace(ModulePass):
    """Marks results that may overwrite an operand."""

    name = "mark-inplace"
    disable: tuple[str, ...] = ()
    """Graph ops, by name without `graph.`, whose kernels are never marked."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        disabled = disabled_ops(self.name, self.disable)
        blocks = blocks_of(main_of(op, self.name), self.name)
        for program in read_programs(blocks, kernels_of(op), target_of(op).threads.data, disabled):
            sharing = share(program, range(len(program.tasks)))
            for task in program.ops:
                task.attributes.pop(INPLACE, None)
            for task, pairs in sharing.pairs.items():
                marks = [ArrayAttr([int_attr(operand), int_attr(result)]) for operand, result in sorted(pairs)]
                program.ops[task].attributes[INPLACE] = ArrayAttr(marks)
                count(ctx, self.name, "in-place-result", len(pairs))
