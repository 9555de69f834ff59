"""The softmax inside attention: converts rows of scores in scratch to weights, with a factor for each row.

    for each row:
        pass 1: the largest score; scores after mask, softcap and position are stored
        pass 2: exponentials, stored and summed; the factor is 1 / sum

The factors are applied to the product of weights and values, which has fewer elements than the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from .....dialects.kernel.targets import CpuAttr
from ....kernel_code.approximations import shifted_exp
from ....kernel_code.arithmetic import Arithmetic, bits_of, lanes_of
from ....kernel_code.loop_builder import Index, LoopBuilder, memref_type, strides_of
from ....kernel_code.reductions import Reduction

Body = Callable[[Index, int, SSAValue, bool], SSAValue]

WIDE = 4
"""Registers of a row in flight: their exponentials are independent of each other."""


@dataclass
class ScoreRows:
    """Rewrites rows of scores in place as weights; weights times factor are softmax(scale * scores + mask).

    With `softcap`, scores are capped. Beside each row, one of each window in `ahead` is prefetched.

    Rows are padded to whole registers of `lanes`; masked elements and, when causal, those after the row's own position
    get weight 0. A row without keys becomes zeros, with `nan_rows` NaN.

    Quantised keys and values have `scales`, a factor for each key: those of keys are of scores, those of values of the
    weights that are stored, not of their sum.

    Where keys come in blocks, `running` holds each row's peak and sum over earlier blocks, and is updated. The factor
    is then the one for earlier results, whose peak may have been smaller.
    """

    b: LoopBuilder
    scores: SSAValue  # [rows, padded keys]
    factors: SSAValue  # [rows]
    lanes: int
    scale: float
    softcap: float | None
    causal: bool
    nan_rows: bool
    mask: SSAValue | None  # [rows, keys]
    mask_is_bool: bool
    ahead: Sequence[SSAValue] = ()  # [rows, any] each
    running: tuple[SSAValue, SSAValue] | None = None  # [rows] each
    scales: tuple[SSAValue | None, SSAValue | None] = (None, None)  # [keys] each

    def write(self, rows: Index, first: Index, end: Index) -> None:
        """`rows` rows, the first of which is query `first`; weights for the keys before `end`.

        Queries are numbered from the position of the first key on.
        """
        b = self.b
        element = memref_type(self.scores).element_type
        narrow = Arithmetic(b, element)
        peaks, sums = Reduction(b, "peak", element), Reduction(b, "sum", element)
        # Plain scores can be compared before they are scaled; all others are scaled first.
        later = self.softcap is None and self.scale > 0 and (self.mask is None or self.mask_is_bool)
        stored = not later or self.mask is not None or self.scales[0] is not None

        def row(i: Index, _: Sequence[SSAValue]) -> None:
            limit: Index = b.min(end, b.add(b.add(first, i), 1)) if self.causal else end
            if self.causal and self.running:
                limit = b.max(limit, 0)
            for window in self.ahead:
                self._ask(window, i)
            whole = b.mul(b.div(limit, self.lanes), self.lanes)

            def score(at: Index, lanes: int, again: bool, past: bool) -> SSAValue:
                """Scores; with `past`, those beyond the row's limit are minus infinity."""
                value = b.vload(self.scores, [i, at], lanes)
                wide = Arithmetic(b, value.type)
                if stored and not again:
                    value = self._times(wide, value, self.scales[0], at, end, past)
                    value = self._masked(wide, value if later else self._scaled(wide, value), i, at, end, past)
                    b.vstore(value, self.scores, [i, at])
                return b.select(b.mask(lanes, b.sub(limit, at)), value, wide.constant(-inf)) if past else value

            def largest(at: Index, lanes: int, found: SSAValue, past: bool) -> SSAValue:
                return peaks.combine(found, score(at, lanes, False, past))

            peak = self._sweep(whole, end, peaks, largest)
            before = None
            if self.running:
                before = b.load(self.running[0], [i])
                peak = peaks.combine(before, peak)
                b.store(peak, self.running[0], [i])
            nothing = None if self.nan_rows and before is None else narrow.compare("eq", peak, narrow.constant(-inf))
            shift = _unless(narrow, nothing, 0.0, peak)

            def exponential(at: Index, lanes: int, found: SSAValue, past: bool) -> SSAValue:
                value = score(at, lanes, True, past)
                wide = Arithmetic(b, value.type)
                value = shifted_exp(wide, value, b.splat(shift, lanes), self.scale if later else 1.0)
                b.vstore(self._times(wide, value, self.scales[1], at, end, past), self.scores, [i, at])
                return sums.combine(found, value)

            total = self._sweep(whole, end, sums, exponential)
            if self.running and before is not None:
                factor = shifted_exp(narrow, before, shift, self.scale if later else 1.0)
                total = narrow.add(narrow.mul(b.load(self.running[1], [i]), factor), total)
                b.store(total, self.running[1], [i])
            else:
                factor = narrow.div(narrow.constant(1.0), _unless(narrow, nothing, 1.0, total))
            b.store(factor, self.factors, [i])

        b.loop(0, rows, row)

    def _ask(self, window: SSAValue, row: Index) -> None:
        """Prefetches a row that is read later."""
        type = memref_type(window)
        line = 8 * CpuAttr.CACHE_LINE // bits_of(type.element_type)
        for column in range(0, type.get_shape()[1], line):
            self.b.prefetch(window, [row, column], near=True)

    def _sweep(self, whole: Index, end: Index, reduction: Reduction, body: Body) -> SSAValue:
        """Reduces `body(at, lanes, found, past)` over a row; registers from `whole` on may extend beyond the limit."""
        b, lanes = self.b, self.lanes
        wide = WIDE * lanes
        blocks = b.mul(b.div(whole, wide), wide)
        found: Sequence[SSAValue] = [reduction.start(VectorType(reduction.element, [wide]))]
        found = b.loop(0, blocks, lambda at, c: [body(at, wide, c[0], False)], step=wide, carried=found)
        found = [reduction.folded(found[0], lanes)]
        for low, high, past in ((blocks, whole, False), (whole, end, True)):
            step = partial(self._one, body, past)
            found = b.loop(low, high, step, step=lanes, carried=found)
        return reduction.across(found[0])

    def _one(self, body: Body, past: bool, at: Index, found: Sequence[SSAValue]) -> list[SSAValue]:
        return [body(at, self.lanes, found[0], past)]

    def _times(
        self, wide: Arithmetic, value: SSAValue, scales: SSAValue | None, at: Index, end: Index, past: bool
    ) -> SSAValue:
        """Numbers of keys times their scales, if there are any."""
        if scales is None:
            return value
        lanes = lanes_of(value)
        valid = self.b.min(self.b.sub(end, at), lanes) if past else None
        return wide.mul(value, self.b.vload(scales, [at], lanes, valid))

    def _scaled(self, wide: Arithmetic, score: SSAValue) -> SSAValue:
        cap = self.softcap
        if cap is None:
            return wide.mul(score, wide.constant(self.scale))
        return wide.mul(wide.unary("tanh", wide.mul(score, wide.constant(self.scale / cap))), wide.constant(cap))

    def _masked(self, wide: Arithmetic, value: SSAValue, row: Index, at: Index, end: Index, past: bool) -> SSAValue:
        b, mask, lanes = self.b, self.mask, lanes_of(value)
        if mask is None:
            return value
        valid = b.min(b.sub(end, at), lanes) if past else None
        if strides_of(memref_type(mask))[1] == 0:
            loaded = b.splat(b.load(mask, [row, 0]), lanes)
        else:
            loaded = b.vload(mask, [row, at], lanes, valid)
        if self.mask_is_bool:
            return b.select(loaded, value, wide.constant(-inf))
        return wide.add(value, loaded)


def _unless(m: Arithmetic, condition: SSAValue | None, number: float, value: SSAValue) -> SSAValue:
    """`value`, or the number if there is a condition and it holds."""
    return value if condition is None else m.select(condition, m.constant(number), value)
