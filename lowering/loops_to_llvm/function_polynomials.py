"""exp, tanh, erf, log, atan and related functions in f32, by arithmetic and bit operations only.

Without branches and calls, so that LLVM vectorises loops that contain them. Coefficients are minimax fits of the
relative error (iteratively reweighted least squares), rounded to f32. Errors, in units in the last place over the whole
range: exp and exp2 1, expm1 2, log 1, log1p 2, tanh 3, erf 2, atan 2. Subnormal results are flushed to 0; infinities
and NaN are as in the C library.
"""

from math import inf, nan

from xdsl.ir import SSAValue

from ..fits import EXP2
from .math_builder import MathBuilder

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.693359375  # few mantissa bits: its product with a small integer is exact
_LN2_LOW = -2.1219444005469057e-4
_ROUND = 12582912.0  # 1.5 * 2**23: adding it rounds to an integer, which appears in the low bits
_MANTISSA_BITS = 23
_BIAS = 127
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
# 2**r = 1 + r * (...) where |r| <= 1/2, to 1.6e-8; fits.py has a shorter one
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


def _nearest(b: MathBuilder, x: SSAValue, factor: float) -> tuple[SSAValue, SSAValue]:
    """n = x * factor rounded to an integer: as a float, and as an integer in the low bits of a second float."""
    offset = b.number(_ROUND)
    shifted = b.add(x, offset) if factor == 1.0 else b.fma(x, b.number(factor), offset)
    return b.sub(shifted, b.number(_ROUND)), shifted


def _reduce(b: MathBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """r with x = n * log(2) + r, and n in the low bits as _nearest returns it."""
    n, shifted = _nearest(b, x, _LOG2_E)
    r = b.fma(n, b.number(-_LN2_HIGH), x)
    return b.fma(n, b.number(-_LN2_LOW), r), shifted


def _scale(b: MathBuilder, x: SSAValue, shifted: SSAValue) -> SSAValue:
    """x * 2**n by adding n to the exponent; the result must be a normal number."""
    exponent = b.shift_left(b.bits(shifted), _MANTISSA_BITS)
    return b.from_bits(b.add_bits(b.bits(x), exponent))


def _power_of_two(b: MathBuilder, shifted: SSAValue, bias: int) -> SSAValue:
    """2**(n + bias - 127)"""
    exponent = b.shift_left(b.bits(shifted), _MANTISSA_BITS)
    return b.from_bits(b.add_bits(exponent, b.integer(bias << _MANTISSA_BITS)))


def _within(b: MathBuilder, x: SSAValue, result: SSAValue, lowest: float, highest: float) -> SSAValue:
    """`result`, replaced by 0 where x < lowest, infinity where x > highest, NaN where x is NaN."""
    result = b.select(b.compare("ugt", x, b.number(highest)), b.add(x, b.number(inf)), result)
    return b.select(b.compare("olt", x, b.number(lowest)), b.number(0.0), result)


def exp(b: MathBuilder, x: SSAValue) -> SSAValue:
    """e**x"""
    r, n = _reduce(b, x)
    power = b.horner((1.0, 1.0, *_EXP), r)
    return _within(b, x, _scale(b, power, n), -87.3365, 88.72283)


def exp2(b: MathBuilder, x: SSAValue) -> SSAValue:
    """2**x"""
    n, shifted = _nearest(b, x, 1.0)
    power = b.horner((1.0, *_EXP2), b.sub(x, n))
    return _within(b, x, _scale(b, power, shifted), -126.0, 127.99999)


def _expm1_reduced(b: MathBuilder, r: SSAValue) -> SSAValue:
    """e**r - 1 for small r"""
    return b.fma(b.mul(r, r), b.horner(_EXPM1, r), r)


def expm1(b: MathBuilder, x: SSAValue) -> SSAValue:
    """e**x - 1; scaled in two steps, as 2**128 overflows."""
    inside = b.at_most(b.at_least(x, -18.0), 89.0)
    r, n = _reduce(b, inside)
    half = _power_of_two(b, n, _BIAS - 1)
    result = b.fma(half, _expm1_reduced(b, r), b.sub(half, b.number(0.5)))
    return b.add(result, result)


def tanh(b: MathBuilder, x: SSAValue) -> SSAValue:
    """(e**2a - 1) / (e**2a + 1) for a = |x|, with the sign of x"""
    a = b.at_most(b.abs(x), _TANH_IS_ONE)
    r, n = _reduce(b, b.add(a, a))
    power = _power_of_two(b, n, _BIAS)
    grown = b.fma(power, _expm1_reduced(b, r), b.sub(power, b.number(1.0)))
    return b.copysign(b.div(grown, b.add(grown, b.number(2.0))), x)


def erf(b: MathBuilder, x: SSAValue) -> SSAValue:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x"""
    small = b.fma(x, b.horner(_ERF, b.mul(x, x)), x)
    a = b.abs(x)
    inside = b.at_most(a, _ERF_IS_ONE)
    exponent = b.mul(inside, b.horner([-coefficient * _LOG2_E for coefficient in _ERFC], inside))
    n, shifted = _nearest(b, exponent, 1.0)
    power = b.horner(EXP2, b.sub(exponent, n))
    large = b.copysign(b.fma(power, _power_of_two(b, shifted, _BIAS), b.number(-1.0)), x)
    return b.select(b.compare("olt", a, b.number(_ERF_SPLIT)), small, large)


def atan(b: MathBuilder, x: SSAValue) -> SSAValue:
    """The arc tangent, reduced to the neighbourhood of 0, pi/4 or pi/2."""
    a, one, zero = b.abs(x), b.number(1.0), b.number(0.0)
    large, middle = b.compare("ogt", a, b.number(_TAN_3_PI_8)), b.compare("ogt", a, b.number(_TAN_PI_8))
    above = b.select(large, b.number(-1.0), b.select(middle, b.sub(a, one), a))
    below = b.select(large, a, b.select(middle, b.add(a, one), one))
    t = b.div(above, below)
    quarters = b.select(large, b.number(2.0), b.select(middle, one, zero))
    square = b.mul(t, t)
    rest = b.fma(b.mul(square, t), b.horner(_ATAN, square), b.mul(quarters, b.number(_PI_4_LOW)))
    return b.copysign(b.fma(quarters, b.number(_PI_4), b.add(t, rest)), x)


def log(b: MathBuilder, x: SSAValue) -> SSAValue:
    """The natural logarithm."""
    is_tiny = b.compare("olt", x, b.number(_SMALLEST_NORMAL))
    scaled = b.select(is_tiny, b.mul(x, b.number(2.0**_MANTISSA_BITS)), x)
    shift = b.select(is_tiny, b.number(float(_MANTISSA_BITS)), b.number(0.0))
    bits = b.bits(scaled)
    exponent = b.shift_right(b.sub_bits(bits, b.integer(_SQRT_HALF_BITS)), _MANTISSA_BITS)
    mantissa = b.from_bits(b.sub_bits(bits, b.shift_left(exponent, _MANTISSA_BITS)))
    f = b.sub(mantissa, b.number(1.0))
    e = b.sub(b.to_float(exponent), shift)
    square = b.mul(f, f)
    tail = b.mul(b.mul(square, f), b.horner(_LOG, f))
    tail = b.fma(e, b.number(_LN2_LOW), tail)
    tail = b.fma(square, b.number(-0.5), tail)
    result = b.fma(e, b.number(_LN2_HIGH), b.add(f, tail))
    result = b.select(b.compare("olt", x, b.number(inf)), result, x)
    zero = b.number(0.0)
    otherwise = b.select(b.compare("oeq", x, zero), b.number(-inf), b.number(nan))
    return b.select(b.compare("ogt", x, zero), result, otherwise)


def log1p(b: MathBuilder, x: SSAValue) -> SSAValue:
    """log(1 + x), corrected for the rounding error of 1 + x."""
    one = b.number(1.0)
    u = b.add(x, one)
    lost = b.sub(x, b.sub(u, one))
    regular = b.compare("olt", b.abs(x), b.number(inf))
    correction = b.div(lost, u)
    positive = b.compare("ogt", u, b.number(0.0))
    correction = b.select(positive, b.select(regular, correction, b.number(0.0)), b.number(0.0))
    return b.add(log(b, u), correction)


def power(b: MathBuilder, x: SSAValue, exponent: float) -> SSAValue | None:
    """x**exponent for exponents that are cheap to compute; None for any other."""
    match exponent:
        case 0.0:
            return b.number(1.0)
        case 1.0:
            return x
        case 2.0:
            return b.mul(x, x)
        case 3.0:
            return b.mul(b.mul(x, x), x)
        case 4.0:
            square = b.mul(x, x)
            return b.mul(square, square)
        case -1.0:
            return b.div(b.number(1.0), x)
        case -2.0:
            return b.div(b.number(1.0), b.mul(x, x))
        case 0.5 | -0.5:
            # Unlike sqrt, pow returns +0 for -0 and +infinity for -infinity.
            root = b.sqrt(b.add(x, b.number(0.0)))
            root = b.select(b.compare("oeq", x, b.number(-inf)), b.number(inf), root)
            return root if exponent > 0 else b.div(b.number(1.0), root)
        case _:
            return None
