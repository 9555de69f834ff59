"""LLVM instructions that xDSL's llvm dialect lacks, or supports for scalars only.

Intrinsics need nothing here: they are `llvm.call_intrinsic` with the full mangled name.
"""

from typing import ClassVar

from typing_extensions import override
from xdsl.dialects import llvm
from xdsl.dialects.arith import boolLike, floatingPointLike
from xdsl.dialects.builtin import IntegerAttr, SignlessIntegerConstraint, VectorType, i1
from xdsl.dialects.llvm import ALL_FCMP_FLAGS, FastMathAttr
from xdsl.ir import ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import AttributeVariable, irdl_custom_directive
from xdsl.traits import NoMemoryEffect, Pure

from .arith import FloatToIntegerOp, IntegerToFloatOp
from .assembly import BoolFor, WordOf
from .replace import expect_same_shape, replace_operations

NO_FAST_MATH = FastMathAttr(None)


@irdl_attr_definition
class X86AmxType(ParametrizedAttribute, TypeAttribute):
    """`!llvm.x86_amx`: a tile in a register of Intel's AMX."""

    name = "llvm.x86_amx"


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """`llvm.extractelement %v[%i : i64] : vector<16xf32>`"""

    name = "llvm.extractelement"
    _T: ClassVar = VarConstraint("_T", AnyAttr())

    vector = operand_def(VectorType.constr(_T))
    position = operand_def(SignlessIntegerConstraint)
    res = result_def(_T)

    traits = traits_def(NoMemoryEffect())
    assembly_format = "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """`llvm.mlir.poison : vector<16xf32>`"""

    name = "llvm.mlir.poison"

    res = result_def()

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"


@irdl_custom_directive
class Predicate(WordOf):
    """How floats are compared, in quotes."""

    WORDS = ALL_FCMP_FLAGS
    QUOTED = True
    attribute: AttributeVariable


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """`llvm.fcmp "olt" %a, %b : vector<16xf32>`: i1 per element."""

    name = "llvm.fcmp"
    _T: ClassVar = VarConstraint("_T", floatingPointLike)

    lhs = operand_def(_T)
    rhs = operand_def(_T)
    res = result_def(BoolFor(_T))
    predicate = prop_def(IntegerAttr)
    fastmath_flags = prop_def(FastMathAttr, default_value=NO_FAST_MATH, prop_name="fastmathFlags")

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (Predicate,)
    assembly_format = "custom<Predicate>($predicate) $lhs `,` $rhs attr-dict `:` type($lhs)"


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`llvm.select %c, %a, %b : vector<16xi1>, vector<16xf32>`"""

    name = "llvm.select"
    _T: ClassVar = VarConstraint("_T", AnyAttr())

    cond = operand_def(boolLike)
    lhs = operand_def(_T)
    rhs = operand_def(_T)
    res = result_def(_T)
    fastmath_flags = prop_def(FastMathAttr, default_value=NO_FAST_MATH, prop_name="fastmathFlags")

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"

    @override
    def verify_(self) -> None:
        if self.cond.type != i1:
            expect_same_shape(self.cond.type, self.res.type)


@irdl_op_definition
class UIToFPOp(IntegerToFloatOp):
    """Converts an unsigned integer to the nearest float."""

    name = "llvm.uitofp"


@irdl_op_definition
class FPToSIOp(FloatToIntegerOp):
    """Truncates toward zero; poison outside the integer type."""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(FloatToIntegerOp):
    """Truncates toward zero; poison outside the unsigned integer type."""

    name = "llvm.fptoui"


LLVM = replace_operations(
    llvm.LLVM, [ExtractElementOp, PoisonOp, FCmpOp, SelectOp, UIToFPOp, FPToSIOp, FPToUIOp], [X86AmxType]
)
