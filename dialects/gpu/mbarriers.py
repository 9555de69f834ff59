"""nvgpu: barriers in shared memory that count arrivals and bytes (mbarrier), and bulk copies that report to them.

A barrier's phase is complete once all arrivals that it was initialised for have been made, and as many bytes as they
announced are copied; then the next phase begins. Phases have parities 0, 1, 0, ...

    %b = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    nvgpu.mbarrier.init %b[%i], %one : ...                                by one thread; then a fence and a gpu.barrier
    nvgpu.mbarrier.arrive.expect_tx %b[%i], %bytes : ...                  by one thread, for each phase
    nvgpu.bulk_async_copy %x[%j], %tile[%stage, %zero], %b[%i], 512 : ...
    nvgpu.mbarrier.try_wait.parity %b[%i], %phase, %ticks : ...           by threads that see the bytes then
    nvgpu.mbarrier.arrive %b[%i] : ...                                    by threads that need them no more
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from typing_extensions import override
from xdsl.dialects.builtin import IndexType, IntAttr, IntegerAttr, MemRefType, i1, i32
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from .memory_spaces import WORKGROUP, check_copy, check_indices

UNIT = 16
"""A bulk copy has a multiple of so many bytes, from and to a multiple of it."""


@irdl_attr_definition
class MBarrierGroupType(ParametrizedAttribute, TypeAttribute):
    """`!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>`"""

    name = "nvgpu.mbarrier.group"
    memory_space: Attribute
    num_barriers: IntAttr

    @classmethod
    def of(cls, count: int) -> MBarrierGroupType:
        """So many barriers in shared memory."""
        return cls(WORKGROUP, IntAttr(count))

    @override
    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("memorySpace")
            parser.parse_punctuation("=")
            space = parser.parse_attribute()
            parser.parse_punctuation(",")
            parser.parse_keyword("num_barriers")
            parser.parse_punctuation("=")
            return [space, IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))]

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("memorySpace = ")
            printer.print_attribute(self.memory_space)
            printer.print_string(f", num_barriers = {self.num_barriers.data}")

    @override
    def verify(self) -> None:
        if self.memory_space != WORKGROUP:
            raise VerifyException("barriers lie in shared memory")
        if self.num_barriers.data < 1:
            raise VerifyException(f"a group of {self.num_barriers.data} barriers; it must have at least one")


@irdl_op_definition
class MBarrierCreateOp(IRDLOperation):
    """Barriers of the block, which are to be initialised."""

    name = "nvgpu.mbarrier.create"
    barriers = result_def(MBarrierGroupType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "attr-dict `->` type($barriers)"

    def __init__(self, count: int) -> None:
        super().__init__(result_types=[MBarrierGroupType.of(count)])


@irdl_op_definition
class MBarrierInitOp(IRDLOperation):
    """`nvgpu.mbarrier.init %b[%i], %count : ...`: each phase takes `count` arrivals. One thread of a block does it."""

    name = "nvgpu.mbarrier.init"
    barriers = operand_def(MBarrierGroupType)
    index = operand_def(IndexType)
    count = operand_def(IndexType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$barriers `[` $index `]` `,` $count attr-dict `:` type($barriers)"

    def __init__(self, barriers: SSAValue, index: SSAValue, count: SSAValue) -> None:
        super().__init__(operands=[barriers, index, count])


@irdl_op_definition
class MBarrierFenceOp(IRDLOperation):
    """Makes the barriers that this thread has initialised visible to bulk copies; to other threads, a gpu.barrier does.

    MLIR's `nvvm.fence.mbarrier.init`.
    """

    name = "nvgpu.mbarrier.fence"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class MBarrierExpectOp(IRDLOperation):
    """`nvgpu.mbarrier.arrive.expect_tx %b[%i], %bytes : ...`: arrives; the phase also waits for so many bytes."""

    name = "nvgpu.mbarrier.arrive.expect_tx"
    barriers = operand_def(MBarrierGroupType)
    index = operand_def(IndexType)
    txcount = operand_def(IndexType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$barriers `[` $index `]` `,` $txcount attr-dict `:` type($barriers)"

    def __init__(self, barriers: SSAValue, index: SSAValue, txcount: SSAValue) -> None:
        super().__init__(operands=[barriers, index, txcount])


@irdl_op_definition
class MBarrierArriveOp(IRDLOperation):
    """`nvgpu.mbarrier.arrive %b[%i] : ...`: each thread that executes it arrives.

    What it accessed in shared memory before is over for those that have waited for the phase. So is what other lanes of
    its warp accessed up to their last nvgpu.warpgroup.wait.
    """

    name = "nvgpu.mbarrier.arrive"
    barriers = operand_def(MBarrierGroupType)
    index = operand_def(IndexType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$barriers `[` $index `]` attr-dict `:` type($barriers)"

    def __init__(self, barriers: SSAValue, index: SSAValue) -> None:
        super().__init__(operands=[barriers, index])


@irdl_op_definition
class MBarrierWaitOp(IRDLOperation):
    """`nvgpu.mbarrier.try_wait.parity %b[%i], %phase, %ticks : ...`: waits until the phase of that parity is complete.

    It doesn't wait if the current phase has the other parity. Threads that have waited may access what was copied. The
    hardware may put a thread to sleep for `ticks` nanoseconds before it looks again.
    """

    name = "nvgpu.mbarrier.try_wait.parity"
    barriers = operand_def(MBarrierGroupType)
    index = operand_def(IndexType)
    phase = operand_def(i1)
    ticks = operand_def(IndexType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$barriers `[` $index `]` `,` $phase `,` $ticks attr-dict `:` type($barriers)"

    def __init__(self, barriers: SSAValue, index: SSAValue, phase: SSAValue, ticks: SSAValue) -> None:
        super().__init__(operands=[barriers, index, phase, ticks])


@irdl_op_definition
class BulkCopyOp(IRDLOperation):
    """Starts copying `elements` contiguous elements from global to shared memory (cp.async.bulk).

        nvgpu.bulk_async_copy %x[%i], %s[%k, %l], %b[%n], 512 : memref<4096xf32> to memref<3x512xf32, #gpu...>, ...

    One thread of a block executes it. The bytes count as copied for the barrier; before the phase is complete, they may
    be written at any time, and nobody may read them.
    """

    name = "nvgpu.bulk_async_copy"
    source = operand_def(MemRefType)
    source_indices = var_operand_def(IndexType)
    destination = operand_def(MemRefType)
    destination_indices = var_operand_def(IndexType)
    barriers = operand_def(MBarrierGroupType)
    index = operand_def(IndexType)
    elements = prop_def(IntegerAttr.constr(i32))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$source `[` $source_indices `]` `,` $destination `[` $destination_indices `]` `,` $barriers `[` $index `]` "
        "`,` $elements attr-dict `:` type($source) `to` type($destination) `,` type($barriers)"
    )

    def __init__(
        self,
        source: SSAValue,
        source_indices: Sequence[SSAValue],
        destination: SSAValue,
        destination_indices: Sequence[SSAValue],
        barriers: SSAValue,
        index: SSAValue,
        elements: int,
    ) -> None:
        super().__init__(
            operands=[source, source_indices, destination, destination_indices, barriers, index],
            properties={"elements": IntegerAttr(elements, i32)},
        )

    @override
    def verify_(self) -> None:
        source, destination = (cast("MemRefType[Attribute]", each.type) for each in (self.source, self.destination))
        check_copy("a bulk copy", source, destination)
        elements = self.elements.value.data
        for type, indices in ((source, self.source_indices), (destination, self.destination_indices)):
            check_indices(type, indices)
            if (strides := type.get_strides()) is None or tuple(strides) != type.strides_for_shape(type.get_shape()):
                raise VerifyException(f"a bulk copy of contiguous elements from or to {type}")
            if elements > prod(type.get_shape()):
                raise VerifyException(f"a copy of {elements} elements from or to {type}")
        size = getattr(source.element_type, "size", 0) * elements
        if size <= 0 or size % UNIT:
            raise VerifyException(f"a bulk copy of {size} bytes; it must be a multiple of {UNIT}")
