"""Flash attention on tensor cores: each warp processes 16 queries, with scores and results in registers.

    fragments of the warp's queries, scaled
    for each tile of keys, this warp's part of it:
        scores[16, keys] = q k^T                     a row lies across four lanes
        peak' = max(peak, scores); weights = exp(scores - peak')
        results, total = results, total * exp(peak - peak') + weights (v, 1)
    results / total; warps that share queries first add up their results in shared memory

The accumulators of the first product serve as the left-hand fragments of the second without data movement: a column of
weights may stand for any key, as long as the row of values belongs to the same key. Weights are rounded like all
multiplied numbers; their total is that of the unrounded ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import SSAValue

from .....dialects.graph.ops.attention import AttentionOp
from .....passes.kernels.forms.attention import attention_sizes
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cuda.attention.flash import STAGES, whole
from .....passes.kernels.schedules.cuda.attention.flash_tensor import (
    WARP_COLUMNS,
    WARP_ROWS,
    FlashTensor,
    key_row,
    value_row,
)
from ....kernel_code.loop_builder import Index
from ...fragments import TensorUnits
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP
from .block import AttentionBlock

SHARING = 4  # lanes across which a row lies
SUMS = VectorType(f32, [4])  # of a 16 x 8 product: rows g and g + 8, columns 2 t and 2 t + 1 of each


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    root = the_root(k.kernel, AttentionOp)
    options, sizes = k.schedule_as(FlashTensor), attention_sizes(root)
    if sizes.batch * sizes.heads * sizes.queries * sizes.width:
        k.launch(options.blocks(sizes), options.threads, lambda grid: _FlashTensorBlock(k, grid, root).write())


class _FlashTensorBlock(AttentionBlock):
    """The code of a warp; `g` and `t` are this lane's coordinates in fragments."""

    def __init__(self, k: GpuKernel, grid: Grid, root: AttentionOp) -> None:
        self.options = o = k.schedule_as(FlashTensor)
        precision = k.target.precision.data
        super().__init__(k, grid, root, o.tile_rows, o.tile_keys, rounded=precision != "3xtf32")
        b, s = self.b, self.sizes
        self.units = TensorUnits(b, precision)
        warp, lane = b.div(grid.lane, WARP), b.rem(grid.lane, WARP)
        self.key_warp, row_warp = b.delinearize(warp, [o.key_warps, o.row_warps])
        self.g, self.t = b.div(lane, SHARING), b.rem(lane, SHARING)
        self.warp_row = b.mul(row_warp, WARP_ROWS)
        for value, name in ((warp, "warp"), (lane, "lane"), (self.g, "row"), (self.t, "column")):
            b.index(value).name_hint = name
        self.depth, self.width = whole(s.depth, self.units.step), whole(s.width, WARP_COLUMNS)
        self.columns = self.width // WARP_COLUMNS
        self._arrays()

    def _arrays(self) -> None:
        b, o, s, precision = self.b, self.options, self.sizes, self.units.precision
        row = key_row(s.depth, precision)
        self.queries = b.shared(f32, [o.tile_rows, row], "queries")
        self.keys = b.shared(f32, [STAGES * o.tile_keys, row], "keys")
        self.values = b.shared(f32, [STAGES * o.tile_keys, value_row(s.width)], "values")
        self.near = b.private(self.units.left, [self.depth // self.units.step], "own_queries")
        self.scores = b.private(SUMS, [o.keys], "scores")
        self.results = b.private(SUMS, [self.columns], "results")
        self.peaks, self.totals = (b.private(f32, [2], name) for name in ("peaks", "totals"))

    def write(self) -> None:
        b, m = self.b, self.m
        self.load_queries(self.queries, self.depth)
        b.barrier()
        b.unrolled(self.depth // self.units.step, self._take_queries)
        zeros = b.constant(0.0, SUMS)
        b.unrolled(self.columns, lambda n: b.store(zeros, self.results, [n]))
        for row in range(2):
            b.store(m.constant(-inf), self.peaks, [row])
            b.store(m.constant(0.0), self.totals, [row])
        self.walk((self.keys, self.depth), (self.values, self.width), self._tile)
        for row in range(2):
            total = self.over_lanes(b.load(self.totals, [row]), SHARING, m.add)
            b.store(total, self.totals, [row])
        if self.options.key_warps > 1:
            self._add_up()
        else:
            for row in range(2):
                self._store_row(row)

    def _take_queries(self, step: Index) -> None:
        """This lane's elements of the warp's queries, for one step of the depth."""
        b = self.b

        def number(row: int, column: int) -> SSAValue:
            at = [b.add(b.add(self.warp_row, self.g), row), b.add(b.mul(step, self.units.step), self._along(column))]
            return b.load(self.queries, at)

        b.store(self.units.fragment([number(*at) for at in self.units.left_places]), self.near, [step])

    def _along(self, column: int) -> Index:
        """The column (or row) for lane t, given that for lane 0."""
        return self.b.add(self.b.mul(self.t, 2 if self.units.is_short else 1), column)

    # a tile of keys

    def _tile(self, key: Index, slot: Index) -> None:
        b, o = self.b, self.options
        share = b.mul(self.key_warp, o.keys * WARP_COLUMNS)
        key, slot = b.add(key, share), b.add(slot, share)
        self._products(slot)
        factors = [self._softmax(row, key) for row in range(2)]
        self._correct(factors)
        self._sum_values(slot)

    def _products(self, slot: Index) -> None:
        """scores = q k^T"""
        b, units = self.b, self.units
        zeros = b.constant(0.0, SUMS)
        b.unrolled(self.options.keys, lambda j: b.store(zeros, self.scores, [j]))

        def step(d: Index) -> None:
            queries = b.load(self.near, [d])

            def some_keys(j: Index) -> None:
                row = b.add(b.add(slot, self.g), b.mul(j, WARP_COLUMNS))
                places = [b.add(b.mul(d, units.step), self._along(at)) for at in units.right_rows]
                keys = units.fragment([b.load(self.keys, [row, place]) for place in places])
                b.store(units.multiply(queries, keys, b.load(self.scores, [j])), self.scores, [j])

            b.unrolled(self.options.keys, some_keys)

        b.unrolled(self.depth // units.step, step)

    def _softmax(self, half: int, first: Index) -> SSAValue:
        """Converts the scores of row g + 8 * half to weights; returns the factor for results and total so far."""
        b, m = self.b, self.m
        row = self.row(b.add(b.add(self.warp_row, self.g), 8 * half))
        mask = self.mask_of(row)

        def largest(j: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            scores, peak = b.load(self.scores, [j]), carried[0]
            for e in (2 * half, 2 * half + 1):
                score = b.extract(scores, e)
                if self.is_masked:
                    key = b.add(b.add(first, b.mul(j, WARP_COLUMNS)), b.add(b.mul(self.t, 2), e % 2))
                    score = self.masked(score, row, mask, key)
                    scores = b.inserted(score, scores, e)
                peak = m.max(score, peak)
            if self.is_masked:
                b.store(scores, self.scores, [j])
            return [peak]

        (peak,) = b.folded(self.options.keys, [b.load(self.peaks, [half])], largest)
        peak = self.over_lanes(peak, SHARING, m.max)
        shift = self.shift(peak)
        factor = self.power(m.sub(b.load(self.peaks, [half]), shift))
        b.store(peak, self.peaks, [half])

        def weight(j: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            scores, total = b.load(self.scores, [j]), carried[0]
            for e in (2 * half, 2 * half + 1):
                value = self.power(m.sub(b.extract(scores, e), shift))
                scores, total = b.inserted(value, scores, e), m.add(total, value)
            b.store(scores, self.scores, [j])
            return [total]

        (total,) = b.folded(self.options.keys, [m.mul(b.load(self.totals, [half]), factor)], weight)
        b.store(total, self.totals, [half])
        return factor

    def _correct(self, factors: Sequence[SSAValue]) -> None:
        """Multiplies the results of either row by its factor."""
        b, m = self.b, self.m

        def column(n: Index) -> None:
            results = b.load(self.results, [n])
            for e in range(4):
                results = b.inserted(m.mul(b.extract(results, e), factors[e // 2]), results, e)
            b.store(results, self.results, [n])

        b.unrolled(self.columns, column)

    def _sum_values(self, slot: Index) -> None:
        """results += weights v"""
        b, units = self.b, self.units
        tiles = units.step // WARP_COLUMNS  # number of score columns in one left-hand fragment

        def some_keys(j: Index) -> None:
            scores = [b.load(self.scores, [b.add(b.mul(j, tiles), i)]) for i in range(tiles)]
            order = (0, 1, 2, 3) if units.is_short else (0, 2, 1, 3)
            weights = units.fragment([b.extract(each, e) for each in scores for e in order])
            first = b.add(b.add(slot, b.mul(j, units.step)), b.mul(self.t, 2))
            rows = [b.add(first, at) for at in (units.right_rows if units.is_short else (0, 1))]

            def column(n: Index) -> None:
                at = b.add(b.mul(n, WARP_COLUMNS), self.g)
                values = units.fragment([b.load(self.values, [row, at]) for row in rows])
                b.store(units.multiply(weights, values, b.load(self.results, [n])), self.results, [n])

            b.unrolled(self.columns, column)

        b.unrolled(self.options.keys // tiles, some_keys)

    # what comes out

    def _store_row(self, half: int) -> None:
        """Stores the result of row g + 8 * half."""
        b, m, s = self.b, self.m, self.sizes
        number = b.add(b.add(self.warp_row, self.g), 8 * half)
        row = self.row(number)
        factor = m.div(m.constant(1.0), self.divisor(b.load(self.totals, [half]), b.load(self.peaks, [half])))

        def store() -> None:
            place = b.linear(row.place, self.out.strides[:3], self.out.offset)
            target = b.view(self.out.buffer, place, [s.width], self.out.strides[3:])

            def column(n: Index, e: int, at: Index) -> None:
                b.store(m.mul(b.extract(b.load(self.results, [n]), 2 * half + e), factor), target, [at])

            self._each_column(column)

        self.where_row_exists(number, store)

    def _each_column(self, body: Callable[[Index, int, Index], None]) -> None:
        """Calls `body(n, e, column)` for this lane's columns: element e of fragment n."""
        b, s = self.b, self.sizes

        def some(n: Index) -> None:
            for e in range(2):
                at = b.add(b.add(b.mul(n, WARP_COLUMNS), b.mul(self.t, 2)), e)
                if self.width == s.width:
                    body(n, e, at)
                else:
                    b.when(b.compare("slt", at, s.width), lambda e=e, at=at: body(n, e, at))

        b.unrolled(self.columns, some)

    def _add_up(self) -> None:
        """Combines the results of warps that share queries, weighted by their peaks."""
        b, m, o, s = self.b, self.m, self.options, self.sizes
        rows = o.key_warps * o.tile_rows
        parts = b.shared(f32, [rows, value_row(s.width)], "parts")
        peaks, totals = (b.shared(f32, [rows], name) for name in ("part_peaks", "part_totals"))
        for half in range(2):
            number = b.add(b.add(self.warp_row, self.g), 8 * half)
            at = b.add(b.mul(self.key_warp, o.tile_rows), number)

            def column(n: Index, e: int, to: Index, half: int = half, at: Index = at) -> None:
                b.store(b.extract(b.load(self.results, [n]), 2 * half + e), parts, [at, to])

            self._each_column(column)

            def sums(half: int = half, at: Index = at) -> None:
                b.store(b.load(self.peaks, [half]), peaks, [at])
                b.store(b.load(self.totals, [half]), totals, [at])

            b.when(b.compare("eq", self.t, 0), sums)
        b.barrier()

        def element(item: Index, _: Sequence[SSAValue]) -> None:
            number, column = b.delinearize(item, [o.tile_rows, s.width])

            def at(warp: Index) -> Index:
                return b.add(b.mul(warp, o.tile_rows), number)

            (peak,) = b.folded(
                o.key_warps, [m.constant(-inf)], lambda w, carried: [m.max(b.load(peaks, [at(w)]), carried[0])]
            )
            shift = self.shift(peak)

            def add(warp: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                factor = self.power(m.sub(b.load(peaks, [at(warp)]), shift))
                result = m.add(m.mul(b.load(parts, [at(warp), column]), factor), carried[0])
                return [result, m.add(m.mul(b.load(totals, [at(warp)]), factor), carried[1])]

            result, total = b.folded(o.key_warps, [m.constant(0.0)] * 2, add)
            row = self.row(number)
            place = b.linear([*row.place, column], self.out.strides, self.out.offset)
            value = m.div(result, self.divisor(total, peak))
            self.where_row_exists(number, lambda: b.store(value, b.place(self.out.buffer, place), []))

        b.loop(self.grid.lane, o.tile_rows * s.width, element, step=self.grid.block)
