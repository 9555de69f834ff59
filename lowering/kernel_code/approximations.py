"""Functions that are approximated here rather than in expand-math, because their range or their error is known."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from ..fits import EXP2
from .arithmetic import Arithmetic

# log2 of the upper tail of the normal distribution at a in [0, 13]: weighted least squares with the weights raised
# where the error of a * 2^P(a) was largest, absolute (7e-8 before rounding) or relative (2.6e-3, far out). At the end
# P(a) rounds to -127, which as the exponent of a float makes 0.
_TAIL_LIMIT = 13.0
_TAIL = [
    -1.0,
    -1.1511318683624268,
    -0.45902013778686523,
    -0.05297672376036644,
    0.007657805923372507,
    -0.0005283260834403336,
    -4.807447112398222e-05,
    1.5685789549024776e-05,
    -1.6126351738421363e-06,
    7.838587379183082e-08,
    -1.5055185986767583e-09,
]
# exp(r) where |r| <= log(2) / 2, fitted like fits.EXP2: relative error 9.2e-8.
_EXP = [
    1.0,
    0.9999997019767761,
    0.4999915063381195,
    0.16667647659778595,
    0.041897840797901154,
    0.008289716206490993,
]
# Added to a float32 of magnitude below 2^22 it leaves the nearest integer in the low bits.
_ROUND_MAGIC = 12582912.0
_EXPONENT_BIAS, _MANTISSA_BITS = 127, 23
_LOG2_E, _LN2 = 1.4426950408889634, 0.6931471805599453
_MOST_SCALE = 1024.0  # whose fifth power, or that of its inverse, is in a polynomial's coefficients
_LEAST_EXPONENT = -87.3365  # exp of it is the smallest normal number


def gelu(m: Arithmetic, x: SSAValue) -> SSAValue:
    """relu(x) - |x| Q(|x|), Q the upper tail, as 2^P: no cancellation, no branch.

    The error is 3e-7 absolute, or 0.3 % where x is below -5. From -13 on the result is 0.
    """
    size = m.min(m.abs(x), m.constant(_TAIL_LIMIT))
    tail = _exp2_in_range(m, m.polynomial(_TAIL, size))
    return m.sub(m.max(x, m.constant(0)), m.mul(size, tail))


def _exp2_in_range(m: Arithmetic, y: SSAValue) -> SSAValue:
    """2^y for y between -126.5 and 127, 0 for y between -127.5 and that, NaN for NaN."""
    shifted, whole = _rounded(m, y)
    return _times_power_of_two(m, m.polynomial(EXP2, m.sub(y, whole)), shifted)


def _rounded(m: Arithmetic, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The integer nearest to y: with the exponent's bias in the low bits of a float, and as a float."""
    magic = m.constant(_ROUND_MAGIC + _EXPONENT_BIAS)
    shifted = m.add(y, magic)
    return shifted, m.sub(shifted, magic)


def _times_power_of_two(m: Arithmetic, x: SSAValue, shifted: SSAValue) -> SSAValue:
    """x * 2^n for the integer n that `shifted` holds, the power made of its bits."""
    bits = m.bits(shifted, i32)
    power = m.b.insert(arith.ShLIOp(bits, m.b.constant(_MANTISSA_BITS, bits.type)))
    return m.mul(x, m.b.insert(arith.BitcastOp(power, m.type)))


def shifted_exp(m: Arithmetic, x: SSAValue, peak: SSAValue, scale: float = 1.0) -> SSAValue:
    """exp(y) for y = scale * (x - peak), scale > 0, x <= peak; in f32 within 2 + |y| units in the last place.

    The difference is taken first, and rounded by itself: numbers that are equal give 1, however large. Results below
    the smallest normal number are 0; NaN stays NaN.
    """
    below = replace(m, contract=False).sub(x, peak)
    if m.element != f32:
        return m.unary("exp", below if scale == 1.0 else m.mul(below, m.constant(scale)))
    if not 1 / _MOST_SCALE <= scale <= _MOST_SCALE:
        below, scale = m.mul(below, m.constant(scale)), 1.0
    shifted, whole = _rounded(m, m.mul(below, m.constant(_LOG2_E * scale)))
    rest = m.sub(below, m.mul(whole, m.constant(_LN2 / scale)))
    scaled = [coefficient * scale**power for power, coefficient in enumerate(_EXP)]
    power = _times_power_of_two(m, m.polynomial(scaled, rest), shifted)
    return m.select(m.compare("lt", below, m.constant(_LEAST_EXPONENT / scale)), m.constant(0), power)
