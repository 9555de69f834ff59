"""Running sums and products of a row by a block, or by several.

row = block / parts, part = block % parts
launch 1, of several parts:  sums[row, part] = total of the part's elements
launch 2:  before = total of sums[row, 0 .. part)
           for as many elements of the part as there are threads:
               scan of each warp by shuffles; totals of warps through shared memory
               result = before, with the warps before this one, with the own warp's elements up to this one
               before = before with all warps
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .....dialects.graph.ops.reduction import CumulativeOp
from .....dialects.graph.values import element_type_of_value
from .....passes.kernels.schedules.cuda.block_scan import BlockScan
from ....kernel_code.elements.reduction_rules import wide
from ....kernel_code.index_expr import Expr, Var
from ....kernel_code.loop_builder import Index
from ....kernel_code.reductions import Reduction
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP
from ...warp_reductions import over_block, over_lanes, up_to_lane
from .row_kernels import RowCode, RowPlan, plan_of
from .row_passes import box


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    plan, schedule = plan_of(k, most=1), k.schedule_as(BlockScan)
    if plan is None:
        return
    blocks = plan.form.rows * schedule.parts
    if schedule.parts > 1:
        k.launch(blocks, schedule.block, lambda grid: _Part(grid, plan, schedule).add_up(), part="sums")
    k.launch(blocks, schedule.block, lambda grid: _Part(grid, plan, schedule).write())


class _Part:
    """The code of a block, for its part of a row."""

    def __init__(self, grid: Grid, plan: RowPlan, schedule: BlockScan) -> None:
        root, b = plan.form.root, grid.b
        assert isinstance(root, CumulativeOp)
        self.grid, self.plan, self.b, self.root, self.parts = grid, plan, b, root, schedule.parts
        self.code, self.turns = RowCode.of(grid, plan), schedule.turns(plan.form)
        self.row, self.part = b.div(grid.number, self.parts), b.rem(grid.number, self.parts)
        self.outer = box(b, self.row, plan.rows)[0]
        self.total = Reduction(b, root.KIND, element_type_of_value(root.x))

    def add_up(self) -> None:
        """Stores what the part adds up to."""

        def turn(number: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [self.total.combine(carried[0], self._element(self._item(number)))]

        own = self.b.loop(0, self.turns, turn, carried=[self.total.start()])[0]
        found = over_block(self.b, self.total, own, self.grid.lane, self.grid.block)
        first = self.b.compare("eq", self.grid.lane, 0)
        self.b.when(first, lambda: self.b.store(found, self.grid.scratch_part("sums"), [self.grid.number]))

    def write(self) -> None:
        """Stores the results of the part."""
        start = self.total.start() if self.parts == 1 else self._before()
        self.b.loop(0, self.turns, self._turn, carried=[start])

    def _before(self) -> SSAValue:
        """What the parts before this one add up to."""
        b, sums = self.b, self.grid.scratch_part("sums")
        first = b.mul(self.row, self.parts)

        def step(part: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [self.total.combine(carried[0], b.load(sums, [b.add(first, part)]))]

        own = b.loop(self.grid.lane, self.part, step, step=self.grid.block, carried=[self.total.start()])[0]
        return over_block(b, self.total, own, self.grid.lane, self.grid.block)

    def _turn(self, number: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The results of one element for each thread; what they add up to with all before them."""
        b, total, lane, warps = self.b, self.total, self.grid.lane, self.grid.block // WARP
        item, of_warps = self._item(number), b.shared(self.total.element, [warps], "of_warps", over=True)
        own, shifted = up_to_lane(b, total, self._element(item), b.rem(lane, WARP))
        b.barrier()  # the totals of the turn before were read
        b.when(b.compare("eq", b.rem(lane, WARP), WARP - 1), lambda: b.store(own, of_warps, [b.div(lane, WARP)]))
        b.barrier()
        warp = b.rem(lane, warps)
        found = b.load(of_warps, [warp])
        earlier = b.select(b.compare("ult", warp, b.div(lane, WARP)), found, total.start())
        before = total.combine(carried[0], over_lanes(b, total, earlier, warps))
        result = total.combine(before, shifted if self.root.exclusive is not None else own)
        b.when(b.compare("ult", item, self.plan.form.length), lambda: self._store(item, result))
        return [total.combine(carried[0], over_lanes(b, total, found, warps))]

    def _item(self, number: Index) -> Index:
        """The thread's element in a turn, in the order of the scan: as far as the row goes."""
        b = self.b
        turn = b.add(b.mul(self.part, self.turns), number)
        return b.add(b.mul(turn, self.grid.block), self.grid.lane)

    def _position(self, item: Index) -> Expr:
        last = self.plan.form.length - 1
        at = Expr.of(Var(item, 0, last))
        return at * -1 + last if self.root.reverse is not None else at

    def _element(self, item: Index) -> SSAValue:
        """The element of an item; behind the row's end what changes nothing."""

        def read() -> Sequence[SSAValue]:
            with self.code.values.scope():
                index = self.plan.elements.x_index(self.outer, self._position(item))
                return [wide(self.code.values, self.root.x, index)]

        inside = self.b.compare("ult", item, self.plan.form.length)
        return self.b.when(inside, read, lambda: [self.total.start()])[0]

    def _store(self, item: Index, result: SSAValue) -> None:
        with self.code.values.scope():
            self.plan.elements.emit(self.code.canvas, self.outer, self._position(item), result)
