"""Transpositions that change the innermost axis, by square tiles in shared memory.

    for each row of threads:   square[column][row] = element of x, threads along x's innermost axis
    barrier
    for each row of threads:   result = epilogue(square[row][column]), threads along the result's innermost axis

Lines of the square are padded by one element, which avoids bank conflicts between a column's elements.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.ir import SSAValue

from .....dialects.graph.values import element_type_of_value, shape_of
from .....passes.kernels.forms.transposition import Transposition, transposition
from .....passes.kernels.schedules.cuda.transpose_tiles import TransposeTiles
from ....kernel_code.arithmetic import signless
from ....kernel_code.elements.element_values import Values, aligned
from ....kernel_code.index_expr import Expr, Var, delinearize, linear
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    form, schedule = transposition(k.kernel), k.schedule_as(TransposeTiles)
    assert form is not None
    k.launch(schedule.squares(form), schedule.tile * schedule.rows, lambda grid: _Square(grid, form, schedule).write())


class _Square:
    """The code of a block, which transposes one square."""

    def __init__(self, grid: Grid, form: Transposition, schedule: TransposeTiles) -> None:
        self.grid, self.b, self.form, self.schedule = grid, grid.b, form, schedule
        self.v = Values(grid.b, grid.kernel, grid.operands)
        self.results = [self.v.line(buffer) for buffer in grid.results]
        sizes, row = form.sizes, form.row
        self.rows, self.columns = sizes[row], sizes[-1]
        self.outer = [size for number, size in enumerate(sizes[:-1]) if number != row]

    def write(self) -> None:
        """Builds the thread's code."""
        b, tile, root = self.b, self.schedule.tile, self.form.root
        down, across = -(-self.rows // tile), -(-self.columns // tile)
        face, top, left = b.delinearize(self.grid.number, [prod(self.outer), down, across])
        outer = b.delinearize(face, self.outer)
        top, left = b.named(b.mul(top, tile), "top"), b.named(b.mul(left, tile), "left")
        x, y = b.named(b.rem(self.grid.lane, tile), "x"), b.named(b.div(self.grid.lane, tile), "y")
        element = signless(element_type_of_value(root.x))
        square = b.shared(element, [tile, tile + 1], "square")

        def read(line: Index) -> None:
            index = self._index(outer, b.add(top, x), b.add(left, line))
            own = [Expr()] * len(index)
            for i, axis in zip(index, root.permutation.get_values(), strict=True):
                own[axis] = i
            b.store(self.v.at(root.x, own), square, [line, x])

        def store(line: Index) -> None:
            index = aligned(self._index(outer, b.add(top, line), b.add(left, x)), shape_of(root.result))
            self.v.seed(root.result, index, b.load(square, [x, line]))
            computed = [self.v.at(result, index) for result in self.grid.yielded]
            for value, buffer in zip(computed, self.results, strict=True):
                self.v.store(value, buffer, linear(index, buffer.strides))

        self._lines(y, lambda line: (b.add(top, x), b.add(left, line)), read)
        b.barrier()
        self._lines(y, lambda line: (b.add(top, line), b.add(left, x)), store)

    def _lines(self, y: Index, place: Callable[[Index], tuple[Index, Index]], write: Callable[[Index], None]) -> None:
        """Calls write(line) for every line of this thread whose element lies in the transposed plane."""
        b, step = self.b, self.schedule.rows

        def one(i: Index) -> None:
            line = b.add(b.mul(i, step), y)
            conditions: list[SSAValue] = []
            for at, size in zip(place(line), (self.rows, self.columns), strict=True):
                if size % self.schedule.tile != 0:
                    conditions.append(b.compare("ult", at, size))

            def run() -> None:
                with self.v.scope():
                    write(line)

            if not conditions:
                run()
            else:
                b.when(conditions[0] if len(conditions) == 1 else b.conjunction(*conditions), run)

        b.unrolled(self.schedule.tile // step, one)

    def _index(self, outer: list[Index], row: Index, column: Index) -> list[Expr]:
        """The index of the result at a row and column of the transposed plane."""
        form, shape = self.form, shape_of(self.form.root.result)
        rest = iter(outer)
        places = [row if number == form.row else next(rest) for number in range(len(form.groups) - 1)]
        index = [Expr()] * len(shape)
        for group, place, size in zip(form.groups, (*places, column), form.sizes, strict=True):
            flat = Expr.of(place) if isinstance(place, int) else Expr.of(Var(place, 0, size - 1))
            for axis, i in zip(group, delinearize(flat, [shape[axis] for axis in group]), strict=True):
                index[axis] = i
        return index
