"""Register-tile micro-kernels: rows x lanes accumulators in registers over the whole contraction, then the epilogue.

    for each tile of the strip:
        for kh: for tap: for k:
            b = panel[kh, tap, k, 0:lanes]
            acc[i] += broadcast(a[kh, i, tap, k]) * b    for every row i whose tap lies inside the image
        out[i, 0:lanes] = epilogue(acc[i])
        the next tile: `rows` rows further, or the next panel

Long contractions are split into parts, and those of few rows into chains: see split_sums.py.

A function of the module computes a strip of tiles. The number of tiles, the depth and the strides are its arguments, so
that all kernels with tiles of one shape and one epilogue share it. One accumulator is a vector of `lanes` elements,
which LLVM splits over registers. The schedule is that of Goto and van de Geijn's inner kernel ("Anatomy of
high-performance matrix multiplication", 2008); its blocking, for large products, is in
families/products/blocked_panels.py. Run-time depth and strides cost nothing: 1.00 of the time of a tile specialised for
them (6x16 on Zen 3), without additional spills (6x16 for Zen 3 and Neoverse N1, 14x32 for Zen 5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, product

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....dialects.amx import ROWS, TileLoadOp, TileStoreOp, TileType, TileZeroOp
from ....dialects.kernel.targets import CpuAttr
from ...kernel_code.arithmetic import Arithmetic, bits_of, convert, loaded, signless
from ...kernel_code.loop_builder import Index, LoopBuilder, memref_type, vector_of
from ..kernel_instance import KernelInstance
from .fused_ops import Epilogue
from .inner_steps import Bf16Dot, ByteDot, InnerStep
from .split_sums import Parts
from .tile_results import MemoryRows, ResultShape, TileOperand, TileResults

# Number of filter-row taps that are unrolled; beyond it a loop over them is as fast.
_MOST_WRITTEN_OUT = 16
_PACE_BITS = 16  # of the fraction in which it is told how many rows a step is
# The fraction of a tile by which prefetches of an operand run ahead, so that its last rows come in time, too: of the
# next tile they are the first. 3136 x 64 x 256 with a residual in memory runs at 240 GFLOP/s, else at 233 (Zen 5).
_AHEAD = 4


@dataclass(frozen=True)
class Tile:
    """The shape of a register tile: everything that its code is specialised for.

    `taps` are [low, high) rows for each tap of a filter row. `valid` of the `stored` columns exist; 0: their number is
    an argument of the strip.
    """

    step: InnerStep
    rows: int
    lanes: int
    valid: int
    taps: tuple[tuple[int, int], ...]
    result: Attribute  # the element type of the finished sums, the epilogue's input
    operands: tuple[TileOperand, ...] = ()
    has_bias: bool = False
    walks_panels: bool = False  # whether a strip iterates over panels, with the same rows
    filter_rows: bool = False  # whether the filter may have several rows
    taps_adjoin: bool = False  # whether taps are contiguous: those with equal rows are one loop
    neighbours: bool = True  # whether the elements of a row's contraction are contiguous
    chains: int = 1  # number of independent accumulators per element, see split_sums.py
    parts: Parts = "none"  # which parts of the contraction are summed separately, see split_sums.py
    prefetch: int = 0  # prefetch distance: elements of a cache line in units of `read`; 0: none
    asks_rows: bool = False  # whether it prefetches the next tile's rows of the left-hand side
    rest: int = 0  # elements of a tap's contraction after its last whole step; the panel is padded to a whole step
    padding: int = 0  # the value of pixels outside of the image
    resumes: bool = False  # whether it continues sums of an earlier part of the contraction, kept in scratch
    waits: bool = False  # whether its own sums are kept there for a later part
    halves: bool = False  # whether the epilogue joins the two halves of the columns
    matrix: int = 0  # elements of the contraction that one product of tiles takes (see amx.py); 0: as vectors

    @property
    def stored(self) -> int:
        """Number of columns that it stores."""
        return self.lanes // 2 if self.halves else self.lanes

    @property
    def read(self) -> int:
        """Elements of the panel read in one step."""
        return self.lanes * self.step.depth

    @property
    def clipped(self) -> bool:
        """Whether some taps of some rows fall outside of the image."""
        return any(tap != (0, self.rows) for tap in self.taps)

    @property
    def asks(self) -> bool:
        """Whether it prefetches epilogue operands during the contraction; with few rows its panel is the bottleneck."""
        return self.chains == 1 and not self.waits

    @property
    def stem(self) -> str:
        """Base name of the tile's function."""
        clip = "_" + "_".join(f"{low}to{high}" for low, high in self.taps) if self.clipped else ""
        taps = f"_{len(self.taps)}taps" if len(self.taps) > 1 and not self.clipped else ""
        kind = "bytes" if isinstance(self.step, ByteDot) else "bf16" if isinstance(self.step, Bf16Dot) else "tile"
        kind += "_matrix" if self.matrix else ""
        columns = self.valid or f"upto{self.stored}"
        part = (
            ("_asking" if self.asks_rows else "")
            + ("_resuming" if self.resumes else "")
            + ("_waiting" if self.waits else "")
        )
        pairs = "_pairs" if self.halves else ""
        return f"{kind}_{self.rows}x{columns}{pairs}{taps}{clip}{part}"


@dataclass(frozen=True)
class Strip:
    """Run-time arguments of a strip of tiles. Addresses are windows without dimensions (LoopBuilder.place).

    `a` is the first tile's rows of the left-hand side; further strides of it lead to the next filter row, tap and
    element of the contraction. `panel_row` is the panel's stride between elements of the contraction (steps that take
    several have them contiguous), `ahead` is prefetched meanwhile, a row for each of them. `next_panel` and
    `next_result` are strides between tiles where the strip iterates over panels. Filter rows in [`above`, `above` +
    `filter_rows`) lie inside the image, and `below` are outside after them: for the others the padding value is added.
    """

    tiles: Index
    depth: Index  # elements of a tap's contraction
    a: MemoryRows
    panel: SSAValue
    panel_row: Index
    out: MemoryRows
    operands: Sequence[MemoryRows | None] = ()  # None: that of the result itself
    bias: SSAValue | None = None
    filter_rows: Index = 1
    a_filter_row: Index = 0
    a_tap: Index = 0
    a_step: Index = 1
    ahead: MemoryRows | None = None
    next_panel: Index = 0
    next_result: Index = 0
    above: Index = 0
    below: Index = 0
    columns: Index = 0  # number of rows of the tiles, if it is no constant
    part: Index = 0  # filter rows, or elements of a run, that are summed separately
    sums: MemoryRows | None = None  # where sums are kept between parts of the contraction


def call_tiles(k: KernelInstance, tile: Tile, epilogue: Epilogue, strip: Strip) -> None:
    """Calls the module's function for a strip of such tiles, building it at its first use."""

    def write(b: LoopBuilder, strip: Strip) -> None:
        b.loop(0, strip.tiles, lambda number, _: _TileWriter(b, tile, epilogue, strip, number).write())

    k.common.call(k.b, tile.stem + epilogue.stem, (tile, epilogue.key), _told(k.b, tile, strip), write)


def _told(b: LoopBuilder, tile: Tile, strip: Strip) -> Strip:
    """The strip with only those arguments that tiles of this shape use."""

    def number(value: Index, read: bool = True) -> Index:
        return b.index(value) if read else 0

    def rows(given: MemoryRows, by_row: bool = True) -> MemoryRows:
        return MemoryRows(given.place, number(given.stride, by_row))

    return Strip(
        tiles=number(strip.tiles),
        depth=number(strip.depth),
        a=rows(strip.a),
        panel=strip.panel,
        panel_row=number(strip.panel_row),
        out=rows(strip.out),
        operands=tuple(
            None if given is None else rows(given, operand.by_row)
            for given, operand in zip(strip.operands, tile.operands, strict=True)
        ),
        bias=strip.bias,
        filter_rows=number(strip.filter_rows) if tile.filter_rows else 1,
        a_filter_row=number(strip.a_filter_row, tile.filter_rows),
        a_tap=number(strip.a_tap, len(tile.taps) > 1),
        a_step=1 if tile.neighbours else number(strip.a_step),
        ahead=None if strip.ahead is None else rows(strip.ahead),
        next_panel=number(strip.next_panel, tile.walks_panels),
        next_result=number(strip.next_result, tile.walks_panels),
        above=number(strip.above, tile.padding != 0 and tile.filter_rows),
        below=number(strip.below, tile.padding != 0 and tile.filter_rows),
        columns=number(strip.columns, not tile.valid),
        part=number(strip.part, tile.parts != "none"),
        sums=None if strip.sums is None else rows(strip.sums),
    )


class _TileWriter:
    """Builds the code of one tile of a strip: its windows."""

    def __init__(self, b: LoopBuilder, tile: Tile, epilogue: Epilogue, strip: Strip, number: Index) -> None:
        self.b, self.tile, self.strip, self.number = b, tile, strip, number
        self.valid: Index = tile.valid or strip.columns
        first = 0 if tile.walks_panels else b.mul(number, tile.rows)
        column = b.mul(number, strip.next_result)
        taps = len(tile.taps)
        self.tap = b.add(strip.depth, tile.step.depth - tile.rest) if tile.rest else strip.depth
        filter_row = b.mul(self.tap, taps)
        self.a = b.view(
            strip.a.place,
            b.mul(first, strip.a.stride),
            [strip.filter_rows, tile.rows, taps, strip.depth],
            [strip.a_filter_row, strip.a.stride, strip.a_tap, strip.a_step],
        )
        panel_strides = [b.mul(filter_row, strip.panel_row), strip.panel_row, 1]
        panel_at = b.mul(number, strip.next_panel)
        sizes = [strip.filter_rows, filter_row, tile.read]
        self.panel = b.view(strip.panel, panel_at, sizes, panel_strides)
        self.all_rows = self.panel  # from row 0 of the filter on
        if tile.padding and tile.filter_rows:
            at = b.sub(panel_at, b.mul(strip.above, panel_strides[0]))
            self.all_rows = b.view(strip.panel, at, sizes, panel_strides)
        self.ahead = self.panel
        if strip.ahead is not None:
            strides = [b.mul(filter_row, strip.ahead.stride), strip.ahead.stride, 1]
            self.ahead = b.view(strip.ahead.place, panel_at, sizes, strides)
        shape = ResultShape(tile.rows, tile.lanes, tile.halves, tile.step.sums, tile.result)
        self.results = TileResults(
            b, shape, epilogue, tile.operands, strip.out, strip.operands, first, self.valid, column
        )
        self.asked = {
            self.results.windows[value]: 8 * CpuAttr.CACHE_LINE // bits_of(operand.element)
            for value, operand in self.results.operands.items()
            if tile.asks and operand.by_row and operand.by_column
        }
        self.pace = b.div(tile.rows << _PACE_BITS, strip.depth) if self.asked else 0

    def write(self) -> None:
        b, tile, strip = self.b, self.tile, self.strip
        vector = VectorType(tile.step.sums, [tile.lanes])
        start = b.constant(0.0, vector)
        if strip.bias is not None:
            bias = b.view(strip.bias, 0, [tile.lanes], [1])
            start = convert(b, b.vload(bias, [0], tile.lanes, self.valid), tile.result, tile.step.sums)
        if tile.padding and tile.filter_rows:
            start = self._padded_rows(start)
        if tile.matrix:
            starts_at_zero = strip.bias is None and not (tile.padding and tile.filter_rows)
            self.results.store_kept(self._product_of_tiles(), more=None if starts_at_zero else start)
            return
        sums = self._sums([start] * tile.rows) if strip.sums is None else self._resumed(strip.sums, start)
        if tile.waits:
            return
        self.results.store(sums)

    def _product_of_tiles(self) -> SSAValue:
        """The tile's sums from zero, by products of matrices in registers of their own, in memory."""
        b, tile, strip = self.b, self.tile, self.strip
        multiplying, group, sums = tile.step, tile.step.depth, tile.step.sums
        assert isinstance(multiplying, ByteDot | Bf16Dot)
        element = signless(memref_type(self.a).element_type)
        taps, words, step = len(tile.taps), b.div(strip.depth, group), tile.matrix // group
        rows = [(first, min(ROWS, tile.rows - first)) for first in range(0, tile.rows, ROWS)]
        columns = range(0, tile.lanes, ROWS)
        first = 0 if tile.walks_panels else b.mul(self.number, tile.rows)
        a = b.view(
            strip.a.place,
            b.mul(first, strip.a.stride),
            [strip.filter_rows, taps, tile.rows, strip.depth],
            [strip.a_filter_row, strip.a_tap, strip.a.stride, 1],
        )
        panel = b.view(
            strip.panel,
            b.mul(self.number, strip.next_panel),
            [strip.filter_rows, b.mul(words, taps), tile.read],
            [b.mul(b.mul(self.tap, taps), strip.panel_row), b.mul(strip.panel_row, group), 1],
        )

        def load(memref: SSAValue, indices: Sequence[Index], height: int, width: int) -> SSAValue:
            type = TileType.of(height, width, element)
            return b.insert(TileLoadOp(memref, [b.index(each) for each in indices], type))

        def multiply(
            kh: Index, tap: Index, word: Index, totals: Sequence[SSAValue], copy: SSAValue | None = None
        ) -> list[SSAValue]:
            if copy is None:
                left = [load(a, [kh, tap, row, b.mul(word, group)], height, tile.matrix) for row, height in rows]
            else:
                left = [load(copy, [row, 0], height, tile.matrix) for row, height in rows]
            at = b.add(b.mul(tap, words), word)
            right = [load(panel, [kh, at, column * group], step, ROWS * group) for column in columns]
            return [
                b.insert(multiplying.tiles(x, y, total))
                for (x, y), total in zip(product(left, right), totals, strict=True)
            ]

        def whole_tap(kh: Index, tap: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return b.loop(0, words, partial(multiply, kh, tap), step=step, carried=totals)

        def clipped_tap(kh: Index, tap: int, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            """From a copy of the rows whose tap lies inside the picture, among others of the padding value."""
            low, high = tile.taps[tap]
            copy = b.alloca(element, [tile.rows, tile.matrix])
            padding = b.constant(multiplying.padding_value(tile.padding), vector_of(element, tile.matrix))
            for row in (*range(low), *range(high, tile.rows)):
                b.vstore(padding, copy, [row, 0])

            def inside(word: Index, totals: Sequence[SSAValue]) -> list[SSAValue]:
                def row(row: Index, _: Sequence[SSAValue]) -> None:
                    part = b.vload(a, [kh, tap, row, b.mul(word, group)], tile.matrix)
                    b.vstore(loaded(b, part), copy, [row, 0])

                b.loop(low, high, row)
                return multiply(kh, tap, word, totals, copy)

            return b.loop(0, words, inside, step=step, carried=totals)

        def filter_row(kh: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            first = 0
            for (low, high), alike in groupby(tile.taps):
                last = first + len(list(alike))
                if (low, high) == (0, tile.rows):
                    totals = b.loop(first, last, partial(whole_tap, kh), carried=totals)
                elif low < high or tile.padding:
                    for tap in range(first, last):
                        totals = clipped_tap(kh, tap, totals)
                first = last
            return totals

        start = [b.insert(TileZeroOp(TileType.of(height, ROWS, sums))) for _, height in rows for _ in columns]
        totals = b.loop(0, strip.filter_rows, filter_row, carried=start)
        kept = b.alloca(sums, [tile.rows, tile.lanes])
        for ((row, _), column), total in zip(product(rows, columns), totals, strict=True):
            b.place_op(TileStoreOp(kept, [b.index(row), b.index(column)], total))
        return kept

    def _resumed(self, waiting: MemoryRows, start: SSAValue) -> Sequence[SSAValue]:
        """The sums plus those of earlier parts of the contraction, stored again if a later part follows."""
        b, tile = self.b, self.tile
        m = Arithmetic(b, start.type)
        rows = b.view(
            waiting.place,
            b.mul(b.mul(self.number, tile.rows), waiting.stride),
            [tile.rows, tile.lanes],
            [waiting.stride, 1],
        )
        sums: list[SSAValue] = []
        for row, part in enumerate(self._sums([m.constant(0)] * tile.rows)):
            sums.append(m.add(b.vload(rows, [row, 0], tile.lanes) if tile.resumes else start, part))
            if tile.waits:
                b.vstore(sums[-1], rows, [row, 0])
        return sums

    def _sums(self, start: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The tile's sums, starting from `start`."""
        b, tile = self.b, self.tile
        m = Arithmetic(b, start[0].type)
        zero = m.constant(0)

        def filter_row(kh: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            current = list(sums)
            first = 0
            for (low, high), alike in groupby(tile.taps):
                last = first + len(list(alike))
                outside = [row for row in range(tile.rows) if not low <= row < high]
                if tile.padding and outside:
                    (padding,) = self._padded(self.panel, kh, first, last, [zero])
                    for row in outside:
                        current[row] = m.add(current[row], padding)
                if low == high:
                    pass
                elif tile.taps_adjoin:
                    current[low:high] = self._run(kh, low, first, current[low:high], taps=last - first)
                elif last - first > (1 if tile.parts == "runs" else _MOST_WRITTEN_OUT):
                    step = partial(self._run, kh, low)
                    current[low:high] = b.loop(first, last, step, carried=current[low:high])
                else:
                    for tap in range(first, last):
                        current[low:high] = self._run(kh, low, tap, current[low:high])
                first = last
            return current

        rows = self.strip.filter_rows
        if tile.parts != "filter rows":
            return b.loop(0, rows, filter_row, carried=start)
        length = self.strip.part

        def part(kh: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            end = b.min(b.add(kh, length), rows)
            return self._apart(totals, lambda zeros: b.loop(kh, end, filter_row, carried=zeros))

        return b.loop(0, rows, part, step=length, carried=start)

    def _apart(
        self, totals: Sequence[SSAValue], sums: Callable[[Sequence[SSAValue]], Sequence[SSAValue]]
    ) -> Sequence[SSAValue]:
        """The totals plus `sums`, accumulated separately from zero."""
        m = Arithmetic(self.b, totals[0].type)
        return [m.add(total, part) for total, part in zip(totals, sums([m.constant(0)] * len(totals)), strict=True)]

    def _padded_rows(self, start: SSAValue) -> SSAValue:
        """The sums of all rows of the tile with the padding that filter rows outside of the image contribute."""
        strip, taps = self.strip, len(self.tile.taps)
        last = self.b.add(strip.above, strip.filter_rows)

        def row(kh: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self._padded(self.all_rows, kh, 0, taps, sums)

        for low, high in ((0, strip.above), (last, self.b.add(last, strip.below))):
            (start,) = self.b.loop(low, high, row, carried=[start])
        return start

    def _padded(
        self, panel: SSAValue, kh: Index, first: int, last: int, sums: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """A row's sums with taps [first, last) of a filter row that all lie in the padding."""
        b, step, lanes = self.b, self.tile.step, self.tile.lanes
        row = step.padding(b, self.tile.padding)

        def add(at: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
            return [step.accumulate(b, row, step.column(b, panel, [kh, at, 0], lanes), sums[0])]

        bounds = (b.mul(self.tap, first), b.mul(self.tap, last))
        return b.loop(*bounds, add, step=step.depth, carried=sums, unrolled=False)

    def _run(self, kh: Index, low: int, tap: Index, sums: Sequence[SSAValue], taps: int = 1) -> Sequence[SSAValue]:
        """The sums with those of contiguous taps added."""
        b, tile = self.b, self.tile
        start, depth = b.mul(tap, self.tap), b.mul(self.strip.depth, taps)
        end = b.sub(depth, tile.rest)

        def multiply(i: Index, totals: Sequence[SSAValue], count: int = tile.step.depth) -> list[SSAValue]:
            return self._step(kh, low, tap, start, i, totals, count)

        if tile.parts == "runs":
            length = self.strip.part

            def part(i: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return self._apart(totals, partial(self._loop, multiply, i, b.min(b.add(i, length), end)))

            return b.loop(0, end, part, step=length, carried=sums)
        sums = self._loop(multiply, 0, end, sums)
        return multiply(end, sums, tile.rest) if tile.rest else sums

    def _step(
        self, kh: Index, low: int, tap: Index, start: Index, i: Index, totals: Sequence[SSAValue], count: int
    ) -> list[SSAValue]:
        """The sums of rows from `low` on, with `count` more elements from element `i` of a tap on."""
        b, tile, step = self.b, self.tile, self.tile.step
        at = b.add(i, start)
        column = step.column(b, self.panel, [kh, at, 0], tile.lanes)
        if tile.prefetch:
            for element in range(0, tile.read, tile.prefetch):
                b.prefetch(self.ahead, [kh, at, element])

        def row(number: int) -> SSAValue:
            place = [kh, low + number, tap, i]
            if count == step.depth:
                return step.row(b, self.a, place, tile.lanes)
            return step.part(b, self.a, place, count)

        if self.asked:
            self._ask(i)
        if tile.asks_rows:
            self._ask_rows(kh, tap, i)
        return [step.accumulate(b, row(number), column, total) for number, total in enumerate(totals)]

    def _ask(self, i: Index) -> None:
        """Prefetches the epilogue's operands, one row after the other over a run of the contraction.

        Loaded after the contraction, a residual outside of the second-level cache stalls the tile; prefetched all at
        once, its lines delay the panel's. With one per step, products of 4096 x 256 x 256, 784 x 128 x 512 and 3136 x
        64 x 256 run at 238, 251 and 227 GFLOP/s instead of 198, 176 and 123 (Zen 5).
        """
        b = self.b
        row = b.div(b.mul(i, self.pace), 1 << _PACE_BITS)
        row = b.add(row, self.tile.rows // _AHEAD)
        for window, line in self.asked.items():
            for lane in range(0, self.tile.stored, line):
                b.prefetch(window, [row, lane], near=True)

    def _ask_rows(self, kh: Index, tap: Index, i: Index) -> None:
        """Prefetches a cache line of the next tile's rows, another row in each line's worth of steps."""
        b = self.b
        line = 8 * CpuAttr.CACHE_LINE // bits_of(memref_type(self.a).element_type)
        row = b.rem(i, line)
        for first in range(self.tile.rows, 2 * self.tile.rows, line):
            b.prefetch(self.a, [kh, b.add(row, first), tap, b.sub(i, row)])

    def _loop(
        self, multiply: Callable[..., list[SSAValue]], first: Index, end: Index, sums: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The inner loop; with several chains, every chain accumulates its own part of each step."""
        b, tile = self.b, self.tile
        step, chains = tile.step.depth, tile.chains
        if chains == 1:
            unrolled = not tile.clipped or tile.taps_adjoin
            return b.loop(first, end, multiply, step=step, carried=sums, unrolled=unrolled)

        def several(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            parts = [multiply(b.add(i, c * step), carried[c * count : (c + 1) * count]) for c in range(chains)]
            return [total for part in parts for total in part]

        count, stride = len(sums), chains * step
        whole = b.sub(end, b.rem(b.sub(end, first), stride))
        zeros = [b.constant(0.0, sums[0].type)] * (count * (chains - 1))
        parts = b.loop(first, whole, several, step=stride, carried=[*sums, *zeros])
        m = Arithmetic(b, sums[0].type)
        while len(parts) > count:
            half = len(parts) // 2
            parts = [m.add(x, y) for x, y in zip(parts[:half], parts[half:], strict=True)]
        return b.loop(whole, end, multiply, step=step, carried=parts)
