"""arith operations extended to vectors, with MLIR's assembly; xDSL supports scalars only."""

from abc import ABC
from typing import ClassVar, cast

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
from xdsl.irdl.declarative_assembly_format import AttributeVariable, irdl_custom_directive
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .assembly import BoolFor, ConditionTypes, WordOf
from .replace import expect_same_shape, replace_operations, scalar_of, shaped_like

FLUSH = "kernel.flush"
"""On a rounding to bf16: subnormal numbers may become zeros."""

OPAQUE = "llvm.opaque"
"""An attribute of arith.index_cast: see there."""
NO_FAST_MATH = FastMathFlagsAttr("none")


@irdl_custom_directive
class IntegerPredicate(WordOf):
    """How integers are compared."""

    WORDS = CMPI_COMPARISON_OPERATIONS
    attribute: AttributeVariable


@irdl_custom_directive
class FloatPredicate(WordOf):
    """How floats are compared."""

    WORDS = CMPF_COMPARISON_OPERATIONS
    attribute: AttributeVariable


@irdl_op_definition
class CmpiOp(IRDLOperation):
    """`arith.cmpi slt, %a, %b : vector<16xi32>`: i1 per element."""

    name = "arith.cmpi"
    _T: ClassVar = VarConstraint("_T", signlessIntegerLike)

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(_T)
    rhs = operand_def(_T)
    result = result_def(BoolFor(_T))

    traits = traits_def(Pure())
    custom_directives = (IntegerPredicate,)
    assembly_format = "custom<IntegerPredicate>($predicate) `,` $lhs `,` $rhs attr-dict `:` type($lhs)"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, predicate: str | int):
        lhs = SSAValue.get(lhs)
        if isinstance(predicate, str):
            predicate = CMPI_COMPARISON_OPERATIONS.index(predicate)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[shaped_like(i1, lhs.type)],
            properties={"predicate": IntegerAttr(predicate, i64)},
        )


@irdl_op_definition
class CmpfOp(IRDLOperation):
    """`arith.cmpf olt, %a, %b : vector<16xf32>`: i1 per element."""

    name = "arith.cmpf"
    _T: ClassVar = VarConstraint("_T", floatingPointLike)

    predicate = prop_def(IntegerAttr)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)
    lhs = operand_def(_T)
    rhs = operand_def(_T)
    result = result_def(BoolFor(_T))

    traits = traits_def(Pure())
    custom_directives = (FloatPredicate,)
    assembly_format = (
        "custom<FloatPredicate>($predicate) `,` $lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs)"
    )

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, predicate: str | int):
        lhs = SSAValue.get(lhs)
        if isinstance(predicate, str):
            predicate = CMPF_COMPARISON_OPERATIONS.index(predicate)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[shaped_like(i1, lhs.type)],
            properties={"predicate": IntegerAttr(predicate, i64)},
        )


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
    custom_directives = (ConditionTypes,)
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` custom<ConditionTypes>(type($cond), type($result))"

    def __init__(self, cond: SSAValue | Operation, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        lhs = SSAValue.get(lhs)
        super().__init__(operands=[cond, lhs, rhs], result_types=[lhs.type])

    @override
    def verify_(self) -> None:
        if self.cond.type != i1:
            expect_same_shape(self.cond.type, self.result.type)


class CastOp(IRDLOperation, ABC):
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


class _IntegerCastOp(CastOp, ABC):
    input = operand_def(signlessIntegerLike)
    result = result_def(signlessIntegerLike)


class _WideningOp(_IntegerCastOp, ABC):
    @override
    def verify_elements(self, source: Attribute, target: Attribute) -> None:
        if isinstance(source, IndexType) or isinstance(target, IndexType) or _bits(target) <= _bits(source):
            raise VerifyException(f"{target} is not a wider integer than {source}")


@irdl_op_definition
class ExtSIOp(_WideningOp):
    """Sign-extends to a wider integer."""

    name = "arith.extsi"


@irdl_op_definition
class ExtUIOp(_WideningOp):
    """Zero-extends to a wider integer."""

    name = "arith.extui"


@irdl_op_definition
class TruncIOp(_IntegerCastOp):
    """Truncates to a narrower integer, keeping the low bits."""

    name = "arith.trunci"

    @override
    def verify_elements(self, source: Attribute, target: Attribute) -> None:
        if isinstance(source, IndexType) or isinstance(target, IndexType) or _bits(target) >= _bits(source):
            raise VerifyException(f"{target} is not a narrower integer than {source}")


@irdl_op_definition
class IndexCastOp(_IntegerCastOp):
    """Converts between index and an integer type, by sign extension or truncation.

    An attribute `llvm.opaque` hides the result's origin from LLVM, which then leaves computations with it scalar.
    """

    name = "arith.index_cast"

    @override
    def verify_elements(self, source: Attribute, target: Attribute) -> None:
        if isinstance(source, IndexType) == isinstance(target, IndexType):
            raise VerifyException(f"expected index on one side, got {source} and {target}")


class FloatToIntegerOp(CastOp, ABC):
    input = operand_def(floatingPointLike)
    result = result_def(signlessIntegerLike)


@irdl_op_definition
class FPToSIOp(FloatToIntegerOp):
    """Truncates toward zero; a value outside the integer type gives poison."""

    name = "arith.fptosi"


@irdl_op_definition
class FPToUIOp(FloatToIntegerOp):
    """Truncates toward zero; a value outside the unsigned integer type gives poison."""

    name = "arith.fptoui"


class IntegerToFloatOp(CastOp, ABC):
    input = operand_def(signlessIntegerLike)
    result = result_def(floatingPointLike)


@irdl_op_definition
class SIToFPOp(IntegerToFloatOp):
    """Converts a signed integer to the nearest float."""

    name = "arith.sitofp"


@irdl_op_definition
class UIToFPOp(IntegerToFloatOp):
    """Converts an unsigned integer to the nearest float."""

    name = "arith.uitofp"


@irdl_op_definition
class RemFOp(arith.FloatingPointLikeBinaryOperation):
    """The remainder of a division truncated toward zero; it has the dividend's sign."""

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
