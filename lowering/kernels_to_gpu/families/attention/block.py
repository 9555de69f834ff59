"""AttentionBlock: the queries of a thread block, its loop over tiles of keys, and the masking of scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import e, inf, log2

from xdsl.ir import SSAValue

from .....dialects.graph.ops.attention import AttentionOp
from .....dialects.graph.values import element_type_of_value, is_bool
from .....passes.kernels.forms.attention import attention_sizes, in_memory, scale_of
from .....passes.kernels.kernel_facts import item_bytes
from .....passes.kernels.schedules.cuda.attention.flash import STAGES
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index, memref_type
from ....kernel_code.operand_windows import OperandWindow, mask_window, operand_window, result_window
from ...fragments import TensorUnits
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import ACCESS
from .shared_rows import SharedRows, is_aligned


@dataclass(frozen=True)
class Row:
    """A query: its batch element, its head, and its position."""

    batch: Index
    head: Index
    query: Index

    @property
    def place(self) -> list[Index]:
        """Its index in queries, mask and result."""
        return [self.batch, self.head, self.query]


class AttentionBlock:
    """A block with `tile_rows` queries of the heads that share one head of keys, and tiles of `tile_keys` keys.

    `splits` blocks share the keys of the same queries; this one is number `split`. Where products are
    `rounded`, to 10 bits or less, scores are multiplied by log2(e), and the softmax is in powers of two.
    """

    def __init__(
        self,
        k: GpuKernel,
        grid: Grid,
        root: AttentionOp,
        tile_rows: int,
        tile_keys: int,
        splits: int = 1,
        *,
        rounded: bool = False,
    ):
        self.k, self.grid, self.b, self.root = k, grid, grid.b, root
        self.sizes = attention_sizes(root)
        self.tile_rows, self.tile_keys, self.splits = tile_rows, tile_keys, splits
        self.element = element_type_of_value(root.result)
        self.lanes = ACCESS // item_bytes(root.result)  # elements of a vector
        self.m = Arithmetic(self.b, self.element)
        self.rounded, self.unit = rounded, log2(e) if rounded else 1.0
        self.scale = self.m.constant(root.scale.value.data * self.unit)
        self.query, self.key, self.value = (
            operand_window(grid, in_memory(each)) for each in (root.query, root.key, root.value)
        )
        self.key_scale, self.value_scale = (
            None if (scale := scale_of(each)) is None else operand_window(grid, scale)
            for each in (root.key, root.value)
        )
        self.mask = None if root.mask is None else mask_window(grid, root.mask)
        self.out = result_window(grid, root)
        self.stored = memref_type(self.out.buffer).element_type  # that of the result, or what it is rounded to
        b, s = self.b, self.sizes
        tiles = -(-s.queries * s.group // tile_rows)
        number = b.block_id()
        number.name_hint = "block"
        item, self.split = b.delinearize(number, [tiles * s.batch * s.key_heads, splits])
        self.batch, self.key_head, tile = b.delinearize(item, [s.batch, s.key_heads, tiles])
        self.first = b.mul(b.sub(tiles - 1, tile), tile_rows)  # causal: queries with most keys first, for load balance
        for value, name in ((self.batch, "batch"), (self.key_head, "key_head"), (self.first, "first_row")):
            if not isinstance(value, int):
                value.name_hint = name

    def row(self, number: Index) -> Row:
        """The block's row of that number, clamped to the last one."""
        b, s = self.b, self.sizes
        position = b.min(b.add(self.first, number), s.group * s.queries - 1)
        head, query = b.delinearize(position, [s.group, s.queries])
        return Row(self.batch, b.add(b.mul(self.key_head, s.group), head), query)

    def where_row_exists(self, number: Index, body: Callable[[], None]) -> None:
        """Runs `body` if the block has a row of that number."""
        b, s = self.b, self.sizes
        if s.group * s.queries % self.tile_rows != 0:
            b.when(b.compare("slt", b.add(self.first, number), s.group * s.queries), body)
        else:
            body()

    # keys

    def walk(
        self,
        keys: tuple[SSAValue, int],
        values: tuple[SSAValue, int],
        tile: Callable[[Index, Index], None],
        meanwhile: Callable[[], None],
    ) -> None:
        """Calls `tile(first key, its row in shared memory)` for each tile of keys, prefetching one tile ahead.

        `keys` and `values` are (shared array for STAGES tiles, number of columns filled in each). `meanwhile` is called
        while the first tile is being copied.
        """
        b = self.b
        tiles = -(-self.sizes.keys // self.tile_keys)
        share, end = -(-tiles // self.splits), self._end(tiles)
        first = b.mul(self.split, share)
        last = b.min(b.add(first, share), end) if self.splits > 1 else end
        sources = [
            self._source(self.key, self.key_scale, self.sizes.depth, *keys),
            self._source(self.value, self.value_scale, self.sizes.width, *values),
        ]

        def slot(number: Index) -> Index:
            return b.mul(b.rem(number, STAGES), self.tile_keys)

        def copy(number: Index) -> None:
            for source in sources:
                source.copy(b.mul(number, self.tile_keys), slot(number))
            b.close_group()

        def step(number: Index, _: Sequence[SSAValue]) -> None:
            following = b.add(number, 1)

            def with_next() -> None:
                copy(following)
                b.wait_groups(1)

            if isinstance(number, int):
                b.wait_groups(0)
            else:
                b.when(b.compare("slt", following, last), with_next, lambda: b.wait_groups(0))
            b.barrier()
            tile(b.mul(number, self.tile_keys), slot(number))
            b.barrier()

        if isinstance(first, int):
            copy(first)
        else:
            b.when(b.compare("slt", first, last), lambda: copy(first))
        meanwhile()
        b.loop(first, last, step)

    def _end(self, tiles: int) -> Index:
        """The number of key tiles that the block's queries attend to."""
        b, s = self.b, self.sizes
        if self.root.causal is None:
            return tiles
        from_head, _ = b.delinearize(self.first, [s.group, s.queries])
        last = b.min(b.add(self.first, self.tile_rows - 1), s.group * s.queries - 1)
        to_head, query = b.delinearize(last, [s.group, s.queries])
        if s.group > 1:
            query = b.select(b.compare("eq", from_head, to_head), b.index(query), b.index(s.queries - 1))
        return b.min(b.add(b.div(query, self.tile_keys), 1), tiles)

    def _source(
        self, window: OperandWindow, scale: OperandWindow | None, size: int, array: SSAValue, columns: int
    ) -> SharedRows:
        keys, first = self.sizes.keys, [self.batch, self.key_head, 0]
        return SharedRows(
            grid=self.grid,
            source=window.at(self.b, first, [keys, size]),
            scale=None if scale is None else scale.at(self.b, first, [keys, 1]),
            rows=keys,
            size=size,
            destination=array,
            tile=self.tile_keys,
            columns=columns,
            lanes=self.lanes,
            aligned=is_aligned(self.k, self.grid, window, self.lanes) and size % self.lanes == 0,
        )

    def load_queries(self, array: SSAValue, columns: int) -> None:
        """Copies the block's queries, scaled, to shared memory, zero-padded to `columns`."""
        b, s, m = self.b, self.sizes, self.m

        def element(item: Index, _: Sequence[SSAValue]) -> None:
            number, d = b.delinearize(item, [self.tile_rows, columns])
            at = [*self.row(number).place, b.min(d, s.depth - 1) if columns != s.depth else d]
            place = b.linear(at, self.query.strides, self.query.offset)
            value = m.mul(b.load(b.place(self.query.buffer, place), []), self.scale)
            if columns != s.depth:
                value = b.select(b.compare("ult", d, s.depth), value, m.constant(0.0))
            b.store(value, array, [number, d])

        b.loop(self.grid.lane, self.tile_rows * columns, element, step=self.grid.block)

    def query_fragments(self, units: TensorUnits, numbers: Sequence[Index], t: Index, near: SSAValue) -> None:
        """Stores the parts of a lane's fragments of rows g and g + 8, scaled, to `near` [step, part]."""
        b, s, along = self.b, self.sizes, units.along
        rows = [self.row(number).place for number in numbers]
        places = [b.linear([*row, 0], self.query.strides, self.query.offset) for row in rows]
        lines = [b.view(self.query.buffer, place, [s.depth], self.query.strides[3:]) for place in places]
        together = along if is_aligned(self.k, self.grid, self.query, self.lanes) and s.depth % along == 0 else 1
        steps, ragged = memref_type(near).get_shape()[0], s.depth % units.step != 0

        def numbers_of(line: SSAValue, first: Index) -> list[SSAValue]:
            found: list[SSAValue] = []
            for i in range(0, along, together):
                at = b.add(first, i)
                within = [b.min(at, s.depth - together) if ragged else at]
                if together == 1:
                    values = [b.load(line, within)]
                else:
                    vector = b.vload(line, within, together)
                    values = [b.extract(vector, lane) for lane in range(together)]
                values = [self.m.mul(value, self.scale) for value in values]
                if ragged:
                    exists = b.compare("slt", at, s.depth)
                    values = [b.select(exists, value, self.m.constant(0.0)) for value in values]
                found += values
            return found

        def fragment(step: Index) -> None:
            first = b.add(b.mul(step, units.step), b.mul(t, along))
            both = [numbers_of(line, first) for line in lines]
            made = units.fragment([both[half][i] for half, i in units.left_places])
            for part, each in enumerate(units.parts(made)):
                b.store(each, near, [step, part])

        b.unrolled(steps, fragment)

    # scores

    @property
    def is_masked(self) -> bool:
        """Whether any score is masked or capped."""
        masked = self.mask is not None or self.root.causal is not None or self.sizes.keys % self.tile_keys != 0
        return masked or self.root.softcap is not None

    def mask_of(self, row: Row) -> SSAValue | None:
        """The mask values of a row, indexed by key."""
        if self.mask is None:
            return None
        at = self.b.linear(row.place, self.mask.strides[:3], self.mask.offset)
        return self.b.view(self.mask.buffer, at, [self.sizes.keys], self.mask.strides[3:])

    def masked(self, score: SSAValue, row: Row, mask: SSAValue | None, key: Index) -> SSAValue:
        """A score with softcap and mask applied; minus infinity for a key that the row doesn't attend to."""
        b, m, keys = self.b, self.m, self.sizes.keys
        if self.root.softcap is not None:
            cap = self.root.softcap.value.data * self.unit
            score = m.mul(m.unary("tanh", m.mul(score, m.constant(1 / cap))), m.constant(cap))
        nothing = m.constant(-inf)
        ragged = keys % self.tile_keys != 0
        if mask is not None and self.root.mask is not None:
            given = b.load(mask, [b.min(key, keys - 1) if ragged else key])
            is_kept = is_bool(element_type_of_value(self.root.mask))
            if not is_kept and self.rounded:
                given = m.mul(given, m.constant(self.unit))
            score = b.select(given, score, nothing) if is_kept else m.add(score, given)
        if self.root.causal is not None:
            limit = b.add(row.query, 1)
            return b.select(b.compare("slt", key, b.min(limit, keys) if ragged else limit), score, nothing)
        return b.select(b.compare("slt", key, keys), score, nothing) if ragged else score

    def over_lanes(self, value: SSAValue, lanes: int, combine: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
        """Combines the values of adjacent lanes; all of them get the result."""
        offset = lanes // 2
        while offset:
            value = combine(value, self.b.from_lane(value, offset, width=lanes))
            offset //= 2
        return value

    def power(self, score: SSAValue) -> SSAValue:
        """exp(score)"""
        return self.m.approximate_exp2(score) if self.rounded else self.m.unary("exp", score)

    def shift(self, peak: SSAValue) -> SSAValue:
        """The number subtracted from scores: their running maximum, or 0 if all are minus infinity."""
        m = self.m
        return m.select(m.compare("eq", peak, m.constant(-inf)), m.constant(0.0), peak)

    def divisor(self, total: SSAValue, peak: SSAValue) -> SSAValue:
        """The number a row's results are divided by; a row without keys becomes zeros unless NaN is asked for."""
        return divisor(self.m, self.root, total, peak)


def divisor(m: Arithmetic, root: AttentionOp, total: SSAValue, peak: SSAValue) -> SSAValue:
    """The divisor of a row, for code outside of an AttentionBlock."""
    if root.nan_rows is not None:
        return total
    return m.select(m.compare("eq", peak, m.constant(-inf)), m.constant(1.0), total)
