"""Scaled dot-product attention, one head at a time, without a score matrix in memory.

    for (batch, head) in this thread's share:
        pack the head's keys, transposed, into panels in scratch
        for each block of query rows:
            scores = q k^T            register tiles, a panel of keys at a time, into scratch
            softmax of each row       scale, mask, maximum, exp, sum, division
            out = scores v            register tiles over the value rows as they lie

Few queries read keys as they lie, and the heads that share keys are the rows (attention_few.py).

q, k, v are read through strided windows, so the transposes between [tokens, heads * size] and [heads, tokens, size]
cost nothing; neither does a transpose of the result. Whole rows of scores are kept: an online softmax over blocks of
keys measured 0-4 % slower up to 1500 keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.attention import AttentionOp
from ....dialects.graph.values import element_type_of_value, is_bool
from ....dialects.symbolic.sizes import bounds_of, pinned
from ....passes.kernels.forms.attention import AttentionSizes, attention_sizes
from ....passes.kernels.kernel_facts import the_root
from ....passes.kernels.schedules.cpu.attention import Attention
from ..instance import KernelInstance
from ..tiles.fused_ops import FusedOps
from ..tiles.microkernel import MemoryRows, Strip, Tile, call_tiles
from ..tiles.steps import MultiplyAdd
from ..tiles.sums import chains_of, parts_of
from ..tiles.tiles import TileClass, tile_classes
from ..writing.builder import INDEX, Index, memref_type, strides_of
from ..writing.squares import transposed
from .attention_few import FewQueries
from .attention_windows import mask_window, operand_window, result_window
from .score_rows import ScoreRows


def lower(k: KernelInstance) -> None:
    """Write the kernel's loops."""
    _Writer(k, the_root(k.kernel, AttentionOp)).write()


class _Writer:
    def __init__(self, k: KernelInstance, root: AttentionOp) -> None:
        self.k, self.b, self.root = k, k.b, root
        self.sizes: AttentionSizes = attention_sizes(root)
        self.element = element_type_of_value(root.result)
        options = k.schedule_as(Attention)
        self.mr, self.nr, self.lanes, self.few = options.mr, options.nr, options.lanes, options.few
        self.panels = -(-self.sizes.keys // self.nr)
        self.query, self.key, self.value = (operand_window(k, v) for v in (root.query, root.key, root.value))
        self.mask = None if root.mask is None else mask_window(k, root.mask)
        self.out = result_window(k, root)
        self.plain = FusedOps(root.result, root.result, (), (), True)

    def write(self) -> None:
        b, few, queries = self.b, self.few, self.sizes.queries
        low, high = bounds_of(queries)
        if low > few:
            self._with_panels()
        elif high <= few:
            self._few_rows()
        else:
            b.when(b.compare("sle", queries, few), self._few_rows, self._with_panels)

    def _few_rows(self) -> None:
        few = FewQueries(self.k, self.sizes, self.query, self.key, self.lanes)
        scores = self.k.scratch_part("scores")
        few.write(scores, self._weights_of_row(scores), self._product)

    def _with_panels(self) -> None:
        s, b, k = self.sizes, self.b, self.k
        panels, scores = k.scratch_part("keys"), k.scratch_part("scores")
        pack: list[func.FuncOp] = []
        softmax: dict[str, func.FuncOp] = {}

        def head(item: Index) -> None:
            batch, index = b.delinearize(item, [s.batch, s.heads])
            group = b.div(index, max(1, s.heads // max(1, s.key_heads)))
            keys = self.key.at(b, [batch, group, 0], [s.keys, s.depth])
            if not pack:
                pack.append(self._pack_function(keys.type, panels.type))
            k.call_helper(pack[0], [keys, panels])
            for block in tile_classes(b, s.queries, self.mr):

                def rows(i: Index, _: Sequence[SSAValue], block: TileClass = block) -> None:
                    row = b.add(b.mul(i, block.rows), block.start)
                    self._scores(block, [batch, index, row], panels, scores)
                    self._softmax(softmax, block, [batch, index, row], scores)
                    self._product(block.rows, 2, [batch, index, row], group, scores)

                b.loop(0, block.count, rows)

        k.items(s.batch * s.heads, head)

    def _scores(self, block: TileClass, index: Sequence[Index], panels: SSAValue, scores: SSAValue) -> None:
        """scores[rows, keys] = q k^T, a panel of keys at a time."""
        s, b, query = self.sizes, self.b, self.query
        at = b.linear(index, query.strides[:3], query.offset)
        tile = self._tile(block.rows, self.nr, self.nr, s.depth, neighbours=query.strides[3] == 1)
        strip = Strip(
            tiles=self.panels,
            depth=s.depth,
            a=MemoryRows(b.place(query.buffer, at), query.strides[2]),
            panel=b.place(panels, 0),
            panel_row=self.nr,
            out=MemoryRows(b.place(scores, 0), self.panels * self.nr),
            a_step=query.strides[3],
            next_panel=s.depth * self.nr,
            next_result=self.nr,
        )
        call_tiles(self.k, tile, self.plain, strip)

    def _product(self, rows: int, axis: int, index: Sequence[Index], group: Index, scores: SSAValue) -> None:
        """out[rows, width] = scores v, as many columns at a time as a tile holds; rows are along an axis of out."""
        s, b = self.sizes, self.b
        columns = pinned(s.width)
        whole = columns // self.nr
        rest = columns - whole * self.nr
        # A panel's row is read in whole registers, so columns behind the last must exist: else fewer lanes.
        lanes = -(-rest // self.lanes) * self.lanes
        lanes = lanes if whole * self.nr + lanes <= columns else rest
        for column, count, width, valid in ((0, whole, self.nr, self.nr), (whole * self.nr, 1, lanes, rest)):
            if not count or not valid:
                continue
            at = b.linear([index[0], group, 0, column], self.value.strides, self.value.offset)
            out_at = b.linear([*index, column], self.out.strides, self.out.offset)
            # Where rows are heads, more sums than theirs measured slower.
            chains = chains_of(s.queries, s.keys) if axis == 2 else 1
            tile = replace(self._tile(rows, width, valid, s.keys), chains=chains)
            parts, part = parts_of(s.keys, s.keys, 1, tile.chains)
            strip = Strip(
                tiles=count,
                depth=s.keys,
                a=MemoryRows(b.place(scores, 0), self.panels * self.nr),
                panel=b.place(self.value.buffer, at),
                panel_row=self.value.strides[2],
                out=MemoryRows(b.place(self.out.buffer, out_at), self.out.strides[axis]),
                next_panel=self.nr,
                next_result=self.nr,
                part=part,
            )
            call_tiles(self.k, replace(tile, parts=parts), self.plain, strip)

    def _tile(self, rows: int, lanes: int, valid: int, depth: int, *, neighbours: bool = True) -> Tile:
        return Tile(
            step=MultiplyAdd(self.element),
            rows=rows,
            lanes=lanes,
            valid=valid,
            taps=((0, rows),),
            result=self.element,
            walks_panels=True,
            neighbours=neighbours,
            chains=chains_of(self.sizes.queries, depth),
        )

    def _softmax(
        self, functions: dict[str, func.FuncOp], block: TileClass, index: Sequence[Index], scores: SSAValue
    ) -> None:
        """Scores become weights, row by row."""
        mask = self._mask_rows(index, self.mr)
        if "softmax" not in functions:
            functions["softmax"] = self._softmax_function("softmax", scores.type, mask)
        self.k.call_helper(functions["softmax"], [scores, block.rows, index[2], *([mask] if mask is not None else [])])

    def _weights_of_row(self, scores: SSAValue) -> Callable[[Sequence[Index], Index], None]:
        """What makes one row of scores, at a (batch, head, query), weights."""
        functions: list[func.FuncOp] = []
        length = self.panels * self.nr

        def row(index: Sequence[Index], number: Index) -> None:
            own = self.b.view(scores, self.b.mul(number, length), [1, length], [length, 1])
            mask = self._mask_rows(index, 1)
            if not functions:
                functions.append(self._softmax_function("softmax_row", own.type, mask))
            self.k.call_helper(functions[0], [own, 1, index[2], *([mask] if mask is not None else [])])

        return row

    def _mask_rows(self, index: Sequence[Index], rows: int) -> SSAValue | None:
        """The mask of so many queries, from one on."""
        if self.mask is None:
            return None
        at = self.b.linear(index, self.mask.strides[:3], self.mask.offset)
        return self.b.view(self.mask.buffer, at, [rows, self.sizes.keys], self.mask.strides[2:])

    def _softmax_function(self, name: str, scores_type: Attribute, mask: SSAValue | None) -> func.FuncOp:
        """(scores, rows, the first row's query, mask)"""
        given: list[Attribute] = [scores_type, INDEX, INDEX]
        given += [mask.type] if mask is not None else []
        function, inner = self.k.helper(name, given)
        arguments = list(function.body.block.args)
        ScoreRows(
            b=inner,
            scores=arguments[0],
            keys=self.sizes.keys,
            lanes=self.nr,
            scale=self.root.scale.value.data,
            softcap=None if self.root.softcap is None else self.root.softcap.value.data,
            causal=self.root.causal is not None,
            nan_rows=self.root.nan_rows is not None,
            mask=arguments[3] if mask is not None else None,
            mask_is_bool=self.root.mask is not None and is_bool(element_type_of_value(self.root.mask)),
        ).write(arguments[1], arguments[2])
        inner.ret()
        return function

    def _pack_function(self, keys_type: Attribute, panels_type: Attribute) -> func.FuncOp:
        """(keys [S, D], panels [S / nr, D, nr]): the keys transposed, zeros behind the last."""
        s, lanes = self.sizes, self.lanes
        function, b = self.k.helper("pack_keys", [keys_type, panels_type])
        keys, panels = function.body.block.args[:2]
        contiguous = strides_of(memref_type(keys))[1] == 1
        # Squares of keys x elements go through registers, what is left over element by element.
        square_keys, square_depth = (s.keys // lanes * lanes, s.depth // lanes * lanes) if contiguous else (0, 0)

        def one(key: Index, d: Index, value: SSAValue) -> None:
            b.store(value, panels, [b.div(key, self.nr), d, b.rem(key, self.nr)])

        def copy(first_key: int, last_key: int, first: int, last: int) -> None:
            def row(key: Index, _: Sequence[SSAValue]) -> None:
                b.loop(first, last, lambda d, _: one(key, d, b.load(keys, [key, d])))

            b.loop(first_key, last_key, row)

        def square(key: Index, _: Sequence[SSAValue]) -> None:
            def block(d: Index, _: Sequence[SSAValue]) -> None:
                rows = [b.vload(keys, [b.add(key, i), d], lanes) for i in range(lanes)]
                for i, column in enumerate(transposed(b, rows)):
                    b.vstore(column, panels, [b.div(key, self.nr), b.add(d, i), b.rem(key, self.nr)])

            b.loop(0, square_depth, block, step=lanes)

        zero = b.constant(0.0, self.element)

        def padding(key: Index, _: Sequence[SSAValue]) -> None:
            b.loop(0, s.depth, lambda d, _: one(key, d, zero))

        b.loop(0, square_keys, square, step=lanes)
        copy(0, square_keys, square_depth, s.depth)
        copy(square_keys, s.keys, 0, s.depth)
        b.loop(s.keys, self.panels * self.nr, padding)
        b.ret()
        return function
