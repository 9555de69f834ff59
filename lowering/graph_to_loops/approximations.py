"""Functions that are approximated here rather than in expand-math, because their range or their error is known."""

from __future__ import annotations

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
# Added to a float32 of magnitude below 2^22 it leaves the nearest integer in the low bits.
_ROUND_MAGIC = 12582912.0
_EXPONENT_BIAS, _MANTISSA_BITS = 127, 23
_LOG2_E = 1.4426950408889634


def gelu(m: Arithmetic, x: SSAValue) -> SSAValue:
    """relu(x) - |x| Q(|x|), Q the upper tail, as 2^P: no cancellation, no branch; error 2.8e-7 absolute."""
    size = m.min(m.abs(x), m.constant(_TAIL_LIMIT))
    tail = _exp2_in_range(m, m.polynomial(_TAIL, size))
    return m.sub(m.max(x, m.constant(0)), m.mul(size, tail))


def _exp2_in_range(m: Arithmetic, y: SSAValue) -> SSAValue:
    """2^y for y between -126 and 127, NaN for NaN: 2^fraction times a power of two made of its bits."""
    magic = m.constant(_ROUND_MAGIC + _EXPONENT_BIAS)
    shifted = m.b.insert(arith.AddfOp(y, magic))
    fraction = m.b.insert(arith.SubfOp(y, m.b.insert(arith.SubfOp(shifted, magic))))
    bits = m.bits(shifted, i32)
    power = m.b.insert(arith.ShLIOp(bits, m.b.constant(_MANTISSA_BITS, bits.type)))
    return m.mul(m.polynomial(_EXP2, fraction), m.b.insert(arith.BitcastOp(power, m.type)))


def shifted_exp(m: Arithmetic, x: SSAValue, peak: SSAValue) -> SSAValue:
    """exp(x - peak) times a factor close to 1 that depends on the peak alone; for x <= peak.

    In f32 the error is 2 units in the last place near the peak and |x - peak| / 2 units far below it. Results
    below the smallest normal number are 0; NaN stays NaN.
    """
    if m.element != f32:
        return m.unary("exp", m.sub(x, peak))
    log2_e = m.constant(_LOG2_E)
    y = m.sub(m.mul(x, log2_e), Arithmetic(m.b, m.type, contract=False).mul(peak, log2_e))
    return m.select(m.compare("lt", y, m.constant(-126)), m.constant(0), _exp2_in_range(m, y))
