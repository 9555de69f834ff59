"""LLVM instructions that xDSL's llvm dialect lacks, or has for scalars only.

Intrinsics need nothing here: they are `llvm.call_intrinsic` with the full mangled name.
"""

from abc import ABC
from typing import ClassVar, Self, cast

from typing_extensions import override
from xdsl.dialects import llvm
from xdsl.dialects.arith import boolLike, floatingPointLike, signlessIntegerLike
from xdsl.dialects.builtin import IntegerAttr, SignlessIntegerConstraint, VectorType, i1, i64
from xdsl.dialects.llvm import ALL_FCMP_FLAGS, FastMathAttr, FCmpPredicateFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect, Pure

from .replace import expect_same_shape, replace_operations, scalar_of, shaped_like

NO_FAST_MATH = FastMathAttr(None)


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

    def __init__(self, vector: SSAValue | Operation, position: SSAValue | Operation):
        vector = SSAValue.get(vector)
        super().__init__(operands=[vector, position], result_types=[scalar_of(vector.type)])


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """`llvm.mlir.poison : vector<16xf32>`"""

    name = "llvm.mlir.poison"

    res = result_def()

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, result_type: Attribute):
        super().__init__(result_types=[result_type])


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """`llvm.fcmp "olt" %a, %b : vector<16xf32>`: i1 per element."""

    name = "llvm.fcmp"
    _T: ClassVar = VarConstraint("_T", floatingPointLike)

    lhs = operand_def(_T)
    rhs = operand_def(_T)
    res = result_def(boolLike)
    predicate = prop_def(IntegerAttr)
    fastmath_flags = prop_def(FastMathAttr, default_value=NO_FAST_MATH, prop_name="fastmathFlags")

    traits = traits_def(Pure())

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        predicate: FCmpPredicateFlag,
        fast_math: FastMathAttr = NO_FAST_MATH,
    ):
        lhs = SSAValue.get(lhs)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[shaped_like(i1, lhs.type)],
            properties={"predicate": IntegerAttr(predicate.to_int(), i64), "fastmathFlags": fast_math},
        )

    @override
    def verify_(self) -> None:
        expect_same_shape(self.lhs.type, self.res.type)

    @classmethod
    @override
    def parse(cls, parser: Parser) -> Self:
        predicate = FCmpPredicateFlag(parser.parse_str_literal())
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand_type = parser.parse_type()
        fast_math = attributes.pop("fastmathFlags", NO_FAST_MATH)
        operation = cls(
            parser.resolve_operand(lhs, operand_type),
            parser.resolve_operand(rhs, operand_type),
            predicate,
            cast(FastMathAttr, fast_math),
        )
        operation.attributes |= attributes
        return operation

    @override
    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{ALL_FCMP_FLAGS[self.predicate.value.data]}" ')
        printer.print_list(self.operands, printer.print_operand)
        flags = {"fastmathFlags": self.fastmath_flags} if self.fastmath_flags.data else {}
        printer.print_op_attributes(self.attributes | flags)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


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

    def __init__(self, cond: SSAValue | Operation, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        lhs = SSAValue.get(lhs)
        super().__init__(operands=[cond, lhs, rhs], result_types=[lhs.type])

    @override
    def verify_(self) -> None:
        if self.cond.type != i1:
            expect_same_shape(self.cond.type, self.res.type)


class _CastOp(IRDLOperation, ABC):
    """A conversion of each element: `llvm.uitofp %a : vector<16xi32> to vector<16xf32>`."""

    traits = traits_def(NoMemoryEffect())
    assembly_format = "$arg attr-dict `:` type($arg) `to` type($result)"

    def __init__(self, value: SSAValue | Operation, target_type: Attribute):
        super().__init__(operands=[value], result_types=[target_type])

    @override
    def verify_(self) -> None:
        expect_same_shape(self.operands[0].type, self.results[0].type)


@irdl_op_definition
class UIToFPOp(_CastOp):
    """The nearest float of an unsigned integer."""

    name = "llvm.uitofp"
    arg = operand_def(signlessIntegerLike)
    result = result_def(floatingPointLike)


@irdl_op_definition
class FPToSIOp(_CastOp):
    """Toward zero; poison outside the integer type."""

    name = "llvm.fptosi"
    arg = operand_def(floatingPointLike)
    result = result_def(signlessIntegerLike)


@irdl_op_definition
class FPToUIOp(_CastOp):
    """Toward zero; poison outside the unsigned integer type."""

    name = "llvm.fptoui"
    arg = operand_def(floatingPointLike)
    result = result_def(signlessIntegerLike)


LLVM = replace_operations(llvm.LLVM, [ExtractElementOp, PoisonOp, FCmpOp, SelectOp, UIToFPOp, FPToSIOp, FPToUIOp])
