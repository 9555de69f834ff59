"""Values of a kernel's body at an index, written on demand: `Values.at(value, index)`.

A kernel's body says what its results are, not how they are looped over. Asked for one element of a value,
this writes what that element needs and nothing else: a load for an argument, arithmetic for an elementwise
op, another index for a movement op, a loop for a reduction. What was computed once in a block is not
computed again there.

Within `vectorised(...)` an element is `lanes` neighbours along one loop variable. A value that does not
depend on that variable stays a scalar until it meets one that does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects import vector as vector_ops
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...dialects.errors import CompileError
from ...dialects.extensions import IndexCastOp
from ...dialects.extensions.replace import scalar_of, shaped_like
from ...dialects.graph import ConstantOp, KernelOp, describe, element_type_of_value, shape_of
from .arithmetic import convert, signless
from .builder import Index, LoopBuilder, memref_type, strides_of
from .elementwise_ops import emit_elementwise, is_elementwise
from .index_expr import Expr, Var, linear

# A vector read with a stride up to this is a few loads and shuffles; with a larger one, a load per lane.
_LARGEST_SHUFFLED_STRIDE = 4


class NotVectorisable(Exception):
    """The value needs other code in each lane; the caller writes scalar loops instead."""


class Vector(NamedTuple):
    """Lanes along `var`: lane i is at var + i; from lane `valid` on they are neither read nor written."""

    var: Var
    lanes: int
    valid: int


@dataclass
class Tile:
    """A square of `size` x `size` elements: lanes along the vector's variable, `offset` counts along `var`.

    What is contiguous along `var` is loaded once for all offsets and turned in registers.
    """

    var: Var
    size: int
    offset: int = 0
    turned: dict[tuple[SSAValue, Expr], list[SSAValue]] = field(
        default_factory=dict[tuple[SSAValue, Expr], list[SSAValue]]
    )


@dataclass
class Interleaved:
    """`count` vectors whose lanes alternate in memory; `number` is the one being written."""

    count: int
    number: int = 0
    pending: dict[tuple[SSAValue, Expr], list[SSAValue]] = field(
        default_factory=dict[tuple[SSAValue, Expr], list[SSAValue]]
    )


@dataclass(frozen=True)
class Buffer:
    """A memref as one line of elements."""

    line: SSAValue
    strides: tuple[int, ...]

    @property
    def element(self) -> Attribute:
        """The element type in memory."""
        return memref_type(self.line).element_type


Rule: TypeAlias = "Callable[[Values, Operation, tuple[Expr, ...]], SSAValue]"


class Values:
    """The values of one kernel body, written into the block that `b` is in.

    What was asked for is noted, for the loop planner: `touched` are the indices that became code, and
    `breaks` the positions where an axis wants to be cut, because to either side another operand is read;
    `one_by_one` are places that lanes lie far apart at.
    """

    def __init__(self, b: LoopBuilder, kernel: KernelOp, operands: Sequence[SSAValue]) -> None:
        self.b = b
        self.kernel = kernel
        self.vector: Vector | None = None
        self.tile: Tile | None = None
        self.interleaved: Interleaved | None = None
        self.touched: list[Expr] = []
        self.one_by_one: list[Expr] = []
        self.breaks: set[tuple[Var, int]] = set()
        self._variables: dict[SSAValue, Var] = {}
        self._buffers = {
            argument: self.line(operand) for argument, operand in zip(kernel.arguments, operands, strict=True)
        }
        self._known: list[dict[Hashable, SSAValue]] = [{}]

    def line(self, buffer: SSAValue) -> Buffer:
        """A buffer as one line of elements."""
        type = memref_type(buffer)
        strides = strides_of(type)
        extent = 1 + sum((size - 1) * stride for size, stride in zip(type.get_shape(), strides, strict=True))
        return Buffer(self.b.view(buffer, 0, [max(extent, 1)], [1]), strides)

    # what an element is

    def at(self, value: SSAValue, index: Sequence[Expr]) -> SSAValue:
        """The element of `value` at `index`, or a vector of elements; integers signless."""
        index = tuple(index)
        return self.once((value, index), lambda: self._compute(value, index))

    def once(self, key: Hashable, write: Callable[[], SSAValue]) -> SSAValue:
        """What `write` returns, written only where the value of that key is not known here."""
        for scope in reversed(self._known):
            known = scope.get(key)
            if known is not None:
                return known
        result = self._known[-1][key] = write()
        return result

    def variable(self, key: Hashable, write: Callable[[], Index], low: int, high: int) -> Expr:
        """An index in [low, high] that is computed at run time, once for each key."""
        return self._variable(self.once(key, lambda: self.b.index(write())), low, high)

    def _variable(self, value: SSAValue, low: int, high: int) -> Expr:
        if value not in self._variables:
            self._variables[value] = Var(value, low, high)
        return Expr.of(self._variables[value])

    def _compute(self, value: SSAValue, index: tuple[Expr, ...]) -> SSAValue:
        if isinstance(value, BlockArgument):
            buffer = self._buffers[value]
            return self.load(buffer, linear(index, buffer.strides))
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, ConstantOp):
            return self._constant(op, index)
        if is_elementwise(op):
            return self._elementwise(op, index)
        rule = rules().get(op.name)
        if rule is None:
            raise CompileError(f"{describe(op)}: there is no code for single elements of this op")
        return rule(self, op, index)

    def _constant(self, op: ConstantOp, index: tuple[Expr, ...]) -> SSAValue:
        array = op.to_numpy()
        element = signless(element_type_of_value(op.result))
        if op.value.is_splat():
            return self.b.constant(array.flat[0].item(), element)
        numbers = [i.number for i in index]
        if None in numbers:
            raise CompileError(f"{describe(op)}: a table of {array.size} numbers can't stand in code")
        return self.b.constant(array[tuple(cast("list[int]", numbers))].item(), element)

    def _elementwise(self, op: Operation, index: tuple[Expr, ...]) -> SSAValue:
        operands = [self.at(operand, aligned(index, shape_of(operand))) for operand in op.operands]
        return emit_elementwise(self.b, op, self.alike(operands), element_type_of_value(op.results[0]))

    def seed(self, value: SSAValue, index: Sequence[Expr], known: SSAValue) -> None:
        """Say what an element is that has been computed already."""
        self._known[-1][value, tuple(index)] = known

    @contextmanager
    def scope(self) -> Generator[None]:
        """Around what is written into an inner block: its values are not known outside."""
        self._known.append({})
        yield
        self._known.pop()

    @contextmanager
    def vectorised(self, vector: Vector | None) -> Generator[None]:
        """Elements are vectors (None: scalars) from here on."""
        outer, known = self.vector, self._known
        self.vector, self._known = vector, [{}]
        yield
        self.vector, self._known = outer, known

    # vectors and scalars

    def spread(self, value: SSAValue) -> SSAValue:
        """A scalar in every lane; a vector as it is."""
        if self.vector is None or isinstance(value.type, VectorType):
            return value
        return self.b.splat(value, self.vector.lanes)

    def alike(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """All scalars, or all vectors where one is."""
        if any(isinstance(value.type, VectorType) for value in values):
            return [self.spread(value) for value in values]
        return list(values)

    def depends_on_lane(self, index: Expr) -> bool:
        """Whether an index differs from lane to lane."""
        return self.vector is not None and self.vector.var in set(index.variables())

    def number(self, index: Expr) -> Index:
        """A lane's index, written out. Raises NotVectorisable where lanes differ in it."""
        if self.depends_on_lane(index):
            raise NotVectorisable
        self.touched.append(index)
        return index.emit(self.b)

    def number_as(self, index: Expr, element: Attribute) -> SSAValue:
        """An index as a number of a graph type."""
        position = self.b.insert(IndexCastOp(self.b.index(self.number(index)), i64))
        return convert(self.b, position, i64, element)

    # loops

    def each(self, low: Index, high: Index, size: int, body: Callable[[Expr], None], step: int = 1) -> None:
        """for i in range(low, high, step), all in [0, size): body(i)"""

        def run(i: Index, _: Sequence[SSAValue]) -> None:
            with self.scope():
                body(Expr.of(i) if isinstance(i, int) else Expr.of(Var(i, 0, size - 1)))

        self.b.loop(low, high, run, step=step)

    def carry(
        self,
        sizes: Sequence[int],
        start: list[SSAValue],
        step: Callable[[list[Expr], list[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """Run `step` on every index of a box, in row-major order, carrying values along; the last ones."""

        def level(outer: list[Expr], carried: Sequence[SSAValue]) -> list[SSAValue]:
            if len(outer) == len(sizes):
                return list(step(outer, list(carried)))
            size = sizes[len(outer)]
            return self.carry_between(0, size, size, carried, lambda i, inner: level([*outer, i], inner))

        return level([], start)

    def carry_between(
        self,
        low: Index,
        high: Index,
        size: int,
        start: Sequence[SSAValue],
        step: Callable[[Expr, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """for i in range(low, high), all in [0, size): carried = step(i, carried)."""

        def body(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            with self.scope():
                index = Expr.of(i) if isinstance(i, int) else Expr.of(Var(i, 0, size - 1))
                return step(index, carried)

        return list(self.b.loop(low, high, body, carried=start))

    # memory

    def load(self, buffer: Buffer, place: Expr) -> SSAValue:
        """The element at a place of a buffer's line."""
        self.touched.append(place)
        vector = self.vector
        step = place.coefficient(vector.var) if vector is not None else 0
        if vector is None or step == 0:
            return self.unsigned(self.b.load(buffer.line, [place.emit(self.b)]))
        if step is None:
            raise NotVectorisable
        return self.unsigned(self._load_lanes(buffer, place, step, vector))

    def unsigned(self, value: SSAValue) -> SSAValue:
        """A loaded value as the signless number that it is computed with."""
        element = scalar_of(value.type)
        if signless(element) == element:
            return value
        return self.b.insert(arith.BitcastOp(value, shaped_like(signless(element), value.type)))

    def _load_lanes(self, buffer: Buffer, place: Expr, step: int, vector: Vector) -> SSAValue:
        b, (_, lanes, valid) = self.b, vector
        if step == 1:
            return b.vload(buffer.line, [place.emit(b)], lanes, valid)
        if step == -1:
            loaded = b.vload(buffer.line, [(place - (valid - 1)).emit(b)], lanes, valid)
            return self.shuffle(loaded, loaded, [max(valid - 1 - lane, 0) for lane in range(lanes)])
        if 1 < step <= _LARGEST_SHUFFLED_STRIDE:
            return self._load_strided(buffer, place, step, vector)
        if self.tile is not None and place.coefficient(self.tile.var) == 1:
            return self._load_turned(buffer, place, step, self.tile)
        self.one_by_one.append(place)
        result = b.constant(0, VectorType(signless(buffer.element), [lanes]))
        for lane in range(valid):
            element = self.unsigned(b.load(buffer.line, [(place + lane * step).emit(b)]))
            result = b.insert(vector_ops.InsertOp(element, result, [lane]))
        return result

    def _load_turned(self, buffer: Buffer, place: Expr, step: int, tile: Tile) -> SSAValue:
        """Lanes `step` apart, from a tile whose rows run the other way."""
        corner = place - tile.offset
        key = (buffer.line, corner)
        if key not in tile.turned:
            rows = [
                self.b.vload(buffer.line, [(corner + lane * step).emit(self.b)], tile.size) for lane in range(tile.size)
            ]
            tile.turned[key] = self._turned(rows)
        return tile.turned[key][tile.offset]

    def _turned(self, rows: list[SSAValue]) -> list[SSAValue]:
        """The transpose of a square: lanes whose numbers differ in one bit trade places, bit after bit."""
        size = len(rows)
        half = size // 2
        while half:
            for row in range(size):
                if row & half:
                    continue
                a, c = rows[row], rows[row + half]
                upper = [size + lane - half if lane & half else lane for lane in range(size)]
                lower = [size + lane if lane & half else lane + half for lane in range(size)]
                rows[row], rows[row + half] = self.shuffle(a, c, upper), self.shuffle(a, c, lower)
            half //= 2
        return rows

    def _load_strided(self, buffer: Buffer, place: Expr, step: int, vector: Vector) -> SSAValue:
        """Whole vectors that cover every element asked for and none behind the last one, then shuffles."""
        b, (_, lanes, valid) = self.b, vector
        span = (valid - 1) * step + 1
        result: SSAValue | None = None
        for first in range(0, span, lanes):
            start = max(min(first, span - lanes), 0)
            loaded = b.vload(buffer.line, [(place + start).emit(b)], lanes, min(lanes, span))
            offsets = [min(lane * step, span - 1) for lane in range(lanes)]
            mask = [
                lanes + offset - start if first <= offset < first + lanes else lane
                for lane, offset in enumerate(offsets)
            ]
            result = self.shuffle(loaded if result is None else result, loaded, mask)
        assert result is not None
        return result

    def shuffle(self, a: SSAValue, c: SSAValue, mask: Sequence[int]) -> SSAValue:
        """Lanes of two vectors of one length; those of the second count on from the first's."""
        element = scalar_of(a.type)
        positions = DenseArrayBase.from_list(i64, list(mask))
        return self.b.insert(vector_ops.ShuffleOp(a, c, positions, result_type=VectorType(element, [len(mask)])))

    def choose(self, condition: SSAValue, then: Callable[[], SSAValue], otherwise: Callable[[], SSAValue]) -> SSAValue:
        """then() where the condition holds, else otherwise(); only that one runs."""

        def branch(write: Callable[[], SSAValue]) -> Callable[[], Sequence[SSAValue]]:
            def run() -> Sequence[SSAValue]:
                with self.scope():
                    return [self.spread(write())]

            return run

        return self.b.when(condition, branch(then), branch(otherwise))[0]

    def store(self, value: SSAValue, buffer: Buffer, place: Expr) -> None:
        """Write the element at a place of a buffer's line."""
        self.touched.append(place)
        b, vector = self.b, self.vector
        element = buffer.element
        value = self.spread(value)
        if signless(element) != element:
            value = b.insert(arith.BitcastOp(value, shaped_like(element, value.type)))
        if vector is None:
            b.store(value, buffer.line, [place.emit(b)])
            return
        step = place.coefficient(vector.var)
        if step is None:
            raise NotVectorisable
        if step == 1:
            b.vstore(value, buffer.line, [place.emit(b)], vector.valid)
        elif self.interleaved is not None and self.interleaved.count == step:
            self._store_interleaved(value, buffer, place, vector, self.interleaved)
        else:
            for lane in range(vector.valid):
                one = b.insert(vector_ops.ExtractOp(value, [lane], element))
                b.store(one, buffer.line, [(place + lane * step).emit(b)])

    def _store_interleaved(
        self, value: SSAValue, buffer: Buffer, place: Expr, vector: Vector, group: Interleaved
    ) -> None:
        """Keep the vector until all that lie between its lanes are there, then write them as one."""
        start = place - group.number
        waiting = group.pending.setdefault((buffer.line, start), [])
        waiting.append(value)
        if len(waiting) < group.count:
            return
        lanes = vector.lanes
        pairs = [
            self.shuffle(waiting[i], waiting[min(i + 1, group.count - 1)], range(2 * lanes))
            for i in range(0, group.count, 2)
        ]
        order = [number * lanes + lane for lane in range(lanes) for number in range(group.count)]
        together = self.shuffle(pairs[0], pairs[-1], order)
        self.b.vstore(together, buffer.line, [start.emit(self.b)], vector.valid * group.count)


def aligned(index: Sequence[Expr], shape: Sequence[int]) -> list[Expr]:
    """The index into an operand of `shape` that broadcasts to where `index` points."""
    own = list(index)[len(index) - len(shape) :]
    return [Expr() if size == 1 else i for i, size in zip(own, shape, strict=True)]


def rules() -> dict[str, Rule]:
    """How single elements of the ops that are not elementwise come about, by op name."""
    from .movement_rules import MOVEMENT_RULES
    from .reduction_rules import REDUCTION_RULES
    from .window_rules import WINDOW_RULES

    return {**MOVEMENT_RULES, **REDUCTION_RULES, **WINDOW_RULES}
