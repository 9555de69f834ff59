"""Memory spaces of buffers in GPU code, and the shared memory of a block.

#gpu.address_space<workgroup>    shared by the threads of a block
#gpu.address_space<private>      a thread's own: registers, where every index is known once loops are unrolled
none                             global: an argument of the kernel
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StringAttr, i8
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, result_def, traits_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

SPACES = ("workgroup", "private")


@irdl_attr_definition
class AddressSpaceAttr(ParametrizedAttribute):
    """`#gpu.address_space<workgroup>`, as the memory space of a memref."""

    name = "gpu.address_space"
    space: StringAttr

    @override
    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.space.data)

    @override
    def verify(self) -> None:
        if self.space.data not in SPACES:
            raise VerifyException(f"there is no address space '{self.space.data}'; there are {', '.join(SPACES)}")


WORKGROUP = AddressSpaceAttr(StringAttr(SPACES[0]))
PRIVATE = AddressSpaceAttr(StringAttr(SPACES[1]))


def check_indices(type: MemRefType[Attribute], indices: Sequence[SSAValue]) -> None:
    """Raises VerifyException unless there is an index for each dimension of a buffer."""
    if len(indices) != type.get_num_dims():
        raise VerifyException(f"expected {type.get_num_dims()} indices for {type}, got {len(indices)}")


def check_copy(what: str, source: MemRefType[Attribute], destination: MemRefType[Attribute]) -> None:
    """Raises VerifyException unless a copy goes to shared memory, from elements of the same type."""
    if destination.memory_space != WORKGROUP:
        raise VerifyException(f"{what} goes to shared memory")
    if source.element_type != destination.element_type:
        raise VerifyException(f"a copy from {source.element_type} to {destination.element_type}")


@irdl_op_definition
class DynamicSharedMemoryOp(IRDLOperation):
    """`%s = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>`: the block's shared memory.

    Its size in bytes is an operand of the launch; its contents are undefined at first.
    """

    name = "gpu.dynamic_shared_memory"
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        super().__init__(result_types=[MemRefType(i8, [DYNAMIC_INDEX], memory_space=WORKGROUP)])

    @override
    def verify_(self) -> None:
        if self.result.type != MemRefType(i8, [DYNAMIC_INDEX], memory_space=WORKGROUP):
            raise VerifyException(
                f"shared memory is memref<?xi8, #gpu.address_space<workgroup>>, not {self.result.type}"
            )
