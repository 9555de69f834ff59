"""Flash attention by warpgroups: each has 64 queries, with scores and results in registers.

    near = fragments of the warpgroup's queries, scaled and rounded
    scores = near k[0]^T; the softmax
    for each tile of keys but the first:          while the one after the next is being copied
        weights = rounded scores
        start scores = near k[tile]^T
        start results += weights v[tile - 1]
        round the next tile                       while these are multiplied
        wait for the scores; the softmax          while values are multiplied
        wait for the results, and correct them
    results += rounded scores v[last]; the results, divided by their total

Tiles come as they are in memory by asynchronous copies. All threads of the block round them and lay them out for
products: 16 bytes of each column side by side, those of keys along the depth, those of values along the keys. One
barrier in each turn shows them to the others, which products see behind a fence.

A thread's scores are in two adjacent columns, and serve as its fragments of the left-hand side as they are; where
these are of the fourth column from there (tf32), the keys of values are reordered as they are laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from .....dialects.graph.ops.attention import AttentionOp
from .....dialects.sizes.sizes import is_fixed, pinned
from .....passes.kernels.forms.attention import attention_sizes
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cuda.attention.flash import padded_row, whole
from .....passes.kernels.schedules.cuda.attention.flash_wgmma import COLUMNS, FlashWgmma
from ....kernel_code.arithmetic import bits_of, convert
from ....kernel_code.loop_builder import Index, memref_type, vector_of
from ...fragments import TensorUnits
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import ACCESS, WARP, ThreadBuilder
from .block import AttentionBlock
from .shared_rows import SharedRows, is_aligned

SHARING = 4  # lanes across which a row lies
WARP_ROWS = 16  # of a warpgroup's 64


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    root = the_root(k.kernel, AttentionOp)
    options, sizes = k.schedule_as(FlashWgmma), attention_sizes(root)
    if sizes.batch * sizes.heads * sizes.queries * sizes.width:
        k.launch(options.blocks(sizes), options.threads, lambda grid: _FlashWgmmaBlock(k, grid, root).write())


@dataclass(frozen=True)
class _Tiles:
    """Tiles of keys or values in shared memory: `copied` as in memory, `rounded` [tile, chunk, column, number]."""

    source: SharedRows
    copied: SSAValue
    rounded: SSAValue

    def place(self, b: ThreadBuilder, number: Index) -> Index:
        """The first row of a tile as it is in memory."""
        return b.mul(b.rem(number, _tiles(self.copied) // self.source.tile), self.source.tile)

    def stage(self, b: ThreadBuilder, number: Index) -> Index:
        """The place of a tile that is laid out."""
        return b.rem(number, _tiles(self.rounded))


def _tiles(array: SSAValue) -> int:
    return memref_type(array).get_shape()[0]


class _FlashWgmmaBlock(AttentionBlock):
    """The code of a thread; `g` and `t` are its lane's coordinates in fragments."""

    def __init__(self, k: GpuKernel, grid: Grid, root: AttentionOp) -> None:
        self.options = o = k.schedule_as(FlashWgmma)
        super().__init__(k, grid, root, o.tile_rows, o.keys, rounded=True)
        b, s = self.b, self.sizes
        self.units = TensorUnits(b, k.target.precision.data)
        self.chunk = ACCESS * 8 // bits_of(self.units.element)
        lane = b.named(b.rem(grid.lane, WARP), "lane")
        self.g, self.t = b.div(lane, SHARING), b.rem(lane, SHARING)
        top = b.add(b.mul(b.div(grid.lane, WARP), WARP_ROWS), self.g)
        for value, name in ((self.g, "group"), (self.t, "place"), (top, "warp_row")):
            b.named(value, name)
        self.numbers = [b.add(top, 8 * half) for half in range(2)]
        self.rows = [self.row(number) for number in self.numbers]
        self.depth, self.width = pinned(whole(s.depth, self.units.step)), pinned(whole(s.width, COLUMNS))
        copied, of_keys, of_values = o.stages(s)
        line = padded_row(self.depth, self.lanes)
        self.keys = self._array("keys", (copied, line, self.depth), (of_keys, self.depth, o.keys))
        self.values = self._array("values", (copied, self.width, self.width), (of_values, o.keys, self.width))
        self.near = b.private(self.units.left, [self.depth // self.units.step, 1], "own_queries")
        self.scores = b.private(f32, [o.keys // COLUMNS, 4], "scores")
        self.weights = b.private(self.units.left, [o.keys // self.units.step, 1], "weights")
        self.results = b.private(f32, [self.width // COLUMNS, 4], "results")
        self.peaks, self.totals = (b.private(f32, [2], name) for name in ("peaks", "totals"))

    def _array(self, name: str, copied: tuple[int, int, int], rounded: tuple[int, int, int]) -> _Tiles:
        """Tiles of (their number, the stride of lines, the columns that are filled) and (number, depth, columns)."""
        b, keys = self.b, self.options.keys
        stages, line, columns = copied
        array = b.shared(f32, [stages * keys, line], f"{name}_in_memory")
        stages, depth, across = rounded
        laid_out = b.shared(self.units.element, [stages, depth // self.chunk, across, self.chunk], name)
        read = (
            (self.key, self.key_scale, self.sizes.depth)
            if name == "keys"
            else (self.value, self.value_scale, self.sizes.width)
        )
        return _Tiles(self._source(*read, array, columns), array, laid_out)

    def write(self) -> None:
        b, m, tiles = self.b, self.m, -(-self.sizes.keys // self.options.keys)
        last = self._end(tiles)
        self._copy(0)
        self._where_tile(1, last, lambda: self._copy(1))
        b.close_group()
        self.query_fragments(self.units, self.numbers, self.t, self.near)
        self._fill(self.results, self.width // COLUMNS)
        for half in range(2):
            b.store(m.constant(-inf), self.peaks, [half])
            b.store(m.constant(0.0), self.totals, [half])
        b.wait_groups(0)
        b.barrier()
        self._lay_out(0)
        self._meet()
        self._where_tile(2, last, lambda: self._copy(2))
        b.close_group()
        self._start_scores(0)
        self._where_tile(1, last, lambda: self._lay_out(1))
        b.warpgroup_wait(0)
        self._softmax(0)

        def turn(number: Index, _: Sequence[SSAValue]) -> None:
            b.wait_groups(0)
            self._meet()
            self._where_tile(b.add(number, 2), last, lambda: self._copy(b.add(number, 2)))
            b.close_group()
            self._round_scores()
            self._start_scores(number)
            self._start_results(b.sub(number, 1))
            self._where_tile(b.add(number, 1), last, lambda: self._lay_out(b.add(number, 1)))
            b.warpgroup_wait(1)
            factors = self._softmax(number)
            b.warpgroup_wait(0, self.totals)
            self._correct(factors)

        b.loop(1, last, turn)
        self._round_scores()
        self._start_results(b.sub(last, 1))
        b.warpgroup_wait(0)
        for half in range(2):
            total = self.over_lanes(b.load(self.totals, [half]), SHARING, m.add)
            self._store_row(half, total)

    # tiles of keys and values

    def _where_tile(self, number: Index, last: Index, body: Callable[[], None]) -> None:
        """Runs `body` if there is a tile of that number."""
        if isinstance(number, int) and isinstance(last, int) and is_fixed(last):
            if number < last:
                body()
        else:
            self.b.when(self.b.compare("slt", number, last), body)

    def _copy(self, number: Index) -> None:
        """Starts copying a tile as it is in memory."""
        for each in (self.keys, self.values):
            each.source.copy(self.b.mul(number, self.options.keys), each.place(self.b, number))

    def _meet(self) -> None:
        """All threads see what was copied and laid out; so do products."""
        self.b.proxy_fence()
        self.b.barrier()

    def _lay_out(self, number: Index) -> None:
        """Rounds a tile, and lays it out for products."""
        b, keys, chunk, units = self.b, self.options.keys, self.chunk, self.units
        line, stage = self.keys.place(b, number), self.keys.stage(b, number)

        def some_keys(item: Index) -> None:
            step, key = b.delinearize(item, [self.depth // units.step, keys])
            row, first = b.add(line, key), b.mul(step, units.step)
            vectors = [b.vload(self.keys.copied, [row, b.add(first, i)], 4) for i in range(0, units.step, 4)]
            numbers = [b.extract(vector, i) for vector in vectors for i in range(4)]
            for half in range(2):
                made = units.fragment([numbers[i] for i in self._side_by_side(half)])
                b.vstore(made, self.keys.rounded, [stage, b.add(b.mul(step, 2), half), key, 0])

        self._each_item(self.depth // units.step * keys, some_keys)
        stage = self.values.stage(b, number)

        def some_values(item: Index) -> None:
            part, column = b.delinearize(item, [keys // chunk, self.width])
            rows = [b.add(line, at) for at in self._keys_of(part)]
            numbers = [b.load(self.values.copied, [row, column]) for row in rows]
            b.vstore(self.units.fragment(numbers), self.values.rounded, [stage, part, column, 0])

        self._each_item(keys // chunk * self.width, some_values)

    def _keys_of(self, part: Index) -> list[Index]:
        """The keys of a tile that are side by side in a chunk of values."""
        b, chunk = self.b, self.chunk
        if self.units.is_short:
            return [b.add(b.mul(part, chunk), i) for i in range(chunk)]
        first = b.add(b.mul(b.div(part, 2), 2 * chunk), b.rem(part, 2))
        return [b.add(first, 2 * i) for i in range(chunk)]

    def _each_item(self, count: int, body: Callable[[Index], None]) -> None:
        """Items [0, count), shared by the threads of the block: adjacent threads have adjacent ones."""
        b, threads = self.b, self.options.threads

        def one(turn: Index, _: Sequence[SSAValue]) -> None:
            item = b.add(self.grid.lane, b.mul(turn, threads))
            b.where(None if count % threads == 0 else b.compare("slt", item, count), lambda: body(item))

        b.loop(0, -(-count // threads), one)

    def _side_by_side(self, half: int) -> list[int]:
        """The depths of a step in a chunk of keys: a lane's columns stand for neighbours (TensorUnits.along)."""
        pair = self.units.along // 2
        return [i // pair * 2 * pair + half * pair + i % pair for i in range(self.chunk)]

    # products

    def _fill(self, sums: SSAValue, pieces: int) -> None:
        """Fills sums with zeros."""
        b, zero = self.b, self.m.constant(0.0)
        b.unrolled(pieces, lambda j: b.unrolled(4, lambda e: b.store(zero, sums, [j, e])))

    def _start_scores(self, number: Index) -> None:
        """scores = q k^T"""
        self._fill(self.scores, self.options.keys // COLUMNS)
        self._start(self.near, self.depth, self.keys.rounded, self.keys.stage(self.b, number), self.scores)

    def _start_results(self, number: Index) -> None:
        """results += weights v"""
        stage = self.values.stage(self.b, number)
        self._start(self.weights, self.options.keys, self.values.rounded, stage, self.results)

    def _start(self, left: SSAValue, depth: int, right: SSAValue, stage: Index, sums: SSAValue) -> None:
        b, units = self.b, self.units
        b.warpgroup_fence()
        b.unrolled(
            depth // units.step,
            lambda step: b.warpgroup_mma(b.load(left, [step, 0]), right, [stage, b.mul(step, 2), 0, 0], sums),
        )
        b.warpgroup_commit()

    # the softmax

    def _softmax(self, number: Index) -> list[SSAValue]:
        """Converts the scores of a tile to weights; returns the factors for either row's results so far.

        Both rows go along together, so that each waits less for its shuffles.
        """
        b, m, pieces = self.b, self.m, self.options.keys // COLUMNS
        for half in range(2):
            self._mask(half, b.mul(number, self.options.keys))

        def largest(j: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            found = list(carried)
            for e in range(4):
                found[e // 2] = m.max(b.load(self.scores, [j, e]), found[e // 2])
            return found

        before = [b.load(self.peaks, [half]) for half in range(2)]
        peaks = [self.over_lanes(peak, SHARING, m.max) for peak in b.folded(pieces, before, largest)]
        shifts = [self.shift(peak) for peak in peaks]
        factors = [self.power(m.sub(peak, shift)) for peak, shift in zip(before, shifts, strict=True)]

        def weight(j: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            totals = list(carried)
            for e in range(4):
                value = self.power(m.sub(b.load(self.scores, [j, e]), shifts[e // 2]))
                b.store(value, self.scores, [j, e])
                totals[e // 2] = m.add(totals[e // 2], value)
            return totals

        sums = [m.mul(b.load(self.totals, [half]), factors[half]) for half in range(2)]
        for half, total in enumerate(b.folded(pieces, sums, weight)):
            b.store(total, self.totals, [half])
            b.store(peaks[half], self.peaks, [half])
        return factors

    def _mask(self, half: int, first: Index) -> None:
        """Masks a row's scores of the tile with that first key, if any has to be."""
        if not self.is_masked:
            return
        b, s, row = self.b, self.sizes, self.rows[half]
        mask = self.mask_of(row)

        def apply() -> None:
            def piece(j: Index) -> None:
                for e in range(2):
                    at = [j, 2 * half + e]
                    key = b.add(b.add(first, b.mul(j, COLUMNS)), b.add(b.mul(self.t, 2), e))
                    b.store(self.masked(b.load(self.scores, at), row, mask, key), self.scores, at)

            b.unrolled(self.options.keys // COLUMNS, piece)

        if mask is not None or self.root.softcap is not None:
            return apply()
        end = s.keys if self.root.causal is None else b.min(b.add(row.query, 1), s.keys)
        b.when(b.compare("slt", end, b.add(first, self.options.keys)), apply)

    def _correct(self, factors: Sequence[SSAValue]) -> None:
        """Multiplies the results of either row by its factor."""
        b, m = self.b, self.m

        def piece(n: Index) -> None:
            for e in range(4):
                b.store(m.mul(b.load(self.results, [n, e]), factors[e // 2]), self.results, [n, e])

        b.unrolled(self.width // COLUMNS, piece)

    def _round_scores(self) -> None:
        """weights = scores, as fragments of the left-hand side."""
        b, units = self.b, self.units
        pieces = units.step // COLUMNS
        order = (0, 1, 2, 3) if units.is_short else (0, 2, 1, 3)

        def fragment(step: Index) -> None:
            places = [[b.add(b.mul(step, pieces), i), e] for i in range(pieces) for e in order]
            b.store(units.fragment([b.load(self.scores, at) for at in places]), self.weights, [step, 0])

        b.unrolled(self.options.keys // units.step, fragment)

    # what comes out

    def _store_row(self, half: int, total: SSAValue) -> None:
        """Stores a row of the result."""
        b, m, s = self.b, self.m, self.sizes
        factor = m.div(m.constant(1.0), self.divisor(total, b.load(self.peaks, [half])))
        lanes = 2 if is_aligned(self.k, self.grid, self.out, self.lanes) and s.width % 2 == 0 else 1

        def store() -> None:
            place = b.linear([*self.rows[half].place, 0], self.out.strides, self.out.offset)
            target = b.view(self.out.buffer, place, [s.width], self.out.strides[3:])

            def piece(n: Index) -> None:
                for e in range(0, 2, lanes):
                    column = b.add(b.mul(n, COLUMNS), b.add(b.mul(self.t, 2), e))
                    exists = None if self.width == s.width else b.compare("slt", column, s.width)
                    b.where(exists, lambda e=e, column=column: write(n, e, column))

            def write(n: Index, e: int, column: Index) -> None:
                at = [n, 2 * half + e]
                if lanes == 1:
                    b.store(convert(b, m.mul(b.load(self.results, at), factor), f32, self.stored), target, [column])
                else:
                    values = [m.mul(b.load(self.results, [n, 2 * half + i]), factor) for i in range(2)]
                    pair = b.constant(0.0, vector_of(f32, 2))
                    for i, value in enumerate(values):
                        pair = b.inserted(value, pair, i)
                    b.vstore(convert(b, pair, f32, self.stored), target, [column])

            b.unrolled(self.width // COLUMNS, piece)

        self.where_row_exists(self.numbers[half], store)
