"""Walks down decision trees without a branch, for any device: several walks at once hide each other's latency.

complete trees, `depth` times:    at = 2 at + not (x[feature of at] <= threshold of at)
linked trees, until all are at a leaf:    at = child [not (x[feature of at] <= threshold of at)] of at
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, UnitAttr
from xdsl.ir import SSAValue

from ...dialects.extensions.arith import OPAQUE, CmpfOp, IndexCastOp
from ...dialects.graph.ops.tree_ensemble import AGGREGATES, TreeEnsembleOp
from ...dialects.graph.values import element_type_of_value, shape_of
from .arithmetic import Arithmetic
from .instance_base import AnyInstance
from .loop_builder import INDEX, Index, LoopBuilder, memref_type

LEVELS_AT_ONCE = 2
"""Levels of linked trees between two tests whether all walks have ended; a walk that has ended stays where it is."""
MOST_UNROLLED = 8
"""Levels of complete trees that are written out; deeper trees are walked in a loop over two levels."""


@dataclass(frozen=True)
class TreeWalks:
    """The trees of a kernel, and what is needed to walk down them."""

    k: AnyInstance
    op: TreeEnsembleOp

    @property
    def _b(self) -> LoopBuilder:
        return cast("LoopBuilder", self.k.b)

    def _buffer(self, value: SSAValue) -> SSAValue:
        buffer = self.k.buffer_of(value)
        assert buffer is not None, "nothing is fused in front of a tree ensemble"
        return buffer

    def table(self, value: SSAValue) -> SSAValue:
        """A contiguous table as one dimension."""
        total = 1
        for size in shape_of(value):
            total *= size
        return self._b.view(self._buffer(value), 0, [max(total, 1)], [1])

    @property
    def math(self) -> Arithmetic:
        """Arithmetic of weights."""
        return Arithmetic(self._b, element_type_of_value(self.op.weights))

    def neutral(self) -> SSAValue:
        """The aggregate of no tree."""
        return self.math.constant(float(AGGREGATES[self.op.aggregate.data]))

    def combine(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The aggregate of two."""
        m = self.math
        return {"sum": m.add, "min": m.min, "max": m.max}[self.op.aggregate.data](a, b)

    def leaves(self, tree: Index, more: Sequence[int], rows: Sequence[Index]) -> list[Index]:
        """The places among all leaves of those that rows reach, each in the tree that many after `tree`.

        Trees are counted through all groups.
        """
        return self._complete(tree, more, rows) if self.op.roots is None else self._linked(tree, more, rows)

    def weight(self, leaf: Index, place: Index) -> SSAValue:
        """A weight of a leaf."""
        b, width = self._b, shape_of(self.op.weights)[-1]
        return b.load(self.table(self.op.weights), [b.add(b.mul(leaf, width), place)])

    def _complete(self, tree: Index, more: Sequence[int], rows: Sequence[Index]) -> list[Index]:
        b, depth = self._b, self.op.depth.value.data
        firsts = [each << depth for each in more]
        first = b.mul(tree, 1 << depth)
        table = b.view(self.table(self.op.nodes), b.mul(first, 2), [(max(more) + 1) << (depth + 1)], [1])

        def level(at: Sequence[Index]) -> list[Index]:
            nodes = [b.add(b.mul(each, 2), 2 * start) for start, each in zip(firsts, at, strict=True)]
            right = self._right(table, nodes, rows)
            return [b.add(b.mul(each, 2), side) for each, side in zip(at, right, strict=True)]

        at: list[Index] = [1 for _ in rows]
        written = depth if depth <= MOST_UNROLLED else depth % 2
        for _ in range(written):
            at = level(at)
        if written < depth:

            def two(_: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return [b.index(each) for each in level(level(carried))]

            at = [*b.loop(0, (depth - written) // 2, two, carried=[b.index(each) for each in at])]
        return [b.add(b.add(first, each), start - (1 << depth)) for start, each in zip(firsts, at, strict=True)]

    def _linked(self, tree: Index, more: Sequence[int], rows: Sequence[Index]) -> list[Index]:
        b, inner, depth = self._b, self.op.inner_nodes, self.op.depth.value.data
        assert self.op.roots is not None
        roots = self.table(self.op.roots)
        at = [self._number(b.load(roots, [b.add(tree, each)])) for each in more]
        table = self.table(self.op.nodes)

        def level(at: Sequence[SSAValue]) -> list[SSAValue]:
            """A leaf's children are itself."""
            nodes = [b.mul(each, 4) for each in at]
            right = self._right(table, nodes, rows)
            places = [b.add(b.add(node, 2), side) for node, side in zip(nodes, right, strict=True)]
            return [self._number(b.load(table, [place])) for place in places]

        def some(_: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            def walk() -> Sequence[SSAValue]:
                return reduce(lambda at, _: level(at), range(LEVELS_AT_ONCE), list(carried))

            on_the_way = b.compare("slt", reduce(b.min, cast("list[Index]", list(carried))), inner)
            return b.when(on_the_way, walk, lambda: carried)

        if inner:
            at = b.loop(0, -(-depth // LEVELS_AT_ONCE), some, carried=at)
        return [b.sub(each, inner) for each in at]

    def _right(self, table: SSAValue, nodes: Sequence[Index], rows: Sequence[Index]) -> list[Index]:
        """For each node, at its place in the table: 1 where the row goes right, else 0."""
        b, element, x = self._b, element_type_of_value(self.op.x), self._buffer(self.op.x)
        word = cast("IntegerType", memref_type(table).element_type)
        features = [self._number(b.load(table, [node])) for node in nodes]
        thresholds = [b.insert(arith.BitcastOp(b.load(table, [b.add(node, 1)]), element)) for node in nodes]
        values = [b.load(x, [row, feature]) for row, feature in zip(rows, features, strict=True)]
        greater = [b.insert(CmpfOp(x, t, "ugt")) for x, t in zip(values, thresholds, strict=True)]
        sides = [IndexCastOp(b.insert(arith.ExtUIOp(each, word)), INDEX) for each in greater]
        for each in sides:
            each.attributes[OPAQUE] = UnitAttr()  # LLVM would gather: scalar loads take less than half of the time
        return [b.insert(each) for each in sides]

    def _number(self, word: SSAValue) -> SSAValue:
        return self._b.insert(IndexCastOp(word, INDEX))
