"""Builder of llvm-dialect operations: instructions, constants, intrinsics."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cache, lru_cache
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    UnknownLoc,
    VectorType,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.llvm import FastMathAttr, FCmpPredicateFlag
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.errors import CompileError
from ...dialects.extensions.llvm import FCmpOp, PoisonOp, SelectOp
from ...dialects.sizes.polynomials import Combine, Symbol, evaluated
from ...dialects.sizes.sizes import Size
from .types import Types, element_of, lanes_of, truth_type, with_element

NO_FAST_MATH = FastMathAttr(None)
_NO_FLAGS = {"fastmathFlags": NO_FAST_MATH}


class Instructions:
    """Appends to `block`. Constants and stack buffers are collected for the start of the function."""

    def __init__(self, types: Types, block: Block) -> None:
        self.types = types
        self.block = block
        self.known: dict[SSAValue, int] = {}
        """Integer values known at compile time."""
        self.extern: dict[str, llvm.LLVMFunctionType] = {}
        """C library functions that are called."""
        self.vectors = 0
        """Number of operations with a vector result."""
        self._entry = block
        self._first: list[Operation] = []
        self._integers: dict[tuple[int, int], SSAValue] = {}
        self._poison: dict[int, SSAValue] = {}
        self.sizes: tuple[SSAValue, Sequence[Symbol]] | None = None
        """The table of run-time sizes, and the symbols of its entries."""
        self._measured: dict[Hashable, SSAValue] = {}
        self.location: LocationAttr = UnknownLoc()
        """That of the op being lowered, which all instructions for it get."""

    def finish(self) -> None:
        """Inserts constants and stack buffers at the start of the first block."""
        first = self._entry.first_op
        assert first is not None
        self._entry.insert_ops_before(self._first, first)

    def emit(
        self,
        op: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: Mapping[str, Attribute] = {},
        attributes: Mapping[str, Attribute] = {},
    ) -> SSAValue:
        """Appends an operation with one result."""
        made = op.create(
            operands=operands,
            result_types=(result_type,),
            properties=properties,
            attributes=attributes,
            location=self.location,
        )
        self.block.add_op(made)
        self.vectors += isinstance(result_type, VectorType)
        return made.results[0]

    def append(
        self,
        op: type[Operation],
        operands: Sequence[SSAValue],
        properties: Mapping[str, Attribute] = {},
        successors: Sequence[Block] = (),
        attributes: Mapping[str, Attribute] = {},
    ) -> None:
        """Appends an operation without results."""
        self.block.add_op(
            op.create(
                operands=operands,
                properties=properties,
                successors=successors,
                attributes=attributes,
                location=self.location,
            )
        )

    def emit_first(self, op: Operation) -> SSAValue:
        """Inserts an operation with one result at the start of the function."""
        self._first.append(op)
        return op.results[0]

    def integer(self, value: int, integer_type: Attribute = i64) -> SSAValue:
        """An integer constant."""
        key = (value, id(integer_type))
        known = self._integers.get(key)
        if known is None and isinstance(value, Size):
            known = self._integers[key] = self._measure(value, integer_type)
            self.known[known] = value
        if known is None:
            known = self.constant(_integer_attribute(value, integer_type), integer_type)
            self._integers[key] = known
            self.known[known] = value
        return known

    def _measure(self, size: Size, integer_type: Attribute) -> SSAValue:
        """A symbolic size, computed at the start of the function."""
        if self.sizes is None:
            raise CompileError(f"size {size} is unknown in a function without a table of sizes")
        table, symbols = self.sizes

        def first(op: type[Operation], *operands: SSAValue, **properties: Attribute) -> SSAValue:
            key = (op, operands, *properties.values())
            if key not in self._measured:
                self._measured[key] = self.emit_first(
                    op.create(operands=operands, result_types=(i64,), properties=properties)
                )
            return self._measured[key]

        def load(symbol: Symbol) -> SSAValue:
            key = ("place", symbol)
            if key not in self._measured:
                properties = {
                    "rawConstantIndices": integer_list((symbols.index(symbol),)),
                    "elem_type": i64,
                    "noWrapFlags": IntegerAttr(0, i32),
                }
                place = llvm.GEPOp.create(operands=(table,), result_types=(table.type,), properties=properties)
                self._measured[key] = self.emit_first(place)
            return first(llvm.LoadOp, self._measured[key], ordering=IntegerAttr(0, i64))

        def floor_division(a: SSAValue, b: SSAValue) -> SSAValue:
            """For a divisor that is positive, or 0 where the quotient is never used."""
            if b not in self.known:
                below = first(llvm.SubOp, b, self.integer(1), **flags)
                b = first(llvm.AddOp, b, first(llvm.LShrOp, below, self.integer(63)), **flags)
            quotient = first(llvm.SDivOp, a, b)
            rest = first(llvm.SubOp, a, first(llvm.MulOp, quotient, b, **flags), **flags)
            return first(llvm.AddOp, quotient, first(llvm.AShrOp, rest, self.integer(63)), **flags)

        flags = {"overflowFlags": IntegerAttr(1, i32)}
        combine = Combine(
            number=self.integer,
            add=lambda a, b: first(llvm.AddOp, a, b, **flags),
            multiply=lambda a, b: first(llvm.MulOp, a, b, **flags),
            divide=floor_division,
        )
        value = cast("SSAValue", evaluated(size.terms, load, combine))
        if integer_type == i64:
            return value
        if integer_type not in (i8, i16, i32):
            raise CompileError(f"size {size} can't be a number of type {integer_type}")
        return self.emit_first(llvm.TruncOp.create(operands=(value,), result_types=(integer_type,), properties=flags))

    def constant(self, value: Attribute, value_type: Attribute) -> SSAValue:
        """A constant of any type."""
        return self.emit_first(llvm.ConstantOp.create(result_types=(value_type,), properties={"value": value}))

    def number(self, value: float, like: Attribute) -> SSAValue:
        """A number of the type `like`, splat to a vector's lanes."""
        element = element_of(like)
        if not isinstance(like, VectorType):
            if isinstance(element, IntegerType):
                return self.integer(int(value), like)
            return self.constant(FloatAttr(value, cast(AnyFloat, element)), like)
        vector = cast("VectorType[IntegerType]", like)
        data = int(value) if isinstance(element, IntegerType) else value
        values = DenseIntOrFPElementsAttr.from_list(vector, cast("list[int]", [data]))
        return self.constant(values, cast(Attribute, like))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """A float comparison by LLVM's predicate such as "olt"; i1 per lane."""
        number = IntegerAttr(FCmpPredicateFlag(predicate).to_int(), i64)
        return self.emit(FCmpOp, (a, b), truth_type(a.type), {"predicate": number, **_NO_FLAGS})

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """a where the condition holds, else b."""
        return self.emit(SelectOp, (condition, a, b), a.type, _NO_FLAGS)

    def bits(self, value: SSAValue, element: Attribute) -> SSAValue:
        """A bitcast to lanes of another type."""
        return self.emit(llvm.BitcastOp, (value,), with_element(element, value.type))

    def poison(self, value_type: Attribute) -> SSAValue:
        """A value that is never used."""
        known = self._poison.get(id(value_type))
        if known is None:
            known = self._poison[id(value_type)] = self.emit_first(PoisonOp.create(result_types=(value_type,)))
        return known

    def splat(self, scalar: SSAValue, vector: Attribute) -> SSAValue:
        """`scalar` in every lane."""
        lanes = lanes_of(vector)
        assert lanes is not None
        first = self.emit(llvm.InsertElementOp, (self.poison(vector), scalar, self.integer(0)), vector)
        mask = integer_list((0,) * lanes)
        return self.emit(llvm.ShuffleVectorOp, (first, self.poison(vector)), vector, {"mask": mask})

    def fast_math(self, op: Operation) -> FastMathAttr:
        """The fast-math flags of an arith, math or vector operation."""
        flags = op.properties.get("fastmath") or op.attributes.get("fastmath")
        if not isinstance(flags, FastMathFlagsAttr) or not flags.data:
            return NO_FAST_MATH
        return fast_math_attr(tuple(flags.data))

    def intrinsic(
        self,
        name: str,
        operands: Sequence[SSAValue],
        result_type: Attribute | None,
        flags: FastMathAttr | None = None,
        alignments: Sequence[int] = (),
    ) -> SSAValue | None:
        """A call of the intrinsic with that full name; `alignments` of its pointer arguments, 0 for none."""
        properties = _intrinsic_properties(name, len(operands), flags or NO_FAST_MATH)
        attributes = _argument_alignments(tuple(alignments))
        if result_type is None:
            self.append(llvm.CallIntrinsicOp, operands, properties, attributes=attributes)
            return None
        return self.emit(llvm.CallIntrinsicOp, operands, result_type, properties, attributes)

    def overloaded(self, name: str, operands: Sequence[SSAValue], flags: FastMathAttr | None = None) -> SSAValue:
        """A call of an intrinsic whose operands and result have one type."""
        value_type = operands[0].type
        result = self.intrinsic(f"{name}.{self.types.suffix(value_type)}", operands, value_type, flags)
        assert result is not None
        return result


@lru_cache(maxsize=4096)
def _integer_attribute(value: int, integer_type: Attribute) -> IntegerAttr[IntegerType]:
    return IntegerAttr(value, cast(IntegerType, integer_type))


@lru_cache(maxsize=4096)
def integer_list(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    """An array-of-i32 property."""
    return DenseArrayBase.from_list(i32, values)


@cache
def fast_math_attr(flags: tuple[FastMathFlag, ...]) -> FastMathAttr:
    """LLVM's fast-math attribute for these flags."""
    return FastMathAttr(flags)


@lru_cache(maxsize=4096)
def _intrinsic_properties(name: str, operands: int, flags: FastMathAttr) -> dict[str, Attribute]:
    return {
        "intrin": StringAttr(name),
        "op_bundle_sizes": integer_list(()),
        "operandSegmentSizes": integer_list((operands, 0)),
        "fastmathFlags": flags,
    }


@lru_cache(maxsize=4096)
def _argument_alignments(alignments: tuple[int, ...]) -> dict[str, Attribute]:
    dictionaries = [
        DictionaryAttr({"llvm.align": IntegerAttr(alignment, i64)} if alignment else {}) for alignment in alignments
    ]
    return {"arg_attrs": ArrayAttr(dictionaries)} if alignments else {}
