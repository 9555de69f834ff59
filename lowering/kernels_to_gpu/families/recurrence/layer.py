"""Layer: the sizes and buffers of a recurrent layer, and the launch that multiplies the inputs of all steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.ir import SSAValue

from .....dialects.graph.ops.recurrence import RecurrenceOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.sizes.sizes import larger
from .....passes.kernels.forms.recurrence import between_phases, states_of
from .....passes.kernels.kernel_facts import argument_index, item_bytes, the_root
from .....passes.kernels.schedules.cuda.recurrence.steps import BLOCK, blocks_of
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid, LaunchWindow
from ...thread_builder import ACCESS
from .sums import Share, own_row, sums_of

Begin = Callable[[Grid], None]


class Layer:
    """A recurrent layer being lowered for a GPU."""

    def __init__(self, k: GpuKernel) -> None:
        self.k, self.root = k, the_root(k.kernel, RecurrenceOp)
        self.steps, self.directions, self.batch, self.hidden = shape_of(self.root.y)
        self.inputs = shape_of(self.root.x)[2]
        self.width = self.root.GATES * self.hidden
        self.element = element_type_of_value(self.root.y)
        self.states, self.between = states_of(self.root), between_phases(self.root)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compute."""
        return self.directions * self.batch * self.hidden == 0

    def result(self, value: SSAValue) -> int | None:
        """The number of the kernel's result for one of the recurrence's; None if it is unused."""
        yielded = list(self.k.kernel.terminator.operands)
        return yielded.index(value) if value in yielded else None

    def last_state(self, name: str) -> int | None:
        """The number of the kernel's result for the final state `name`; None if it is unused."""
        return self.result(self.root.results[1 + self.states.index(name)])

    def is_backwards(self, direction: int) -> bool:
        """Whether a direction starts at the last position of the sequence."""
        return direction == 1 or self.root.direction.data == "reverse"

    def time(self, grid: Grid, step: Index, direction: Index) -> Index:
        """The position in the sequence of a direction's step; also the step of a position."""
        b = grid.b
        if self.directions == 1:
            return b.sub(self.steps - 1, step) if self.is_backwards(0) else step
        return b.select(b.compare("eq", direction, 1), b.index(b.sub(self.steps - 1, step)), b.index(step))

    def vector(self, depth: int, *buffers: int | None) -> int:
        """Number of elements in one load along the depth."""
        lanes = ACCESS // item_bytes(self.root.y)
        aligned = all(each is None or self.k.aligned[each] == ACCESS for each in buffers)
        return lanes if depth % lanes == 0 and aligned else 1

    def operand(self, value: SSAValue) -> int:
        """The number of an operand's buffer."""
        return self.k.operands[argument_index(self.k.kernel, value)]

    def buffer(self, grid: Grid, value: SSAValue | None) -> SSAValue | None:
        """An operand's buffer in a launch."""
        return None if value is None else grid.buffer_of(value)

    def matrix(self, grid: Grid, value: SSAValue, direction: Index, depth: int) -> SSAValue:
        """A direction's weights, [gates * hidden, depth]."""
        weights = grid.buffer_of(value)
        assert weights is not None
        return grid.b.view(weights, grid.b.mul(direction, self.width * depth), [self.width, depth], [depth, 1])

    def kept(self, grid: Grid, step: Index, direction: Index, row: Index) -> SSAValue | None:
        """Whether a step lies within a batch element's sequence; None without sequence lengths."""
        mask = self.buffer(grid, self.root.mask)
        return None if mask is None else grid.b.load(mask, [self.time(grid, step, direction), row])

    def store_y(self, grid: Grid, step: Index, place: Sequence[Index], value: SSAValue) -> None:
        """Stores h of a step as y, at (direction, batch element, unit), if it is used."""
        result = self.result(self.root.y)
        if result is not None:
            grid.b.store(value, grid.results[result], [self.time(grid, step, place[0]), *place])

    # the input's share

    def launch_inputs(
        self, lanes: int, rows: int, begin: Begin | None = None, windows: Sequence[LaunchWindow] = ()
    ) -> None:
        """The launch of from_input[step, direction, batch] = x w^T + bias of w, in order of each direction's steps.

        `begin` adds further code to the launch.
        """
        count = larger(1, self.steps * self.batch)
        blocks = self.directions * blocks_of(self.hidden, lanes, count, rows)
        write = partial(self._inputs, lanes=lanes, rows=rows, begin=begin)
        self.k.launch(blocks, BLOCK, write, part="inputs", windows=windows)

    def _inputs(self, grid: Grid, *, lanes: int, rows: int, begin: Begin | None) -> None:
        b, root, count = grid.b, self.root, self.steps * self.batch
        if begin is not None:
            begin(grid)
        if count == 0:
            return
        share = Share.of_grid(grid, self.directions, self.hidden, lanes, rows)
        x = grid.buffer_of(root.x)
        assert x is not None
        of_rows = b.view(x, 0, [count, self.inputs], [self.inputs, 1])

        def row_of(i: Index) -> tuple[SSAValue, Sequence[Index]]:
            return of_rows, [b.min(b.add(share.first, i), count - 1)]

        weights = self.matrix(grid, root.weight, share.direction, self.inputs)
        vector = self.vector(self.inputs, self.operand(root.x), self.operand(root.weight))
        sums = sums_of(b, share, range(root.GATES), weights, row_of, vector)
        m, bias, target = Arithmetic(b, self.element), self.buffer(grid, root.bias), grid.scratch_part("from_input")

        def store(row: Index) -> None:
            time, element = b.delinearize(row, [self.steps, self.batch])
            step = self.time(grid, time, share.direction)
            for gate, total in enumerate(sums):
                column = b.add(gate * self.hidden, share.unit)
                value = total if bias is None else m.add(total, b.load(bias, [share.direction, column]))
                b.store(value, target, [step, share.direction, element, column])

        own_row(b, share, count, store)
