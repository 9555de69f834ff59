"""Emits the statements of one kernel and maps IR values to C++ expressions.

A value with a single use, later in the same block, is inlined there as long as the line stays short; any other becomes
a variable. A pending expression that reads memory is emitted before any statement that may change that memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.gpu.memory_spaces import AddressSpaceAttr
from ...dialects.graph.base import node_name
from ...dialects.sizes.polynomials import Combine, Symbol, evaluated
from ...dialects.sizes.sizes import Size
from ..op_facts import fail
from .expressions import Expression, Lanes, Precedence, Value, binary, call, literal, plus, subscript, total
from .names import Names
from .types import Types, braces, lanes_of

LONGEST = 64  # characters of an expression that may be inlined into another
GLOBAL, SHARED, WARP = "global", "workgroup", "warp"
"""What expressions may depend on, besides private arrays by name: memory spaces, and the other lanes of the warp."""

Handler: TypeAlias = "Callable[[KernelText, Any], None]"


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """The memref type of a buffer."""
    type: Attribute = value.type
    assert isinstance(type, MemRefType)
    return cast("MemRefType[Attribute]", type)


@dataclass(frozen=True)
class NodeMark:
    """Stands between lines: what follows belongs to this ONNX node."""

    node: str


@dataclass(frozen=True)
class BufferAddress:
    """Where a buffer lies: `offset` elements from a pointer, with its strides."""

    pointer: str
    strides: tuple[int | Expression, ...]
    space: str
    offset: tuple[tuple[Expression, int | Expression], ...] = ()
    constant: int = 0
    array: tuple[int, ...] = ()
    """The dimensions of the C array, if the buffer is a whole one."""

    def element(self, indices: Sequence[Expression]) -> Expression:
        """The element as an lvalue."""
        depends = frozenset((self.space,))
        if self.array:
            text = self.pointer
            for index in indices or (Expression("0"),):
                part = subscript(text, index, depends)
                text, depends = part.text, part.depends
            return Expression(text, Precedence.CALL, depends)
        return subscript(self.start, self.distance(indices), depends)

    def distance(self, indices: Sequence[Expression] = ()) -> Expression:
        """The element's distance from the pointer, in elements."""
        inside = zip(indices, self.strides, strict=True) if indices else ()
        return total((*self.offset, *inside), self.constant)

    @property
    def start(self) -> str:
        """The pointer expression; for an array, that of its first element."""
        return f"(&{self.pointer}{'[0]' * len(self.array)})" if self.array else self.pointer

    def address(self, indices: Sequence[Expression]) -> str:
        """A pointer to an element."""
        element = self.element(indices)
        zero = f"{self.pointer}[0]"
        return self.pointer if element.text == zero else f"&{element.text}"


class KernelText:
    """Appends statements to `lines`."""

    def __init__(
        self, types: Types, handlers: Mapping[str, Handler], dead: AbstractSet[Operation], lines: list[str | NodeMark]
    ) -> None:
        self.types = types
        self.names = Names()
        self.lines = lines
        self.written: set[SSAValue] = set()
        """The buffers that are written, through any view of them."""
        self.where: dict[tuple[str, str], str] = {}
        """The variables of thread and block indices, by ("thread" or "block", dimension)."""
        self.sizes: dict[Symbol, Expression] = {}
        """The parameters that are sizes of run time."""
        self._handlers = handlers
        self._dead = dead
        self._values: dict[SSAValue, Value] = {}
        self._places: dict[SSAValue, BufferAddress] = {}
        self._repeatable: set[SSAValue] = set()
        self._pending: dict[SSAValue, Operation] = {}
        self._indent = "  "
        self._node = ""

    # values

    def size(self, size: int) -> Expression:
        """A size: a number, or of run time."""
        if not isinstance(size, Size):
            return literal(size)
        combine = Combine(
            number=literal,
            add=lambda a, b: binary("+", a, b) if a.number is None else plus(b, a.number),
            multiply=partial(binary, "*"),
            divide=partial(call, f"floor_div<{self.types.index}>"),
        )
        return cast("Expression", evaluated(size.terms, self.sizes.__getitem__, combine))

    def value(self, value: SSAValue) -> Value:
        """The expression of an IR value, emitted here and nowhere else."""
        self._pending.pop(value, None)
        return self._values[value]

    def scalar(self, value: SSAValue) -> Expression:
        """A scalar expression, emitted here and nowhere else."""
        found = self.value(value)
        assert isinstance(found, Expression)
        return found

    def atom(self, value: SSAValue) -> Value:
        """A value that may be repeated, or used where it must not be evaluated: a variable or a literal."""
        found = self.value(value)
        if value in self._repeatable or (isinstance(found, Expression) and found.level == Precedence.ATOM):
            return found
        assert isinstance(value.owner, Operation), "an argument of a block is a variable"
        return self._declare(value, found, value.owner)

    def scalar_atom(self, value: SSAValue) -> Expression:
        """A scalar that may be repeated: a variable or a literal."""
        found = self.atom(value)
        assert isinstance(found, Expression)
        return found

    def unread(self, value: SSAValue) -> Expression:
        """A scalar expression that reads no memory, so that it may be emitted at any place, once."""
        found = self.scalar(value)
        return self.scalar_atom(value) if any(not each.startswith("=") for each in found.depends) else found

    def lanes(self, value: SSAValue) -> Callable[[str], Expression]:
        """A vector's lanes, each to be emitted once."""
        found = self.value(value)
        if isinstance(found, Expression):
            return lambda _: found
        if found.at is None:
            assert isinstance(value.owner, Operation)
            found = self._declare(value, found, value.owner)
        assert isinstance(found, Lanes) and found.at is not None
        return found.at

    def whole(self, value: SSAValue) -> Expression:
        """A scalar, or a vector as one expression."""
        found = self.value(value)
        if isinstance(found, Expression):
            return found
        if found.whole is not None:
            return found.whole
        assert found.at is not None
        sample, other = found.at("lane"), found.at("0")
        if sample.text == other.text:
            return call(f"splat<{lanes_of(value.type)}>", sample)
        if isinstance(value.owner, Operation):
            made = self._declare(value, found, value.owner)
            assert isinstance(made, Lanes) and made.whole is not None
            return made.whole
        raise AssertionError("an argument of a block is a variable")

    def define(self, result: SSAValue, value: Value, op: Operation, *, many: bool = False) -> None:
        """Binds a result to an expression, inlined or in a variable. `many`: it may be repeated."""
        self._values[result] = value
        if many:
            self._repeatable.add(result)
        if many or (isinstance(value, Expression) and value.level == Precedence.ATOM):
            return
        users = [use.operation for use in result.uses if use.operation not in self._dead]
        if len(users) == 1:
            (user,) = users
            same = user.parent_block() is op.parent_block()
            if same and len(value.sample.text if isinstance(value, Lanes) else value.text) <= LONGEST:
                self._pending[result] = op
                return
        if users:
            self._declare(result, value, op)

    def uses(self, value: SSAValue) -> int:
        """The number of a value's uses, without those by dead operations."""
        return sum(use.operation not in self._dead for use in value.uses)

    def variable(self, value: SSAValue, name: str, *, changes: bool = False) -> None:
        """Binds a value to a variable; `changes`: a loop assigns to it."""
        depends = frozenset((f"={name}",)) if changes else frozenset[str]()
        text = Expression(name, Precedence.ATOM, depends)
        self._repeatable.add(value)
        if lanes_of(value.type) is None:
            self._values[value] = text
        else:
            self._values[value] = Lanes(
                whole=text, at=lambda lane: Expression(f"{name}[{lane}]", Precedence.CALL, depends)
            )

    def _declare(self, result: SSAValue, value: Value, op: Operation) -> Value:
        self._pending.pop(result, None)
        name = self.name(result)
        self.declare(name, result.type, value, constant=True, op=op)
        self.variable(result, name)
        return self._values[result]

    def name(self, value: SSAValue, wish: str = "value") -> str:
        """A free name for a value: its name hint, or one derived from its defining op."""
        if value.name_hint:
            return self.names.take(value.name_hint)
        owner = value.owner
        if isinstance(owner, Operation):
            known = _NAMES.get(owner.name) or owner.name.rpartition(".")[2]
            wish = _OF_INDICES.get(known, known) if isinstance(value.type, IndexType) else known
        return self.names.take(wish)

    def declare(
        self, name: str, type: Attribute, value: Value | None, *, constant: bool = False, op: Operation | None = None
    ) -> None:
        """Declares a variable, initialised if a value is given."""
        spelled = self.types.spelled(type)
        if isinstance(value, Lanes) and value.whole is None:
            assert value.at is not None
            if value.at("lane").text == value.at("0").text:
                value = Lanes(whole=call(f"splat<{lanes_of(type)}>", value.at("0")))
        if value is None or (isinstance(value, Lanes) and value.whole is None):
            self.line(f"{spelled} {name};", op)
            if value is not None:
                self.assign(name, type, value)
            return
        text = value.text if isinstance(value, Expression) else value.sample.text
        self.line(f"{'const ' if constant else ''}{spelled} {name} = {text};", op)

    def assign(self, target: str, type: Attribute, value: Value, op: Operation | None = None) -> None:
        """`target = value;`, lane by lane if the vector is no single expression."""
        whole = value if isinstance(value, Expression) else value.whole
        if whole is not None:
            if whole.text != target:
                self.line(_assignment(target, whole), op)
        else:
            assert isinstance(value, Lanes) and value.at is not None
            self.line(f"EACH_LANE({lanes_of(type)}) {_assignment(f'{target}[lane]', value.at('lane'))}", op)

    def vector(self, op: Operation, lanes: Sequence[Expression]) -> Lanes:
        """A vector of the given lanes, of the type of the result of `op`."""
        return braces(self.types.spelled(op.results[0].type), list(lanes))

    # buffers

    def place(self, buffer: SSAValue) -> BufferAddress:
        """The place of a buffer."""
        return self._places[buffer]

    def put(self, buffer: SSAValue, place: BufferAddress) -> None:
        """Binds a buffer to its place."""
        strides = [self.size(each) if isinstance(each, Size) else each for each in place.strides]
        self._places[buffer] = replace(place, strides=tuple(strides))

    def pointer(self, buffer: SSAValue, text: str, op: Operation | None) -> str:
        """Declares a pointer variable for a buffer, initialised with `text`."""
        name = self.name(buffer, "buffer")
        self.line(f"{self.pointer_type(buffer)}* const {name} = {text};", op)
        return name

    def pointer_type(self, buffer: SSAValue) -> str:
        """The element type of pointers into a buffer, const if it is never written."""
        kind = self.types.stored(memref_type(buffer).element_type)
        return kind if buffer in self.written else f"const {kind}"

    # statements

    def line(self, text: str, op: Operation | None = None) -> None:
        """Appends a statement, attributed to the node of `op`."""
        node = node_name(op) if op is not None else ""
        if node and node != self._node:
            self._node = node
            self.lines.append(NodeMark(node))
        self.lines.append(f"{self._indent}{text}")

    def starts_at(self, node: str) -> None:
        """Attributes the following lines to `node`, which was announced already."""
        self._node = node

    def changed(self, *spaces: str) -> None:
        """Emits pending expressions that read memory of these spaces (default: any), which is about to change."""
        for value, op in list(self._pending.items()):
            reads = {each for each in self._values[value].depends if not each.startswith("=")}
            if reads and (not spaces or reads.intersection(spaces)):
                self._declare(value, self._values[value], op)

    def block(self, block: Block) -> Operation:
        """Emits a block's operations except the terminator, which is returned."""
        last = block.last_op
        assert last is not None, "every block ends with a terminator"
        for op in block.ops:
            if op is last:
                break
            if op in self._dead:
                continue
            handler = self._handlers.get(op.name)
            if handler is None:
                fail(op, "this operation is not supported in CUDA C++")
            handler(self, op)
        return last

    @contextmanager
    def braces(self, head: str, op: Operation | None = None) -> Generator[None]:
        """`head {` ... `}` with a scope of names."""
        self.line(f"{head} {{", op)
        with self._inside():
            yield

    @contextmanager
    def otherwise(self) -> Generator[None]:
        """`} else {` ... `}`, after braces."""
        self.lines[-1] = f"{self._indent}}} else {{"
        with self._inside():
            yield

    @contextmanager
    def _inside(self) -> Generator[None]:
        outer, self._indent = self._indent, self._indent + "  "
        with self.names.scope():
            yield
        self._indent = outer
        self.line("}")

    def space_of(self, buffer: SSAValue) -> str:
        """The memory space of a buffer that is not private."""
        space = memref_type(buffer).memory_space
        return space.space.data if isinstance(space, AddressSpaceAttr) else GLOBAL


def _assignment(target: str, value: Expression) -> str:
    """`target = value;`, or `target += rest;` where the value is `target + rest`."""
    if value.sides is not None and value.sides[0] == target and value.sides[1] in ("+", "-", "*"):
        return f"{target} {value.sides[1]}= {value.sides[2]};"
    return f"{target} = {value.text};"


_OF_INDICES = {"sum": "index", "difference": "index", "product": "index", "constant": "size"}
_NAMES = {
    "arith.addf": "sum",
    "arith.addi": "sum",
    "arith.subf": "difference",
    "arith.subi": "difference",
    "arith.mulf": "product",
    "arith.muli": "product",
    "arith.divf": "quotient",
    "arith.divsi": "quotient",
    "arith.divui": "quotient",
    "arith.remsi": "rest",
    "arith.remui": "rest",
    "arith.cmpf": "holds",
    "arith.cmpi": "holds",
    "arith.andi": "both",
    "arith.ori": "either",
    "arith.select": "chosen",
    "arith.maximumf": "most",
    "arith.maxsi": "most",
    "arith.minimumf": "least",
    "arith.minsi": "least",
    "arith.bitcast": "bits",
    "arith.extf": "wide",
    "arith.truncf": "narrow",
    "arith.extsi": "wide",
    "arith.extui": "wide",
    "arith.trunci": "narrow",
    "arith.index_cast": "index",
    "arith.sitofp": "number",
    "arith.fptosi": "whole",
    "arith.negf": "negated",
    "math.absf": "size",
    "math.fma": "sum",
    "math.exp": "power",
    "math.sqrt": "root",
    "vector.fma": "sum",
    "vector.load": "lanes",
    "vector.broadcast": "all",
    "memref.load": "element",
    "memref.view": "buffer",
    "memref.subview": "part",
    "memref.reinterpret_cast": "window",
    "memref.alloca": "local",
    "gpu.shuffle": "other",
    "nvgpu.cluster_load": "other",
    "nvgpu.mma.sync": "tile",
    "scf.for": "result",
    "scf.if": "result",
    "scf.while": "result",
}
