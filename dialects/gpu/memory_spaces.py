"""Memory spaces of buffers in GPU code, and the shared memory of a block.

#gpu.address_space<workgroup>    shared by the threads of a block
#gpu.address_space<private>      a thread's own: registers, where every index is known once loops are unrolled
none                             global: an argument of the kernel
"""

from __future__ import annotations

from typing_extensions import override
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StringAttr, i8
from xdsl.ir import Attribute, ParametrizedAttribute
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
