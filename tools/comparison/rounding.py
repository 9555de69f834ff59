"""Error bounds for results: whether a value is right, given its float64 reference.

A value is right where its error, max|value - exact| / max|exact|, is at most the largest of

- what its element type allows: 1e-4 for f32 and 1e-10 for f64, whose sums are made in any order and by faster ways
  (Winograd); two steps between neighbouring floats for narrower ones, that is 2e-3 for f16 and 1.6e-2 for bf16;
- four times the error that the reference itself makes in the model's own types: a cancellation costs everyone digits.

Integers are right where they are the exact ones or those of the reference in the model's own types. Those that come
from rounding, by `quantize` or a `cast` of floats, may be one quantum off.

Where errors of many ops add up, as in outputs, the type is the coarsest on the way, and 8 bits of a quantised number
are such a type: one step of it is a 128th.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.graph.host import handed_on, is_shaped, main_of, read_by
from ...dialects.graph.narrow_types import is_narrow_float
from ...dialects.graph.ops.conversion import CastOp
from ...dialects.graph.ops.quantization import QuantizeOp
from ...dialects.graph.values import Array, element_type_of, element_type_of_value, is_bool, is_float, numpy_dtype

SUMS: Mapping[np.dtype[Any], float] = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-10}
"""What wide floats may be off by."""
STEPS = 2  # between neighbouring numbers, that a number of a narrow type may be off by
OWN = 4  # times the reference's own error
MOST = 0.25  # of the largest number: a reference that is off by a lot tells nothing
MORE_THAN_NONE = float(np.finfo(np.float64).tiny)  # the error of integers that differ, where float64 can't tell
PRECISION: Mapping[str, float] = {"tf32": 2.0**-10, "fp16": 2.0**-10, "bf16": 2.0**-7}
"""The step above 1 of products where they are of narrower numbers than the model's."""


@dataclass(frozen=True)
class Looseness:
    """The error bounds that follow from types alone."""

    float: float = 0.0  # relative to the largest number
    quanta: int = 0  # of integers

    def __or__(self, other: Looseness) -> Looseness:
        return Looseness(max(self.float, other.float), max(self.quanta, other.quanta))


@dataclass(frozen=True)
class Verdict:
    """The error of a value, and its bound."""

    error: float
    allowed: float

    @property
    def is_right(self) -> bool:
        return self.error <= self.allowed

    @property
    def text(self) -> str:
        return f"error {self.error:.2e}, allowed {self.allowed:.1e}"


def relative_error(value: Array, reference: Array, among: Array | None = None) -> float:
    """max|value - reference| / max|reference|, over the elements in `among` (by default all).

    Infinities and NaNs must be equal to the reference's; otherwise the error is infinite.
    """
    left, right = value.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(right)
    looked_at = np.ones(right.shape, np.bool_) if among is None else among
    off = np.zeros(right.shape)
    np.abs(np.subtract(left, right, out=off, where=finite & looked_at), out=off)
    if not _same(left, right)[looked_at & ~finite].all() or not np.isfinite(off).all():
        return float("inf")
    scale = float(np.max(np.abs(right), where=finite, initial=0.0))
    return float(np.max(off, initial=0.0)) / (scale or 1.0)


def _same(value: Array, other: Array) -> Array:
    """Whether elements are equal, or both NaN."""
    return (value == other) | ((value != value) & (other != other))


def judged(value: Array, exact: Array, looseness: Looseness, owns: Iterable[Array] = ()) -> Verdict:
    """The verdict on a value. `owns`, evaluated only if needed, are references in the model's own types.

    Where one of them overflows to NaN or infinity, so must the value. An element equal to that of one of them is right,
    whatever float64 says: an integer next to a tie.
    """
    floats = _is_float(element_type_of(value.dtype))
    by_type = looseness.float if floats else _of_integers(exact, looseness)
    error, allowed = relative_error(value, exact), by_type
    left = ~_same(value, exact)
    if not floats and not error and left.any():
        error = MORE_THAN_NONE
    for own in () if error <= allowed else owns:
        if own.shape != value.shape:
            continue
        left &= ~_same(value, own)
        if floats:
            exact = np.where(np.isfinite(own.astype(np.float64)), exact, own)
            allowed = max(allowed, min(MOST, OWN * relative_error(own, exact)))
        error = relative_error(value, exact, left)
        if floats and relative_error(value, own) <= by_type:
            allowed = max(allowed, error)
    return Verdict(error, allowed)


def _of_integers(exact: Array, looseness: Looseness) -> float:
    if not looseness.quanta:
        return 0.0
    return max(looseness.float, looseness.quanta / float(np.max(np.abs(exact.astype(np.float64)), initial=1.0)))


def of_result(result: SSAValue, body: Operation, step: float = 0.0) -> Looseness:
    """The bounds of a result whose op reads exact operands; `body` is the op, or the called kernel.

    `step` is that of products by a precision.
    """
    found = of_ops(body.walk(), step)
    is_number = is_shaped(result) and not _is_float(element_type_of_value(result))
    return Looseness(0.0, found.quanta) if is_number else found


def of_outputs(module: ModuleOp, step: float = 0.0) -> list[Looseness]:
    """The bounds of each result of main, from all ops that it depends on."""
    block = main_of(module).body.block
    found: dict[SSAValue, Looseness] = {}
    for op in block.ops:
        reached = of_ops(op.walk(), step)
        for value in read_by(op):
            reached |= found.get(value, Looseness())
        found |= dict.fromkeys(op.results, reached)
    return [found.get(value, Looseness()) for value in handed_on(block)]


def of_ops(ops: Iterable[Operation], step: float) -> Looseness:
    """The bounds of a value that all of these ops take part in."""
    found = Looseness(STEPS * step)
    for op in ops:
        for result in filter(is_shaped, op.results):
            found |= Looseness(_allowed(element_type_of_value(result)))
        if isinstance(op, QuantizeOp | CastOp) and not _is_float(op.to) and _is_float(element_type_of_value(op.x)):
            quantum = 2.0 ** (1 - 8 * numpy_dtype(op.to).itemsize) if isinstance(op, QuantizeOp) else 0.0
            found |= Looseness(STEPS * quantum, quanta=int(not is_bool(op.to)))
    return found


def _is_float(element_type: Attribute) -> bool:
    return is_float(element_type) or is_narrow_float(element_type)


@cache
def _allowed(element_type: Attribute) -> float:
    """The error bound of a float type; 0 for others."""
    if not _is_float(element_type):
        return 0.0
    dtype = numpy_dtype(element_type)
    return SUMS[dtype] if dtype in SUMS else STEPS * float(cast("Any", ml_dtypes.finfo(dtype)).eps)
