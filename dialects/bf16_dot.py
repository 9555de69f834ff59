"""kernel.bf16_dot: the dot product of a pair of bf16, for which CPUs have an instruction.

%t = kernel.bf16_dot %row, %columns, %sums : vector<2xbf16>, vector<32xbf16>, vector<16xf32>
"""

from __future__ import annotations

from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import VectorType, bf16, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, VarConstraint, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

PAIR = 2
"""Elements of a row, and of each column, in one dot product."""


@irdl_op_definition
class Bf16DotOp(IRDLOperation):
    """sums[i] + row[0] * columns[2i] + row[1] * columns[2i + 1], in f32, in any order and with any roundings between.

    Subnormal numbers may count as zeros, and so may such results.
    """

    name = "kernel.bf16_dot"
    _T: ClassVar = VarConstraint("_T", VectorType.constr(f32))

    row = operand_def(VectorType.constr(bf16))
    columns = operand_def(VectorType.constr(bf16))
    sums = operand_def(_T)
    result = result_def(_T)

    traits = traits_def(Pure())
    assembly_format = "$row `,` $columns `,` $sums attr-dict `:` type($row) `,` type($columns) `,` type($sums)"

    def __init__(self, row: SSAValue | Operation, columns: SSAValue | Operation, sums: SSAValue | Operation) -> None:
        super().__init__(operands=[row, columns, sums], result_types=[SSAValue.get(sums).type])

    @override
    def verify_(self) -> None:
        row, columns, sums = (cast("VectorType[Attribute]", value.type).get_shape() for value in self.operands)
        if row != (PAIR,) or columns != (PAIR * sums[0],):
            raise VerifyException(f"{sums[0]} sums need {PAIR} elements of the row and {PAIR} of each column")
