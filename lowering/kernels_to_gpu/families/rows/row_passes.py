"""Passes over a row that several threads split; the GPU implementation of row_ops.Passes.

Along a contiguous row each thread has every `threads`-th vector of it; across strided rows every `threads`-th element
of a vector of rows. `together` combines the threads' partial results for the row.

If blocks split a row, too, each launch does one pass: it stores the partial result of its part and ends. A later
launch, built by the same code, loads the results of earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from typing_extensions import override
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from .....dialects.sizes.sizes import bounds_of, is_fixed
from .....passes.geometry.boxes import row_major
from ....kernel_code.elements.element_values import Values
from ....kernel_code.index_expr import Expr, Var, linear
from ....kernel_code.lane_access import Vector
from ....kernel_code.loop_builder import Index
from ....kernel_code.reductions import Reduction
from ....kernel_code.row_ops import Passes
from ...thread_builder import ThreadBuilder
from ...warp_reductions import over_vector

Body = Callable[[Expr], Sequence[SSAValue]]
Together = Callable[[Reduction, SSAValue], SSAValue]


class PassDone(Exception):
    """The pass of this launch is complete; ends the building of its code."""


@dataclass(frozen=True)
class Parts:
    """This block has part `part` of `count` of each row, and the launch does pass number `launch`.

    `found` and `note` load and store the partial results of a row: (pass, reduction).
    """

    part: Index
    count: int
    launch: int
    found: Callable[[int, Reduction], SSAValue]
    note: Callable[[int, SSAValue], None]


def box(b: ThreadBuilder, item: Index, sizes: Sequence[int], lanes: int = 1) -> tuple[Expr, Var]:
    """The row-major index of the `item`-th vector of a box, and the variable of its innermost axis."""
    inner = b.delinearize(item, [*sizes[:-1], sizes[-1] // lanes])
    last = Var(b.mul(inner[-1], lanes), 0, sizes[-1] - 1)
    variables = [*(Var(i, 0, size - 1) for i, size in zip(inner[:-1], sizes[:-1], strict=True)), last]
    return linear([Expr.of(var) for var in variables], row_major(sizes)), last


@dataclass
class SharedPasses(Passes):
    """Passes in which `threads` threads split a row, of which this is number `mine`.

    It visits every `threads`-th item: an element, or `lanes` adjacent ones where vectors run along the row.
    """

    b: ThreadBuilder
    v: Values
    sizes: Sequence[int]  # sizes of the axes within a row
    lanes: int
    threads: int
    mine: Index
    together: Together
    kept: SSAValue | None = None  # a private array for the thread's items
    parts: Parts | None = None
    inside: SSAValue | None = None  # where false, nothing may be stored
    _chunk: Index = 0  # items that the thread has visited earlier in this pass
    _passes: int = 0

    @property
    @override
    def keeps(self) -> bool:
        return self.kept is not None

    @override
    def keep(self, position: Expr, value: SSAValue) -> None:
        assert self.kept is not None
        self.b.store(self.v.spread(value), self.kept, [self._chunk])

    @override
    def kept_at(self, position: Expr) -> SSAValue:
        assert self.kept is not None
        return self.b.load(self.kept, [self._chunk])

    @override
    def run(self, reductions: Sequence[Reduction], body: Body) -> list[SSAValue]:
        number, parts = self._passes, self.parts
        self._passes += 1
        if not reductions:
            if self.inside is None:
                self._visit_all([], body)
            else:
                self.b.when(self.inside, lambda: self._visit_all([], body))
            return []
        if parts is not None and number < parts.launch:
            return [parts.found(number, reduction) for reduction in reductions]
        totals = [
            self.together(reduction, self._folded(reduction, total))
            for reduction, total in zip(reductions, self._visit_all(reductions, body), strict=True)
        ]
        if parts is not None:
            for total in totals:
                parts.note(number, total)
            raise PassDone
        return totals

    def _folded(self, reduction: Reduction, total: SSAValue) -> SSAValue:
        return over_vector(self.b, reduction, total) if self.lanes > 1 else total

    def _visit_all(self, reductions: Sequence[Reduction], body: Body) -> Sequence[SSAValue]:
        """Reduces this thread's items."""
        b, items, threads = self.b, prod(self.sizes) // self.lanes, self.threads
        parts = 1 if self.parts is None else self.parts.count
        chunks = -(-items // (threads * parts))
        first = self.mine if self.parts is None else b.add(b.mul(self.parts.part, chunks * threads), self.mine)
        whole = chunks if chunks * threads * parts == items else items // threads if parts == 1 else 0

        def step(i: Index, carried: Sequence[SSAValue], asks: bool = False) -> Sequence[SSAValue]:
            item = b.add(b.mul(i, threads), first)

            def visit() -> Sequence[SSAValue]:
                self._chunk = i
                found = self._visit(item, body)
                return [r.combine(total, x) for r, total, x in zip(reductions, carried, found, strict=True)]

            if not asks:
                return visit()
            return b.when(b.compare("ult", item, items), visit, (lambda: carried) if reductions else None)

        def loop(count: int, asks: bool, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if self.keeps:
                return b.folded(count, carried, lambda i, inner: step(i, inner, asks))
            return b.loop(0, count, lambda i, inner: step(i, inner, asks), carried=carried)

        if self.keeps and not is_fixed(items):  # unrolled for the longest row
            whole, chunks = 0, -(-bounds_of(items)[1] // threads)
            return loop(chunks, True, [self._start(reduction) for reduction in reductions])
        carried = loop(whole, False, [self._start(reduction) for reduction in reductions])
        if whole == chunks:
            return carried
        return step(whole, carried, asks=True) if parts == 1 else loop(chunks, True, carried)

    def _start(self, reduction: Reduction) -> SSAValue:
        if self.lanes > 1:
            return reduction.start(VectorType(reduction.element, [self.lanes]))
        return self.v.spread(reduction.start())

    def _visit(self, item: Index, body: Body) -> list[SSAValue]:
        """The body's values for one item, converted to accumulator types."""
        position, last = box(self.b, item, self.sizes, self.lanes)
        if self.lanes > 1:
            with self.v.vectorised(Vector(last, self.lanes, self.lanes)):
                return [self.v.spread(value) for value in body(position)]
        with self.v.scope():
            return [self.v.spread(value) for value in body(position)]
