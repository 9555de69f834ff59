"""Attention of few queries: keys are read unpacked, once for all heads that share them.

for (batch, head of keys) in this thread's share:
    for each query, and each block of heads that share the keys:
        scores = q k^T            products along the elements of a key, whole registers at a time
        softmax of each row
        out = scores v            register tiles over the value rows, unpacked; rows are heads
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from .....passes.kernels.forms.attention import AttentionSizes
from .....passes.kernels.schedules.cpu.tuning import ATTENTION_GROUP, ATTENTION_SHARED
from ....kernel_code.arithmetic import convert, loaded, scalar_of
from ....kernel_code.loop_builder import Index, LoopBuilder, memref_type
from ....kernel_code.operand_windows import OperandWindow
from ....kernel_code.sums_across import sums_across
from ...kernel_instance import KernelInstance


def widened(b: LoopBuilder, value: SSAValue, element: Attribute) -> SSAValue:
    """Elements of a key as they are in memory, as numbers of the type that is computed with."""
    return convert(b, loaded(b, value), scalar_of(value.type), element)


@dataclass(frozen=True)
class FewQueries:
    """Builds the loops over heads and queries."""

    k: KernelInstance
    sizes: AttentionSizes
    query: OperandWindow
    key: OperandWindow
    lanes: int
    sums: int
    """Registers for dot products, besides some for queries and keys."""

    def write(
        self,
        scores: SSAValue,
        softmax: Callable[[Sequence[Index], Index], None],
        product: Callable[[int, int, Sequence[Index], Index], None],
    ) -> None:
        """`softmax(index, row)` turns a row of scores into weights; `product(first, rows, index, group)` is the result
        of rows of them."""
        s, b = self.sizes, self.k.b

        def item(number: Index) -> None:
            batch, group = b.delinearize(number, [s.batch, s.key_heads])
            keys = self.key.at(b, [batch, group, 0], [s.keys, s.depth])
            for start in range(0, s.group, ATTENTION_SHARED):
                heads = min(ATTENTION_SHARED, s.group - start)
                first = b.add(b.mul(group, s.group), start)

                def query(row: Index, _: Sequence[SSAValue], heads: int = heads, first: Index = first) -> None:
                    self._scores([batch, first, row], heads, keys, scores)
                    b.loop(0, heads, lambda i, _: softmax([batch, b.add(first, i), row], i), unrolled=False)
                    for own, rows in _tiles(heads):
                        product(own, rows, [batch, b.add(first, own), row], group)

                b.loop(0, s.queries, query)

        self.k.items(s.batch * s.key_heads, item)

    def _scores(self, index: Sequence[Index], heads: int, keys: SSAValue, scores: SSAValue) -> None:
        """scores[heads, keys]: dot products accumulated in vector registers along the key, then reduced."""
        s, b, window = self.sizes, self.k.b, self.query
        at = b.linear(index, window.strides[:3], window.offset)
        queries = b.view(window.buffer, at, [heads, s.depth], (window.strides[1], window.strides[3]))
        element = memref_type(scores).element_type
        zero = b.splat(b.constant(0.0, element), self.lanes)
        whole = s.depth // self.lanes * self.lanes

        def block(first: Index, count: int) -> None:
            for own, rows in _tiles(heads):

                def step(
                    d: Index, sums: Sequence[SSAValue], valid: int | None = None, own: int = own, rows: int = rows
                ) -> list[SSAValue]:
                    loads = (b.vload(keys, [b.add(first, j), d], self.lanes, valid) for j in range(count))
                    of_keys = [widened(b, each, element) for each in loads]
                    of_queries = [b.vload(queries, [own + i, d], self.lanes, valid) for i in range(rows)]
                    pairs = ((q, k) for q in of_queries for k in of_keys)
                    return [b.fma(q, k, total) for (q, k), total in zip(pairs, sums, strict=True)]

                sums = b.loop(0, whole, step, step=self.lanes, carried=[zero] * (rows * count))
                if s.depth > whole:
                    sums = step(whole, sums, s.depth - whole)
                for row in range(rows):
                    b.vstore(sums_across(b, sums[row * count : (row + 1) * count]), scores, [own + row, first])

        fitting = max(1, self.sums // min(heads, ATTENTION_GROUP))
        at_once = min(self.lanes, 1 << (fitting.bit_length() - 1))
        even = s.keys // at_once * at_once
        b.loop(0, even, lambda t, _: block(t, at_once), step=at_once)
        if at_once > 1:
            b.loop(even, s.keys, lambda t, _: block(t, 1))


def _tiles(heads: int) -> list[tuple[int, int]]:
    """The first head and the number of heads of each tile."""
    return [(first, min(ATTENTION_GROUP, heads - first)) for first in range(0, heads, ATTENTION_GROUP)]
