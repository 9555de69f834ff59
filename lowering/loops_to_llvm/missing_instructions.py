"""Emulation of instructions that some CPUs lack (rounding to integers, fma), which LLVM would turn into library calls.

Rounding to integers is exact. `fused` is exact except for the last bit, as far as double rounding matters;
`fused_exactly` is what the instruction gives, of f32.
"""

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import SSAValue

from ...dialects.extensions.replace import shaped_like
from ..kernel_code.arithmetic import Arithmetic, convert

_SPLIT = {24: 4097.0, 53: 134217729.0}  # a factor that extracts the upper half of a number's bits: Veltkamp's


def fused(m: Arithmetic, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    """x * y + z as if rounded once, except for the last bit: Dekker's product and Knuth's sum with their errors.

    Under cancellation the result is exact. Factors above 2^996 in f64, or 2^115 in f32, overflow.
    """
    product = m.mul(x, y)
    (x_high, x_low), (y_high, y_low) = _halves(m, x), _halves(m, y)
    lost = m.sub(m.mul(x_high, y_high), product)
    lost = m.add(m.add(lost, m.mul(x_high, y_low)), m.mul(x_low, y_high))
    lost = m.add(lost, m.mul(x_low, y_low))
    total = m.add(product, z)
    added = m.sub(total, product)
    dropped = m.add(m.sub(product, m.sub(total, added)), m.sub(z, added))
    return m.add(total, m.add(dropped, lost))


def fused_exactly(m: Arithmetic, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    """x * y + z of f32, rounded once: the product is exact in f64, and the sum there is rounded to odd.

    A sum rounded to odd, with two bits more than twice those of f32, rounds to f32 as the exact one does (Boldo and
    Melquiond, 2008). Knuth's sum gives the part that rounding to nearest has lost.
    """
    b, wide = m.b, Arithmetic(m.b, shaped_like(f64, m.type), contract=False)
    x, y, z = (convert(b, each, f32, f64) for each in (x, y, z))
    product = wide.mul(x, y)
    total = wide.add(product, z)
    added = wide.sub(total, product)
    lost = wide.add(wide.sub(product, wide.sub(total, added)), wide.sub(z, added))
    integers = Arithmetic(b, shaped_like(i64, m.type))
    bits, one = wide.bits(total, i64), integers.constant(1)
    even = integers.compare("eq", integers.binary("and", bits, one), integers.constant(0))
    # Away from zero where the lost part has the sign of the sum, else toward zero.
    grows = integers.compare("ge", integers.binary("xor", bits, wide.bits(lost, i64)), integers.constant(0))
    odd = integers.select(grows, integers.add(bits, one), integers.sub(bits, one))
    inexact = wide.compare("gt", wide.abs(lost), wide.constant(0.0))
    bits = integers.select(inexact, integers.select(even, odd, bits), bits)
    return convert(b, b.insert(arith.BitcastOp(bits, wide.type)), f64, f32)


def _precision(m: Arithmetic) -> int:
    """Bits of a significand, including the leading one."""
    return 53 if m.element == f64 else 24


def _halves(m: Arithmetic, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    scaled = m.mul(x, m.constant(_SPLIT[_precision(m)]))
    high = m.sub(scaled, m.sub(scaled, x))
    return high, m.sub(x, high)


def _whole(m: Arithmetic, x: SSAValue, adjust: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
    """`adjust` of |x| and the integer nearest to it, with the sign of x; x itself if it is an integer."""
    size, limit = m.abs(x), 2.0 ** (_precision(m) - 1)
    nearest = m.sub(m.add(size, m.constant(limit)), m.constant(limit))
    signed = m.binary("copysign", adjust(size, nearest), x)
    return m.select(m.compare("lt", size, m.constant(limit)), signed, x)


def _step(m: Arithmetic, condition: SSAValue) -> SSAValue:
    return m.select(condition, m.constant(1.0), m.constant(0.0))


def roundeven(m: Arithmetic, x: SSAValue) -> SSAValue:
    """Rounds to nearest, ties to even."""
    return _whole(m, x, lambda _, nearest: nearest)


def trunc(m: Arithmetic, x: SSAValue) -> SSAValue:
    """Rounds toward zero."""
    return _whole(m, x, lambda size, nearest: m.sub(nearest, _step(m, m.compare("gt", nearest, size))))


def nearest_away(m: Arithmetic, x: SSAValue) -> SSAValue:
    """Rounds to nearest, ties away from zero."""

    def adjust(size: SSAValue, nearest: SSAValue) -> SSAValue:
        return m.add(nearest, _step(m, m.compare("eq", m.sub(size, nearest), m.constant(0.5))))

    return _whole(m, x, adjust)


def floor(m: Arithmetic, x: SSAValue) -> SSAValue:
    """Rounds down."""
    nearest = roundeven(m, x)
    lower = m.sub(nearest, _step(m, m.compare("gt", nearest, x)))
    return m.binary("copysign", lower, x)


def ceil(m: Arithmetic, x: SSAValue) -> SSAValue:
    """Rounds up."""
    nearest = roundeven(m, x)
    higher = m.add(nearest, _step(m, m.compare("lt", nearest, x)))
    return m.binary("copysign", higher, x)
