"""Values kept in permuted layouts.

A value may be kept as one or more permuted copies. A request for a permutation returns an existing copy, or a transpose
of the first one; constants are permuted at compile time.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.graph.ops.movement import ReshapeOp, TransposeOp
from ....dialects.graph.ops.structure import ConstantOp, WeightOp
from ....dialects.graph.values import Array, shape_of, tensor, type_of
from ...geometry.shape_maps import Permutation, compose, identity, inverse, moves_no_bytes, permuted
from .pattern_utils import Constants


class HeldValues:
    """The copies of each value, by permutation; ops that create more are inserted before `here`."""

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self.here: Operation | None = None
        self.transposes = 0
        self._copies: dict[SSAValue, dict[Permutation, SSAValue]] = {}
        self._home: dict[SSAValue, Permutation] = {}
        self._spread: dict[tuple[SSAValue, Permutation], SSAValue] = {}

    def insert(self, op: Operation) -> SSAValue:
        """Inserts an op before the one being rebuilt; returns its result."""
        assert self.here is not None
        Rewriter.insert_op(op, InsertPoint.before(self.here))
        return op.results[0]

    def hold(self, value: SSAValue, copy: SSAValue, permutation: Permutation) -> None:
        """From now on the value is represented by `copy`, which is transpose(value, permutation)."""
        self._copies[value] = {permutation: copy}
        self._home[value] = permutation

    def home(self, value: SSAValue) -> Permutation:
        """The permutation in which the value is computed."""
        return self._home.get(value) or identity(len(shape_of(value)))

    def is_moved(self, value: SSAValue) -> bool:
        """Whether the value is computed in another permutation than in the graph."""
        return value in self._home

    def get(self, value: SSAValue, permutation: Permutation) -> SSAValue:
        """The value in a permutation: an existing copy, or a new one."""
        copies = self._copies.setdefault(value, {self.home(value): value})
        if permutation not in copies:
            if isinstance(value.owner, (ConstantOp, WeightOp)):
                copies[permutation] = self._constant(value, value.owner, permutation)
            else:
                copies[permutation] = self._transposed(copies[self.home(value)], value, permutation)
        return copies[permutation]

    def _transposed(self, copy: SSAValue, value: SSAValue, permutation: Permutation) -> SSAValue:
        assert self.here is not None
        step = compose(inverse(self.home(value)), permutation)
        shape, maker = shape_of(copy), copy.owner
        location = maker.location if isinstance(maker, Operation) else self.here.location
        if moves_no_bytes(shape, step):
            return self.insert(ReshapeOp(copy, permuted(shape, step), location=location))
        self.transposes += 1
        return self.insert(TransposeOp(copy, step, location=location))

    def _constant(self, value: SSAValue, owner: Operation, permutation: Permutation) -> SSAValue:
        type = tensor(type_of(value).element_type, permuted(shape_of(value), permutation))

        def transposed(array: Array) -> Array:
            return array.transpose(permutation)

        how = f"transposed by {permutation}"
        return self.insert(self.constants.computed([value], type, how, transposed, owner.location))

    def spread(self, value: SSAValue, permutation: Permutation) -> SSAValue:
        """A broadcasting operand extended to the permutation's rank, for an op in that permutation."""
        shape, rank = shape_of(value), len(permutation)
        if all(size == 1 for size in shape):
            return self.get(value, identity(len(shape)))
        if len(shape) == rank:
            return self.get(value, permutation)
        key = value, permutation
        if key not in self._spread:
            self._spread[key] = self._widened(value, (1,) * (rank - len(shape)) + shape, permutation)
        return self._spread[key]

    def _widened(self, value: SSAValue, full: Sequence[int], permutation: Permutation) -> SSAValue:
        """`value` with leading dims of size 1 as in `full`, permuted, then without leading ones again."""
        assert self.here is not None
        wanted = permuted(full, permutation)
        first = next(dim for dim, size in enumerate(wanted) if size != 1)
        array = self.constants.array(value)
        if array is not None:
            moved = array.reshape(full).transpose(permutation)
            return self.insert(self.constants.make(moved.reshape(wanted[first:]), self.here.location))
        plain = self.get(value, identity(len(shape_of(value))))
        moved = self.insert(ReshapeOp(plain, full, location=self.here.location))
        if moves_no_bytes(full, permutation):
            return self.insert(ReshapeOp(moved, wanted, location=self.here.location))
        self.transposes += 1
        return self.insert(TransposeOp(moved, permutation, location=self.here.location))
