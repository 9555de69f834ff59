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

from collections.abc import Sequence
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
    columns_together,
    key_row,
    value_row,
)
from ....kernel_code.arithmetic import convert
from ....kernel_code.loop_builder import Index, memref_type, vector_of
from ...fragments import TensorUnits
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP
from .block import AttentionBlock
from .shared_rows import is_aligned

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
        top = b.add(b.mul(row_warp, WARP_ROWS), self.g)
        self.numbers = [b.add(top, 8 * half) for half in range(2)]
        for value, name in ((warp, "warp"), (lane, "lane"), (self.g, "row"), (self.t, "column")):
            b.index(value).name_hint = name
        self.depth, self.width = whole(s.depth, self.units.step), whole(s.width, WARP_COLUMNS)
        self.columns = self.width // WARP_COLUMNS
        self.together = columns_together(s.width)
        self._arrays()

    def _arrays(self) -> None:
        b, o, s, precision = self.b, self.options, self.sizes, self.units.precision
        self.keys = b.shared(f32, [STAGES * o.tile_keys, key_row(s.depth, precision)], "keys")
        self.values = b.shared(f32, [STAGES * o.tile_keys, value_row(s.width)], "values")
        steps, parts = self.depth // self.units.step, 2 if precision == "3xtf32" else 1
        self.near = b.private(self.units.left, [steps, parts], "own_queries")
        self.scores = b.private(SUMS, [o.keys], "scores")
        self.results = b.private(SUMS, [self.columns], "results")
        self.peaks, self.totals = (b.private(f32, [2], name) for name in ("peaks", "totals"))

    def write(self) -> None:
        b, m = self.b, self.m
        self.walk((self.keys, self.depth), (self.values, self.width), self._tile, self._begin)
        for row in range(2):
            total = self.over_lanes(b.load(self.totals, [row]), SHARING, m.add)
            b.store(total, self.totals, [row])
        if self.options.key_warps > 1:
            self._add_up()
        else:
            for row in range(2):
                self._store_row(row)

    def _begin(self) -> None:
        b, m = self.b, self.m
        self.query_fragments(self.units, self.numbers, self.t, self.near)
        zeros = b.constant(0.0, SUMS)
        b.unrolled(self.columns, lambda n: b.store(zeros, self.results, [n]))
        for row in range(2):
            b.store(m.constant(-inf), self.peaks, [row])
            b.store(m.constant(0.0), self.totals, [row])

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

        parts = range(memref_type(self.near).get_shape()[1])

        def step(d: Index) -> None:
            queries = [b.load(self.near, [d, part]) for part in parts]
            place = b.add(b.mul(d, units.step), b.mul(self.t, units.along))

            def some_keys(j: Index) -> None:
                row = b.add(b.add(slot, self.g), b.mul(j, WARP_COLUMNS))
                line = b.vload(self.keys, [row, place], units.along)
                keys = units.fragment([b.extract(line, i) for i in range(units.along)])
                b.store(units.multiply(queries, units.parts(keys), b.load(self.scores, [j])), self.scores, [j])

            b.unrolled(self.options.keys, some_keys)

        b.unrolled(self.depth // units.step, step)

    def _softmax(self, half: int, first: Index) -> SSAValue:
        """Converts the scores of row g + 8 * half to weights; returns the factor for results and total so far."""
        b, m = self.b, self.m
        row = self.row(self.numbers[half])
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
            weights = units.parts(units.fragment([b.extract(each, e) for each in scores for e in order]))
            first = b.add(b.add(slot, b.mul(j, units.step)), b.mul(self.t, 2))
            rows = [b.add(first, at) for at in (units.right_rows if units.is_short else (0, 1))]

            def columns(m: Index) -> None:
                at = b.add(b.mul(m, self.together * WARP_COLUMNS), b.mul(self.g, self.together))
                lines = [b.vload(self.values, [row, at], self.together) for row in rows]
                for i in range(self.together):
                    n = b.add(b.mul(m, self.together), i)
                    values = units.parts(units.fragment([b.extract(line, i) for line in lines]))
                    b.store(units.multiply(weights, values, b.load(self.results, [n])), self.results, [n])

            b.unrolled(self.columns // self.together, columns)

        b.unrolled(self.options.keys // tiles, some_keys)

    # what comes out

    def _store_row(self, half: int) -> None:
        """Stores the result of row g + 8 * half."""
        b, m, s = self.b, self.m, self.sizes
        number = self.numbers[half]
        row = self.row(number)
        factor = m.div(m.constant(1.0), self.divisor(b.load(self.totals, [half]), b.load(self.peaks, [half])))

        def store() -> None:
            place = b.linear(row.place, self.out.strides[:3], self.out.offset)
            target = b.view(self.out.buffer, place, [s.width], self.out.strides[3:])
            self._store_columns(half, target, [], factor, is_aligned(self.k, self.grid, self.out, self.lanes))

        self.where_row_exists(number, store)

    def _store_columns(
        self, half: int, target: SSAValue, at: Sequence[Index], factor: SSAValue | None, aligned: bool
    ) -> None:
        """Stores this lane's columns of row g + 8 * half, times a factor, at [*at, column].

        They are 2 * together neighbours in each 8 * together.
        """
        b, m, s, together = self.b, self.m, self.sizes, self.together
        lanes = min(2 * together, 4) if aligned and self.width == s.width else 1

        def value(piece: Index, number: int) -> SSAValue:
            e, i = divmod(number, together)
            result = b.extract(b.load(self.results, [b.add(b.mul(piece, together), i)]), 2 * half + e)
            return result if factor is None else m.mul(result, factor)

        def some(piece: Index) -> None:
            first = b.mul(b.add(b.mul(piece, WARP_COLUMNS // 2), self.t), 2 * together)
            for start in range(0, 2 * together, lanes):
                column = b.add(first, start)
                exists = None if self.width == s.width else b.compare("slt", column, s.width)
                b.where(exists, lambda start=start, column=column: store(piece, start, column))

        def store(piece: Index, start: int, column: Index) -> None:
            values = [value(piece, start + lane) for lane in range(lanes)]
            stored = memref_type(target).element_type
            if lanes == 1:
                b.store(convert(b, values[0], f32, stored), target, [*at, column])
                return
            vector = b.constant(0.0, vector_of(f32, lanes))
            for lane, each in enumerate(values):
                vector = b.inserted(each, vector, lane)
            b.vstore(convert(b, vector, f32, stored), target, [*at, column])

        b.unrolled(self.columns // together, some)

    def _add_up(self) -> None:
        """Combines the results of warps that share queries, weighted by their peaks."""
        b, m, o, s = self.b, self.m, self.options, self.sizes
        rows = o.key_warps * o.tile_rows
        parts = b.shared(f32, [rows, value_row(s.width)], "parts")
        peaks, totals = (b.shared(f32, [rows], name) for name in ("part_peaks", "part_totals"))
        for half in range(2):
            at = b.add(b.mul(self.key_warp, o.tile_rows), self.numbers[half])
            self._store_columns(half, parts, [at], None, True)

            def sums(half: int = half, at: Index = at) -> None:
                b.store(b.load(self.peaks, [half]), peaks, [at])
                b.store(b.load(self.totals, [half]), totals, [at])

            b.when(b.compare("eq", self.t, 0), sums)
        b.barrier()

        lanes = 4 if s.width % 4 == 0 and is_aligned(self.k, self.grid, self.out, self.lanes) else 1

        def some(item: Index, _: Sequence[SSAValue]) -> None:
            number, piece = b.delinearize(item, [o.tile_rows, s.width // lanes])
            column = b.mul(piece, lanes)

            def at(warp: Index) -> Index:
                return b.add(b.mul(warp, o.tile_rows), number)

            (peak,) = b.folded(
                o.key_warps, [m.constant(-inf)], lambda w, carried: [m.max(b.load(peaks, [at(w)]), carried[0])]
            )
            shift = self.shift(peak)

            def add(warp: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                factor = self.power(m.sub(b.load(peaks, [at(warp)]), shift))
                part = b.vload(parts, [at(warp), column], lanes)
                own = [*(b.extract(part, lane) for lane in range(lanes)), b.load(totals, [at(warp)])]
                return [m.add(m.mul(each, factor), sum) for each, sum in zip(own, carried, strict=True)]

            *results, total = b.folded(o.key_warps, [m.constant(0.0)] * (lanes + 1), add)
            divisor = self.divisor(total, peak)
            place = b.linear([*self.row(number).place, column], self.out.strides, self.out.offset)
            vector = b.constant(0.0, vector_of(f32, lanes))
            for lane, result in enumerate(results):
                vector = b.inserted(m.div(result, divisor), vector, lane)
            rounded = convert(b, vector, f32, self.stored)
            target = b.view(self.out.buffer, place, [lanes], [1])
            self.where_row_exists(number, lambda: b.vstore(rounded, target, [0]))

        b.loop(self.grid.lane, o.tile_rows * (s.width // lanes), some, step=self.grid.block)
