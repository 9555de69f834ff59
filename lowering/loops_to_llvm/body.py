"""Builds the body of one llvm.func: maps values of the loops level to LLVM values, and computes addresses.

Index sums and products, and addresses derived from them, are memoised and reused while their definition dominates, so
that accesses that differ by a constant share most of the address computation.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.errors import CompileError
from ...dialects.kernel.targets import CpuAttr
from ...dialects.sizes.sizes import Size
from ..op_facts import fail
from .instructions import Instructions, integer_list
from .types import POINTER, Types

Handler: TypeAlias = "Callable[[FunctionBody, Operation], None]"

NSW = IntegerAttr(1, i32)
_NO_WRAP_FLAGS = IntegerAttr(0, i32)
_UNIT = UnitAttr()
_VALUE_INDEX = integer_list((llvm.GEP_USE_SSA_VAL,))
_MAX_GEP_CONSTANT = 2**31 - 1


class FunctionBody(Instructions):
    """The body of an llvm.func under construction; `block` is the insertion point."""

    def __init__(self, types: Types, handlers: Mapping[str, Handler], entry: Block, target: CpuAttr) -> None:
        super().__init__(types, entry)
        self.target = target
        self.region = Region(entry)
        self.values: dict[SSAValue, SSAValue] = {}
        """Values of the loops level -> LLVM values."""
        self.strides: dict[SSAValue, tuple[int | SSAValue, ...]] = {}
        """Strides of memrefs whose type is not fully static: constants, and LLVM values for dynamic strides."""
        self.long_loops = 0
        """Number of lowered loops that LLVM will not unroll completely."""
        self._handlers = handlers
        self._computed: dict[tuple[object, ...], SSAValue] = {}
        self._scope: list[tuple[object, ...]] = []
        self._leaving: Block | None = None

    def lower_block(self, block: Block) -> Operation:
        """Lowers all operations of a block except the terminator, which is returned."""
        handlers, around = self._handlers, self.location
        last = block.last_op
        assert last is not None, "every block ends with a terminator"
        for op in block.ops:
            if op is last:
                break
            handler = handlers.get(op.name)
            if handler is None:
                fail(op, "this operation can't be lowered to LLVM")
            self.location = op.location
            handler(self, op)
        self.location = around
        return last

    def new_block(self, argument_types: Sequence[Attribute] = ()) -> Block:
        """Appends a block to the body."""
        block = Block(arg_types=argument_types)
        self.region.add_block(block)
        return block

    def leaving_block(self) -> Block:
        """The block that returns from a function without a result."""
        if self._leaving is None:
            self._leaving = self.new_block()
            self._leaving.add_op(llvm.ReturnOp())
        return self._leaving

    @contextmanager
    def scope(self) -> Generator[None]:
        """A context at whose end values memoised inside are forgotten, as they don't dominate the code that follows."""
        outer, self._scope = self._scope, []
        yield
        for key in self._scope:
            del self._computed[key]
        self._scope = outer

    def lowered(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The LLVM values for values of the loops level."""
        known = self.values
        return [known[value] for value in values]

    # addresses

    def address(self, memref: SSAValue, indices: Sequence[SSAValue], *, inbounds: bool = True) -> SSAValue:
        """The address of an element of a memref of the loops level; `inbounds` promises that the index is in range."""
        layout = self.types.layout(memref.type)
        constant = 0
        terms: list[tuple[SSAValue, int | SSAValue]] = []
        for index, stride in zip(indices, self.strides_of(memref), strict=True):
            value = self.values[index]
            known = self.known.get(value)
            if known is None:
                if stride != 0:
                    terms.append((value, stride))
            elif isinstance(stride, int):
                constant += known * stride
            elif known:
                terms.append((stride, known))
        pointer = self.values[memref]
        if terms:
            pointer = self.moved(pointer, self.linear(terms), layout.element, inbounds=inbounds)
        return self.offset(pointer, constant, layout.element, inbounds=inbounds)

    def strides_of(self, memref: SSAValue) -> Sequence[int | SSAValue]:
        """The strides of a memref in elements. Raises CompileError if they are unknown."""
        known = self.strides.get(memref)
        if known is None:
            known = [stride for stride in self.types.layout(memref.type).strides if stride is not None]
            if len(known) != cast("MemRefType[Attribute]", memref.type).get_num_dims():
                raise CompileError(f"{memref.type}: dynamic strides are known for results of reinterpret_cast only")
        return known

    def moved(self, pointer: SSAValue, elements: SSAValue, element: Attribute, *, inbounds: bool = True) -> SSAValue:
        """`pointer` plus a number of elements."""
        return self._keep(
            ("moved", pointer, elements, self.types.suffix(element), inbounds),
            lambda: self._gep(pointer, elements, element, inbounds=inbounds),
        )

    def offset(self, pointer: SSAValue, elements: int, element: Attribute, *, inbounds: bool = True) -> SSAValue:
        """`pointer` plus a constant number of elements."""
        if elements == 0:
            return pointer
        return self._keep(
            ("offset", pointer, elements, self.types.suffix(element), inbounds),
            lambda: self._gep(pointer, elements, element, inbounds=inbounds),
        )

    def linear(self, terms: Sequence[tuple[SSAValue, int | SSAValue]]) -> SSAValue:
        """A linear combination: the sum of values times constants, or times values."""
        total: SSAValue | None = None
        for value, factor in terms:
            part = value if factor == 1 else self._product(value, factor)
            total = part if total is None else self._sum(total, part)
        assert total is not None
        return total

    def hidden(self, number: SSAValue) -> SSAValue:
        """The same number, opaque to LLVM's optimiser; no instruction results from it."""
        properties: dict[str, Attribute] = {"asm_string": StringAttr(""), "constraints": StringAttr("=r,0")}
        return self.emit(llvm.InlineAsmOp, (number,), number.type, properties)

    def _product(self, value: SSAValue, factor: int | SSAValue) -> SSAValue:
        def make() -> SSAValue:
            other = self.integer(factor) if isinstance(factor, int) else factor
            return self.emit(llvm.MulOp, (value, other), i64, {"overflowFlags": NSW})

        return self._keep(("mul", value, factor), make)

    def _sum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._keep(("add", a, b), lambda: self.emit(llvm.AddOp, (a, b), i64, {"overflowFlags": NSW}))

    def _gep(self, pointer: SSAValue, index: SSAValue | int, element: Attribute, *, inbounds: bool) -> SSAValue:
        if isinstance(index, int) and (isinstance(index, Size) or abs(index) > _MAX_GEP_CONSTANT):
            index = self.integer(index)
        if isinstance(index, int):
            operands, raw = (pointer,), integer_list((index,))
        else:
            operands, raw = (pointer, index), _VALUE_INDEX
        properties: dict[str, Attribute] = {
            "rawConstantIndices": raw,
            "elem_type": element,
            "noWrapFlags": _NO_WRAP_FLAGS,
        }
        if inbounds:
            properties["inbounds"] = _UNIT
        return self.emit(llvm.GEPOp, operands, POINTER, properties)

    def _keep(self, key: tuple[object, ...], make: Callable[[], SSAValue]) -> SSAValue:
        value = self._computed.get(key)
        if value is None:
            value = self._computed[key] = make()
            self._scope.append(key)
        return value
