"""The softmax inside attention: rows of scores in scratch become rows of weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from ....dialects.extensions import ReductionOp
from ..writing.arithmetic import Arithmetic
from ..writing.builder import Index, LoopBuilder, memref_type, strides_of

Body = Callable[[Index, Sequence[SSAValue], bool], Sequence[SSAValue]]


@dataclass
class ScoreRows:
    """Writes weights = softmax(scale * scores + mask) for some rows, in place; with `softcap` of capped scores.

    Rows are padded to whole vectors of `lanes`; keys behind `keys`, those the mask rejects and, when causal, those
    behind the row's own position get weight 0. A row that keeps no key becomes zeros, with `nan_rows` NaN.
    """

    b: LoopBuilder
    scores: SSAValue  # [rows, padded keys]
    keys: int
    lanes: int
    scale: float
    softcap: float | None
    causal: bool
    nan_rows: bool
    mask: SSAValue | None  # [rows, keys]
    mask_is_bool: bool

    def write(self, rows: Index, first: Index) -> None:
        """`rows` rows, the first of which is query `first`."""
        b = self.b
        element = memref_type(self.scores).element_type
        vector = VectorType(element, [self.lanes])
        wide, narrow = Arithmetic(b, vector), Arithmetic(b, element)
        lowest = wide.constant(-inf)

        def row(i: Index, _: Sequence[SSAValue]) -> None:
            limit: Index = b.min(self.keys, b.add(b.add(first, i), 1)) if self.causal else self.keys

            def largest(at: Index, carried: Sequence[SSAValue], whole: bool) -> Sequence[SSAValue]:
                value = self._scaled(wide, b.vload(self.scores, [i, at], self.lanes))
                if self.mask is not None:
                    value = self._masked(wide, value, i, at, None if whole else limit)
                if not whole:
                    kept = b.mask(self.lanes, b.sub(limit, at))
                    value = b.select(kept, value, lowest)
                b.vstore(value, self.scores, [i, at])
                return [wide.max(value, carried[0])]

            (peaks,) = self._sweep(largest, [lowest], uniform=self.causal)
            peak = b.insert(ReductionOp(peaks, "maximumf"))
            nothing = None if self.nan_rows else narrow.compare("eq", peak, narrow.constant(-inf))
            shift = b.splat(_unless(narrow, nothing, 0.0, peak), self.lanes)

            def exponentials(at: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                value = wide.unary("exp", wide.sub(b.vload(self.scores, [i, at], self.lanes), shift))
                b.vstore(value, self.scores, [i, at])
                return [wide.add(carried[0], value)]

            padded = -(-self.keys // self.lanes) * self.lanes
            (sums,) = b.loop(0, padded, exponentials, step=self.lanes, carried=[wide.constant(0.0)])
            total = b.insert(ReductionOp(sums, "add"))
            total = _unless(narrow, nothing, 1.0, total)
            factor = b.splat(narrow.div(narrow.constant(1.0), total), self.lanes)

            def weights(at: Index, _: Sequence[SSAValue]) -> None:
                b.vstore(wide.mul(b.vload(self.scores, [i, at], self.lanes), factor), self.scores, [i, at])

            b.loop(0, padded, weights, step=self.lanes)

        b.loop(0, rows, row)

    def _scaled(self, wide: Arithmetic, score: SSAValue) -> SSAValue:
        cap = self.softcap
        if cap is None:
            return wide.mul(score, wide.constant(self.scale))
        return wide.mul(wide.unary("tanh", wide.mul(score, wide.constant(self.scale / cap))), wide.constant(cap))

    def _sweep(self, body: Body, carried: Sequence[SSAValue], uniform: bool) -> Sequence[SSAValue]:
        """Run `body(at, carried, whole)` over the row: whole vectors first, the last one apart unless `uniform`."""
        full = 0 if uniform else self.keys // self.lanes * self.lanes
        padded = -(-self.keys // self.lanes) * self.lanes
        carried = self.b.loop(0, full, lambda at, c: body(at, c, True), step=self.lanes, carried=carried)
        return self.b.loop(full, padded, lambda at, c: body(at, c, False), step=self.lanes, carried=carried)

    def _masked(self, wide: Arithmetic, value: SSAValue, row: Index, at: Index, limit: Index | None) -> SSAValue:
        b, mask = self.b, self.mask
        assert mask is not None
        valid = None if limit is None else b.min(b.sub(self.keys, at), self.lanes)
        if strides_of(memref_type(mask))[1] == 0:
            loaded = b.splat(b.load(mask, [row, 0]), self.lanes)
        else:
            loaded = b.vload(mask, [row, at], self.lanes, valid)
        if self.mask_is_bool:
            return b.select(loaded, value, wide.constant(-inf))
        return wide.add(value, loaded)


def _unless(m: Arithmetic, condition: SSAValue | None, number: float, value: SSAValue) -> SSAValue:
    """`value`, but the number where there is a condition and it holds."""
    return value if condition is None else m.select(condition, m.constant(number), value)
