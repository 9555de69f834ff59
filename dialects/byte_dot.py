"""kernel.dot: the byte dot product of four elements, for which CPUs have an instruction.

%t = kernel.dot %row, %columns, %sums {unsigned_row} : vector<4xi8>, vector<64xi8>, vector<16xi32>
"""

from __future__ import annotations

from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import UnitAttr, VectorType, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

GROUP = 4
"""Bytes of a row, and of each column, in one dot product."""


@irdl_op_definition
class DotOp(IRDLOperation):
    """sums[i] + row[0] * columns[4i] + ... + row[3] * columns[4i + 3], with wrap-around.

    Bytes are signed unless a flag says otherwise. Those of `narrow_columns` are from 0 to 127.
    """

    name = "kernel.dot"
    _T: ClassVar = VarConstraint("_T", VectorType.constr(i32))

    row = operand_def(VectorType.constr(i8))
    columns = operand_def(VectorType.constr(i8))
    sums = operand_def(_T)
    unsigned_row = opt_prop_def(UnitAttr)
    unsigned_columns = opt_prop_def(UnitAttr)
    narrow_columns = opt_prop_def(UnitAttr)
    result = result_def(_T)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$row `,` $columns `,` $sums attr-dict `:` type($row) `,` type($columns) `,` type($sums)"

    def __init__(
        self,
        row: SSAValue | Operation,
        columns: SSAValue | Operation,
        sums: SSAValue | Operation,
        unsigned_row: bool = False,
        unsigned_columns: bool = False,
        narrow_columns: bool = False,
    ) -> None:
        names = ("unsigned_row", "unsigned_columns", "narrow_columns")
        flags = dict(zip(names, (unsigned_row, unsigned_columns, narrow_columns), strict=True))
        super().__init__(
            operands=[row, columns, sums],
            result_types=[SSAValue.get(sums).type],
            properties={name: UnitAttr() for name, said in flags.items() if said},
        )

    @override
    def verify_(self) -> None:
        row, columns, sums = (cast("VectorType[Attribute]", value.type).get_shape() for value in self.operands)
        if row != (GROUP,) or columns != (GROUP * sums[0],):
            raise VerifyException(f"{sums[0]} sums need {GROUP} bytes of the row and {GROUP} of each column")
