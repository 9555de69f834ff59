"""Loop and Scan as scf.for or scf.while in `main`, with loop-carried buffers that collect their scan outputs.

    %number, %y, %all = scf.for %i = %c0 to %count step %c1 iter_args(%number = %zero, %y = %x, %all = %zeros) {
      ... the body: %next, and %one, which is collected
      %more = graph.scatter_nd %all, %number, %one        // in place, into the iteration's own row
      %after = graph.add %number, %one
      scf.yield %after, %next, %more
    }

A loop with a computed condition is an scf.while. The iteration number is carried only if it is used. A scan output has
as many rows as there can be iterations, a number that must be known; rows of iterations that did not run are cropped at
the end of a call. A Loop whose carried values change shape, or whose body has shapes that depend on the iteration
number, is unrolled if the trip count is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from onnx import GraphProto
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, SSAValue

from ....dialects.errors import UnknownValueError
from ....dialects.graph.ops.elementwise import AddOp, AndOp, LessOp, SubOp
from ....dialects.graph.ops.indexing import GatherOp, ScatterNdOp
from ....dialects.graph.ops.movement import ConcatOp, TransposeOp
from ....dialects.graph.values import element_type_of_value, shape_of, tensor
from ....dialects.sizes.sizes import equal, equal_shapes, is_fixed, pinned
from ..node import Handler, Node
from ..non_tensors import Held

MOST_WRITTEN = 10_000  # total number of nodes of an unrolled loop


@dataclass(frozen=True)
class Iteration:
    """The results of one iteration."""

    carried: Sequence[SSAValue]
    collected: Sequence[tuple[SSAValue, SSAValue]] = ()
    """Values to collect, each with its index among the rows of all iterations."""
    goes_on: SSAValue | None = None
    """Whether there is another iteration, if that is computed: a boolean of rank 0."""


Write: TypeAlias = Callable[[SSAValue, Sequence[SSAValue]], Iteration]
"""Emits an iteration, given its number and the carried values."""


@dataclass(frozen=True)
class Repeated:
    """The results of a loop: the last carried values, and the collected ones, a row for each iteration."""

    carried: Sequence[SSAValue]
    collected: Sequence[SSAValue]


class ShapeChangesError(Exception):
    """A carried value has another type after an iteration."""


def repeat(
    node: Node,
    count: SSAValue | None,
    first: SSAValue | None,
    initial: Sequence[SSAValue],
    turn: Write,
    rows: int | None = None,
) -> Repeated:
    """Emits a loop of at most `count` iterations (None: unbounded); the first runs only if `first` holds.

    `turn` emits the body, given the iteration number and the carried values. With `rows`, that many rows are collected,
    zeros for iterations that don't run. Raises ShapeChangesError if the types of carried values change.
    """
    return _Loop(node, count, first, initial, rows).repeat(turn)


class _Loop:
    def __init__(
        self,
        node: Node,
        count: SSAValue | None,
        first: SSAValue | None,
        initial: Sequence[SSAValue],
        rows: int | None,
    ) -> None:
        self.node, self.emitter = node, node.emitter
        self.count, self.first = count, first
        self.initial = list(initial)
        self.most = None if count is None or (known := node.known(count)) is None else max(0, pinned(known.item()))
        self.rows = rows
        if first is not None and (given := node.known(first)) is not None:
            self.first = None
            self.most = self.most if given else 0

    def repeat(self, turn: Write) -> Repeated:
        try:
            return self.written(turn)
        except _NeverRuns as never:
            return Repeated(self.initial, [self.node.zeros(type, (0, *shape)) for type, shape in never.rows])

    def written(self, turn: Write) -> Repeated:
        """The loop, once its body is known."""
        node = self.node
        start = node.scalar(0, i64)
        block = Block(arg_types=[start.type, *(value.type for value in self.initial)])
        with self.emitter.inside(block, [start, *self.initial]):
            number, *carried = block.args
            made = turn(number, carried)
            if self.most == 0:
                raise _NeverRuns([(element_type_of_value(value), shape_of(value)) for value, _ in made.collected])
            carried = self.alike(made)
            ends = made.goes_on is not None and not _is_true(node, made.goes_on)
            if not ends and self.count is None:
                raise node.invalid("it never ends: there is no trip count, and its condition stays true")
            stores = [self.collect(block, value, row) for value, row in made.collected]
            counted = ends and self.count is not None
            kept = bool(number.uses) or counted or bool(stores and (ends or self.first))
            after = [node.emit(AddOp(number, node.scalar(1, i64)))] if kept else []
            yielded = [*after, *carried, *stores]
            if ends:
                assert made.goes_on is not None
                yielded.insert(0, self.emitter.scalar(self.goes_on(made.goes_on, after), node.location))
            self.emitter.add(scf.YieldOp(*yielded), node.location)
        empty = [node.zeros(element_type_of_value(store), shape_of(store)) for store in stores]
        given = [start, *self.initial, *empty]
        if not kept:
            block.erase_arg(number)
            given = given[1:]
        results = self.until(block, given) if ends else self.counted(block, given)
        values = results[1:] if kept else results
        collected = values[len(self.initial) :]
        if self.rows is None and (ends or self.first is not None):
            collected = [node.bound(value, 0, results[0]) for value in collected]
        return Repeated(values[: len(self.initial)], collected)

    def alike(self, made: Iteration) -> list[SSAValue]:
        """The values that an iteration yields, with sizes spelled like those it was given."""
        for index, (before, after) in enumerate(zip(self.initial, made.carried, strict=True)):
            if not self.node.is_alike(before, after):
                raise ShapeChangesError(
                    f"carried value {index} is {before.type} before an iteration and {after.type} after"
                )
        pairs = zip(self.initial, made.carried, strict=True)
        return [self.node.reshape(after, shape_of(before)) for before, after in pairs]

    def collect(self, block: Block, value: SSAValue, row: SSAValue) -> SSAValue:
        """All rows, with the iteration's own inserted."""
        node = self.node
        rows = self.rows if self.rows is not None else self.most
        if rows is None:
            bound = self.count if self.count is not None else row
            raise node.unknown("the trip count, which bounds what the loop collects,", bound)
        type = tensor(element_type_of_value(value), (rows, *shape_of(value)))
        before = block.insert_arg(type, len(block.args))
        updates = node.reshape(value, (1, *shape_of(value)))
        return node.emit(ScatterNdOp(before, node.reshape(row, (1, 1)), updates))

    def goes_on(self, condition: SSAValue, after: Sequence[SSAValue]) -> SSAValue:
        """Whether the iteration of that number runs."""
        if self.count is None:
            return condition
        return self.node.emit(AndOp(condition, self.node.emit(LessOp(after[0], self.count))))

    def counted(self, block: Block, given: Sequence[SSAValue]) -> list[SSAValue]:
        """Emits an scf.for."""
        block.insert_arg(IndexType(), 0)
        assert self.count is not None
        zero, one = self.index(0), self.index(1)
        if self.most is not None:
            last = self.index(self.most)
        else:
            number = self.emitter.scalar(self.count, self.node.location)
            (last,) = self.emitter.add(arith.IndexCastOp(number, IndexType()), self.node.location)
        if self.first is not None:
            begins = self.emitter.scalar(self.first, self.node.location)
            (last,) = self.emitter.add(arith.SelectOp(begins, last, zero), self.node.location)
        return list(self.emitter.add(scf.ForOp(zero, last, one, given, block), self.node.location))

    def until(self, block: Block, given: Sequence[SSAValue]) -> list[SSAValue]:
        """Emits an scf.while."""
        node = self.node
        begins = self.first if self.first is not None else node.array(np.array(True))
        go = self.emitter.scalar(self.goes_on(begins, [node.scalar(0, i64)]), node.location)
        block.insert_arg(i1, 0)
        types = [argument.type for argument in block.args]
        before = Block(arg_types=types)
        before.add_op(scf.ConditionOp(before.args[0], *before.args))
        loop = scf.WhileOp([go, *given], types, [before], [block])
        return list(self.emitter.add(loop, node.location))[1:]

    def index(self, value: int) -> SSAValue:
        constant = arith.ConstantOp(IntegerAttr(value, IndexType()))
        return self.emitter.add(constant, self.node.location)[0]


class _NeverRuns(Exception):
    """A loop without iterations: the types of the values that one would have collected."""

    def __init__(self, rows: Sequence[tuple[Attribute, tuple[int, ...]]]) -> None:
        super().__init__()
        self.rows = rows


def _is_true(node: Node, value: SSAValue) -> bool:
    known = node.known(value)
    return known is not None and bool(known.all())


def _loop(node: Node) -> Sequence[Held]:
    body = node.graph("body")
    count = node.reshape(node.cast(node.operand(0), i64), ()) if node.has_operand(0) else None
    first = node.truth(1) if node.has_operand(1) else None
    given = [node.held(index) for index in range(2, len(node.proto.input))]
    initial = [each for each in given if isinstance(each, SSAValue)]
    if len(initial) < len(given):
        return _unrolled(node, body, count, first, given, "it carries a sequence or an optional")

    def turn(number: SSAValue, carried: Sequence[SSAValue]) -> Iteration:
        goes_on, *made = node.branch(body, [number, node.array(np.array(True)), *carried])
        _check_results(node, made, len(initial))
        collected = [(value, number) for value in made[len(initial) :]]
        return Iteration(made[: len(initial)], collected, node.reshape(goes_on, ()))

    try:
        done = repeat(node, count, first, initial, turn)
    except (ShapeChangesError, UnknownValueError) as error:
        if isinstance(error, UnknownValueError) and error.inputs:
            raise
        return _unrolled(node, body, count, first, initial, str(error))
    return [*done.carried, *done.collected]


def _check_results(node: Node, made: Sequence[Held], carried: int) -> None:
    wanted = len(node.proto.output)
    if not max(wanted, carried) <= len(made):
        raise node.malformed(f"its body gives {len(made)} values for {carried} carried ones and {wanted} results")


def _unrolled(
    node: Node,
    body: GraphProto,
    count: SSAValue | None,
    first: SSAValue | None,
    initial: Sequence[Held],
    why: str,
) -> list[Held]:
    """Unrolls the loop, so that carried values may change shape, and shapes may depend on the iteration number."""
    for condition in (count, first):
        if condition is not None and node.known(condition) is None:
            raise node.unknown(f"the trip count, as {why},", condition)
    if count is None:
        raise node.unsupported(f"{why}, and its trip count is not known")
    turns = int(node.constant(0)) if first is None or node.known(first) else 0
    if turns * len(body.node) > MOST_WRITTEN:
        raise node.unsupported(f"{why}, and {turns} turns of {len(body.node)} nodes are too many to unroll")
    values, rows = list(initial), list[list[SSAValue]]()
    for turn in range(turns):
        number = node.array(np.array(turn, np.int64))
        goes_on, *made = node.host.branch(node, body, [number, node.array(np.array(True)), *values])
        _check_results(node, made, len(initial))
        values = made[: len(initial)]
        collected = [each for each in made[len(initial) :] if isinstance(each, SSAValue)]
        if not isinstance(goes_on, SSAValue) or len(collected) < len(made) - len(initial):
            raise node.invalid("its condition and its scan outputs must be tensors")
        rows.append([node.reshape(each, (1, *shape_of(each))) for each in collected])
        known = node.known(goes_on)
        if known is None:
            raise node.unknown(f"its condition, as {why},", goes_on)
        if not known.any():
            break
    return [*values, *(each[0] if len(each) == 1 else node.emit(ConcatOp(each, 0)) for each in zip(*rows, strict=True))]


def _scan(node: Node) -> Sequence[SSAValue]:
    return _scan_batches(node) if node.opset < 9 else _scan_axes(node)


def _scan_axes(node: Node) -> Sequence[SSAValue]:
    """Scan since opset 9: any axes, forwards or backwards, of inputs and outputs."""
    body, taken = node.graph("body"), node.integer("num_scan_inputs", 0)
    if not 1 <= taken <= len(node.proto.input):
        raise node.invalid(f"it scans {taken} of its {len(node.proto.input)} operands")
    operands = node.operands()
    initial, scanned = operands[:-taken], operands[-taken:]
    made = len(node.proto.output) - len(initial)
    axes = _each(node, "scan_input_axes", taken)
    axes = [node.normal_axis(axis, len(shape_of(x))) for axis, x in zip(axes, scanned, strict=True)]
    backwards = _each(node, "scan_input_directions", taken)
    out_axes, out_backwards = (_each(node, f"scan_output_{what}", made) for what in ("axes", "directions"))
    length, *others = (shape_of(x)[axis] for x, axis in zip(scanned, axes, strict=True))
    if not all(equal(length, other) for other in others):
        lengths = sorted({length, *others})
        raise node.invalid(f"its scan inputs have different lengths: {', '.join(map(str, lengths))}")

    def turn(number: SSAValue, carried: Sequence[SSAValue]) -> Iteration:
        def place(from_the_end: int) -> SSAValue:
            return node.emit(SubOp(node.scalar(length - 1, i64), number)) if from_the_end else number

        slices = [
            _taken(node, x, place(turned), axis) for x, axis, turned in zip(scanned, axes, backwards, strict=True)
        ]
        results = node.branch(body, [*carried, *slices])
        _check_results(node, results, len(initial))
        collected = zip(results[len(initial) :], map(place, out_backwards), strict=False)
        return Iteration(results[: len(initial)], list(collected))

    done = _carried(node, node.scalar(length, i64), initial, turn)
    moved = [_moved(node, rows, axis) for rows, axis in zip(done.collected, out_axes, strict=False)]
    return [*done.carried, *moved]


def _taken(node: Node, x: SSAValue, place: SSAValue, axis: int) -> SSAValue:
    """What an iteration reads of a scan input; of one without elements zeros, which no iteration reads."""
    shape = shape_of(x)
    if is_fixed(shape[axis]) and shape[axis] == 0:
        return node.zeros(element_type_of_value(x), (*shape[:axis], *shape[axis + 1 :]))
    return node.emit(GatherOp(x, place, axis))


def _each(node: Node, name: str, count: int) -> list[int]:
    """An attribute with one integer for each of `count` values, by default 0."""
    given = node.integers(name)
    if given is not None and len(given) != count:
        raise node.invalid(f"{name} has {len(given)} entries instead of {count}")
    return given or [0] * count


def _moved(node: Node, rows: SSAValue, axis: int) -> SSAValue:
    """Moves rows from the first axis to another one."""
    rank = len(shape_of(rows))
    axis = node.normal_axis(axis, rank)
    order = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
    return rows if axis == 0 else node.emit(TransposeOp(rows, order))


def _carried(
    node: Node,
    count: SSAValue,
    initial: Sequence[SSAValue],
    turn: Write,
    rows: int | None = None,
) -> Repeated:
    """`repeat` for a loop whose carried values keep their types by definition."""
    try:
        return repeat(node, count, None, initial, turn, rows)
    except ShapeChangesError as error:
        raise node.invalid(str(error)) from None


def _scan_batches(node: Node) -> Sequence[SSAValue]:
    """Scan of opset 8: a loop over the batch around one over time; entries may have different lengths."""
    body, taken = node.graph("body"), node.integer("num_scan_inputs", 0)
    lengths = node.optional(0)
    operands = [node.operand(index) for index in range(1, len(node.proto.input))]
    if not 1 <= taken <= len(operands):
        raise node.invalid(f"it scans {taken} of its {len(operands)} operands")
    initial, scanned = operands[:-taken], operands[-taken:]
    backwards = _each(node, "directions", taken)
    batch, length = shape_of(scanned[0])[:2]
    fits = [equal_shapes(shape_of(x)[:1], (batch,)) for x in initial]
    fits += [equal_shapes(shape_of(x)[:2], (batch, length)) for x in scanned]
    if not all(fits):
        raise node.invalid(f"its operands have other batches than {batch}, or other lengths than {length}")

    def entry(number: SSAValue, _: Sequence[SSAValue]) -> Iteration:
        begin, own = ([node.emit(GatherOp(x, number, 0)) for x in each] for each in (initial, scanned))
        last = node.scalar(length, i64)
        count = last if lengths is None else node.cast(node.emit(GatherOp(lengths, number, 0)), i64)

        def turn(step: SSAValue, carried: Sequence[SSAValue]) -> Iteration:
            back = node.emit(SubOp(node.emit(SubOp(count, node.scalar(1, i64))), step)) if any(backwards) else step
            slices = [_taken(node, x, back if turned else step, 0) for x, turned in zip(own, backwards, strict=True)]
            results = node.branch(body, [*carried, *slices])
            _check_results(node, results, len(initial))
            return Iteration(results[: len(initial)], [(each, step) for each in results[len(initial) :]])

        done = _carried(node, count, begin, turn, rows=length)
        return Iteration([], [(value, number) for value in (*done.carried, *done.collected)])

    return _carried(node, node.scalar(batch, i64), [], entry).collected


HANDLERS: dict[str, Handler] = {"Loop": _loop, "Scan": _scan}
