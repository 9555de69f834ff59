"""LoopBuilder: builds scf/vector/memref/arith ops of one function, folding index arithmetic on the fly.

An `Index` is a Python int while it is constant and an SSA value of type index otherwise, so kernels are written as
plain arithmetic and only what depends on a loop counter becomes an op.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

from typing_extensions import override
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StridedLayoutAttr,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ...dialects.extensions.arith import CmpiOp, SelectOp
from ...dialects.extensions.memref import PrefetchOp
from ...dialects.graph.narrow_types import is_narrow_float, packed_bits
from ...dialects.graph.values import ints_attr
from ...dialects.sizes.sizes import Size, bounds_of, ordered

Index: TypeAlias = "int | SSAValue"
INDEX = IndexType()
NOT_UNROLLED = DictionaryAttr({"unroll": IntegerAttr(1, i64)})
MOST_KNOWN = 4096  # memoised op signatures: a model has some hundreds
# The op's class, result types, properties, and operand types, which are kept alive by the entry.
_KNOWN: dict[Hashable, tuple[type[Operation], Sequence[Attribute], dict[str, Attribute], Sequence[Attribute]]] = {}
DYNAMIC = -9223372036854775808  # memref's marker of a dynamic offset


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """The memref type of a buffer."""
    type: Attribute = value.type
    assert isinstance(type, MemRefType)
    return cast("MemRefType[Attribute]", type)


def strides_of(type: MemRefType[Attribute]) -> tuple[int, ...]:
    """Strides in elements of a memref whose strides are all static."""
    strides = type.get_strides()
    assert strides is not None and all(stride is not None for stride in strides)
    return tuple(cast("Sequence[int]", strides))


@lru_cache(maxsize=MOST_KNOWN)
def _constant_attribute(_: str, value: float | int | bool, type: Attribute) -> Any:
    """The attribute of a scalar constant or splat; the spelling `_` separates 0.0, -0.0 and 0 in the memo."""
    if isinstance(type, VectorType):
        vector_type = cast("VectorType[Attribute]", type)
        number = int(value) if isinstance(vector_type.element_type, IntegerType) else float(value)
        return DenseIntOrFPElementsAttr.from_list(cast("Any", vector_type), [number])
    if isinstance(type, IndexType | IntegerType):
        return IntegerAttr(int(value), cast("IntegerType", type))
    return FloatAttr(float(value), cast("AnyFloat", type))


class LoopBuilder:
    """Appends ops to a block; `entry` is the function's first block, which holds constants."""

    def __init__(self, block: Block, entry: Block | None = None) -> None:
        self.block = block
        self.entry = entry or block
        self._at = block  # insertion point
        self._constants: dict[tuple[object, Attribute], SSAValue] = {}

    # index arithmetic

    def insert(self, op: Operation) -> SSAValue:
        """Appends `op`; returns its first result."""
        self.place_op(op)
        return op.results[0]

    def place_op(self, op: Operation) -> None:
        """Inserts `op` at the insertion point."""
        self._at.add_op(op)

    def make(
        self, constructor: Callable[..., Operation], *operands: SSAValue, extra: tuple[Hashable, ...] = ()
    ) -> SSAValue:
        """Appends `constructor(*operands, *extra)`; returns its first result."""
        return self.append(constructor, *operands, extra=extra).results[0]

    def append(
        self, constructor: Callable[..., Operation], *operands: SSAValue, extra: tuple[Hashable, ...] = ()
    ) -> Operation:
        """Appends `constructor(*operands, *extra)`.

        Result types and properties that xDSL's constructor infers are memoised by operand types: inference took half of
        the time of lowering.
        """
        given = [operand.type for operand in operands]
        key = (constructor, extra, *map(id, given))  # by identity: types are large, and nearly always the same objects
        known = _KNOWN.get(key)
        if known is None:
            if len(_KNOWN) >= MOST_KNOWN:
                _KNOWN.clear()
            op = constructor(*operands, *extra)
            assert tuple(op.operands) == operands, f"{op.name} has its operands in another order"
            _KNOWN[key] = type(op), [result.type for result in op.results], op.properties, given
        else:
            kind, types, properties, _ = known
            op = kind.create(operands=operands, result_types=types, properties=properties)
        self.place_op(op)
        return op

    def index(self, value: Index) -> SSAValue:
        """`value` as an SSA value."""
        return self.constant(value, INDEX) if isinstance(value, int) else value

    def constant(self, value: float | int | bool, type: Attribute) -> SSAValue:
        """A scalar constant or vector splat, created once per function."""
        key = (value if isinstance(value, Size) else repr(value), type)
        if key not in self._constants:
            if isinstance(value, Size):
                attribute = IntegerAttr(value, cast("IntegerType", type))
            else:
                attribute = _constant_attribute(repr(value), value, type)
            op = arith.ConstantOp.create(result_types=[type], properties={"value": attribute})
            self.place_constant(op)
            self._constants[key] = op.results[0]
        return self._constants[key]

    def place_constant(self, op: Operation) -> None:
        """Inserts a constant at a point that dominates all later insertions."""
        first = self.entry.first_op
        if first is None:
            self.entry.add_op(op)
        else:
            self.entry.insert_op_before(op, first)

    def add(self, a: Index, b: Index) -> Index:
        """a + b"""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        return a if b == 0 else self.make(arith.AddiOp, self.index(a), self.index(b))

    def sub(self, a: Index, b: Index) -> Index:
        """a - b"""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self.make(arith.SubiOp, self.index(a), self.index(b))

    def mul(self, a: Index, b: Index) -> Index:
        """a * b"""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        return a if b == 1 else self.make(arith.MuliOp, self.index(a), self.index(b))

    def div(self, a: Index, b: Index) -> Index:
        """a // b for non-negative a"""
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        return a if b == 1 else self.make(arith.DivUIOp, self.index(a), self.index(b))

    def rem(self, a: Index, b: Index) -> Index:
        """a % b for non-negative a"""
        if isinstance(a, int) and isinstance(b, int):
            return a % b
        return 0 if b == 1 else self.make(arith.RemUIOp, self.index(a), self.index(b))

    def min(self, a: Index, b: Index) -> Index:
        """The signed minimum."""
        if isinstance(a, int) and isinstance(b, int) and (known := ordered(a, b)) is not None:
            return known[0]
        return self.make(arith.MinSIOp, self.index(a), self.index(b))

    def max(self, a: Index, b: Index) -> Index:
        """The signed maximum."""
        if isinstance(a, int) and isinstance(b, int) and (known := ordered(a, b)) is not None:
            return known[1]
        return self.make(arith.MaxSIOp, self.index(a), self.index(b))

    def linear(self, indices: Sequence[Index], strides: Sequence[Index], offset: Index = 0) -> Index:
        """offset + sum of indices times strides."""
        total = offset
        for i, stride in zip(indices, strides, strict=True):
            total = self.add(total, self.mul(i, stride))
        return total

    def sum(self, values: Iterable[Index]) -> Index:
        """The sum of values; 0 for none."""
        total: Index = 0
        for value in values:
            total = self.add(total, value)
        return total

    def product(self, sizes: Sequence[Index]) -> Index:
        """The product of sizes; 1 for none."""
        total: Index = 1
        for size in sizes:
            total = self.mul(total, size)
        return total

    def delinearize(self, flat: Index, sizes: Sequence[Index]) -> list[Index]:
        """The row-major multi-index of `flat` in a box of `sizes`."""
        indices: list[Index] = []
        for size in reversed(sizes[1:]):
            indices.append(self.rem(flat, size))
            flat = self.div(flat, size)
        return [flat, *reversed(indices)] if sizes else []

    def compare(self, predicate: str, a: Index, b: Index) -> SSAValue:
        """i1: arith.cmpi `predicate` (slt, eq, ...) on indices."""
        return self.make(CmpiOp, self.index(a), self.index(b), extra=(predicate,))

    def conjunction(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The conjunction of two i1."""
        return self.make(arith.AndIOp, a, b)

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """a where condition, else b"""
        return self.make(SelectOp, condition, a, b)

    # control flow

    def _region(
        self,
        arguments: Sequence[Attribute],
        body: Callable[[Sequence[BlockArgument]], Sequence[SSAValue]],
        end: Callable[..., Operation] = scf.YieldOp,
    ) -> Region:
        block = Block(arg_types=arguments)
        outer, self._at = self._at, block
        results = body(block.args)
        self._at.add_op(end(*results))
        self._at = outer
        return Region(block)

    def loop(
        self,
        lower: Index,
        upper: Index,
        body: Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue] | None],
        *,
        step: Index = 1,
        carried: Sequence[SSAValue] = (),
        unrolled: bool = True,
    ) -> Sequence[SSAValue]:
        """for i in range(lower, upper, step): carried = body(i, carried). Returns the final carried values.

        A loop with a trip count of 1 becomes its body, one of 0 nothing. LLVM may unroll it unless `unrolled` is False.
        """
        if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int):
            trips = -(-(upper - lower) // step)
            if bounds_of(trips)[1] <= 0:
                return carried
            if trips == 1:
                return body(lower, carried) or ()

        def region(args: Sequence[BlockArgument]) -> Sequence[SSAValue]:
            return body(args[0], args[1:]) or ()

        types = [INDEX, *(value.type for value in carried)]
        bounds = (self.index(lower), self.index(upper), self.index(step))
        op = scf.ForOp(*bounds, list(carried), self._region(types, region))
        if not unrolled:
            op.attributes["loop_annotation"] = NOT_UNROLLED
        self._at.add_op(op)
        return op.results

    def loop_while(
        self,
        carried: Sequence[SSAValue],
        condition: Callable[[Sequence[SSAValue]], tuple[SSAValue, Sequence[SSAValue]]],
        body: Callable[[Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """Loops: goes_on, carried = condition(carried); if it does, carried = body(carried). Returns the last ones."""
        types = [value.type for value in carried]

        def test(values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            goes_on, following = condition(values)
            return [goes_on, *following]

        before = self._region(types, test, scf.ConditionOp)
        op = scf.WhileOp(carried, types, before, self._region(types, body))
        self.place_op(op)
        return op.results

    def nest(self, sizes: Sequence[int], body: Callable[[Sequence[Index]], None]) -> None:
        """Run `body` on every multi-index of a box, the last dimension fastest."""

        def level(prefix: list[Index]) -> None:
            if len(prefix) == len(sizes):
                body(prefix)
                return

            def inner(i: Index, _: Sequence[SSAValue]) -> None:
                level([*prefix, i])

            self.loop(0, sizes[len(prefix)], inner)

        level([])

    def when(
        self,
        condition: SSAValue,
        then: Callable[[], Sequence[SSAValue] | None],
        otherwise: Callable[[], Sequence[SSAValue] | None] | None = None,
    ) -> Sequence[SSAValue]:
        """if condition: then() else: otherwise(). Returns the branches' results, whose types must agree."""
        types: list[Attribute] = []

        def run(branch: Callable[[], Sequence[SSAValue] | None]) -> Region:
            def region(_: Sequence[BlockArgument]) -> Sequence[SSAValue]:
                results = branch() or ()
                types[:] = [value.type for value in results]
                return results

            return self._region([], region)

        true_region = run(then)
        false_region = run(otherwise) if otherwise is not None else None
        op = scf.IfOp(condition, types, true_region, false_region)
        self.place_op(op)
        return op.results

    def call(self, function: func.FuncOp, arguments: Sequence[Index]) -> None:
        """Calls a function without results."""
        values = [self.index(argument) for argument in arguments]
        callee = {"callee": SymbolRefAttr(function.sym_name)}
        self._at.add_op(func.CallOp.create(operands=values, properties=callee))

    def ret(self) -> None:
        """Ends the function."""
        self._at.add_op(func.ReturnOp())

    # memory

    def _indices(self, indices: Sequence[Index]) -> list[SSAValue]:
        return [self.index(i) for i in indices]

    def load(self, buffer: SSAValue, indices: Sequence[Index]) -> SSAValue:
        """Loads one element."""
        return self.make(_load, buffer, *self._indices(indices))

    def store(self, value: SSAValue, buffer: SSAValue, indices: Sequence[Index]) -> None:
        """Stores one element."""
        self.append(_store, value, buffer, *self._indices(indices))

    def mask(self, lanes: int, valid: Index) -> SSAValue:
        """vector<lanes x i1>, true in the first `valid` lanes."""
        return self.make(_mask, self.index(valid), extra=(lanes,))

    def vload(self, buffer: SSAValue, indices: Sequence[Index], lanes: int, valid: Index | None = None) -> SSAValue:
        """`lanes` elements along the innermost dimension; lanes from `valid` on are zero."""
        if valid is None or valid == lanes:
            return self.make(_vector_load, buffer, *self._indices(indices), extra=(lanes,))
        zero = self._zeros(vector_of(memref_type(buffer).element_type, lanes))
        return self.make(_masked_load, buffer, *self._indices(indices), self.mask(lanes, valid), zero)

    def _zeros(self, type: VectorType[Attribute]) -> SSAValue:
        """A vector with all bits 0: not all narrow float types have a zero."""
        element = type.element_type
        if not is_narrow_float(element):
            return self.constant(0, type)
        integers = vector_of(IntegerType(packed_bits(element)), *type.get_shape())
        return self.insert(arith.BitcastOp(self.constant(0, integers), type))

    def vstore(self, value: SSAValue, buffer: SSAValue, indices: Sequence[Index], valid: Index | None = None) -> None:
        """Stores a vector along the innermost dimension; only its first `valid` lanes if given.

        A known number of lanes is stored in parts. A masked store counts as one of all lanes: loads of what lies behind
        it, or as far into another page of memory, wait for it.
        """
        lanes = cast("VectorType[Attribute]", value.type).get_shape()[0]
        if valid is None or valid == lanes:
            self.append(_vector_store, value, buffer, *self._indices(indices))
        elif type(valid) is int:  # an extent is known to one of several kernels only
            *outer, last = indices
            start = 0
            for width in (1 << bit for bit in reversed(range(valid.bit_length())) if valid >> bit & 1):
                at = [*outer, self.add(last, start)]
                if width == 1:  # LLVM 22 fails an assertion on some vectors of one lane
                    self.store(
                        self.insert(vector.ExtractOp(value, [start], memref_type(buffer).element_type)), buffer, at
                    )
                else:
                    part = self.shuffle(value, value, range(start, start + width))
                    self.append(_vector_store, part, buffer, *self._indices(at))
                start += width
        else:
            mask = self.mask(lanes, valid)
            self.append(_masked_store, buffer, *self._indices(indices), mask, value)

    def prefetch(self, buffer: SSAValue, indices: Sequence[Index], *, near: bool = False) -> None:
        """Prefetches an element's cache line for reading, into the second-level cache (`near`: the first)."""
        self.append(_prefetch_near if near else _prefetch, buffer, *self._indices(indices))

    def prefetch_to_write(self, buffer: SSAValue, indices: Sequence[Index]) -> None:
        """Prefetches an element's cache line for writing, which invalidates it in other cores."""
        self.append(_prefetch_to_write, buffer, *self._indices(indices))

    def splat(self, scalar: SSAValue, lanes: int) -> SSAValue:
        """A vector with the scalar in every lane."""
        return self.make(_splat, scalar, extra=(lanes,))

    def shuffle(self, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """A vector of selected lanes of a, then b."""
        return self.make(_shuffle, a, b, extra=tuple(lanes))

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """a * b + c, rounded once"""
        return self.make(vector.FMAOp, a, b, c)

    def place(self, buffer: SSAValue, offset: Index) -> SSAValue:
        """The address of an element of a buffer, as a window without dimensions."""
        return self.view(buffer, offset, [], [])

    def alloca(self, element: Attribute, sizes: Sequence[int]) -> SSAValue:
        """A small buffer on the stack, allocated once per call of the function."""
        return self.insert(memref.AllocaOp.get(element, shape=sizes))

    def view(self, buffer: SSAValue, offset: Index, sizes: Sequence[Index], strides: Sequence[Index]) -> SSAValue:
        """A strided window on a buffer; `offset` is in elements from the buffer's first element.

        Its type has a dynamic offset, so windows of one shape can be passed to one function. A window without
        dimensions is an address: the function that receives it gets the strides as arguments.
        """
        source = memref_type(buffer)
        layout = source.layout
        start = (
            layout.offset.data if isinstance(layout, StridedLayoutAttr) and isinstance(layout.offset, IntAttr) else 0
        )
        at = self.index(self.add(offset, start))
        given = [each for each in (*sizes, *strides) if not isinstance(each, int)]
        known = [tuple(each if isinstance(each, int) else DYNAMIC for each in list) for list in (sizes, strides)]
        return self.make(_window, buffer, at, *given, extra=tuple(known))


# Constructors with separate operands: see LoopBuilder.append.


@lru_cache(maxsize=1024)
def vector_of(element: Attribute, lanes: int) -> VectorType[Attribute]:
    """The type of a vector."""
    return VectorType(element, [lanes])


def _load(buffer: SSAValue, *indices: SSAValue) -> Operation:
    return memref.LoadOp.get(buffer, indices)


def _store(value: SSAValue, buffer: SSAValue, *indices: SSAValue) -> Operation:
    return memref.StoreOp.get(value, buffer, indices)


def _mask(valid: SSAValue, lanes: int) -> Operation:
    return vector.CreateMaskOp([valid], vector_of(i1, lanes))


def _vector_load(buffer: SSAValue, *indices_and_lanes: Any) -> Operation:
    *indices, lanes = indices_and_lanes
    return vector.LoadOp(buffer, indices, vector_of(memref_type(buffer).element_type, lanes))


def _masked_load(buffer: SSAValue, *indices_mask_and_rest: SSAValue) -> Operation:
    *indices, mask, otherwise = indices_mask_and_rest
    return vector.MaskedLoadOp(buffer, indices, mask, otherwise)


def _vector_store(value: SSAValue, buffer: SSAValue, *indices: SSAValue) -> Operation:
    return vector.StoreOp(value, buffer, indices)


def _masked_store(buffer: SSAValue, *indices_mask_and_value: SSAValue) -> Operation:
    *indices, mask, value = indices_mask_and_value
    return vector.MaskedStoreOp(buffer, indices, mask, value)


def _prefetch(buffer: SSAValue, *indices: SSAValue) -> Operation:
    return PrefetchOp(buffer, indices, locality=2)


def _prefetch_near(buffer: SSAValue, *indices: SSAValue) -> Operation:
    return PrefetchOp(buffer, indices)


def _prefetch_to_write(buffer: SSAValue, *indices: SSAValue) -> Operation:
    return PrefetchOp(buffer, indices, write=True)


def _splat(scalar: SSAValue, lanes: int) -> Operation:
    return vector.BroadcastOp(scalar, vector_of(scalar.type, lanes))


def _shuffle(a: SSAValue, b: SSAValue, *lanes: int) -> Operation:
    kind = vector_of(cast("VectorType[Attribute]", a.type).element_type, len(lanes))
    return vector.ShuffleOp(a, b, DenseArrayBase.from_list(i64, lanes), result_type=kind)


def _window(buffer: SSAValue, at: SSAValue, *given_and_known: Any) -> Operation:
    *given, sizes, strides = given_and_known
    source = memref_type(buffer)
    type = _window_type(source.element_type, sizes, strides, source.memory_space)
    count = sizes.count(DYNAMIC)
    numbers = ints_attr([DYNAMIC]), ints_attr(sizes), ints_attr(strides)
    return memref.ReinterpretCastOp(buffer, [at], given[:count], given[count:], *numbers, type)


@lru_cache(maxsize=MOST_KNOWN)
def _window_type(
    element_type: Attribute, sizes: tuple[int, ...], strides: tuple[int, ...], memory_space: Attribute
) -> MemRefType[Attribute]:
    """The memref type of a window, memoised: equal types are one object, by which other memos look them up."""
    layout = StridedLayoutAttr([None if each == DYNAMIC else each for each in strides], None)
    return MemRefType(element_type, sizes, layout, memory_space)


class InsertionBuilder(LoopBuilder):
    """Inserts operations, and constants, before the operation that they replace."""

    def __init__(self, before: Operation) -> None:
        assert before.parent is not None
        super().__init__(before.parent)
        self._before = before

    @override
    def place_op(self, op: Operation) -> None:
        if self._at is self.block:
            self.block.insert_op_before(op, self._before)
        else:  # in a branch
            super().place_op(op)

    @override
    def place_constant(self, op: Operation) -> None:
        self.block.insert_op_before(op, self._before)


def define_function(
    name: str, arguments: Sequence[Attribute], *, noinline: bool = False
) -> tuple[func.FuncOp, LoopBuilder]:
    """A private function without results, and a builder at the start of its body."""
    block = Block(arg_types=arguments)
    function = func.FuncOp(name, (list(arguments), []), Region(block), visibility="private")
    if noinline:
        function.attributes["llvm.noinline"] = UnitAttr()
    return function, LoopBuilder(block)
