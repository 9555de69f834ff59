"""Decision trees by tests: all tests of a small tree on several vectors of rows, without a walk.

    reachable = all leaves                                   one bit each, a vector of rows at a time
    for each test of the tree:  where x[feature] > threshold:  reachable &= mask
    leaf = the first reachable one

A test is a comparison and a conjunction for a whole vector of rows, and no load depends on another's result. (Lucchese,
Nardini, Orlando, Perego, Tonellotto and Venturini, "Exploiting CPU SIMD extensions to speed-up document scoring with
tree ensembles", SIGIR 2016.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import CmpfOp, CmpiOp, IndexCastOp, SelectOp
from .....dialects.graph.ops.tree_ensemble import TreeEnsembleOp, word_type
from .....dialects.graph.values import element_type_of_value, shape_of
from ....kernel_code.loop_builder import INDEX, Index, LoopBuilder, vector_of


@dataclass(frozen=True)
class TreeTests:
    """The tests of a kernel's trees, on rows whose features lie in columns: columns[feature][row of the block]."""

    b: LoopBuilder
    op: TreeEnsembleOp
    table: SSAValue
    """The op's tests as one dimension."""
    columns: SSAValue
    lanes: int

    def reach(self, tree: Index, first: Index, vectors: int, into: SSAValue) -> None:
        """Writes the numbers of the leaves, of that tree's, that `vectors` vectors of rows from `first` on reach."""
        b, op, table = self.b, self.op, self.table
        assert op.tests is not None
        _, _, count, size = shape_of(op.tests)
        element, word = element_type_of_value(op.x), cast("IntegerType", word_type(element_type_of_value(op.x)))
        begin, bits = b.mul(tree, count * size), vector_of(word, self.lanes)

        def test(number: Index, reachable: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at = b.add(begin, b.mul(number, size))
            feature = b.insert(IndexCastOp(b.load(table, [at]), INDEX))
            threshold = b.splat(b.insert(arith.BitcastOp(b.load(table, [b.add(at, 1)]), element)), self.lanes)
            masks = [b.splat(b.load(table, [b.add(at, 2 + each)]), self.lanes) for each in range(size - 2)]
            found: list[SSAValue] = []
            for vector in range(vectors):
                x = b.vload(self.columns, [feature, b.add(first, vector * self.lanes)], self.lanes)
                greater = b.insert(CmpfOp(x, threshold, "ugt"))
                for each, mask in zip(reachable[len(found) :], masks, strict=False):
                    found.append(b.insert(SelectOp(greater, b.insert(arith.AndIOp(each, mask)), each)))
            return found

        every = [b.constant(-1, bits)] * (vectors * (size - 2))
        reachable = b.loop(0, count, test, carried=every)
        for vector in range(vectors):
            words = reachable[vector * (size - 2) : (vector + 1) * (size - 2)]
            b.vstore(self._first(words), into, [vector * self.lanes])

    def _first(self, words: Sequence[SSAValue]) -> SSAValue:
        """The place of the first bit that is 1, of words with the low bits first."""
        b = self.b
        place = b.insert(math.CountTrailingZerosOp(words[0]))  # all bits, if none is 1
        if len(words) == 1:
            return place
        width = cast("IntegerType", word_type(element_type_of_value(self.op.x))).width.data
        none = b.insert(CmpiOp(words[0], b.constant(0, words[0].type), "eq"))
        further = b.insert(arith.AddiOp(self._first(words[1:]), b.constant(width, words[0].type)))
        return b.insert(SelectOp(none, further, place))
