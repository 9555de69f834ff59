"""Attention with online softmax: query rows are combined with one block of keys at a time.

    for (batch, head) in this thread's share:
        pack the head's keys into panels in scratch
        for each group of tiles of query rows:
            for each block of keys that any of them attends to:
                for each tile:
                    scores = q k^T
                    softmax of each row so far      updates its peak and sum; earlier results get a factor
                    sums = factors * sums + scores v
            out = sums / sum of weights

Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao and others, "FlashAttention", 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from typing_extensions import override
from xdsl.dialects import func
from xdsl.ir import SSAValue

from .....dialects.graph.ops.attention import AttentionOp
from .....dialects.sizes.sizes import pinned
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cpu.attention_blocks import AttentionBlocks
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import INDEX, Index, LoopBuilder
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import AddedToScaled
from ...tiles.tile_classes import TileClass, tile_classes
from ...tiles.tile_results import MemoryRows, TileOperand
from .attention import AttentionWriter


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    _BlockWriter(k, the_root(k.kernel, AttentionOp)).write()


class _BlockWriter(AttentionWriter):
    def __init__(self, k: KernelInstance, root: AttentionOp) -> None:
        super().__init__(k, root)
        options = k.schedule_as(AttentionBlocks)
        self.block, self.tall, self.score_row = options.block, options.tall, options.row_of_block
        self.parts = {name: k.scratch_part(name) for name in ("scores", "factors", "peaks", "totals", "sums")}
        self.functions: dict[str, func.FuncOp] = {}

    @override
    def with_panels(self) -> None:
        """The loops over heads, groups of query rows, and blocks of keys."""
        s, b = self.sizes, self.b

        def head(item: Index, batch: Index, index: Index, group: Index, panels: SSAValue) -> None:
            del item
            for tiles in tile_classes(b, s.queries, self.mr):

                def some(number: Index, _: Sequence[SSAValue], tiles: TileClass = tiles) -> None:
                    first = b.mul(number, self.tall)
                    count = b.min(b.sub(tiles.count, first), self.tall)
                    row = b.add(b.mul(first, tiles.rows), tiles.start)
                    self._group(tiles, [batch, index, row], count, group, panels)

                groups = b.div(b.add(tiles.count, self.tall - 1), self.tall)
                b.loop(0, groups, some)

        self.heads(head)

    def _group(self, tiles: TileClass, at: Sequence[Index], count: Index, group: Index, panels: SSAValue) -> None:
        """`count` tiles of rows, the first of which is at (batch, head, query)."""
        s, b = self.sizes, self.b
        rows = b.mul(count, tiles.rows)
        if "begin" not in self.functions:
            self.functions["begin"] = self._begin_function()
        self.k.call_helper(self.functions["begin"], [*self._running(), self.parts["sums"], rows])

        def keys(first: Index, _: Sequence[SSAValue]) -> None:
            def tile(number: Index, _: Sequence[SSAValue]) -> None:
                row = b.mul(number, tiles.rows)
                query = b.add(at[2], row)
                end = b.min(s.keys, b.add(query, tiles.rows)) if self.causal else s.keys
                left = b.min(b.sub(end, first), self.block)

                def meet() -> None:
                    self._meet(tiles, [*at[:2], query], row, first, left, group, panels)

                if self.causal:
                    b.when(b.compare("sgt", left, 0), meet)
                else:
                    meet()

            b.loop(0, count, tile)

        b.loop(0, b.min(s.keys, b.add(at[2], rows)) if self.causal else s.keys, keys, step=self.block)
        out_at = b.linear(at, self.out.strides[:3], self.out.offset)
        out = b.view(self.out.buffer, out_at, [self.tall * self.mr, s.width], self.out.strides[2:])
        if "finish" not in self.functions:
            self.functions["finish"] = self._finish_function(out)
        self.k.call_helper(self.functions["finish"], [self.parts["totals"], self.parts["sums"], out, rows])

    def _running(self) -> list[SSAValue]:
        return [self.parts["peaks"], self.parts["totals"]]

    def _meet(
        self,
        tiles: TileClass,
        at: Sequence[Index],
        row: Index,
        first: Index,
        count: Index,
        group: Index,
        panels: SSAValue,
    ) -> None:
        """Combines a tile of queries, from the group's row `row` on, with `count` keys from the block's `first` on."""
        s, b, parts = self.sizes, self.b, self.parts
        scores, factors = parts["scores"], parts["factors"]
        self.scores(tiles, at, count, panels, scores, b.div(first, self.nr))

        running = [b.view(part, row, [self.mr], [1]) for part in self._running()]
        beside = self.beside_rows([*at, first], self.mr)
        if "softmax" not in self.functions:
            self.functions["softmax"] = self.softmax_function(
                "softmax", scores.type, factors.type, beside, running=running
            )
        given = [scores, factors, tiles.rows, b.sub(at[2], first), count]
        self.k.call_helper(self.functions["softmax"], [*given, *beside.values(), *running])

        def into(column: int) -> MemoryRows:
            return MemoryRows(b.place(parts["sums"], b.add(b.mul(row, s.width), column)), s.width)

        before = TileOperand(self.element, in_place=True, by_row=True, by_column=True)
        tile = replace(self.tile(tiles.rows, self.block), operands=(before, self.factor))
        rows = (None, MemoryRows(b.place(factors, 0), 1))
        epilogue = AddedToScaled(parts["sums"], factors)
        self.product(tile, [at[0], group, first], self.block, count, scores, epilogue, rows, into)

    def _begin_function(self) -> func.FuncOp:
        """A function (peaks, totals, sums, rows) that initialises the running softmax."""
        running, sums = self._running(), self.parts["sums"]
        function, b = self.k.helper("begin", [*(each.type for each in running), sums.type, INDEX])
        peaks, totals, sums, rows = function.body.block.args[:4]
        zero = b.splat(b.constant(0.0, self.element), self.lanes)

        def row(i: Index, _: Sequence[SSAValue]) -> None:
            b.store(b.constant(-inf, self.element), peaks, [i])
            b.store(b.constant(0.0, self.element), totals, [i])
            self._over_row(b, lambda at, valid: b.vstore(zero, sums, [i, at], valid))

        b.loop(0, rows, row)
        b.ret()
        return function

    def _finish_function(self, out: SSAValue) -> func.FuncOp:
        """A function (totals, sums, out, rows): out = sums / totals; zero (or NaN) for a row without keys."""
        totals, sums = self.parts["totals"], self.parts["sums"]
        function, b = self.k.helper("finish", [totals.type, sums.type, out.type, INDEX])
        totals, sums, out, rows = function.body.block.args[:4]
        m = Arithmetic(b, self.element)

        def row(i: Index, _: Sequence[SSAValue]) -> None:
            total = b.load(totals, [i])
            if self.root.nan_rows is None:
                total = m.select(m.compare("eq", total, m.constant(0.0)), m.constant(1.0), total)
            factor = b.splat(m.div(m.constant(1.0), total), self.lanes)

            def some(at: Index, valid: int) -> None:
                value = b.vload(sums, [i, at], self.lanes, valid)
                b.vstore(Arithmetic(b, value.type).mul(value, factor), out, [i, at], valid)

            self._over_row(b, some)

        b.loop(0, rows, row)
        b.ret()
        return function

    def _over_row(self, b: LoopBuilder, body: Callable[[Index, int], None]) -> None:
        """`body(column, lanes)` for every register of a row of sums."""
        columns = pinned(self.sizes.width)
        whole = columns // self.lanes * self.lanes
        b.loop(0, whole, lambda at, _: body(at, self.lanes), step=self.lanes)
        if whole < columns:
            body(whole, columns - whole)
