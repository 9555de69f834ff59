"""Exchange of values between the 32 lanes of a warp."""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr, f32, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..extensions.assembly import Word

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
    _T: ClassVar = VarConstraint("_T", AnyAttr())
    value = operand_def(_T)
    offset = operand_def(i32)
    width = operand_def(i32)
    result = result_def(_T)
    valid = result_def(i1)
    custom_directives = (Word,)
    assembly_format = "custom<Word>($mode) $value `,` $offset `,` $width attr-dict `:` type($value)"

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
            raise VerifyException(f"a shuffle exchanges f32 or an integer of 32 bits, not {type}")
