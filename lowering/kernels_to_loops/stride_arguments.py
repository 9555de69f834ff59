"""Strides as arguments: kernels that differ only in the strides of their buffers are one function.

before:  kernel.call @copy ins(%a : memref<4x8xf32, strided<[24, 1]>>) outs(%b : memref<4x8xf32, strided<[40, 1]>>)
         kernel.call @copy ins(%b : memref<4x8xf32, strided<[40, 1]>>) outs(%c : memref<4x8xf32, strided<[72, 1]>>)
after:   func.call @kernel_copy(%a, %b, %c3, %c5, ...)
         func.call @kernel_copy(%b, %c, %c5, %c9, ...)
         func.func private @kernel_copy(%0: memref<4x8xf32, strided<[?, 1], offset: ?>>, ..., %stride: index, ...)

A code family sees such strides as run-time sizes (dialects/sizes), whose symbols are the arguments. Each counts units,
here 8 elements, of the greatest common divisor of all calls' strides. The guards that are noted while the code is
written are the conditions for its use by other calls; where they fail, another function is built.

A stride is an argument unless it is
- 0 or 1: broadcast operands and contiguous ones have other code;
- the innermost one;
- that of a dense row, `strides[i + 1] * shape[i + 1]`: it is computed from the next one, so that axes still merge;
- the same in all calls.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd
from typing import cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, IntAttr, IntegerAttr, MemRefType, StridedLayoutAttr
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.extensions.arith import IndexCastOp
from ...dialects.graph.values import ints
from ...dialects.sizes.guards import Guards
from ...dialects.sizes.polynomials import Combine, Symbol, evaluated
from ...dialects.sizes.sizes import Size, size_of, symbols_of
from ..kernel_code.loop_builder import INDEX, MOST_KNOWN, Index, LoopBuilder, memref_type, strides_of


class NumbersNeededError(Exception):
    """The code of a kernel depends on the value of a stride in a way that arguments can't express."""


@dataclass(frozen=True)
class _Layout:
    """A buffer's type without its free strides: in `strides`, None stands for these and those computed from them."""

    type: Attribute
    shape: tuple[int, ...] = ()
    strides: tuple[int | None, ...] = ()
    is_row: tuple[bool, ...] = ()
    """For each axis, whether its stride is that of a dense row."""

    def with_strides(self, free: Iterator[int]) -> Attribute:
        """The type with the next free strides, innermost first, at any offset."""
        if not self.strides:
            return self.type
        strides = list(self.strides)
        for axis in reversed(range(len(strides))):
            if strides[axis] is None:
                inner = strides[axis + 1] if self.is_row[axis] else None
                strides[axis] = next(free) if inner is None else inner * self.shape[axis + 1]
        bare = cast("MemRefType[Attribute]", self.type)
        return MemRefType(bare.element_type, self.shape, StridedLayoutAttr(strides, None), bare.memory_space)


@lru_cache(maxsize=MOST_KNOWN)
def _parted(type: Attribute) -> tuple[_Layout, tuple[int, ...]]:
    """A buffer's layout and its free strides, innermost first."""
    if not isinstance(type, MemRefType):
        return _Layout(type), ()
    known = cast("MemRefType[Attribute]", type)
    if not isinstance(known.layout, StridedLayoutAttr):
        return _Layout(known), ()
    shape, strides = known.get_shape(), strides_of(known)
    left: list[int | None] = [*strides]
    is_row, free = [False] * len(shape), list[int]()
    for axis in reversed(range(len(shape) - 1)):
        is_row[axis] = strides[axis] == strides[axis + 1] * shape[axis + 1]
        if not is_row[axis] and strides[axis] not in (0, 1):
            free.append(strides[axis])
            left[axis] = None
        elif is_row[axis] and left[axis + 1] is None:
            left[axis] = None
    bare = MemRefType(known.element_type, shape, memory_space=known.memory_space)
    return _Layout(bare, tuple(shape), tuple(left), tuple(is_row)), tuple(free)


@dataclass(frozen=True)
class CallLayout:
    """The buffers of a kernel's call: their free strides, and everything else that its code depends on."""

    kernel: str
    sharing: tuple[int, ...]
    layouts: tuple[_Layout, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, kernel: str, types: Sequence[Attribute], sharing: tuple[int, ...]) -> CallLayout:
        """The layout of a call with buffers of these types; `sharing` tells which of them are one."""
        parts = [_parted(type) for type in types]
        strides = (stride for _, free in parts for stride in free)
        return cls(kernel, sharing, tuple(layout for layout, _ in parts), tuple(strides))

    @property
    def key(self) -> Hashable:
        """Equal for calls that differ only in free strides."""
        return self.kernel, self.sharing, self.layouts

    def types(self, strides: Sequence[int]) -> list[Attribute]:
        """The types of the buffers with other free strides."""
        left = iter(strides)
        return [layout.with_strides(left) for layout in self.layouts]


@dataclass(frozen=True)
class StrideArguments:
    """The free strides of a function: sizes where its calls differ, else numbers."""

    strides: tuple[int, ...]
    units: tuple[int, ...]

    @classmethod
    def of(cls, current: Sequence[int], calls: Collection[Sequence[int]]) -> StrideArguments:
        """Those of a function for all `calls`, whose current values are those of one of them."""
        strides: list[int] = []
        units: list[int] = []
        for number, column in enumerate(zip(*calls, strict=True)):
            unit = gcd(*column)
            symbol = Symbol(f"stride{number}", min(column) // unit, max(column) // unit)
            strides.append(size_of(symbol, current[number] // unit) * unit)
            units.append(unit)
        return cls(tuple(strides), tuple(units))

    @property
    def symbols(self) -> list[Symbol]:
        """The arguments, in order."""
        return [symbol for size in self.strides for symbol in symbols_of(size)]

    def values(self, strides: Sequence[int]) -> dict[Symbol, int]:
        """The arguments' values for a call with these free strides, in order."""
        table = zip(strides, self.strides, self.units, strict=True)
        return {symbol: value // unit for value, size, unit in table for symbol in symbols_of(size)}


@dataclass(frozen=True)
class _Code:
    function: func.FuncOp
    arguments: StrideArguments
    guards: Guards

    def is_valid(self, strides: tuple[int, ...]) -> bool:
        """Whether a call with these free strides may use the function."""
        values = self.arguments.values(strides)
        return all(guard.is_met(values) for guard in self.guards.noted.values())


@dataclass
class StrideVariants:
    """The free strides of all calls of a module, and the functions built for several of them."""

    calls: Mapping[Hashable, Collection[tuple[int, ...]]]
    by_numbers: set[Hashable] = field(default_factory=set[Hashable])
    """Keys of the calls whose code needs all strides as numbers."""
    _codes: dict[Hashable, list[_Code]] = field(default_factory=dict[Hashable, "list[_Code]"])

    @classmethod
    def of(cls, calls: Iterable[CallLayout]) -> StrideVariants:
        """The free strides of these calls, in order."""
        found: dict[Hashable, dict[tuple[int, ...], None]] = {}
        for call in calls:
            found.setdefault(call.key, {})[call.strides] = None
        return cls(found)

    def find(self, call: CallLayout) -> tuple[func.FuncOp, list[int]] | None:
        """A function that is valid for a call, and the values of its stride arguments."""
        for code in self._codes.get(call.key, ()):
            if code.is_valid(call.strides):
                return code.function, [*code.arguments.values(call.strides).values()]
        return None

    def wanted(self, call: CallLayout) -> StrideArguments | None:
        """The strides with which to build a function for a call and others; None if it should be built alone."""
        if len(self.calls[call.key]) == 1 or call.key in self.by_numbers:
            return None
        return StrideArguments.of(call.strides, self.calls[call.key])

    def add(self, call: CallLayout, arguments: StrideArguments, guards: Guards, function: func.FuncOp) -> bool:
        """Keeps a function built for a call under these guards; False if it is valid for no other call."""
        code = _Code(function, arguments, guards)
        if not any(code.is_valid(each) for each in self.calls[call.key] if each != call.strides):
            return False
        self._codes.setdefault(call.key, []).append(code)
        return True


def write_arguments(function: func.FuncOp, symbols: Sequence[Symbol], first: int) -> None:
    """Replaces the sizes in a function by values computed from its arguments, of which number `first` is symbol 0.

    Raises NumbersNeededError for sizes that have no such value.
    """
    block, start = function.body.block, Block()
    arguments = function.args[first : first + len(symbols)]
    for argument in arguments:
        argument.name_hint = "stride"
    values = _Values(LoopBuilder(start), dict(zip(symbols, arguments, strict=True)))
    for argument in function.args:
        if _has_sizes(argument.type):
            type, uses = memref_type(argument), list(argument.uses)
            strides = [values.of(each) for each in strides_of(type)]
            argument = Rewriter.replace_value_with_new_type(argument, _without_sizes(type))
            view = values.b.view(argument, 0, type.get_shape(), strides)
            for use in uses:
                use.operation.operands[use.index] = view
    for op in list(function.walk()):
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            if isinstance(size := op.value.value.data, Size):
                op.result.replace_all_uses_with(values.constant(size, op.result.type))
                Rewriter.erase_op(op)
        elif isinstance(op, memref.ReinterpretCastOp):
            _rewrite_view(op, values)
        elif any(_has_sizes(each.type) for each in op.results):
            raise NumbersNeededError(f"{op.name} has strides in its type")
    first_op = block.first_op
    assert first_op is not None
    for op in list(start.ops):
        op.detach()
        block.insert_op_before(op, first_op)
    function.function_type = FunctionType.from_lists([each.type for each in function.args], [])


class _Values:
    """SSA values of sizes, each computed once, at the start of a function."""

    def __init__(self, b: LoopBuilder, symbols: Mapping[Symbol, SSAValue]) -> None:
        self.b = b
        self._symbols = symbols
        self._known: dict[int, Index] = {}
        self._combine = Combine(int, b.add, b.mul, self._quotient)

    def of(self, size: int) -> Index:
        """The value of a size; a number as it is."""
        if not isinstance(size, Size):
            return size
        if size not in self._known:
            self._known[size] = cast("Index", evaluated(size.terms, self._symbol, self._combine))
        return self._known[size]

    def constant(self, size: Size, type: Attribute) -> SSAValue:
        """The value of a size in an integer type."""
        value = self.b.index(self.of(size))
        return value if type == INDEX else self.b.insert(IndexCastOp(value, type))

    def _symbol(self, symbol: Symbol) -> Index:
        if symbol not in self._symbols:
            raise NumbersNeededError(f"{symbol} is no argument of the function")
        return self._symbols[symbol]

    def _quotient(self, a: Index, b: Index) -> Index:
        raise NumbersNeededError(f"{a} is divided by {b}")


def _has_sizes(type: Attribute) -> bool:
    """Whether the shape or the strides of a buffer's type contain sizes."""
    if not isinstance(type, MemRefType):
        return False
    known = cast("MemRefType[Attribute]", type)
    strides = known.layout.strides if isinstance(known.layout, StridedLayoutAttr) else ()
    return any(isinstance(each, IntAttr) and isinstance(each.data, Size) for each in (*known.shape, *strides))


def _without_sizes(type: MemRefType[Attribute]) -> MemRefType[Attribute]:
    """A buffer's type with `?` for sizes."""
    shape = [DYNAMIC_INDEX if isinstance(each, Size) else each for each in type.get_shape()]
    strides = [None if isinstance(each, Size) else each for each in strides_of(type)]
    return MemRefType(type.element_type, shape, StridedLayoutAttr(strides, None), type.memory_space)


def _rewrite_view(op: memref.ReinterpretCastOp, values: _Values) -> None:
    """Sizes among the numbers of a view become operands."""
    mixed: list[list[Index]] = []
    changed = False
    for static, given in (
        (op.static_offsets, op.offsets),
        (op.static_sizes, op.sizes),
        (op.static_strides, op.strides),
    ):
        left, numbers = iter(given), ints(static)
        changed |= any(isinstance(each, Size) for each in numbers)
        mixed.append([next(left) if each == DYNAMIC_INDEX else values.of(each) for each in numbers])
    if changed:
        offsets, sizes, strides = mixed
        type = _without_sizes(memref_type(op.result))
        Rewriter.replace_op(op, memref.ReinterpretCastOp.from_dynamic(op.source, offsets, sizes, strides, type))
