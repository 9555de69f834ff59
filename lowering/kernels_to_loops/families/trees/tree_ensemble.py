"""Tree ensembles: each thread takes some blocks of rows through some groups of trees.

    for (group, block of rows) in this thread's share:
        for each tree of the group:   several rows at once walk down it, and add what is in their leaves to the result
        for each of the rows left:    it walks down several trees at once

A tree's table stays in the first cache while a block's rows walk down it. Trees that have tests are not walked down: a
block's features are transposed, then each tree tests vectors of rows (tree_tests.py), down to a few rows that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.ir import SSAValue

from .....dialects.errors import CompileError
from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.base import describe
from .....dialects.graph.ops.tree_ensemble import TreeEnsembleOp
from .....dialects.graph.values import shape_of
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cpu.trees.tree_ensemble import TreeEnsemble
from ....kernel_code.loop_builder import INDEX, Index
from ....kernel_code.tree_walk import TreeWalks
from ...kernel_instance import KernelInstance
from .tree_tests import TreeTests


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops. Raises CompileError unless groups have a multiple of the schedule's `walks`."""
    op, b, schedule = the_root(k.kernel, TreeEnsembleOp), k.b, k.schedule_as(TreeEnsemble)
    groups, rows, width = shape_of(op.result)
    if op.groups[1] % schedule.walks:
        told = f"groups of {op.groups[1]} trees, which is no multiple of walks = {schedule.walks}"
        raise CompileError(f"{describe(op)}: {told}")
    if groups * width == 0 or rows == 0:
        return
    blocks, ensemble = -(-rows // schedule.rows), _Ensemble(k, op, schedule)

    def rows_of(block: Index) -> tuple[Index, Index]:
        first = b.mul(block, schedule.rows)
        return first, b.min(b.add(first, schedule.rows), rows)

    def walked(item: Index) -> None:
        group, block = b.delinearize(item, [groups, blocks])
        ensemble.walk(group, *rows_of(block))

    def tested(block: Index, first_group: Index, last_group: Index) -> None:
        ensemble.test(first_group, last_group, *rows_of(block))

    if schedule.vectors:
        k.runs(blocks, groups, tested)
    else:
        k.items(groups * blocks, walked)


class _Ensemble:
    """The loops over the trees of a group."""

    def __init__(self, k: KernelInstance, op: TreeEnsembleOp, schedule: TreeEnsemble) -> None:
        self.k, self.b, self.op, self.schedule = k, k.b, op, schedule
        self.walks, self.y = TreeWalks(k, op), k.results[0]
        self.trees, self.padded, self.width = op.trees.value.data, op.groups[1], shape_of(op.result)[2]

    def _update(self, group: Index, row: Index, leaf: Index) -> None:
        """Adds what is in a leaf to the result for a row."""
        b, y = self.b, self.y

        def one(place: Index, _: Sequence[SSAValue] = ()) -> None:
            at = [group, row, place]
            b.store(self.walks.combine(b.load(y, at), self.walks.weight(leaf, place)), y, at)

        b.loop(0, self.width, one)

    def _clear(self, group: Index, first: Index, last: Index) -> None:
        b = self.b

        def clear(row: Index, _: Sequence[SSAValue]) -> None:
            b.loop(0, self.width, lambda place, _: b.store(self.walks.neutral(), self.y, [group, row, place]))

        b.loop(first, last, clear)

    def walk(self, group: Index, first: Index, last: Index) -> None:
        """Rows [first, last) walk down the trees of a group: a multiple of the walks at once together, others alone."""
        b, at_once, first_tree = self.b, self.schedule.walks, self.b.mul(group, self.padded)
        whole = b.add(first, b.mul(b.div(b.sub(last, first), at_once), at_once))

        def tree(number: Index, _: Sequence[SSAValue]) -> None:
            def some(start: Index, _: Sequence[SSAValue]) -> None:
                places = [b.add(start, i) for i in range(at_once)]
                for place, leaf in zip(places, self.walks.leaves(number, [0] * at_once, places), strict=True):
                    self._update(group, place, leaf)

            b.loop(first, whole, some, step=at_once)

        self._clear(group, first, last if self.width > 1 else whole)
        b.loop(first_tree, b.add(first_tree, self.trees), tree)
        b.loop(whole, last, lambda row, _: self._walk_alone(group, row))

    def _walk_alone(self, group: Index, row: Index) -> None:
        """A row walks down several trees at once; their weights are added in the same order as for rows together."""
        b, at_once, walks = self.b, self.schedule.walks, self.walks
        first_tree = b.mul(group, self.padded)

        def some(start: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            found = walks.leaves(b.add(first_tree, start), range(at_once), [row] * at_once)
            if self.width == 1:
                return [reduce(walks.combine, [walks.weight(leaf, 0) for leaf in found], carried[0])]
            for leaf in found:
                self._update(group, row, leaf)
            return ()

        if self.width > 1:
            b.loop(0, self.trees, some, step=at_once)
        else:
            (total,) = b.loop(0, self.trees, some, step=at_once, carried=[walks.neutral()])
            b.store(total, self.y, [group, row, 0])

    def test(self, first_group: Index, last_group: Index, first: Index, last: Index) -> None:
        """Rows [first, last) through groups of trees: vectors of them are tested, and a few that are left walk."""
        b, k, schedule = self.b, self.k, self.schedule
        lanes, several = schedule.lanes, schedule.vectors * schedule.lanes
        leaves, x = k.scratch_part("leaves"), k.buffer_of(self.op.x)
        assert x is not None and self.op.tests is not None
        tests = TreeTests(b, self.op, self.walks.table(self.op.tests), k.scratch_part("columns"), lanes)
        count = b.sub(last, first)
        whole = b.mul(b.div(count, lanes), lanes)
        left = b.sub(count, whole)
        tested = b.add(whole, b.select(b.compare("sge", left, schedule.few), b.index(left), b.index(0)))
        ends = b.mul(b.div(b.add(tested, lanes - 1), lanes), lanes)  # of vectors, whose last rows may be none

        def column(feature: Index, _: Sequence[SSAValue]) -> None:
            def one(row: Index, _: Sequence[SSAValue]) -> None:
                b.store(b.load(x, [b.min(b.add(first, row), b.sub(last, 1)), feature]), tests.columns, [feature, row])

            b.loop(0, ends, one)

        b.loop(0, shape_of(self.op.x)[1], column)

        def group(group: Index, _: Sequence[SSAValue]) -> None:
            first_tree = b.mul(group, self.padded)

            def tree(number: Index, _: Sequence[SSAValue]) -> None:
                def vectors(at: int) -> Callable[[Index, Sequence[SSAValue]], None]:
                    def some(start: Index, _: Sequence[SSAValue]) -> None:
                        tests.reach(number, start, at, leaves)
                        self._update_all(group, b.add(first, start), b.min(at * lanes, b.sub(tested, start)), number)

                    return some

                middle = b.mul(b.div(tested, several), several)
                b.loop(0, middle, vectors(schedule.vectors), step=several)
                b.loop(middle, ends, vectors(1), step=lanes)

            self._clear(group, first, b.add(first, tested) if self.width == 1 else last)
            b.loop(first_tree, b.add(first_tree, self.trees), tree)
            b.loop(b.add(first, tested), last, lambda row, _: self._walk_alone(group, row))

        b.loop(first_group, last_group, group)

    def _update_all(self, group: Index, first: Index, count: Index, tree: Index) -> None:
        """Adds what is in the leaves of a tree that are in scratch to the result of rows from `first` on."""
        b, leaves = self.b, self.k.scratch_part("leaves")
        begin = b.mul(tree, self.op.leaves)

        def one(number: Index, _: Sequence[SSAValue]) -> None:
            leaf = b.insert(IndexCastOp(b.load(leaves, [number]), INDEX))
            self._update(group, b.add(first, number), b.add(begin, leaf))

        b.loop(0, count, one)
