"""Emulation of instructions that some CPUs lack (rounding to integers, fma), which LLVM would turn into library calls.

Rounding to integers is exact. fma is exact except for the last bit, as far as double rounding matters.
"""

from collections.abc import Callable

from xdsl.ir import SSAValue

from .math_builder import MathBuilder

_SPLIT = {24: 4097.0, 53: 134217729.0}  # a factor that extracts the upper half of a number's bits: Veltkamp's


def fused(b: MathBuilder, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    """x * y + z as if rounded once, except for the last bit: Dekker's product and Knuth's sum with their errors.

    Under cancellation the result is exact. Factors above 2^996 in f64, or 2^115 in f32, overflow.
    """
    product = b.mul(x, y)
    (x_high, x_low), (y_high, y_low) = _halves(b, x), _halves(b, y)
    lost = b.sub(b.mul(x_high, y_high), product)
    lost = b.add(b.add(lost, b.mul(x_high, y_low)), b.mul(x_low, y_high))
    lost = b.add(lost, b.mul(x_low, y_low))
    total = b.add(product, z)
    added = b.sub(total, product)
    dropped = b.add(b.sub(product, b.sub(total, added)), b.sub(z, added))
    return b.add(total, b.add(dropped, lost))


def _halves(b: MathBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    scaled = b.mul(x, b.number(_SPLIT[b.precision]))
    high = b.sub(scaled, b.sub(scaled, x))
    return high, b.sub(x, high)


def _whole(b: MathBuilder, x: SSAValue, adjust: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
    """`adjust` of |x| and the integer nearest to it, with the sign of x; x itself if it is an integer."""
    size, limit = b.abs(x), 2.0 ** (b.precision - 1)
    nearest = b.sub(b.add(size, b.number(limit)), b.number(limit))
    signed = b.copysign(adjust(size, nearest), x)
    return b.select(b.compare("olt", size, b.number(limit)), signed, x)


def _step(b: MathBuilder, condition: SSAValue) -> SSAValue:
    return b.select(condition, b.number(1.0), b.number(0.0))


def roundeven(b: MathBuilder, x: SSAValue) -> SSAValue:
    """Rounds to nearest, ties to even."""
    return _whole(b, x, lambda _, nearest: nearest)


def trunc(b: MathBuilder, x: SSAValue) -> SSAValue:
    """Rounds toward zero."""
    return _whole(b, x, lambda size, nearest: b.sub(nearest, _step(b, b.compare("ogt", nearest, size))))


def nearest_away(b: MathBuilder, x: SSAValue) -> SSAValue:
    """Rounds to nearest, ties away from zero."""

    def adjust(size: SSAValue, nearest: SSAValue) -> SSAValue:
        return b.add(nearest, _step(b, b.compare("oeq", b.sub(size, nearest), b.number(0.5))))

    return _whole(b, x, adjust)


def floor(b: MathBuilder, x: SSAValue) -> SSAValue:
    """Rounds down."""
    nearest = roundeven(b, x)
    lower = b.sub(nearest, _step(b, b.compare("ogt", nearest, x)))
    return b.copysign(lower, x)


def ceil(b: MathBuilder, x: SSAValue) -> SSAValue:
    """Rounds up."""
    nearest = roundeven(b, x)
    higher = b.add(nearest, _step(b, b.compare("olt", nearest, x)))
    return b.copysign(higher, x)
