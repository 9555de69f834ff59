"""Depthwise convolution, channels-last: a thread computes a vector of channels of several pixels in a row.

    (image, y, tile of pixels, vector of channels) = thread of the grid
    for each row of the filter:
        load its taps, and the pixels under them: the padding where they lie outside of the image
        sums[pixel] += pixel under the tap * tap
    result[y][x] = epilogue(sums[x]), for each pixel of the tile

The filter is laid out tap by tap, so that its loads are vectors of channels like those of pixels.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....dialects.graph.ops.contraction import ConvOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.sizes.sizes import surely_below
from .....passes.kernels.forms.contraction import ContractionForm, conv_geometry
from .....passes.kernels.schedules.cuda.depthwise import Depthwise, code_for
from ....kernel_code.arithmetic import Arithmetic, convert, wide_float
from ....kernel_code.domain import Canvas, domain_for
from ....kernel_code.elements.element_values import aligned
from ....kernel_code.elements.reduction_rules import wide
from ....kernel_code.index_expr import Expr, Var, delinearize, linear
from ....kernel_code.lane_access import Vector
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...lanes import lanes_along, trial_of, values_of

_WRITTEN_OUT = 7  # rows of a filter that are unrolled; taller filters would make the code too large


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    found = code_for(k.kernel)
    assert found is not None
    form, root = found
    if form.unpack is None:
        raise CompileError(f"{describe(root)}: its weight is not packed; run pack-weights first")
    if 0 in shape_of(root.results[0]):
        return
    schedule, lanes = k.schedule_as(Depthwise), _lanes(k, form, root)
    g = conv_geometry(root)
    threads = schedule.tiles(g) * (g.channels // lanes)

    def write(grid: Grid) -> None:
        grid.items(threads, lambda item: _Tile(grid, form, root, schedule.pixels, lanes).write(item))

    k.launch(-(-threads // schedule.block), schedule.block, write)


def _lanes(k: GpuKernel, form: ContractionForm, root: ConvOp) -> int:
    """The number of channels per thread: the width of its loads and stores."""
    *pixels, channels = shape_of(root.results[0])

    def element(canvas: Canvas, index: list[Expr]) -> None:
        at = [*delinearize(index[0], pixels), index[1]]
        v = canvas.values
        for value, place in (form.rhs, _tap(form, Expr(), index[1])), (form.bias, index[1:]):
            if value is not None:
                v.at(value, place)
        _finish(canvas, root, at, v.at(root.x, at))

    trial = trial_of(k)
    domain = domain_for(trial, [pixels, [channels]], element, cuts=False)
    return lanes_along(k, trial, domain, element, len(domain.axes()) - 1) if channels > 1 else 1


def _tap(form: ContractionForm, tap: Expr, channel: Expr) -> list[Expr]:
    """The index of a channel's tap in the packed filter."""
    panel, place = channel.divide(shape_of(form.rhs)[-1])
    return [panel, tap, place]


def _finish(canvas: Canvas, root: ConvOp, at: Sequence[Expr], value: SSAValue) -> None:
    """Applies the epilogue to an element of the root and stores it."""
    v, at = canvas.values, aligned(at, shape_of(root.results[0]))
    v.seed(root.results[0], at, value)
    computed = [v.at(result, at) for result in v.kernel.terminator.operands]
    for each, buffer in zip(computed, canvas.results, strict=True):
        v.store(each, buffer, linear(at, buffer.strides))


class _Tile:
    """The code of one thread, for a tile of pixels."""

    def __init__(self, grid: Grid, form: ContractionForm, root: ConvOp, pixels: int, lanes: int) -> None:
        self.b, self.form, self.root, self.pixels, self.lanes = grid.b, form, root, pixels, lanes
        self.g = conv_geometry(root)
        self.v = values_of(grid)
        self.canvas = Canvas(self.v, [self.v.line(buffer) for buffer in grid.results])
        self.element = wide_float(element_type_of_value(root.results[0]))
        self.outside = self.b.constant(root.padding, self.element)

    def write(self, item: Index) -> None:
        """Builds the thread's code."""
        b, g, v = self.b, self.g, self.v
        tiles = -(-g.out_width // self.pixels)
        image, y, tile, block = b.delinearize(item, [g.batch, g.out_height, tiles, g.channels // self.lanes])
        y, x = b.named(y, "y"), b.named(b.mul(tile, self.pixels), "x")
        channel = Var(b.named(b.mul(block, self.lanes), "channel"), 0, g.channels - 1)
        with v.vectorised(Vector(channel, self.lanes, self.lanes) if self.lanes > 1 else None):
            sums = self._sums(image, y, x, Expr.of(channel))
            for pixel, total in enumerate(sums):
                self._store([image, y, b.add(x, pixel)], Expr.of(channel), total)

    def _sums(self, image: Index, y: Index, x: Index, channel: Expr) -> Sequence[SSAValue]:
        """The sums of all pixels, accumulated over the rows of the filter."""
        b, g, v = self.b, self.g, self.v
        top = b.sub(b.mul(y, g.stride[0]), g.pad[0])
        left = b.sub(b.mul(x, g.stride[1]), g.pad[1])
        columns = sorted(
            {pixel * g.stride[1] + tap * g.dilation[1] for pixel in range(self.pixels) for tap in range(g.kernel[1])}
        )
        tiles = -(-g.out_width // self.pixels)
        last = ((tiles * self.pixels) - 1) * g.stride[1] - g.pad[1] + (g.kernel[1] - 1) * g.dilation[1]
        whole_rows = g.pad[1] == 0 and surely_below(last, g.width)
        places = {column: b.add(left, column) for column in columns}
        inside = {} if whole_rows else {column: self._inside(place, g.width) for column, place in places.items()}
        lowest = (g.out_height - 1) * g.stride[0] - g.pad[0] + (g.kernel[0] - 1) * g.dilation[0]
        whole_columns = g.pad[0] == 0 and surely_below(lowest, g.height)
        start = v.spread(b.constant(0, self.element))
        if self.form.bias is not None:
            start = v.spread(wide(v, self.form.bias, [channel]))

        def filter_row(row: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            line = b.add(top, b.mul(row, g.dilation[0]))
            row_inside = None if whole_columns else self._inside(line, g.height)
            with v.scope():
                taps = [self._tap(row, tap, channel) for tap in range(g.kernel[1])]
                pixels = {
                    column: self._pixel([image, line, place], channel, row_inside, inside.get(column))
                    for column, place in places.items()
                }
                sums = list(carried)
                m = Arithmetic(b, sums[0].type)
                for tap, factor in enumerate(taps):
                    for pixel in range(self.pixels):
                        value = pixels[pixel * g.stride[1] + tap * g.dilation[1]]
                        sums[pixel] = m.add(sums[pixel], m.mul(value, factor))
                return sums

        sums = [start] * self.pixels
        if g.kernel[0] <= _WRITTEN_OUT:
            return b.folded(g.kernel[0], sums, filter_row)
        return b.loop(0, g.kernel[0], filter_row, carried=sums)

    def _tap(self, row: Index, tap: int, channel: Expr) -> SSAValue:
        g = self.g
        first = Expr.of(row) if isinstance(row, int) else Expr.of(Var(row, 0, g.kernel[0] - 1))
        return self.v.spread(
            wide(self.v, self.form.rhs, _tap(self.form, first * g.kernel[1] + tap, channel), self.element)
        )

    def _inside(self, place: Index, size: int) -> SSAValue:
        """Whether 0 <= place < size, by one unsigned comparison."""
        return self.b.compare("ult", place, size)

    def _pixel(
        self, at: Sequence[Index], channel: Expr, row_inside: SSAValue | None, column_inside: SSAValue | None
    ) -> SSAValue:
        """A pixel's channels; the padding outside of the image."""
        b, v = self.b, self.v
        conditions = [each for each in (row_inside, column_inside) if each is not None]

        def read() -> SSAValue:
            index = self._index(at, (self.g.height, self.g.width), channel, self.root.x)
            return v.spread(wide(v, self.root.x, index, self.element))

        if not conditions:
            return read()
        together = conditions[0] if len(conditions) == 1 else b.conjunction(*conditions)
        return v.choose(together, read, lambda: self.outside)

    def _index(self, at: Sequence[Index], sizes: tuple[int, int], channel: Expr, image_of: SSAValue) -> list[Expr]:
        """The index in x or the result of an element at (image, row, column), which must be in range."""
        bounds = (self.g.batch, *sizes)
        image, row, column = (
            Expr.of(i) if isinstance(i, int) else Expr.of(Var(i, 0, size - 1))
            for i, size in zip(at, bounds, strict=True)
        )
        shape = shape_of(image_of)
        return aligned([image, *([row] if len(shape) == 4 else []), column, channel], shape)

    def _store(self, at: Sequence[Index], channel: Expr, total: SSAValue) -> None:
        """Applies the epilogue to a pixel's sums and stores it, if the pixel exists."""
        b, v, g = self.b, self.v, self.g

        def store() -> None:
            with v.scope():
                value = convert(b, total, self.element, element_type_of_value(self.root.results[0]))
                result = self.root.results[0]
                index = self._index(at, (g.out_height, g.out_width), channel, result)
                _finish(self.canvas, self.root, index, value)

        if g.out_width % self.pixels == 0:
            store()
        else:
            b.when(b.compare("ult", at[2], g.out_width), store)
