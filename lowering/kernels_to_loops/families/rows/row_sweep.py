"""Passes over one row of a row kernel: reduction loops over its elements.

Vector lanes run along the row, or across rows (one row per lane), or code is scalar. Along the row there is a loop over
wide vectors, then one over single registers, then a masked vector for the rest; each has accumulators of its own, which
are combined at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from .....dialects.sizes.sizes import is_fixed
from .....passes.geometry.boxes import row_major
from ....kernel_code.arithmetic import is_integer, lanes_of
from ....kernel_code.domain import Piece
from ....kernel_code.elements.element_values import Values
from ....kernel_code.index_expr import Expr, Var, linear
from ....kernel_code.lane_access import Vector
from ....kernel_code.loop_builder import Index
from ....kernel_code.reductions import Reduction
from ...nests import Lanes

Body: TypeAlias = "Callable[[Expr], Sequence[SSAValue]]"


@dataclass(frozen=True)
class Sweep:
    """One row, or a vector of rows; `inner` are the sizes of its axes, cut into `pieces`.

    With lanes along the row, a pass's body runs once for each vector; otherwise once for each element.
    """

    v: Values
    inner: Sequence[int]
    pieces: Sequence[Piece]
    lanes: Lanes | None  # lanes run along the row; None: across rows (those of `v`), or scalar
    kept: SSAValue | None  # scratch for the row

    @property
    def keeps(self) -> bool:
        """Whether scratch holds a row."""
        return self.kept is not None

    def run(self, reductions: Sequence[Reduction], body: Body) -> list[SSAValue]:
        """Runs body(position in the row) over the whole row and reduces the values it returns."""
        totals: list[SSAValue] = []
        for piece in self.pieces:
            part = _Pass(self, piece, reductions, body).run()
            totals = self._combined(reductions, totals, part) if totals else part
        return totals

    def _combined(
        self, reductions: Sequence[Reduction], a: Sequence[SSAValue], b: Sequence[SSAValue]
    ) -> list[SSAValue]:
        return [r.combine(x, y) for r, x, y in zip(reductions, a, b, strict=True)]

    @property
    def _whole_vectors(self) -> bool:
        """Whether lanes beyond the row's end may be stored to scratch: a masked store delays a following load."""
        return len(self.pieces) == 1 and len(self.inner) == 1

    def keep(self, position: Expr, value: SSAValue) -> None:
        """Stores an element (or vector) of the row to scratch, which is padded to whole registers."""
        assert self.kept is not None
        v, vector = self.v, self.v.vector
        value = v.spread(value)
        if vector is None:
            v.b.store(value, self.kept, [position.emit(v.b)])
        elif self.lanes is None:
            v.b.vstore(value, self.kept, [(position * vector.lanes).emit(v.b)])
        else:
            v.b.vstore(value, self.kept, [position.emit(v.b)], None if self._whole_vectors else vector.valid)

    def kept_at(self, position: Expr) -> SSAValue:
        """Loads an element (or vector) of the row from scratch."""
        assert self.kept is not None
        v, vector = self.v, self.v.vector
        if vector is None:
            return v.b.load(self.kept, [position.emit(v.b)])
        if self.lanes is None:
            return v.b.vload(self.kept, [(position * vector.lanes).emit(v.b)], vector.lanes)
        valid = None if self._whole_vectors else vector.valid
        return v.b.vload(self.kept, [position.emit(v.b)], vector.lanes, valid)


@dataclass(frozen=True)
class _Pass:
    """One pass over one piece of a row."""

    sweep: Sweep
    piece: Piece
    reductions: Sequence[Reduction]
    body: Body

    @property
    def widths(self) -> list[int]:
        """Widths in lanes of the vectors along the row, in their order; [0] for scalar or across-row code."""
        low, high = self.piece[-1]
        return [0] if self.sweep.lanes is None else self.sweep.lanes.widths(high - low)

    def run(self) -> list[SSAValue]:
        """Builds the loops; one value per reduction."""
        start = [self._start(reduction, width) for width in self.widths for reduction in self.reductions]
        ends = self._level([], start)
        count = len(self.reductions)
        totals = self._together(ends[:count])
        for group in range(1, len(self.widths)):
            others = self._together(ends[group * count : (group + 1) * count])
            totals = [r.combine(a, b) for r, a, b in zip(self.reductions, totals, others, strict=True)]
        return totals

    def _start(self, reduction: Reduction, width: int) -> SSAValue:
        if width:
            return reduction.start(VectorType(reduction.element, [width]))
        return self.sweep.v.spread(reduction.start())

    def _together(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Reduces the lanes of each value, where lanes run along the row."""
        if self.sweep.lanes is None:
            return list(values)
        return [reduction.across(value) for reduction, value in zip(self.reductions, values, strict=True)]

    def _step(self, index: Sequence[Expr], carried: Sequence[SSAValue], valid: int = 0) -> list[SSAValue]:
        """Runs the body at one index of the row and reduces into the carried values; `valid` lanes count (0: all)."""
        values = self.body(linear(index, row_major(self.sweep.inner)))
        return [
            reduction.combine(total, self._only(reduction, self.sweep.v.spread(value), valid))
            for reduction, total, value in zip(self.reductions, carried, values, strict=True)
        ]

    def _only(self, reduction: Reduction, value: SSAValue, valid: int) -> SSAValue:
        """The value in valid lanes, the reduction's neutral element in the others.

        Of sums that is -0: where LLVM knows which lanes are to be 0 it expands others (vexpandpd), which waits for what
        the register held before, so that each row waits for the one before it.
        """
        if valid == 0:
            return value
        b, sums = self.sweep.v.b, reduction.kind == "sum" and not is_integer(reduction.element)
        neutral = b.constant(-0.0, value.type) if sums else reduction.start(value.type)
        return b.select(b.mask(lanes_of(value), valid), value, neutral)

    def _level(self, outer: list[Expr], carried: Sequence[SSAValue]) -> list[SSAValue]:
        """Builds the loops over the row's axes inside the `outer` ones."""
        v = self.sweep.v
        low, high = self.piece[len(outer)]
        last = len(outer) == len(self.piece) - 1
        if last and self.sweep.lanes is not None:
            return self._blocks(outer, carried)

        def step(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            with v.scope():
                index = [*outer, Expr.of(i) if isinstance(i, int) else Expr.of(Var(i, low, high - 1))]
                return self._step(index, carried) if last else self._level(index, carried)

        return list(v.b.loop(low, high, step, carried=carried))

    def _blocks(self, outer: Sequence[Expr], carried: Sequence[SSAValue]) -> list[SSAValue]:
        """Vectors along the last axis: wide ones, single registers, a masked one."""
        v, count = self.sweep.v, len(self.reductions)
        start, high = self.piece[-1]
        low, ends = start, list(carried)
        for group, width in enumerate(self.widths):

            def block(i: Index, carried: Sequence[SSAValue], width: int = width, valid: int = 0) -> list[SSAValue]:
                var = Var(i, low, high - 1)
                with v.vectorised(Vector(var, width, width if valid == 0 else valid)):
                    return self._step([*outer, Expr.of(var)], carried, valid)

            mine = slice(group * count, (group + 1) * count)
            whole = (high - start) // width * width
            ends[mine] = v.b.loop(start, start + whole, block, step=width, carried=ends[mine])
            start += whole
            rest = high - start
            if group < len(self.widths) - 1 or rest == 0:
                continue
            last = partial(block, start, valid=rest)
            if is_fixed(rest):
                ends[mine] = last(ends[mine])
            else:
                more = (rest + width - 1) // width  # 1, or 0 where nothing is left
                ends[mine] = v.b.loop(0, more, lambda _, carried, last=last: last(carried), carried=ends[mine])
        return ends
