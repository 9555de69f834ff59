"""The values of a module's ops, as an interpreter computes them, and the first that another module has no equal of.

A pass changes shapes and layouts of values and the ops that make them, so values of two modules are matched by their
elements: those in the same order, and for other shapes those that a permutation of axes makes equal. A value without
match is at fault only if what follows has none either, up to an output.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.graph.base import MovementOp, node_name
from ...dialects.graph.blobs import BlobStore
from ...dialects.graph.host import handed_on, is_shaped, kernels_of, main_of
from ...dialects.graph.interpreter import interpret
from ...dialects.graph.ops.structure import CallOp, ConstantOp, KernelOp, WeightOp
from ...dialects.graph.values import Array

CLOSE = {"float64": 1e-5, "own types": 1e-4}
"""Differences of equal values, relative to the largest element: weights that passes compute are rounded."""
MOST_AXES = 5  # permuted


@dataclass
class Computed:
    """An op's results in a run; `reads` are what made its operands."""

    op: Operation
    results: Sequence[Array]
    kernel: str = ""
    reads: list[Computed] = field(default_factory=list["Computed"])

    @cached_property
    def is_constant(self) -> bool:
        """Whether it is a constant, or depends on constants alone."""
        if isinstance(self.op, ConstantOp | WeightOp):
            return True
        return (
            bool(self.op.operands)
            and len(self.reads) == len(self.op.operands)
            and all(each.is_constant for each in self.reads)
        )


@dataclass(frozen=True)
class Values:
    """A run at the graph or kernels level.

    `made` are all ops in order, those in kernels before the call, and `outputs` those that make the outputs. A run that
    failed did so at `stopped`.
    """

    made: Sequence[Computed]
    outputs: Sequence[Computed] = ()
    stopped: Operation | None = None


def values_of(module: ModuleOp, inputs: Mapping[str, Array], store: BlobStore, precision: Any) -> Values:
    """The values of a run."""
    made: list[Computed] = []
    makers: dict[SSAValue, Computed] = {}
    inside: list[Computed] = []  # ops of the kernel that is being run

    def observe(op: Operation, arrays: Sequence[Array]) -> None:
        copied = precision is not None and isinstance(op, ConstantOp | WeightOp)  # large, and not asked for
        computed = Computed(op, () if copied else [np.asarray(each) for each in arrays])
        made.append(computed)
        if isinstance(op.parent_op(), KernelOp):
            inside.append(computed)
        elif isinstance(op, CallOp):
            _enter(op, inside, makers)
            body = cast("KernelOp", inside[0].op.parent_op()).body.block if inside else None
            last = None if body is None else body.last_op
            yielded = [] if last is None else [each for each in inside if set(each.op.results) & set(last.operands)]
            computed.reads = yielded or [makers[each] for each in op.operands if each in makers]
            computed.kernel = op.callee.string_value()
            inside.clear()
        else:
            computed.reads = [makers[each] for each in op.operands if each in makers]
        makers.update(dict.fromkeys(op.results, computed))

    try:
        interpret(module, inputs, store, precision=precision, on_value=observe)
    except Exception:  # a wrong module fails in any way
        return Values(made, stopped=_next_op(module, {each.op for each in made}))
    return Values(made, [makers[each] for each in handed_on(main_of(module).body.block) if each in makers])


def _next_op(module: ModuleOp, done: Collection[Operation]) -> Operation | None:
    """The first op with a value that hasn't been computed; in a kernel where it is called there."""
    kernels = kernels_of(module)
    for op in main_of(module).body.block.ops:
        if op in done or not any(map(is_shaped, op.results)):
            continue
        kernel = kernels.get(op.callee.string_value()) if isinstance(op, CallOp) else None
        inner = () if kernel is None else kernel.body.block.ops
        return next((each for each in inner if each not in done and each.results), op)
    return None


def _enter(call: CallOp, inside: Sequence[Computed], makers: Mapping[SSAValue, Computed]) -> None:
    """Links ops of a kernel with each other, and with the operands of a call."""
    own: dict[SSAValue, Computed] = {}
    for each in inside:
        each.kernel = call.callee.string_value()
        arguments = cast("KernelOp", each.op.parent_op()).body.block.args
        given: dict[SSAValue, SSAValue] = dict(zip(arguments, call.operands, strict=True))
        for operand in each.op.operands:
            maker = own.get(operand) or makers.get(given.get(operand, operand))
            if maker is not None:
                each.reads.append(maker)
        own.update(dict.fromkeys(each.op.results, each))


class Matches:
    """Which computed values have an equal among those of a run."""

    def __init__(self, among: Values, close: float) -> None:
        self._close = close
        self._known: dict[int, list[tuple[Array, _Sums]]] = {}
        for each in among.made:
            for array in () if each.is_constant else each.results:
                self._known.setdefault(array.size, []).append((array, _Sums.of(array)))
        self._found: dict[int, bool] = {}

    def lack(self, each: Computed) -> bool:
        """Whether one of the op's results has no equal; not of constants."""
        if each.is_constant:
            return False
        if id(each) not in self._found:
            self._found[id(each)] = all(map(self._has, each.results))
        return not self._found[id(each)]

    def _has(self, array: Array) -> bool:
        sums = _Sums.of(array)
        return any(
            sums.may_equal(others, self._close, array.size) and _equal(array, other, self._close)
            for other, others in self._known.get(array.size, ())
        )

    def lost(self, each: Computed) -> list[Computed]:
        """What an op reads that has no equal."""
        return [read for read in each.reads if self.lack(read)]


@dataclass(frozen=True)
class _Sums:
    """Sums of an array's elements, whatever their order: they tell most arrays apart that differ."""

    largest: float
    sum: float
    squares: float

    @classmethod
    def of(cls, array: Array) -> _Sums:
        wide = array.astype(np.float64)
        return cls(float(np.max(np.abs(wide), initial=0.0)), float(wide.sum()), float(np.square(wide).sum()))

    def may_equal(self, other: _Sums, close: float, size: int) -> bool:
        """Whether elements can be as close as that, relative to the largest; NaN tells nothing."""
        most = 2 * close * max(self.largest, other.largest) * size
        off, squares = abs(self.sum - other.sum), abs(self.squares - other.squares)
        return not (off > most or squares > 2 * most * max(self.largest, other.largest))


def first_wrong(run: Values, matches: Matches) -> Computed | None:
    """The first op whose operands have matches, while nothing from its result to an output has one."""
    wrong: dict[int, Computed] = {}
    left = [each for each in run.outputs if matches.lack(each)]
    while left:
        each = left.pop()
        if id(each) not in wrong:
            wrong[id(each)] = each
            left += [read for read in each.reads if matches.lack(read)]

    def begins(each: Computed) -> bool:
        return all(id(read) not in wrong for read in each.reads)

    return next((each for each in run.made if id(each) in wrong and begins(each)), None)


def lost_before(run: Values, matches: Matches, new: Computed) -> Computed | None:
    """The op of an earlier run whose value `new` should have made, or read."""
    same = [each for each in run.made if node_name(each.op) == node_name(new.op) and each.op.name == new.op.name]
    found = next(filter(matches.lack, same), None)
    if found is None:
        return first_wrong(run, matches)
    lost = matches.lost(found)
    while lost:
        found = lost[0]
        lost = matches.lost(found) if isinstance(found.op, MovementOp | CallOp) else []
    return found


def _equal(array: Array, other: Array, close: float) -> bool:
    """Whether arrays of one size have the same elements in the same order, or permuted where shapes differ."""
    if (array.dtype.kind == "f") != (other.dtype.kind == "f"):
        return False
    scale = float(np.max(np.abs(other), initial=0.0, where=np.isfinite(other))) if other.size else 0.0

    def near(left: Array, right: Array) -> bool:
        return np.allclose(left, right, rtol=0.0, atol=close * scale, equal_nan=True)

    if near(array.reshape(-1), other.reshape(-1)):
        return True
    one, two = np.squeeze(array), np.squeeze(other)
    if array.shape == other.shape or one.ndim != two.ndim or one.ndim > MOST_AXES:
        return False
    if sorted(one.shape) != sorted(two.shape) or not near(np.sort(one, axis=None), np.sort(two, axis=None)):
        return False
    return any(
        tuple(two.shape[axis] for axis in order) == one.shape and near(one, two.transpose(order))
        for order in permutations(range(two.ndim))
    )
