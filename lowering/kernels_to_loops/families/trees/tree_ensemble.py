"""Tree ensembles: each thread takes some blocks of rows through some groups of trees.

    for (group, block of rows) in this thread's share:
        for each tree of the group:   several rows at once walk down it, and add what is in their leaves to the result
        for each of the rows left:    it walks down several trees at once

A tree's table stays in the first cache while a block's rows walk down it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .....dialects.graph.ops.tree_ensemble import TreeEnsembleOp
from .....dialects.graph.values import shape_of
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cpu.trees.tree_ensemble import TreeEnsemble
from ....kernel_code.loop_builder import Index
from ....kernel_code.tree_walk import TreeWalks
from ...kernel_instance import KernelInstance


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    op, b, schedule = the_root(k.kernel, TreeEnsembleOp), k.b, k.schedule_as(TreeEnsemble)
    walks, (groups, rows, width), (_, padded) = TreeWalks(k, op), shape_of(op.result), op.groups
    at_once, trees, y = schedule.walks, op.trees.value.data, k.results[0]
    blocks = -(-rows // schedule.rows)

    def block(item: Index) -> None:
        group, number = b.delinearize(item, [groups, blocks])
        first_tree, first = b.mul(group, padded), b.mul(number, schedule.rows)
        last = b.min(b.add(first, schedule.rows), rows)
        whole = b.add(first, b.mul(b.div(b.sub(last, first), at_once), at_once))

        def update(row: Index, leaf: Index) -> None:
            def one(place: Index, _: Sequence[SSAValue] = ()) -> None:
                at = [group, row, place]
                b.store(walks.combine(b.load(y, at), walks.weight(leaf, place)), y, at)

            b.loop(0, width, one)

        def clear(row: Index, _: Sequence[SSAValue]) -> None:
            b.loop(0, width, lambda place, _: b.store(walks.neutral(), y, [group, row, place]))

        def tree(number: Index, _: Sequence[SSAValue]) -> None:
            def some(start: Index, _: Sequence[SSAValue]) -> None:
                places = [b.add(start, i) for i in range(at_once)]
                for place, leaf in zip(places, walks.leaves(number, [0] * at_once, places), strict=True):
                    update(place, leaf)

            b.loop(first, whole, some, step=at_once)

        def row_left(row: Index, _: Sequence[SSAValue]) -> None:
            def some(start: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                found = walks.leaves(b.add(first_tree, start), range(at_once), [row] * at_once)
                if width == 1:
                    weights = [walks.weight(leaf, 0) for leaf in found]
                    return [walks.combine(*pair) for pair in zip(carried, weights, strict=True)]
                for leaf in found:
                    update(row, leaf)
                return ()

            if width > 1:
                b.loop(0, trees, some, step=at_once)
                return
            sums = list(b.loop(0, trees, some, step=at_once, carried=[walks.neutral()] * at_once))
            while len(sums) > 1:
                sums = [walks.combine(*pair) for pair in zip(sums[::2], sums[1::2], strict=True)]
            b.store(sums[0], y, [group, row, 0])

        b.loop(first, last if width > 1 else whole, clear)
        b.loop(first_tree, b.add(first_tree, trees), tree)
        b.loop(whole, last, row_left)

    if groups * width and trees * rows != 0:
        k.items(groups * blocks, block)
