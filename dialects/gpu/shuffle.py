"""Exchange of values between the 32 lanes of a warp."""

from __future__ import annotations

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr, f32, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

MODES = ("xor", "up", "down", "idx")
"""Whose value a thread gets: of lane ^ offset, lane - offset, lane + offset, or offset itself."""


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """`%r, %valid = gpu.shuffle xor %value, %offset, %width : f32`: reads another lane's value.

    Lanes form groups of `width`, a power of two of at most 32. `valid` is whether the source lane lies in the same
    group; where it does not, `r` is the thread's own value. Every thread of the warp must execute it.
    """

    name = "gpu.shuffle"
    mode = prop_def(StringAttr)
    value = operand_def()
    offset = operand_def(i32)
    width = operand_def(i32)
    result = result_def()
    valid = result_def(i1)

    def __init__(self, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue) -> None:
        super().__init__(
            properties={"mode": StringAttr(mode)},
            operands=[value, offset, width],
            result_types=[value.type, i1],
        )

    @override
    def verify_(self) -> None:
        if self.mode.data not in MODES:
            raise VerifyException(f"there is no shuffle '{self.mode.data}'; there are {', '.join(MODES)}")
        type: Attribute = self.value.type
        if type not in (f32, i32):
            raise VerifyException(f"a shuffle hands on f32 or an integer of 32 bits, not {type}")
        if self.result.type != type:
            raise VerifyException(f"the result is {self.result.type}, the value {type}")

    @override
    @classmethod
    def parse(cls, parser: Parser) -> ShuffleOp:
        mode = parser.parse_identifier()
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        value, offset, width = parser.resolve_operands(operands, [type, i32, i32], parser.pos)
        op = cls(mode, value, offset, width)
        op.attributes |= attributes
        return op

    @override
    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.mode.data} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
