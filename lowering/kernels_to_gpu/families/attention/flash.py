"""Flash attention: a block processes some queries, tile by tile of keys, with scores in registers only.

    queries of the block, scaled, into shared memory
    for each tile of keys (causal: up to the last query's):
        start copying the next tile; wait for this one
        scores[rows, keys] = q k^T                  in registers; a row of scores lies across 16 lanes
        peak' = max(peak, scores); weights = exp(scores - peak')      weights into shared memory
        results, total = results, total * exp(peak - peak') + weights (v, 1)
    result = results / total

Query heads that share a key head are rows of the same block. Where several blocks share the keys of a row, each leaves
its results, peak and total in scratch, and a second launch combines them. Sums have the element type. Keys after the
last query of a causal block are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from .....dialects.graph.ops.attention import AttentionOp
from .....dialects.graph.values import element_type_of_value
from .....passes.kernels.forms.attention import AttentionSizes, attention_sizes
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cuda.attention.flash import LANES, STAGES, Flash, padded_row, whole
from ....kernel_code.arithmetic import Arithmetic, convert
from ....kernel_code.loop_builder import Index, memref_type
from ....kernel_code.operand_windows import result_window
from ...gpu_kernel import GpuKernel, Grid
from .block import AttentionBlock, divisor
from .shared_rows import is_aligned

COMBINE_BLOCK = 128  # threads of a block of the combining launch


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    root = the_root(k.kernel, AttentionOp)
    options, sizes = k.schedule_as(Flash), attention_sizes(root)
    elements = sizes.batch * sizes.heads * sizes.queries * sizes.width
    if elements == 0:
        return
    part = "parts" if options.splits > 1 else ""
    k.launch(options.blocks(sizes), options.threads, lambda grid: _FlashBlock(k, grid, root).write(), part=part)
    if options.splits > 1:
        blocks = -(-elements // COMBINE_BLOCK)
        k.launch(blocks, COMBINE_BLOCK, lambda grid: _put_together(grid, root, options, sizes), part="whole")


class _FlashBlock(AttentionBlock):
    """The code of a block; `lane` and `group` are this thread's position in it."""

    def __init__(self, k: GpuKernel, grid: Grid, root: AttentionOp) -> None:
        self.options = o = k.schedule_as(Flash)
        super().__init__(k, grid, root, o.tile_rows, o.tile_keys, o.splits)
        b, s = self.b, self.sizes
        self.lane, self.group = b.rem(grid.lane, LANES), b.div(grid.lane, LANES)
        for value, name in ((self.lane, "lane"), (self.group, "group")):
            b.index(value).name_hint = name
        self.depth, self.width = whole(s.depth, self.lanes), whole(s.width, self.lanes)
        self.columns = -(-s.width // (LANES * self.lanes))  # vectors of a lane
        self._arrays()

    def _arrays(self) -> None:
        b, o = self.b, self.options
        row = padded_row(self.sizes.depth, self.lanes)
        self.queries = b.shared(self.element, [o.tile_rows, row], "queries")
        self.keys = b.shared(self.element, [STAGES * o.tile_keys, row], "keys")
        self.values = b.shared(self.element, [STAGES * o.tile_keys, self.width], "values")
        self.weights = b.shared(self.element, [o.tile_rows, padded_row(o.tile_keys, self.lanes)], "weights")
        self.results = b.private(VectorType(self.element, [self.lanes]), [o.rows, self.columns], "results")
        self.scores = b.private(self.element, [o.rows, o.keys], "scores")
        self.peaks, self.totals = (b.private(self.element, [o.rows], name) for name in ("peaks", "totals"))

    def _own(self, i: Index) -> Index:
        """The number in the block of this group's row i."""
        return self.b.add(self.b.mul(self.group, self.options.rows), i)

    def _rows(self, body: Callable[[Index], None]) -> None:
        self.b.unrolled(self.options.rows, body)

    # the whole

    def write(self) -> None:
        self.walk((self.keys, self.depth), (self.values, self.width), self._tile, self._begin)
        self._rows(self._finish)

    def _begin(self) -> None:
        self.load_queries(self.queries, self.depth)
        self._rows(self._start)

    def _start(self, i: Index) -> None:
        b, m = self.b, self.m
        b.store(m.constant(-inf), self.peaks, [i])
        b.store(m.constant(0.0), self.totals, [i])
        zero = b.constant(0.0, VectorType(self.element, [self.lanes]))
        b.unrolled(self.columns, lambda c: b.store(zero, self.results, [i, c]))

    # a tile of keys

    def _tile(self, key: Index, slot: Index) -> None:
        b = self.b
        self._products(slot)
        first = b.add(key, self.lane)
        self._rows(lambda i: self._softmax(i, first))
        b.barrier()
        self._sum_values(slot)

    def _products(self, slot: Index) -> None:
        """scores = q k^T"""
        b, o, m = self.b, self.options, self.m
        zero = m.constant(0.0)
        self._rows(lambda i: b.unrolled(o.keys, lambda j: b.store(zero, self.scores, [i, j])))
        near = b.private(VectorType(self.element, [self.lanes]), [o.keys], "some_keys")

        def depth(d: Index, _: Sequence[SSAValue]) -> None:
            def key(j: Index) -> None:
                row = b.add(b.add(slot, self.lane), b.mul(j, LANES))
                b.store(b.vload(self.keys, [row, d], self.lanes), near, [j])

            def query(i: Index) -> None:
                q = b.vload(self.queries, [self._own(i), d], self.lanes)

                def score(j: Index) -> None:
                    k, total = b.load(near, [j]), b.load(self.scores, [i, j])
                    for e in range(self.lanes):
                        total = m.add(m.mul(b.extract(q, e), b.extract(k, e)), total)
                    b.store(total, self.scores, [i, j])

                b.unrolled(o.keys, score)

            b.unrolled(o.keys, key)
            self._rows(query)

        b.loop(0, self.depth, depth, step=self.lanes)

    def _softmax(self, i: Index, first: Index) -> None:
        """Converts the scores of row i, which start at key `first`, to weights; rescales results and total."""
        b, o, m = self.b, self.options, self.m
        row = self.row(self._own(i))
        mask = self.mask_of(row)

        def largest(j: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            score = self.masked(b.load(self.scores, [i, j]), row, mask, b.add(first, b.mul(j, LANES)))
            b.store(score, self.scores, [i, j])
            return [m.max(score, carried[0])]

        (peak,) = b.folded(o.keys, [b.load(self.peaks, [i])], largest)
        peak = self.over_lanes(peak, LANES, m.max)
        shift = self.shift(peak)
        factor = m.unary("exp", m.sub(b.load(self.peaks, [i]), shift))
        b.store(peak, self.peaks, [i])

        def weight(j: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = m.unary("exp", m.sub(b.load(self.scores, [i, j]), shift))
            b.store(value, self.weights, [self._own(i), b.add(self.lane, b.mul(j, LANES))])
            return [m.add(carried[0], value)]

        (total,) = b.folded(o.keys, [m.mul(b.load(self.totals, [i]), factor)], weight)
        b.store(total, self.totals, [i])
        wide = Arithmetic(b, VectorType(self.element, [self.lanes]))
        spread = b.splat(factor, self.lanes)

        def correct(c: Index) -> None:
            b.store(wide.mul(b.load(self.results, [i, c]), spread), self.results, [i, c])

        b.unrolled(self.columns, correct)

    def _sum_values(self, slot: Index) -> None:
        """results += weights v"""
        b, o = self.b, self.options
        near = b.private(VectorType(self.element, [self.lanes]), [o.rows], "some_weights")

        def keys(first: Index, _: Sequence[SSAValue]) -> None:
            self._rows(lambda i: b.store(b.vload(self.weights, [self._own(i), first], self.lanes), near, [i]))
            for e in range(self.lanes):

                def column(c: Index, e: int = e) -> None:
                    at = [b.add(b.add(slot, first), e), b.min(self._column(c), self.width - self.lanes)]
                    value = b.vload(self.values, at, self.lanes)

                    def add(i: Index) -> None:
                        weight = b.splat(b.extract(b.load(near, [i]), e), self.lanes)
                        b.store(b.fma(weight, value, b.load(self.results, [i, c])), self.results, [i, c])

                    self._rows(add)

                b.unrolled(self.columns, column)

        b.loop(0, o.tile_keys, keys, step=self.lanes)

    def _column(self, c: Index) -> Index:
        """The first column of this lane's vector c."""
        return self.b.mul(self.b.add(self.b.mul(c, LANES), self.lane), self.lanes)

    # what comes out

    def _finish(self, i: Index) -> None:
        """Stores row i if it exists: the result, or this block's partial one."""
        b, m, s, o = self.b, self.m, self.sizes, self.options
        number, row = self._own(i), self.row(self._own(i))
        total = self.over_lanes(b.load(self.totals, [i]), LANES, m.add)
        peak = b.load(self.peaks, [i])
        position = b.add(b.mul(b.add(b.mul(row.batch, s.heads), row.head), s.queries), row.query)

        def store() -> None:
            if o.splits == 1:
                factor = m.div(m.constant(1.0), self.divisor(total, peak))
                place = b.linear(row.place, self.out.strides[:3], self.out.offset)
                target = b.view(self.out.buffer, place, [s.width], self.out.strides[3:])
                aligned = is_aligned(self.k, self.grid, self.out, self.lanes)
                self._store(i, target, b.splat(factor, self.lanes), aligned)
                return
            parts = self.grid.scratch_part("results")
            rows = s.batch * s.heads * s.queries
            at = b.add(b.mul(self.split, rows), position)
            target = b.view(parts, b.mul(at, s.width), [s.width], [1])
            self._store(i, target, None, True)

            def sums() -> None:
                for name, value in (("peaks", peak), ("totals", total)):
                    b.store(value, self.grid.scratch_part(name), [self.split, position])

            b.when(b.compare("eq", self.lane, 0), sums)

        self.where_row_exists(number, store)

    def _store(self, i: Index, target: SSAValue, factor: SSAValue | None, aligned: bool) -> None:
        """Stores the columns of row i, as vectors where they are aligned."""
        b, s = self.b, self.sizes
        wide = Arithmetic(b, VectorType(self.element, [self.lanes]))

        def column(c: Index) -> None:
            value, first = b.load(self.results, [i, c]), self._column(c)
            if factor is not None:
                value = wide.mul(value, factor)
            if aligned and s.width % self.lanes == 0:
                rounded = convert(b, value, self.element, memref_type(target).element_type)
                self._inside(first, lambda: b.vstore(rounded, target, [first]), self.columns * LANES * self.lanes)
                return

            def store(at: Index, e: int) -> None:
                number = convert(b, b.extract(value, e), self.element, memref_type(target).element_type)
                b.store(number, target, [at])

            for e in range(self.lanes):
                at = b.add(first, e)
                self._inside(at, partial(store, at, e), self.columns * LANES * self.lanes)

        b.unrolled(self.columns, column)

    def _inside(self, column: Index, store: Callable[[], None], most: int) -> None:
        """Runs `store` if the column is in range; columns are below `most`."""
        if most == self.sizes.width:
            store()
        else:
            self.b.when(self.b.compare("slt", column, self.sizes.width), store)


def _put_together(grid: Grid, root: AttentionOp, options: Flash, sizes: AttentionSizes) -> None:
    """Combines the partial results that several blocks have left in scratch."""
    b, s = grid.b, sizes
    m = Arithmetic(b, element_type_of_value(root.result))
    results, peaks, totals = (grid.scratch_part(name) for name in ("results", "peaks", "totals"))
    out = result_window(grid, root)

    def element(item: Index) -> None:
        *row, column = b.delinearize(item, [s.batch, s.heads, s.queries, s.width])
        position = b.div(item, s.width)

        def largest(split: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [m.max(b.load(peaks, [split, position]), carried[0])]

        (peak,) = b.loop(0, options.splits, largest, carried=[m.constant(-inf)])
        shift = m.select(m.compare("eq", peak, m.constant(-inf)), m.constant(0.0), peak)

        def add(split: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            result, total = carried
            factor = m.unary("exp", m.sub(b.load(peaks, [split, position]), shift))
            part = b.load(results, [split, position, column])
            whole = b.load(totals, [split, position])
            return [m.add(m.mul(part, factor), result), m.add(m.mul(whole, factor), total)]

        zero = m.constant(0.0)
        result, total = b.loop(0, options.splits, add, carried=[zero, zero])
        place = b.linear([*row, column], out.strides, out.offset)
        value = m.div(result, divisor(m, root, total, peak))
        value = convert(b, value, m.type, memref_type(out.buffer).element_type)
        b.store(value, b.place(out.buffer, place), [])

    grid.items(s.batch * s.heads * s.queries * s.width, element)
