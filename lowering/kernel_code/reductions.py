"""Reductions: sums, products and extrema, on scalars and on vectors."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import DenseArrayBase, VectorType, i64
from xdsl.dialects.vector import ExtractOp, ShuffleOp
from xdsl.ir import Attribute, SSAValue

from ...dialects.extensions.replace import scalar_of
from ...dialects.extensions.vector import ReductionOp
from .arithmetic import Arithmetic, bits_of, is_integer, is_unsigned, lanes_of, signless, wide_float
from .loop_builder import LoopBuilder

_HORIZONTAL = {"sum": "add", "prod": "mul"}


@dataclass(frozen=True)
class Reduction:
    """A combining operation on elements of a graph type: sum, prod, max, min or peak.

    max and min propagate NaN; peak is the maximum that ignores NaN. `products`: sums are fused with the products of
    their terms.
    """

    b: LoopBuilder
    kind: str
    source: Attribute  # element type of what is combined, in the graph
    products: bool = False

    @property
    def element(self) -> Attribute:
        """The accumulator type: f32 for 16-bit floats."""
        return signless(wide_float(self.source))

    def on(self, type: Attribute) -> Arithmetic:
        """Arithmetic on scalar or vector accumulators."""
        return Arithmetic(self.b, type, is_unsigned(self.source))

    def neutral(self) -> float | int:
        """The neutral element."""
        if self.kind in ("sum", "prod"):
            return 0 if self.kind == "sum" else 1
        if not is_integer(self.element):
            return inf if self.kind == "min" else -inf
        bits = bits_of(self.element)
        if is_unsigned(self.source):
            return 0 if self.kind == "max" else 2**bits - 1
        return -(2 ** (bits - 1)) if self.kind == "max" else 2 ** (bits - 1) - 1

    def start(self, type: Attribute | None = None) -> SSAValue:
        """An accumulator holding the neutral element."""
        type = type or self.element
        number = self.neutral()
        return self.b.constant(number if is_integer(scalar_of(type)) else float(number), type)

    def combine(self, accumulator: SSAValue, value: SSAValue) -> SSAValue:
        """The accumulator combined with one more element."""
        m = self.on(accumulator.type)
        match self.kind:
            case "sum":
                return m.sum("add", accumulator, value, (False, self.products))
            case "prod":
                return m.mul(accumulator, value)
            case "peak":
                return m.select(m.compare("gt", value, accumulator), value, accumulator)
            case "max":
                return m.max(accumulator, value)
            case _:
                return m.min(accumulator, value)

    def across(self, accumulators: SSAValue) -> SSAValue:
        """The lanes of a vector accumulator reduced to a scalar: floats by halves, on every CPU."""
        if is_integer(self.element):
            sign = "u" if is_unsigned(self.source) else "s"
            kind = _HORIZONTAL.get(self.kind, f"{self.kind}{sign}i")
            return self.b.insert(ReductionOp(accumulators, kind))
        return self.b.insert(ExtractOp(self.folded(accumulators, 1), [0], self.element))

    def folded(self, accumulators: SSAValue, lanes: int) -> SSAValue:
        """A vector accumulator reduced to one of `lanes` lanes."""
        own = lanes_of(accumulators)
        while own > lanes:
            own //= 2
            low, high = (self._part(accumulators, start, own) for start in (0, own))
            accumulators = self.combine(low, high)
        return accumulators

    def _part(self, value: SSAValue, start: int, lanes: int) -> SSAValue:
        mask = DenseArrayBase.from_list(i64, list(range(start, start + lanes)))
        return self.b.insert(ShuffleOp(value, value, mask, result_type=VectorType(self.element, [lanes])))
