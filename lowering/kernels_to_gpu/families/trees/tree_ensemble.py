"""Tree ensembles: each thread takes one row through one group of trees."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .....dialects.graph.ops.tree_ensemble import TreeEnsembleOp
from .....dialects.graph.values import shape_of
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cuda.tree_ensemble import TreeEnsemble
from ....kernel_code.loop_builder import Index
from ....kernel_code.tree_walk import TreeWalks
from ...gpu_kernel import GpuKernel, Grid


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    op, block = the_root(k.kernel, TreeEnsembleOp), k.schedule_as(TreeEnsemble).block
    (groups, rows, width), (_, padded) = shape_of(op.result), op.groups

    def write(grid: Grid) -> None:
        b, walks, y = grid.b, TreeWalks(grid, op), grid.results[0]

        def one(item: Index) -> None:
            group, row = b.delinearize(item, [groups, rows])
            first = b.mul(group, padded)
            b.loop(0, width, lambda place, _: b.store(walks.neutral(), y, [group, row, place]))

            def tree(number: Index, _: Sequence[SSAValue]) -> None:
                (leaf,) = walks.leaves(number, [0], [row])

                def update(place: Index, _: Sequence[SSAValue]) -> None:
                    at = [group, row, place]
                    b.store(walks.combine(b.load(y, at), walks.weight(leaf, place)), y, at)

                b.loop(0, width, update)

            b.loop(first, b.add(first, op.trees.value.data), tree)

        grid.items(groups * rows, one)

    if groups * width and rows != 0:
        k.launch(-(-groups * rows // block), block, write)
