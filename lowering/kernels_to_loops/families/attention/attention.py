"""Scaled dot-product attention, one head at a time, with the scores of a block of rows in scratch.

    for (batch, head) in this thread's share:
        pack the head's keys, transposed, into panels in scratch
        for each block of query rows:
            scores = q k^T            register tiles, a panel of keys at a time, into scratch
            softmax of each row       scale, mask, maximum, exp, sum; prefetches the next head's rows
            out = scores v / sum      register tiles over the value rows, unpacked

For few queries, keys are read unpacked, and the heads that share keys are the rows (attention_few.py). q, k, v are read
through strided windows, so the transposes between [tokens, heads * size] and [heads, tokens, size] cost nothing;
neither does a transpose of the result. Keys and values of narrower elements are widened in registers. Where rows are
causal, keys after the last row of a block are skipped. Whole rows of scores are kept; attention_blocks.py processes
long sequences by blocks of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.ir import Attribute, SSAValue

from .....dialects.graph.ops.attention import AttentionOp
from .....dialects.graph.values import element_type_of_value, is_bool
from .....dialects.sizes.sizes import bounds_of, is_fixed, pinned
from .....passes.kernels.forms.attention import AttentionSizes, attention_sizes, in_memory, scale_of
from .....passes.kernels.kernel_facts import item_bytes, the_root
from .....passes.kernels.schedules.cpu.attention import Attention
from ....kernel_code.loop_builder import INDEX, Index, memref_type, strides_of
from ....kernel_code.operand_windows import mask_window, operand_window, result_window
from ....kernel_code.register_transposes import transposed
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import Epilogue, FusedOps, TimesFactor
from ...tiles.inner_steps import MultiplyAdd
from ...tiles.microkernel import Strip, Tile, call_tiles
from ...tiles.split_sums import chains_of, parts_of
from ...tiles.tile_classes import TileClass, tile_classes
from ...tiles.tile_results import MemoryRows, TileOperand
from .attention_few import FewQueries, widened
from .score_rows import ScoreRows


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    AttentionWriter(k, the_root(k.kernel, AttentionOp)).write()


class AttentionWriter:
    """Builds one kernel's loops, head by head with whole rows of scores."""

    def __init__(self, k: KernelInstance, root: AttentionOp) -> None:
        self.k, self.b, self.root = k, k.b, root
        self.sizes: AttentionSizes = attention_sizes(root)
        self.element = element_type_of_value(root.result)
        options = k.schedule_as(Attention)
        self.mr, self.nr, self.lanes, self.few = options.mr, options.nr, options.lanes, options.few
        self.ahead = options.ahead
        self.panels = -(-self.sizes.keys // self.nr)
        self.score_row = options.row_of_scores(self.panels * self.nr, item_bytes(root.result))
        operands = (root.query, root.key, root.value)
        self.query, self.key, self.value = (operand_window(k, in_memory(each)) for each in operands)
        self.scales = [None if (scale := scale_of(each)) is None else operand_window(k, scale) for each in operands[1:]]
        self.mask = None if root.mask is None else mask_window(k, root.mask)
        self.out = result_window(k, root)
        self.causal = root.causal is not None
        self.plain = FusedOps(root.result, root.result, (), (), True)
        self.factor = TileOperand(self.element, in_place=False, by_row=True, by_column=False)

    def write(self) -> None:
        """Builds the loops over heads."""
        b, few, queries = self.b, self.few, self.sizes.queries
        low, high = bounds_of(queries)
        if low > few:
            self.with_panels()
        elif high <= few:
            self._few_rows()
        else:
            b.when(b.compare("sle", queries, few), self._few_rows, self.with_panels)

    def _few_rows(self) -> None:
        few = FewQueries(self.k, self.sizes, self.query, self.key, self.lanes, self._accumulators())
        scores, factors = self.k.scratch_part("scores"), self.k.scratch_part("factors")

        def product(first: int, rows: int, index: Sequence[Index], group: Index) -> None:
            row = self.score_row
            weights = self.b.view(scores, self.b.mul(first, row), [rows, row], [row, 1])
            own = self.b.view(factors, first, [rows], [1])
            self._result(rows, 1, index, group, self.sizes.keys, weights, own)

        few.write(scores, self._weights_of_row(scores, factors), product)

    def _accumulators(self) -> int:
        """Registers for sums where there are few rows: three of four of those that a tile has."""
        return 3 * self.mr * (self.nr // self.lanes) // 4

    def with_panels(self) -> None:
        """The loops over heads with keys packed into panels."""
        s, b = self.sizes, self.b
        scores, factors = (self.k.scratch_part(name) for name in ("scores", "factors"))
        softmax: dict[str, func.FuncOp] = {}

        def head(item: Index, batch: Index, index: Index, group: Index, panels: SSAValue) -> None:
            for block in tile_classes(b, s.queries, self.mr):

                def rows(i: Index, _: Sequence[SSAValue], block: TileClass = block) -> None:
                    row = b.add(b.mul(i, block.rows), block.start)
                    at = [batch, index, row]
                    end = b.min(s.keys, b.add(row, block.rows)) if self.causal else s.keys
                    self.scores(block, at, end, panels, scores)
                    self._softmax(softmax, block, at, end, scores, factors, self._ahead(item, row))
                    self._result(block.rows, 2, at, group, end, scores, factors)

                b.loop(0, block.count, rows)

        self.heads(head)

    def heads(self, body: Callable[[Index, Index, Index, Index, SSAValue], None]) -> None:
        """`body(item, batch, head, head of keys, panels)` for this thread's heads, with the keys packed into panels."""
        s, b, k = self.sizes, self.b, self.k
        panels = k.scratch_part("keys")
        pack: list[func.FuncOp] = []

        def head(item: Index) -> None:
            batch, index = b.delinearize(item, [s.batch, s.heads])
            group = b.div(index, max(1, s.heads // max(1, s.key_heads)))
            keys = self.key.at(b, [batch, group, 0], [s.keys, s.depth])
            if not pack:
                pack.append(self._pack_function(keys.type, panels.type))
            k.call_helper(pack[0], [keys, panels])
            body(item, batch, index, group, panels)

        k.items(s.batch * s.heads, head)

    def _ahead(self, item: Index, row: Index) -> list[SSAValue]:
        """Windows of the next head's queries, keys and values from `row` on, where they are prefetched.

        After the last head they are out of range, which is harmless for a prefetch.
        """
        if not self.ahead:
            return []
        s, b = self.sizes, self.b
        batch, head = b.delinearize(b.add(item, 1), [s.batch, s.heads])
        group = b.div(head, s.group)
        windows = ((self.query, head, s.depth), (self.key, group, s.depth), (self.value, group, s.width))
        return [
            each.at(b, [batch, index, row], [self.mr, size]) for each, index, size in windows if each.strides[3] == 1
        ]

    def scores(
        self,
        block: TileClass,
        index: Sequence[Index],
        end: Index,
        panels: SSAValue,
        scores: SSAValue,
        before: Index = 0,
    ) -> None:
        """scores[rows, `end` keys] = q k^T, a panel of keys at a time; the keys start after `before` panels."""
        s, b, query = self.sizes, self.b, self.query
        at = b.linear(index, query.strides[:3], query.offset)
        # Registers of the last panel without any key are left out where their number is static.
        rest = -(-(end % self.nr) // self.lanes) * self.lanes if isinstance(end, int) and is_fixed(end) else self.nr
        whole = b.div(end if 0 < rest < self.nr else b.add(end, self.nr - 1), self.nr)
        for first, count, lanes in ((0, whole, self.nr), (whole, 1, rest % self.nr)):
            if not lanes or count == 0:
                continue
            tile = self.tile(block.rows, s.depth, neighbours=query.strides[3] == 1)
            strip = Strip(
                tiles=count,
                depth=s.depth,
                a=MemoryRows(b.place(query.buffer, at), query.strides[2]),
                panel=b.place(panels, b.mul(b.add(before, first), s.depth * self.nr)),
                panel_row=self.nr,
                out=MemoryRows(b.place(scores, b.mul(first, self.nr)), self.score_row),
                a_step=query.strides[3],
                next_panel=s.depth * self.nr,
                next_result=self.nr,
            )
            call_tiles(self.k, replace(tile, lanes=lanes, valid=lanes), self.plain, strip)

    def _result(
        self,
        rows: int,
        axis: int,
        index: Sequence[Index],
        group: Index,
        end: Index,
        scores: SSAValue,
        factors: SSAValue,
    ) -> None:
        """out[rows, width] = factor * weights v over keys before `end`; `axis` is that of out along which rows lie."""
        s, b, out = self.sizes, self.b, self.out
        # Where rows are heads, rows of values are read as a whole if they can be, and sums with more registers than
        # that measured slower.
        chains, nr = chains_of(s.queries, s.keys, self.k.target), self.nr
        if axis == 1:
            chains, fitting = 1, min(self._accumulators() // rows, pinned(s.width) // self.lanes)
            nr = max(self.nr, self.lanes << max(0, fitting.bit_length() - 1))
        tile = replace(self.tile(rows, s.keys), chains=chains, lanes=nr, operands=(self.factor,))

        def into(column: int) -> MemoryRows:
            at = b.linear([*index, column], out.strides, out.offset)
            return MemoryRows(b.place(out.buffer, at), out.strides[axis])

        values, given = [index[0], group, 0], (MemoryRows(b.place(factors, 0), 1),)
        self.product(tile, values, s.keys, end, scores, TimesFactor(factors), given, into)

    def product(
        self,
        tile: Tile,
        values: Sequence[Index],
        most: int,
        end: Index,
        scores: SSAValue,
        epilogue: Epilogue,
        operands: Sequence[MemoryRows | None],
        into: Callable[[int], MemoryRows],
    ) -> None:
        """The product of weights and `end` (at most `most`) rows of v from `values` on, stored to `into`.

        `values` is a (batch, head, key). A tile has as many columns as fit.
        """
        s, b = self.sizes, self.b
        tile = replace(tile, step=MultiplyAdd(self.element, memref_type(self.value.buffer).element_type))
        nr, columns = tile.lanes, pinned(s.width)
        whole = columns // nr
        rest = columns - whole * nr
        # A panel's row is read in whole registers: without readable elements after the last column, fewer lanes.
        lanes = -(-rest // self.lanes) * self.lanes
        lanes = lanes if whole * nr + lanes <= columns else rest
        parts, part = parts_of(most, most, 1, tile.chains)
        for column, count, width, valid in ((0, whole, nr, nr), (whole * nr, 1, lanes, rest)):
            if not count or not valid:
                continue
            at = b.linear([*values, column], self.value.strides, self.value.offset)
            strip = Strip(
                tiles=count,
                depth=end,
                a=MemoryRows(b.place(scores, 0), self.score_row),
                panel=b.place(self.value.buffer, at),
                panel_row=self.value.strides[2],
                out=into(column),
                operands=operands,
                next_panel=nr,
                next_result=nr,
                part=part,
            )
            call_tiles(self.k, replace(tile, lanes=width, valid=valid, parts=parts), epilogue, strip)

    def tile(self, rows: int, depth: int, *, neighbours: bool = True) -> Tile:
        return Tile(
            step=MultiplyAdd(self.element),
            rows=rows,
            lanes=self.nr,
            valid=self.nr,
            taps=((0, rows),),
            result=self.element,
            walks_panels=True,
            neighbours=neighbours,
            chains=chains_of(self.sizes.queries, depth, self.k.target),
        )

    def _softmax(
        self,
        functions: dict[str, func.FuncOp],
        block: TileClass,
        index: Sequence[Index],
        end: Index,
        scores: SSAValue,
        factors: SSAValue,
        ahead: Sequence[SSAValue],
    ) -> None:
        """Converts scores to weights row by row, prefetching the rows `ahead`."""
        beside = self.beside_rows(index, self.mr)
        if "softmax" not in functions:
            functions["softmax"] = self.softmax_function("softmax", scores.type, factors.type, beside, ahead)
        given = [scores, factors, block.rows, index[2], *([end] if self.causal else [])]
        self.k.call_helper(functions["softmax"], [*given, *beside.values(), *ahead])

    def _weights_of_row(self, scores: SSAValue, factors: SSAValue) -> Callable[[Sequence[Index], Index], None]:
        """A function that converts one row of scores, at a (batch, head, query), to weights."""
        functions: list[func.FuncOp] = []
        length = self.score_row

        def row(index: Sequence[Index], number: Index) -> None:
            own = self.b.view(scores, self.b.mul(number, length), [1, length], [length, 1])
            factor = self.b.view(factors, number, [1], [1])
            beside = self.beside_rows(index, 1)
            if not functions:
                functions.append(self.softmax_function("softmax_row", own.type, factor.type, beside))
            given = [own, factor, 1, index[2], *([self.sizes.keys] if self.causal else [])]
            self.k.call_helper(functions[0], [*given, *beside.values()])

        return row

    def beside_rows(self, index: Sequence[Index], rows: int) -> dict[str, SSAValue]:
        """What scores of `rows` queries are changed by: a mask, and scales of keys and of values.

        `index` is (batch, head, query) and possibly a first key.
        """
        b, s = self.b, self.sizes
        found: dict[str, SSAValue] = {}
        if self.mask is not None:
            at = b.linear(index, self.mask.strides[: len(index)], self.mask.offset)
            found["mask"] = b.view(self.mask.buffer, at, [rows, s.keys], self.mask.strides[2:])
        for name, scale in zip(("of keys", "of values"), self.scales, strict=True):
            if scale is not None:
                group, first = b.div(index[1], s.group), index[3] if len(index) > 3 else 0
                at = b.linear([index[0], group, first], scale.strides[:3], scale.offset)
                found[name] = b.view(scale.buffer, at, [s.keys], scale.strides[2:3])
        return found

    def softmax_function(
        self,
        name: str,
        scores_type: Attribute,
        factors_type: Attribute,
        beside: Mapping[str, SSAValue],
        ahead: Sequence[SSAValue] = (),
        running: Sequence[SSAValue] = (),
    ) -> func.FuncOp:
        """A function (scores, factors, rows, first row's query, end of keys, what is beside, rows ahead, running ones).

        The end of keys is an argument only where it varies. Running are peaks and sums.
        """
        told = self.causal or len(running) > 0
        given: list[Attribute] = [scores_type, factors_type, INDEX, INDEX, *([INDEX] if told else [])]
        given += [each.type for each in (*beside.values(), *ahead, *running)]
        function, inner = self.k.helper(name, given)
        scores, factors, rows, first, *others = function.body.block.args
        end: Index = others.pop(0) if told else self.sizes.keys
        own = {name: others.pop(0) for name in beside}
        ScoreRows(
            b=inner,
            scores=scores,
            factors=factors,
            lanes=self.lanes,
            scale=self.root.scale.value.data,
            softcap=None if self.root.softcap is None else self.root.softcap.value.data,
            causal=self.causal,
            nan_rows=self.root.nan_rows is not None,
            mask=own.get("mask"),
            mask_is_bool=self.root.mask is not None and is_bool(element_type_of_value(self.root.mask)),
            ahead=others[: len(ahead)],
            running=(others[len(ahead)], others[len(ahead) + 1]) if running else None,
            scales=(own.get("of keys"), own.get("of values")),
        ).write(rows, first, end)
        inner.ret()
        return function

    def _pack_function(self, keys_type: Attribute, panels_type: Attribute) -> func.FuncOp:
        """A function (keys [S, D], panels [S / nr, D, nr]): packs keys transposed, padded with the last one."""
        s, lanes = self.sizes, self.lanes
        function, b = self.k.helper("pack_keys", [keys_type, panels_type])
        keys, panels = function.body.block.args[:2]
        # Squares of keys x elements are transposed in registers, the remaining elements one by one.
        contiguous = strides_of(memref_type(keys))[1] == 1
        depth = s.depth // lanes * lanes if contiguous else 0
        whole = s.keys // lanes * lanes

        def squares(key: Index, past: bool) -> None:
            numbers = [b.add(key, i) for i in range(lanes)]
            if past:
                numbers = [b.min(number, s.keys - 1) for number in numbers]

            def square(d: Index, _: Sequence[SSAValue]) -> None:
                rows = [widened(b, b.vload(keys, [number, d], lanes), self.element) for number in numbers]
                for i, column in enumerate(transposed(b, rows)):
                    b.vstore(column, panels, [b.div(key, self.nr), b.add(d, i), b.rem(key, self.nr)])

            b.loop(0, depth, square, step=lanes)

        def row(key: Index, _: Sequence[SSAValue]) -> None:
            def one(d: Index, _: Sequence[SSAValue]) -> None:
                element = widened(b, b.load(keys, [key, d]), self.element)
                b.store(element, panels, [b.div(key, self.nr), d, b.rem(key, self.nr)])

            b.loop(depth, s.depth, one)

        if depth:
            b.loop(0, whole, lambda key, _: squares(key, past=False), step=lanes)
            b.loop(whole, s.keys, lambda key, _: squares(key, past=True), step=lanes)
        if s.depth > depth:
            b.loop(0, s.keys, row)
        b.ret()
        return function
