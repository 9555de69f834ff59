"""Vector operations that xDSL lacks or constructs incorrectly."""

from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects import vector
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import DenseArrayBase, IndexType, VectorType, i1, i64
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .replace import replace_operations, scalar_of


@irdl_op_definition
class ReductionOp(IRDLOperation):
    """`vector.reduction <add>, %v : vector<16xf32> into f32`, combined with `%acc` if given.

    The order in which float elements are combined is unspecified.
    """

    name = "vector.reduction"
    _T: ClassVar = VarConstraint("_T", AnyAttr())

    vector = operand_def(VectorType.constr(_T))
    acc = opt_operand_def(_T)
    dest = result_def(_T)
    kind = prop_def(CombiningKindAttr)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))

    traits = traits_def(Pure())
    assembly_format = (
        "$kind `,` $vector (`,` $acc^)? (`fastmath` `` $fastmath^)? attr-dict `:` type($vector) `into` type($dest)"
    )

    def __init__(self, vector: SSAValue | Operation, kind: str):
        """`kind` as in the assembly: "add", "maximumf", ..."""
        vector = SSAValue.get(vector)
        super().__init__(
            operands=[vector, None],
            result_types=[scalar_of(vector.type)],
            properties={"kind": CombiningKindAttr(CombiningKindFlag(kind))},
        )


@irdl_op_definition
class ConstantMaskOp(IRDLOperation):
    """`vector.constant_mask [5] : vector<16xi1>`: true in the first 5 lanes."""

    name = "vector.constant_mask"

    mask_dim_sizes = prop_def(DenseArrayBase.constr(i64))
    result = result_def(VectorType.constr(i1))

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$mask_dim_sizes attr-dict `:` type($result)"

    @override
    def verify_(self) -> None:
        shape = cast("VectorType[Attribute]", self.result.type).get_shape()
        sizes = self.mask_dim_sizes.get_values()
        if len(sizes) != len(shape) or any(not 0 <= size <= extent for size, extent in zip(sizes, shape, strict=True)):
            raise VerifyException(f"mask sizes {list(sizes)} don't fit {self.result.type}")


@irdl_op_definition
class StepOp(IRDLOperation):
    """`vector.step : vector<16xindex>`: 0, 1, 2, ..."""

    name = "vector.step"

    result = result_def(VectorType.constr(IndexType()))

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, result_type: VectorType[Attribute]):
        super().__init__(result_types=[result_type])


Vector = replace_operations(vector.Vector, [ReductionOp, ConstantMaskOp, StepOp])
