"""The prefetch of memref, which xDSL lacks."""

from collections.abc import Sequence
from typing import Self, cast

from typing_extensions import override
from xdsl.dialects import memref
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from .replace import replace_operations


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """`memref.prefetch %m[%i, %j], read, locality<3>, data : memref<8x8xf32>`.

    Asks for the cache line of one element; the address may lie outside the buffer. Locality goes from 0 (no
    reuse) to 3 (keep in all caches). It counts as reading and writing, so it neither goes nor moves.
    """

    name = "memref.prefetch"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality_hint = prop_def(IntegerAttr, prop_name="localityHint")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        memref: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
        *,
        write: bool = False,
        locality: int = 3,
        data: bool = True,
    ):
        super().__init__(
            operands=[memref, indices],
            properties={
                "isWrite": BoolAttr.from_bool(write),
                "localityHint": IntegerAttr(locality, i32),
                "isDataCache": BoolAttr.from_bool(data),
            },
        )

    @override
    def verify_(self) -> None:
        rank = cast("MemRefType[Attribute]", self.memref.type).get_num_dims()
        if len(self.indices) != rank:
            raise VerifyException(f"expected {rank} indices, got {len(self.indices)}")
        if not 0 <= self.locality_hint.value.data <= 3:
            raise VerifyException("expected a locality from 0 to 3")

    @classmethod
    @override
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_punctuation(",")
        write = parser.parse_optional_keyword("write") is not None
        if not write:
            parser.parse_keyword("read")
        parser.parse_punctuation(",")
        parser.parse_keyword("locality")
        with parser.in_angle_brackets():
            locality = parser.parse_integer()
        parser.parse_punctuation(",")
        data = parser.parse_optional_keyword("data") is not None
        if not data:
            parser.parse_keyword("instr")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operation = cls(
            parser.resolve_operand(source, parser.parse_type()),
            [parser.resolve_operand(index, IndexType()) for index in indices],
            write=write,
            locality=locality,
            data=data,
        )
        operation.attributes |= attributes
        return operation

    @override
    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.memref)
        with printer.in_square_brackets():
            printer.print_list(self.indices, printer.print_operand)
        access = "write" if self.is_write.value.data else "read"
        cache = "data" if self.is_data_cache.value.data else "instr"
        printer.print_string(f", {access}, locality<{self.locality_hint.value.data}>, {cache}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.memref.type)


MemRef = replace_operations(memref.MemRef, [PrefetchOp])
