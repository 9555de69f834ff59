"""Values of a kernel's body at an index, built on demand: `Values.at(value, index)`.

A kernel's body defines its results, not the loops over them. For one element of a value, this builds what that element
needs and nothing else: a load for an argument, arithmetic for an elementwise op, another index for a movement op, a
loop for a reduction. Values computed in a block are memoised for that block.

Within `vectorised(...)` an element is a vector of `lanes` neighbours along one loop variable. A value that does not
depend on that variable stays scalar until it meets one that does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from functools import singledispatch

import numpy as np
from xdsl.dialects.builtin import VectorType, i8, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ....dialects.errors import CompileError
from ....dialects.extensions.arith import IndexCastOp
from ....dialects.graph.axes import Axis, Kept, Numbered, Placed, Repeated, Strided
from ....dialects.graph.base import GraphOp, describe
from ....dialects.graph.narrow_types import is_narrow
from ....dialects.graph.ops.structure import ConstantOp, KernelOp
from ....dialects.graph.values import Array, element_type_of_value, shape_of
from ....dialects.sizes.sizes import pinned
from ..arithmetic import convert, loaded, signless, stored
from ..index_expr import Expr, Var, linear
from ..lane_access import LaneAccess, Line, NotVectorisable, Vector
from ..loop_builder import Index, LoopBuilder, memref_type, strides_of
from .elementwise_ops import emit_elementwise, is_elementwise


class Values:
    """The values of one kernel body, built into the block that `b` appends to.

    Accesses are recorded for the loop planner: `touched` are the indices that became code, `read` and `written` those
    that are positions in buffers, and `breaks` the positions where an axis should be split because different operands
    are read on either side.
    """

    def __init__(
        self,
        b: LoopBuilder,
        kernel: KernelOp,
        operands: Sequence[SSAValue],
        *,
        on_demand: bool = False,
    ) -> None:
        """With `on_demand`, the line of an operand is created at its first use, for a block without inner blocks."""
        self.b = b
        self.kernel = kernel
        self.vector: Vector | None = None
        self.lanes = LaneAccess(b)
        self.touched: list[Expr] = []
        self.read: list[tuple[Line, Expr]] = []
        self.written: list[tuple[Line, Expr]] = []
        self.breaks: set[tuple[Var, int]] = set()
        # Whether lanes run where they do whatever the buffers' strides: then some may be read and written one by one.
        self.lanes_are_settled = False
        # Whether vectors begin at multiples of their lanes along their variable.
        self.whole_vectors = False
        self._variables: dict[SSAValue, Var] = {}
        self._operands: dict[SSAValue, SSAValue] = dict(zip(kernel.arguments, operands, strict=True))
        self._buffers = (
            {} if on_demand else {argument: self.line(self._operands[argument]) for argument in kernel.arguments}
        )
        self._known: list[dict[Hashable, SSAValue]] = [{}]
        self._seeded: set[SSAValue] = set()

    def line(self, buffer: SSAValue) -> Line:
        """A buffer viewed as one dimension."""
        type = memref_type(buffer)
        strides = strides_of(type)
        extent = 1 + sum((size - 1) * stride for size, stride in zip(type.get_shape(), strides, strict=True))
        return Line(self.b.view(buffer, 0, [max(extent, 1)], [1]), strides)

    # what an element is

    def at(self, value: SSAValue, index: Sequence[Expr]) -> SSAValue:
        """The element of `value` at `index`, or a vector of elements; integers are signless."""
        index = tuple(index)
        return self.once((value, index), lambda: self._compute(value, index))

    def once(self, key: Hashable, write: Callable[[], SSAValue]) -> SSAValue:
        """The result of `write`, memoised by key in the current scope."""
        known = self._find(key)
        if known is None:
            known = self._known[-1][key] = write()
        return known

    def _find(self, key: Hashable) -> SSAValue | None:
        for scope in reversed(self._known):
            known = scope.get(key)
            if known is not None:
                return known
        return None

    def variable(self, key: Hashable, write: Callable[[], Index], low: int, high: int) -> Expr:
        """An index in [low, high] that is computed at run time, memoised by key."""
        return self._variable(self.once(key, lambda: self.b.index(write())), low, high)

    def _variable(self, value: SSAValue, low: int, high: int) -> Expr:
        if value not in self._variables:
            self._variables[value] = Var(value, low, high)
        return Expr.of(self._variables[value])

    def _compute(self, value: SSAValue, index: tuple[Expr, ...]) -> SSAValue:
        if isinstance(value, BlockArgument):
            buffer = self._buffers.get(value)
            if buffer is None:
                buffer = self._buffers[value] = self.line(self._operands[value])
            return self.load(buffer, linear(index, buffer.strides))
        op = value.owner
        assert isinstance(op, Operation)
        if value in self._seeded:
            raise CompileError(f"{describe(op)}: an element that is computed once for all was asked for again")
        if isinstance(op, ConstantOp):
            return self._constant(op, index)
        if is_elementwise(op):
            return self._elementwise(op, index)
        return element_of(op, self, index)

    def _constant(self, op: ConstantOp, index: tuple[Expr, ...]) -> SSAValue:
        array = op.to_numpy()
        one = array.reshape(-1)[:1] if op.value.is_splat() else array[tuple(self._numbers(op, index))]
        return self.literal(one, element_type_of_value(op.result))

    def literal(self, array: Array, element: Attribute) -> SSAValue:
        """The constant of a one-element array, in the numpy type of an element type."""
        if not is_narrow(element):
            return self.b.constant(array.item(), signless(element))
        byte = self.b.constant(int(array.view(np.uint8).item()), i8)
        return loaded(self.b, stored(self.b, byte, element))

    def _numbers(self, op: ConstantOp, index: tuple[Expr, ...]) -> list[int]:
        """A constant's index as integers. Raises CompileError if it is not known."""
        numbers = [i.number for i in index if i.number is not None]
        if len(numbers) < len(index):
            raise CompileError(f"{describe(op)}: a table of {op.to_numpy().size} numbers can't stand in code")
        return numbers

    def _elementwise(self, op: Operation, index: tuple[Expr, ...]) -> SSAValue:
        """Builds operands first, iteratively, as a body may be an arbitrarily long chain."""
        waiting = [(op, index, _operand_places(op, index))]
        while True:
            op, index, places = waiting[-1]
            missing = next((place for place in places if self._find(place) is None), None)
            if missing is None:
                waiting.pop()
                operands = self.alike([self.at(*place) for place in places])
                result = emit_elementwise(self.b, op, operands, element_type_of_value(op.results[0]))
                if not waiting:
                    return result
                self._known[-1][op.results[0], index] = result
            elif isinstance(owner := missing[0].owner, Operation) and is_elementwise(owner):
                waiting.append((owner, missing[1], _operand_places(owner, missing[1])))
            else:
                self.at(*missing)

    def seed(self, value: SSAValue, index: Sequence[Expr], known: SSAValue) -> None:
        """Binds an element that has been computed already.

        Elements of this value are then never computed here: what they depend on may have been overwritten.
        """
        self._seeded.add(value)
        self._known[-1][value, tuple(index)] = known

    @contextmanager
    def scope(self) -> Generator[None]:
        """A context for an inner block, whose values are not visible outside."""
        self._known.append({})
        yield
        self._known.pop()

    @contextmanager
    def vectorised(self, vector: Vector | None) -> Generator[None]:
        """A context in which elements are vectors (None: scalars)."""
        outer, known = self.vector, self._known
        self.vector, self._known = vector, [{}]
        yield
        self.vector, self._known = outer, known

    # vectors and scalars

    def spread(self, value: SSAValue) -> SSAValue:
        """A scalar splat to all lanes; a vector unchanged."""
        if self.vector is None or isinstance(value.type, VectorType):
            return value
        return self.b.splat(value, self.vector.lanes)

    def alike(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """All as scalars, or all as vectors if one is."""
        if any(isinstance(value.type, VectorType) for value in values):
            return [self.spread(value) for value in values]
        return list(values)

    def depends_on_lane(self, index: Expr) -> bool:
        """Whether an index differs between lanes."""
        return self.vector is not None and self.vector.var in set(index.variables())

    def number(self, index: Expr) -> Index:
        """An index, as code. Raises NotVectorisable if it differs between lanes."""
        if self.depends_on_lane(index):
            raise NotVectorisable
        self.touched.append(index)
        return index.emit(self.b)

    def number_beside(self, index: Expr, border: int) -> Index:
        """An index to be compared with a border: the first lane's if all lanes lie on one side of it.

        Raises NotVectorisable if they may not.
        """
        vector = self.vector
        if vector is not None and self.whole_vectors and index.coefficient(vector.var) == 1:
            others = [factor for atom, factor in index.terms if atom is not vector.var]
            if all(each % vector.lanes == 0 for each in (*others, index.constant - border)):
                self.touched.append(index)
                return index.emit(self.b)
        return self.number(index)

    def number_as(self, index: Expr, element: Attribute) -> SSAValue:
        """An index converted to a graph type."""
        position = self.b.insert(IndexCastOp(self.b.index(self.number(index)), i64))
        return convert(self.b, position, i64, element)

    # control flow

    def choose(self, condition: SSAValue, then: Callable[[], SSAValue], otherwise: Callable[[], SSAValue]) -> SSAValue:
        """then() if the condition holds, else otherwise(), by a branch."""

        def branch(write: Callable[[], SSAValue]) -> Callable[[], Sequence[SSAValue]]:
            def run() -> Sequence[SSAValue]:
                with self.scope():
                    return [self.spread(write())]

            return run

        return self.b.when(condition, branch(then), branch(otherwise))[0]

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
        """Runs `step` on every index of a box, in row-major order, with loop-carried values; returns the last ones."""

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
        assert size >= 0

        def body(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            with self.scope():
                index = Expr.of(i) if isinstance(i, int) else Expr.of(Var(i, 0, size - 1))
                return step(index, carried)

        return list(self.b.loop(low, high, body, carried=start))

    # memory

    def load(self, buffer: Line, place: Expr) -> SSAValue:
        """Loads the element at a position of a line."""
        self.touched.append(place)
        self.read.append((buffer, place))
        vector = self.vector
        step = place.coefficient(vector.var) if vector is not None else 0
        if vector is None or step == 0:
            return self.lanes.unsigned(self.b.load(buffer.line, [place.emit(self.b)]))
        if step is None:
            return self.lanes.gather(buffer, self._apart(place, vector), vector.lanes)
        return self.lanes.unsigned(self.lanes.load(buffer, place, step, vector))

    def store(self, value: SSAValue, buffer: Line, place: Expr) -> None:
        """Stores the element at a position of a line."""
        self.touched.append(place)
        self.written.append((buffer, place))
        vector = self.vector
        value = self.lanes.as_stored(self.spread(value), buffer)
        if vector is None:
            self.b.store(value, buffer.line, [place.emit(self.b)])
            return
        step = place.coefficient(vector.var)
        if step is None:
            self.lanes.scatter(value, buffer, self._apart(place, vector))
        else:
            self.lanes.store(value, buffer, place, step, vector)

    def _apart(self, place: Expr, vector: Vector) -> list[Expr]:
        """The positions of lanes without a constant stride. Raises NotVectorisable while lanes are not settled yet."""
        if not self.lanes_are_settled:
            raise NotVectorisable
        return [place.advanced(vector.var, lane) for lane in range(pinned(vector.valid))]


@singledispatch
def element_of(op: Operation, v: Values, index: tuple[Expr, ...]) -> SSAValue:
    """The element of an op's result at `index`; rules for ops that aren't elementwise are in this folder's files."""
    raise CompileError(f"{describe(op)}: there is no code for single elements of this op")


def aligned(index: Sequence[Expr], shape: Sequence[int]) -> list[Expr]:
    """The index into an operand of `shape` that broadcasts to `index`."""
    own = list(index)[len(index) - len(shape) :]
    return [Expr() if size == 1 else i for i, size in zip(own, shape, strict=True)]


def operand_index(op: Operation, number: int, index: Sequence[Expr], inner: Iterable[Expr] = ()) -> list[Expr]:
    """The index into an operand for the result's element at `index`.

    Along axes for which that doesn't follow from `index` it has the numbers in `inner`, in order, or 0.
    """
    assert isinstance(op, GraphOp)
    rest = iter(inner)

    def place(axis: Axis) -> Expr:
        match axis:
            case Kept() | Numbered():
                return index[axis.to]
            case Repeated():
                return Expr()
            case Strided():
                return index[axis.to] * axis.step + axis.start
            case Placed():
                return index[axis.to] - axis.before
            case _:
                return next(rest, Expr())

    return [place(axis) for axis in op.operand_axes()[number]]


def _operand_places(op: Operation, index: tuple[Expr, ...]) -> list[tuple[SSAValue, tuple[Expr, ...]]]:
    """The operands' elements on which one element of an elementwise op depends."""
    return [(operand, tuple(aligned(index, shape_of(operand)))) for operand in op.operands]
