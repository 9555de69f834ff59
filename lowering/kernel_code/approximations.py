"""exp, tanh, erf, log, atan, sin and related functions in f32, by arithmetic and bit operations only.

Without branches and calls, but for sin and cos far from 0, so that LLVM vectorises loops that contain them.
Coefficients are minimax fits of the relative error (iteratively reweighted least squares), rounded to f32. expand-math
writes `exp` to `log1p`, and `power`, for any argument. Their errors, in units in the last place: exp and exp2 1, expm1
2, log 1, log1p 2, tanh 3, erf 2, atan 2, sin and cos 2, power 1. Subnormal results but power's are flushed to 0;
infinities and NaN are as in the C library. Kernels write `gelu` and `shifted_exp`, whose range or error is known, with
shorter polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import factorial, inf, nan, pi

from xdsl.dialects import arith
from xdsl.dialects.arith import ExtFOp, TruncFOp
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import SSAValue

from ...dialects.extensions.arith import FPToSIOp, SIToFPOp
from ...dialects.extensions.replace import shaped_like
from ...dialects.extensions.vector import ReductionOp
from .arithmetic import Arithmetic

_LOG2_E, _LN2 = 1.4426950408889634, 0.6931471805599453
_LN2_HIGH = 0.693359375  # few mantissa bits: its product with a small integer is exact
_LN2_LOW = -2.1219444005469057e-4
_ROUND = 12582912.0  # 1.5 * 2**23: adding it rounds to an integer, which appears in the low bits
_MANTISSA_BITS = 23
_BIAS = 127
_HALF_BIAS = _BIAS - 1  # of the exponent of half a power of two
_SMALLEST_HALF = 1 << 22  # the bits of 2**-127
_SMALLEST_NORMAL = 1.1754943508222875e-38

# exp(r) = 1 + r + r**2 * (...) where |r| <= log(2) / 2, and the same fitted for exp(r) - 1
_EXP = (
    0.4999999403953552,
    0.1666651964187622,
    0.04166839271783829,
    0.008368780836462975,
    0.0013814467238262296,
)
_EXPM1 = (
    0.4999999701976776,
    0.1666654348373413,
    0.04166720062494278,
    0.008366580121219158,
    0.0013882509665563703,
)
# 2**r = 1 + r * (...) where |r| <= 1/2, to 1.6e-8
_EXP2 = (
    0.6931471824645996,
    0.24022647738456726,
    0.05550331994891167,
    0.00961843878030777,
    0.0013399003073573112,
    0.00015353258640971035,
)
# log(1 + f) = f - f**2 / 2 + f**3 * (...) where 1 + f is from sqrt(1/2) to sqrt(2)
_LOG = (
    0.3333333134651184,
    -0.250008225440979,
    0.20001234114170074,
    -0.16623298823833466,
    0.14201553165912628,
    -0.1316058188676834,
    0.12763327360153198,
    -0.07635655999183655,
)
_SQRT_HALF_BITS = 0x3F3504F3
# erf(x) = x + x * (...)(x**2) up to the split, beyond it 1 - exp(-x * (...)(x))
_ERF_SPLIT = 0.9
_ERF = (
    0.12837915122509003,
    -0.3761252462863922,
    0.11282140761613846,
    -0.02677891030907631,
    0.005011965520679951,
    -0.0006090372335165739,
)
_ERFC = (
    1.1285200119018555,
    0.6356993913650513,
    0.1052868515253067,
    -0.022906029596924782,
    0.0032199749257415533,
    -0.00021459494018927217,
)
_ERF_IS_ONE = 3.95
# atan(x) = x + x**3 * (...)(x**2) where |x| <= tan(pi / 8), to 2.1e-8
_ATAN = (-0.3333294987678528, 0.19977740943431854, -0.13878034055233002, 0.08054926991462708)
_TAN_PI_8, _TAN_3_PI_8 = 0.4142135679721832, 2.4142136573791504
_PI_4, _PI_4_LOW = 0.7853981852531433, -2.1855694143368964e-08  # as the sum of two f32
_TANH_IS_ONE = 9.1
# sin(r) = r + r**3 * (...)(r**2) and cos(r) = 1 - r**2 / 2 + r**4 * (...)(r**2) where |r| <= pi / 4 (Moshier's Cephes)
_SIN = (-0.16666654611, 0.0083321608736, -0.00019515295891)
_COS = (0.04166664568298827, -0.001388731625493765, 2.443315711809948e-5)
# pi / 2 as the sum of two f64, the first of 33 bits: its product with a number of 20 bits is exact.
_PI_2, _PI_2_LOW = 1.5707963267341256, 6.077100506506192e-11
_FAR = 1.5e6  # fewer than 2**20 times pi / 2
_ROUND_F64 = 6755399441055744.0  # 1.5 * 2**52, as _ROUND
# 2**f for |f| <= 1/2: relative error 1.1e-7, and 1.7e-7 with each step rounded to f32.
SHORT_EXP2 = (
    1.0,
    0.6931470036506653,
    0.24022240936756134,
    0.0555073507130146,
    0.009671619161963463,
    0.0013264591107144952,
)
# exp(r) where |r| <= log(2) / 2, fitted likewise: relative error 9.2e-8.
_SHORT_EXP = [
    1.0,
    0.9999997019767761,
    0.4999915063381195,
    0.16667647659778595,
    0.041897840797901154,
    0.008289716206490993,
]
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
_MOST_SCALE = 1024.0  # whose fifth power, or that of its inverse, is in a polynomial's coefficients
_LEAST_EXPONENT = -87.3365  # exp of it is the smallest normal number


def _nearest(m: Arithmetic, x: SSAValue, factor: float, bias: int = 0) -> tuple[SSAValue, SSAValue]:
    """n = x * factor rounded to an integer: as a float; and n + bias as an integer in the low bits of a second one."""
    offset = m.constant(_ROUND + bias)
    shifted = m.add(x, offset) if factor == 1.0 else m.fma(x, m.constant(factor), offset)
    return m.sub(shifted, offset), shifted


def _reduce(m: Arithmetic, x: SSAValue, bias: int = 0) -> tuple[SSAValue, SSAValue]:
    """r with x = n * log(2) + r, and n + bias in the low bits as _nearest returns it."""
    n, shifted = _nearest(m, x, _LOG2_E, bias)
    r = m.fma(n, m.constant(-_LN2_HIGH), x)
    return m.fma(n, m.constant(-_LN2_LOW), r), shifted


def _power_of_two(m: Arithmetic, shifted: SSAValue, bias: int = 0) -> SSAValue:
    """2**(n + bias - 127) for the integer n in the low bits of `shifted`."""
    i = _integers(m)
    exponent = i.binary("shl", m.bits(shifted, i32), i.constant(_MANTISSA_BITS))
    return i.bits(i.add(exponent, i.constant(bias << _MANTISSA_BITS)) if bias else exponent, f32)


def _integers(m: Arithmetic) -> Arithmetic:
    """Arithmetic on integers with the bits of these floats."""
    return Arithmetic(m.b, shaped_like(i32, m.type))


def _at_most(m: Arithmetic, a: SSAValue, limit: float) -> SSAValue:
    """min(a, limit), propagating NaN; one instruction on x86 in this form."""
    bound = m.constant(limit)
    return m.select(m.compare("gt", a, bound), bound, a)


def exp(m: Arithmetic, x: SSAValue) -> SSAValue:
    """e**x"""
    r, n = _reduce(m, _at_most(m, x, 88.9), _HALF_BIAS)
    return _doubled(m, (1.0, 1.0, *_EXP), r, n, m.compare("lt", x, m.constant(-87.3365)))


def exp2(m: Arithmetic, x: SSAValue) -> SSAValue:
    """2**x"""
    y = _at_most(m, x, 128.4)
    n, shifted = _nearest(m, y, 1.0, _HALF_BIAS)
    return _doubled(m, (1.0, *_EXP2), m.sub(y, n), shifted, m.compare("lt", x, m.constant(-126.0)))


def _doubled(
    m: Arithmetic, coefficients: Sequence[float], r: SSAValue, shifted: SSAValue, is_zero: SSAValue
) -> SSAValue:
    """P(r) * 2**n for n up to 128, as 2 P(r) times half a power of two; infinite where that is too large.

    The smallest half, of n = -126, is no normal number, and its bits are not made by a shift.
    """
    half = m.b.make(arith.MaxSIOp, m.bits(_power_of_two(m, shifted), i32), _integers(m).constant(_SMALLEST_HALF))
    product = m.mul(m.polynomial([2 * each for each in coefficients], r), _integers(m).bits(half, f32))
    return m.select(is_zero, m.constant(0.0), product)


def _expm1_reduced(m: Arithmetic, r: SSAValue) -> SSAValue:
    """e**r - 1 for small r"""
    return m.fma(m.mul(r, r), m.polynomial(_EXPM1, r), r)


def expm1(m: Arithmetic, x: SSAValue) -> SSAValue:
    """e**x - 1; scaled in two steps, as 2**128 overflows."""
    lowest = m.constant(-18.0)
    inside = _at_most(m, m.select(m.compare("lt", x, lowest), lowest, x), 89.0)
    r, n = _reduce(m, inside)
    half = _power_of_two(m, n, _BIAS - 1)
    result = m.fma(half, _expm1_reduced(m, r), m.sub(half, m.constant(0.5)))
    return m.add(result, result)


def tanh(m: Arithmetic, x: SSAValue) -> SSAValue:
    """(e**2a - 1) / (e**2a + 1) for a = |x|, with the sign of x"""
    a = _at_most(m, m.abs(x), _TANH_IS_ONE)
    r, n = _reduce(m, m.add(a, a))
    power = _power_of_two(m, n, _BIAS)
    grown = m.fma(power, _expm1_reduced(m, r), m.sub(power, m.constant(1.0)))
    return m.binary("copysign", m.div(grown, m.add(grown, m.constant(2.0))), x)


def erf(m: Arithmetic, x: SSAValue) -> SSAValue:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x"""
    small = m.fma(x, m.polynomial(_ERF, m.mul(x, x)), x)
    a = m.abs(x)
    inside = _at_most(m, a, _ERF_IS_ONE)
    exponent = m.mul(inside, m.polynomial([-coefficient * _LOG2_E for coefficient in _ERFC], inside))
    n, shifted = _nearest(m, exponent, 1.0)
    power = m.polynomial(SHORT_EXP2, m.sub(exponent, n))
    large = m.binary("copysign", m.fma(power, _power_of_two(m, shifted, _BIAS), m.constant(-1.0)), x)
    return m.select(m.compare("lt", a, m.constant(_ERF_SPLIT)), small, large)


def atan(m: Arithmetic, x: SSAValue) -> SSAValue:
    """The arc tangent, reduced to the neighbourhood of 0, pi/4 or pi/2."""
    a, one, zero = m.abs(x), m.constant(1.0), m.constant(0.0)
    large, middle = m.compare("gt", a, m.constant(_TAN_3_PI_8)), m.compare("gt", a, m.constant(_TAN_PI_8))
    above = m.select(large, m.constant(-1.0), m.select(middle, m.sub(a, one), a))
    below = m.select(large, a, m.select(middle, m.add(a, one), one))
    t = m.div(above, below)
    quarters = m.select(large, m.constant(2.0), m.select(middle, one, zero))
    square = m.mul(t, t)
    rest = m.fma(m.mul(square, t), m.polynomial(_ATAN, square), m.mul(quarters, m.constant(_PI_4_LOW)))
    return m.binary("copysign", m.fma(quarters, m.constant(_PI_4), m.add(t, rest)), x)


def sin(m: Arithmetic, x: SSAValue) -> SSAValue:
    """The sine of radians."""
    return _on_the_circle(m, x, "sin", 0)


def cos(m: Arithmetic, x: SSAValue) -> SSAValue:
    """The cosine of radians: the sine a quarter further."""
    return _on_the_circle(m, x, "cos", 1)


def _on_the_circle(m: Arithmetic, x: SSAValue, name: str, quarters: int) -> SSAValue:
    """sin(x + quarters * pi / 2), reduced in f64; elements far from 0, and vectors with such, ask the C library too."""
    b, i = m.b, _integers(m)
    wide = Arithmetic(b, shaped_like(f64, m.type), contract=False, fused=m.fused)
    angle = b.insert(ExtFOp(x, wide.type))
    n = wide.sub(wide.fma(angle, wide.constant(2 / pi), wide.constant(_ROUND_F64)), wide.constant(_ROUND_F64))
    rest = wide.fma(n, wide.constant(-_PI_2_LOW), wide.fma(n, wide.constant(-_PI_2), angle))
    r = b.insert(TruncFOp(rest, m.type))
    lost = b.insert(TruncFOp(wide.sub(rest, b.insert(ExtFOp(r, wide.type))), m.type))
    square = m.mul(r, r)
    # What is added last is small: so little is lost beside the last rounding.
    halved = m.mul(square, m.constant(0.5))
    first = m.sub(m.constant(1.0), halved)
    behind = m.sub(m.sub(m.sub(m.constant(1.0), first), halved), m.mul(r, lost))
    cosine = m.add(first, m.fma(m.mul(square, square), m.polynomial(_COS, square), behind))
    sine = m.add(r, m.fma(m.mul(square, r), m.polynomial(_SIN, square), m.mul(lost, first)))
    sine = m.select(m.compare("eq", r, m.constant(0.0)), r, sine)  # -0 stays -0
    quadrant = b.insert(FPToSIOp(n, i.type))
    quadrant = i.add(quadrant, i.constant(quarters)) if quarters else quadrant
    is_odd = i.compare("ne", i.binary("and", quadrant, i.constant(1)), i.constant(0))
    sign = i.binary("shl", i.binary("and", quadrant, i.constant(2)), i.constant(30))
    result = i.bits(i.binary("xor", m.bits(m.select(is_odd, cosine, sine), i32), sign), f32)
    near = m.compare("le", m.abs(x), m.constant(_FAR))
    every = near if m.type == f32 else b.insert(ReductionOp(near, "and"))
    return b.when(every, lambda: [result], lambda: [m.select(near, result, m.unary(name, x))])[0]


def _taken_apart(m: Arithmetic, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """mantissa, exponent and shift of x > 0 = mantissa * 2**(exponent - shift): a float near 1, an integer, a float."""
    is_tiny = m.compare("lt", x, m.constant(_SMALLEST_NORMAL))
    scaled = m.select(is_tiny, m.mul(x, m.constant(2.0**_MANTISSA_BITS)), x)
    shift = m.select(is_tiny, m.constant(float(_MANTISSA_BITS)), m.constant(0.0))
    i, bits = _integers(m), m.bits(scaled, i32)
    exponent = i.binary("shr", i.sub(bits, i.constant(_SQRT_HALF_BITS)), i.constant(_MANTISSA_BITS))
    mantissa = i.bits(i.sub(bits, i.binary("shl", exponent, i.constant(_MANTISSA_BITS))), f32)
    return mantissa, exponent, shift


def log(m: Arithmetic, x: SSAValue) -> SSAValue:
    """The natural logarithm."""
    mantissa, exponent, shift = _taken_apart(m, x)
    f = m.sub(mantissa, m.constant(1.0))
    e = m.sub(m.b.insert(SIToFPOp(exponent, m.type)), shift)
    square = m.mul(f, f)
    tail = m.mul(m.mul(square, f), m.polynomial(_LOG, f))
    tail = m.fma(e, m.constant(_LN2_LOW), tail)
    tail = m.fma(square, m.constant(-0.5), tail)
    result = m.fma(e, m.constant(_LN2_HIGH), m.add(f, tail))
    result = m.select(m.compare("lt", x, m.constant(inf)), result, x)
    zero = m.constant(0.0)
    otherwise = m.select(m.compare("eq", x, zero), m.constant(-inf), m.constant(nan))
    return m.select(m.compare("gt", x, zero), result, otherwise)


def log1p(m: Arithmetic, x: SSAValue) -> SSAValue:
    """log(1 + x), corrected for the rounding error of 1 + x."""
    one = m.constant(1.0)
    u = m.add(x, one)
    lost = m.sub(x, m.sub(u, one))
    regular = m.compare("lt", m.abs(x), m.constant(inf))
    correction = m.div(lost, u)
    positive = m.compare("gt", u, m.constant(0.0))
    correction = m.select(positive, m.select(regular, correction, m.constant(0.0)), m.constant(0.0))
    return m.add(log(m, u), correction)


def gelu(m: Arithmetic, x: SSAValue) -> SSAValue:
    """relu(x) - |x| Q(|x|), with the upper tail Q as 2^P: without cancellation and branches.

    The error is 3e-7 absolute, or 0.3 % for x below -5. Below -13 the result is 0.
    """
    size = m.min(m.abs(x), m.constant(_TAIL_LIMIT))
    tail = _exp2_in_range(m, m.polynomial(_TAIL, size))
    return m.sub(m.max(x, m.constant(0)), m.mul(size, tail))


def _exp2_in_range(m: Arithmetic, y: SSAValue) -> SSAValue:
    """2^y for y in [-126.5, 127], 0 for y in [-127.5, -126.5), NaN for NaN."""
    shifted, whole = _rounded(m, y)
    return _times_power_of_two(m, m.polynomial(SHORT_EXP2, m.sub(y, whole)), shifted)


def _rounded(m: Arithmetic, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The integer nearest to y: with the exponent's bias in the low bits of a float, and as a float."""
    magic = m.constant(_ROUND + _BIAS)
    shifted = m.add(y, magic)
    return shifted, m.sub(shifted, magic)


def _times_power_of_two(m: Arithmetic, x: SSAValue, shifted: SSAValue) -> SSAValue:
    """x * 2^n for the integer n in `shifted`, with the power constructed from its bits."""
    return m.mul(x, _power_of_two(m, shifted))


def shifted_exp(m: Arithmetic, x: SSAValue, peak: SSAValue, scale: float = 1.0) -> SSAValue:
    """exp(y) for y = scale * (x - peak), scale > 0, x <= peak; in f32 within 2 + |y| units in the last place.

    The difference is rounded before scaling: equal numbers give exactly 1. Subnormal results are flushed to 0; NaN
    stays NaN.
    """
    below = replace(m, contract=False).sub(x, peak)
    if m.element != f32:
        return m.unary("exp", below if scale == 1.0 else m.mul(below, m.constant(scale)))
    if not 1 / _MOST_SCALE <= scale <= _MOST_SCALE:
        below, scale = m.mul(below, m.constant(scale)), 1.0
    shifted, whole = _rounded(m, m.mul(below, m.constant(_LOG2_E * scale)))
    rest = m.sub(below, m.mul(whole, m.constant(_LN2 / scale)))
    scaled = [coefficient * scale**power for power, coefficient in enumerate(_SHORT_EXP)]
    power = _times_power_of_two(m, m.polynomial(scaled, rest), shifted)
    return m.select(m.compare("lt", below, m.constant(_LEAST_EXPONENT / scale)), m.constant(0), power)


# log2((1 + z) / (1 - z)) / z, in z**2, and 2**g: truncated series, whose relative errors are 2e-12 and 2e-10
_LOG2_RATIO = [2 / _LN2 / (2 * k + 1) for k in range(7)]
_EXP2_WIDE = [_LN2**k / factorial(k) for k in range(9)]
_ROUND_WIDE = 1.5 * 2.0**52  # as _ROUND, of f64
_BIAS_WIDE, _MANTISSA_BITS_WIDE = 1023, 52


def power(m: Arithmetic, x: SSAValue, y: SSAValue) -> SSAValue:
    """x**y within one unit in the last place, special cases as in C; by 2**(y * log2(|x|)) in f64.

    Without fused multiply-adds, so with the same bits on every CPU.
    """
    d, zero, one = Arithmetic(m.b, shaped_like(f64, m.type), contract=False), m.constant(0.0), m.constant(1.0)
    size, exponent = m.abs(x), m.b.insert(ExtFOp(y, d.type))
    magnitude = m.b.insert(TruncFOp(_exp2_wide(d, d.mul(exponent, _log2_wide(m, d, size))), m.type))
    # The base 1, and -1, is 1 to infinite powers too.
    magnitude = m.select(m.b.conjunction(m.compare("eq", size, one), m.compare("eq", y, y)), one, magnitude)
    i = _integers(m)
    is_whole, is_odd = _whole_and_odd(d, exponent)
    sign = i.select(is_odd, i.binary("and", m.bits(x, i32), i.constant(-(1 << 31))), i.constant(0))
    result = i.bits(i.binary("or", m.bits(magnitude, i32), sign), f32)
    is_negative = m.b.conjunction(m.compare("lt", x, zero), m.compare("gt", x, m.constant(-inf)))
    result = m.select(is_negative, m.select(is_whole, result, m.constant(nan)), result)
    result = m.select(m.compare("eq", x, one), one, result)
    return m.select(m.compare("eq", y, zero), one, result)


def _between(m: Arithmetic, x: SSAValue, lowest: float, highest: float) -> SSAValue:
    """x, or the limit that it is beyond; NaN for NaN."""
    bound = m.constant(lowest)
    return _at_most(m, m.select(m.compare("lt", x, bound), bound, x), highest)


def _log2_wide(m: Arithmetic, d: Arithmetic, x: SSAValue) -> SSAValue:
    """log2 of f32 numbers that are not negative, in f64: -infinity of 0, NaN of NaN."""
    mantissa, exponent, shift = _taken_apart(m, x)
    whole = m.sub(m.b.insert(SIToFPOp(exponent, m.type)), shift)
    wide, whole = (m.b.insert(ExtFOp(each, d.type)) for each in (mantissa, whole))
    z = d.div(d.sub(wide, d.constant(1.0)), d.add(wide, d.constant(1.0)))
    result = d.add(whole, d.mul(z, d.polynomial(_LOG2_RATIO, d.mul(z, z))))
    given = m.b.insert(ExtFOp(x, d.type))
    result = d.select(d.compare("lt", given, d.constant(inf)), result, given)
    return d.select(d.compare("eq", given, d.constant(0.0)), d.constant(-inf), result)


def _exp2_wide(d: Arithmetic, y: SSAValue) -> SSAValue:
    """2**y in f64; of what is infinite or 0 in f32, a number that is so when it is rounded; NaN of NaN."""
    offset = d.constant(_ROUND_WIDE + _BIAS_WIDE)
    y = _between(d, y, -200.0, 200.0)
    shifted = d.add(y, offset)
    powers = d.polynomial(_EXP2_WIDE, d.sub(y, d.sub(shifted, offset)))
    i = Arithmetic(d.b, shaped_like(i64, d.type))
    return d.mul(powers, i.bits(i.binary("shl", d.bits(shifted, i64), i.constant(_MANTISSA_BITS_WIDE)), f64))


def _whole_and_odd(d: Arithmetic, y: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Whether numbers that come from f32 are integers, and whether odd ones: the large ones are even."""
    y = _between(d, y, -(2.0**30), 2.0**30)
    shifted = d.add(y, d.constant(_ROUND_WIDE))
    i = Arithmetic(d.b, shaped_like(i64, d.type))
    low = i.binary("and", d.bits(shifted, i64), i.constant(1))
    is_whole = d.compare("eq", d.sub(shifted, d.constant(_ROUND_WIDE)), y)
    return is_whole, d.b.conjunction(is_whole, i.compare("ne", low, i.constant(0)))
