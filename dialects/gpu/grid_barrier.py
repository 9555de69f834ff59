"""nvgpu.grid_barrier: all blocks of a cooperative launch meet.

    gpu.func @k(%counter: memref<1xi32>, ...) kernel attributes {nvgpu.cooperative, ...} {
      memref.store %h, %state[%i] : memref<64xf32>
      nvgpu.grid_barrier %counter : memref<1xi32>
      %v = memref.load %state[%j] : memref<64xf32>            what another block has stored

All blocks of a cooperative launch are resident at once, which the driver refuses if the GPU has no room for them.
"""

from __future__ import annotations

from typing import cast

from typing_extensions import override
from xdsl.dialects.builtin import MemRefType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from .memory_spaces import PRIVATE, WORKGROUP

COOPERATIVE = "nvgpu.cooperative"
"""Attribute of a kernel whose launches are cooperative."""


@irdl_op_definition
class GridBarrierOp(IRDLOperation):
    """Waits until every thread of the grid arrives, which sees what was written to global memory before.

    Blocks count themselves in `counter`, an i32 of global memory. An earlier launch has set it to 0, and nothing but
    barriers accesses it during this one: each turns its highest bit over, and leaves the others 0.
    """

    name = "nvgpu.grid_barrier"
    counter = operand_def(MemRefType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$counter attr-dict `:` type($counter)"

    def __init__(self, counter: SSAValue) -> None:
        super().__init__(operands=[counter])

    @override
    def verify_(self) -> None:
        type = cast("MemRefType[Attribute]", self.counter.type)
        if (type.element_type, type.get_shape()) != (i32, (1,)) or type.memory_space in (WORKGROUP, PRIVATE):
            raise VerifyException(f"the counter is one i32 in global memory, not {type}")
        kernel = self.parent_op()
        while kernel is not None and kernel.name != "gpu.func":
            kernel = kernel.parent_op()
        if kernel is not None and COOPERATIVE not in kernel.attributes:
            raise VerifyException("blocks of a kernel that is not cooperative need not run at the same time")
