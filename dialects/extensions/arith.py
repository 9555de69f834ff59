"""The arith operations that xDSL has for scalars only, for vectors too, in MLIR's assembly."""

from abc import ABC
from typing import ClassVar, Self, cast

from typing_extensions import override
from xdsl.dialects import arith
from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    FastMathFlagsAttr,
    boolLike,
    floatingPointLike,
    signlessIntegerLike,
)
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, IntegerAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .replace import expect_same_shape, replace_operations, scalar_of, shaped_like

NO_FAST_MATH = FastMathFlagsAttr("none")


def _parse_predicate(parser: Parser, names: list[str]) -> int:
    name = parser.parse_identifier()
    if name not in names:
        parser.raise_error(f"expected one of {', '.join(names)}")
    return names.index(name)


@irdl_op_definition
class CmpiOp(IRDLOperation):
    """`arith.cmpi slt, %a, %b : vector<16xi32>`: i1 per element."""

    name = "arith.cmpi"
    _T: ClassVar = VarConstraint("_T", signlessIntegerLike)

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(_T)
    rhs = operand_def(_T)
    result = result_def(boolLike)

    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, predicate: str | int):
        lhs = SSAValue.get(lhs)
        if isinstance(predicate, str):
            predicate = CMPI_COMPARISON_OPERATIONS.index(predicate)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[shaped_like(i1, lhs.type)],
            properties={"predicate": IntegerAttr(predicate, i64)},
        )

    @override
    def verify_(self) -> None:
        expect_same_shape(self.lhs.type, self.result.type)

    @classmethod
    @override
    def parse(cls, parser: Parser) -> Self:
        predicate = _parse_predicate(parser, CMPI_COMPARISON_OPERATIONS)
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand_type = parser.parse_type()
        operation = cls(parser.resolve_operand(lhs, operand_type), parser.resolve_operand(rhs, operand_type), predicate)
        operation.attributes |= attributes
        return operation

    @override
    def print(self, printer: Printer) -> None:
        printer.print_string(f" {CMPI_COMPARISON_OPERATIONS[self.predicate.value.data]}, ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class CmpfOp(IRDLOperation):
    """`arith.cmpf olt, %a, %b : vector<16xf32>`: i1 per element."""

    name = "arith.cmpf"
    _T: ClassVar = VarConstraint("_T", floatingPointLike)

    predicate = prop_def(IntegerAttr)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)
    lhs = operand_def(_T)
    rhs = operand_def(_T)
    result = result_def(boolLike)

    traits = traits_def(Pure())

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        predicate: str | int,
        fastmath: FastMathFlagsAttr = NO_FAST_MATH,
    ):
        lhs = SSAValue.get(lhs)
        if isinstance(predicate, str):
            predicate = CMPF_COMPARISON_OPERATIONS.index(predicate)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[shaped_like(i1, lhs.type)],
            properties={"predicate": IntegerAttr(predicate, i64), "fastmath": fastmath},
        )

    @override
    def verify_(self) -> None:
        expect_same_shape(self.lhs.type, self.result.type)

    @classmethod
    @override
    def parse(cls, parser: Parser) -> Self:
        predicate = _parse_predicate(parser, CMPF_COMPARISON_OPERATIONS)
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        fastmath = NO_FAST_MATH
        if parser.parse_optional_keyword("fastmath"):
            fastmath = FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand_type = parser.parse_type()
        operation = cls(
            parser.resolve_operand(lhs, operand_type),
            parser.resolve_operand(rhs, operand_type),
            predicate,
            fastmath,
        )
        operation.attributes |= attributes
        return operation

    @override
    def print(self, printer: Printer) -> None:
        printer.print_string(f" {CMPF_COMPARISON_OPERATIONS[self.predicate.value.data]}, ")
        printer.print_list(self.operands, printer.print_operand)
        if self.fastmath.data:
            printer.print_string(" fastmath")
            self.fastmath.print_parameter(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`arith.select %c, %a, %b : f32`, or elementwise `: vector<16xi1>, vector<16xf32>`."""

    name = "arith.select"
    _T: ClassVar = VarConstraint("_T", AnyAttr())

    cond = operand_def(boolLike)
    lhs = operand_def(_T)
    rhs = operand_def(_T)
    result = result_def(_T)

    traits = traits_def(Pure())

    def __init__(self, cond: SSAValue | Operation, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        lhs = SSAValue.get(lhs)
        super().__init__(operands=[cond, lhs, rhs], result_types=[lhs.type])

    @override
    def verify_(self) -> None:
        if self.cond.type != i1:
            expect_same_shape(self.cond.type, self.result.type)

    @classmethod
    @override
    def parse(cls, parser: Parser) -> Self:
        cond = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        cond_type: Attribute = i1
        value_type = parser.parse_type()
        if parser.parse_optional_punctuation(","):
            cond_type, value_type = value_type, parser.parse_type()
        operation = cls(
            parser.resolve_operand(cond, cond_type),
            parser.resolve_operand(lhs, value_type),
            parser.resolve_operand(rhs, value_type),
        )
        operation.attributes |= attributes
        return operation

    @override
    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)


class _CastOp(IRDLOperation, ABC):
    """A conversion of each element: `arith.sitofp %a : vector<16xi32> to vector<16xf32>`."""

    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, value: SSAValue | Operation, target_type: Attribute):
        """`target_type` is the whole type of the result, a vector type for a vector."""
        super().__init__(operands=[value], result_types=[target_type])

    @override
    def verify_(self) -> None:
        expect_same_shape(self.operands[0].type, self.results[0].type)
        self.verify_elements(scalar_of(self.operands[0].type), scalar_of(self.results[0].type))

    def verify_elements(self, source: Attribute, target: Attribute) -> None:
        """Raises where this conversion isn't defined between these element types."""


def _bits(element: Attribute) -> int:
    return cast(FixedBitwidthType, element).bitwidth


class _IntegerCastOp(_CastOp, ABC):
    input = operand_def(signlessIntegerLike)
    result = result_def(signlessIntegerLike)


class _WideningOp(_IntegerCastOp, ABC):
    @override
    def verify_elements(self, source: Attribute, target: Attribute) -> None:
        if isinstance(source, IndexType) or isinstance(target, IndexType) or _bits(target) <= _bits(source):
            raise VerifyException(f"{target} is not a wider integer than {source}")


@irdl_op_definition
class ExtSIOp(_WideningOp):
    """To a wider integer, keeping the signed value."""

    name = "arith.extsi"


@irdl_op_definition
class ExtUIOp(_WideningOp):
    """To a wider integer, keeping the unsigned value."""

    name = "arith.extui"


@irdl_op_definition
class TruncIOp(_IntegerCastOp):
    """To a narrower integer, keeping the low bits."""

    name = "arith.trunci"

    @override
    def verify_elements(self, source: Attribute, target: Attribute) -> None:
        if isinstance(source, IndexType) or isinstance(target, IndexType) or _bits(target) >= _bits(source):
            raise VerifyException(f"{target} is not a narrower integer than {source}")


@irdl_op_definition
class IndexCastOp(_IntegerCastOp):
    """Between index and an integer type, keeping the signed value or the low bits."""

    name = "arith.index_cast"

    @override
    def verify_elements(self, source: Attribute, target: Attribute) -> None:
        if isinstance(source, IndexType) == isinstance(target, IndexType):
            raise VerifyException(f"expected index on one side, got {source} and {target}")


class _FloatToIntegerOp(_CastOp, ABC):
    input = operand_def(floatingPointLike)
    result = result_def(signlessIntegerLike)


@irdl_op_definition
class FPToSIOp(_FloatToIntegerOp):
    """Toward zero; a value outside the integer type gives poison."""

    name = "arith.fptosi"


@irdl_op_definition
class FPToUIOp(_FloatToIntegerOp):
    """Toward zero; a value outside the unsigned integer type gives poison."""

    name = "arith.fptoui"


class _IntegerToFloatOp(_CastOp, ABC):
    input = operand_def(signlessIntegerLike)
    result = result_def(floatingPointLike)


@irdl_op_definition
class SIToFPOp(_IntegerToFloatOp):
    """The nearest float of a signed integer."""

    name = "arith.sitofp"


@irdl_op_definition
class UIToFPOp(_IntegerToFloatOp):
    """The nearest float of an unsigned integer."""

    name = "arith.uitofp"


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """What is left of the dividend after division toward zero; it has the dividend's sign."""

    name = "arith.remf"
    traits = traits_def(Pure())


Arith = replace_operations(
    arith.Arith,
    [
        CmpiOp,
        CmpfOp,
        SelectOp,
        ExtSIOp,
        ExtUIOp,
        TruncIOp,
        IndexCastOp,
        FPToSIOp,
        FPToUIOp,
        SIToFPOp,
        UIToFPOp,
        RemFOp,
    ],
)
