"""Functions that are approximated here rather than in expand-math, because their range or their error is known."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from .arithmetic import Arithmetic

# log2 of the upper tail of the normal distribution at a in [0, 6]: weighted least squares with the weights
# raised where the error of a * 2^P(a) was largest (that error is 4e-8 before rounding).
_TAIL_LIMIT = 6.0
_TAIL = [
    -1.0,
    -1.1511269284676002,
    -0.4590439305216744,
    -0.05294856274500634,
    0.007670782326120923,
    -0.0005757856060989164,
    -1.2798347363618401e-05,
    4.278756120079663e-06,
]
# 2^f on [-1/2, 1/2], fitted in the same way: relative error 9.1e-8.
_EXP2 = [
    1.0,
    0.6931469775981207,
    0.2402224208466897,
    0.055507337447514404,
    0.009671512672044528,
    0.0013264726746115736,
]
# exp(r) where |r| <= log(2) / 2, fitted in the same way: relative error 9.2e-8.
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
_LEAST_EXPONENT = -87.3365  # exp of it is the smallest normal number


def gelu(m: Arithmetic, x: SSAValue) -> SSAValue:
    """relu(x) - |x| Q(|x|), Q the upper tail, as 2^P: no cancellation, no branch; error 2.8e-7 absolute."""
    size = m.min(m.abs(x), m.constant(_TAIL_LIMIT))
    tail = _exp2_in_range(m, m.polynomial(_TAIL, size))
    return m.sub(m.max(x, m.constant(0)), m.mul(size, tail))


def _exp2_in_range(m: Arithmetic, y: SSAValue) -> SSAValue:
    """2^y for y between -126 and 127, NaN for NaN."""
    shifted, whole = _rounded(m, y)
    return _times_power_of_two(m, m.polynomial(_EXP2, m.sub(y, whole)), shifted)


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


def shifted_exp(m: Arithmetic, x: SSAValue, peak: SSAValue) -> SSAValue:
    """exp(x - peak) for x <= peak; in f32 within 2 + |x - peak| units in the last place.

    The difference is taken first, and rounded by itself: numbers that are equal give 1, however large. Results below
    the smallest normal number are 0; NaN stays NaN.
    """
    below = replace(m, contract=False).sub(x, peak)
    if m.element != f32:
        return m.unary("exp", below)
    shifted, whole = _rounded(m, m.mul(below, m.constant(_LOG2_E)))
    rest = m.sub(below, m.mul(whole, m.constant(_LN2)))
    power = _times_power_of_two(m, m.polynomial(_EXP, rest), shifted)
    return m.select(m.compare("lt", below, m.constant(_LEAST_EXPONENT)), m.constant(0), power)
