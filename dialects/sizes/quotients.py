"""Floor division of polynomials, simplified: divisible terms leave the quotient, nested quotients are merged."""

from __future__ import annotations

from math import gcd

from .polynomials import (
    Monomial,
    Quotient,
    Terms,
    added,
    bounds,
    constant,
    constant_of,
    multiplied,
    number_of,
    scaled,
    weight,
)


def floor_quotient(dividend: Terms, divisor: Terms) -> Terms:
    """floor(dividend / divisor) as a polynomial, simplified; the divisor must be positive."""
    whole, rest = parted(dividend, divisor)
    if not rest:
        return whole
    if len(divisor) > 1 and (exact := _exactly(dividend, divisor)) is not None:
        return exact
    low, high = bounds(rest)
    if high < 0 and bounds(added(divisor, rest))[0] >= 0:
        return added(whole, constant(-1))  # -b <= rest < 0
    # floor(-a / b) is -ceil(a / b); for a in [0, 1] it would be the same quotient again.
    if high <= 0 and (low < -1 or number_of(divisor) is not None):
        up = floor_quotient(added(added(scaled(rest, -1), divisor), constant(-1)), divisor)
        return added(whole, scaled(up, -1))
    if low >= 0 and bounds(added(divisor, scaled(rest, -1)))[0] > 0:
        return whole  # 0 <= rest < b
    by = number_of(divisor)
    if by is None:
        return added(whole, _one(Quotient(rest, divisor)))
    step = constant_of(rest) // by
    whole, rest = added(whole, constant(step)), added(rest, constant(-step * by))
    common = gcd(by, *(factor for monomial, factor in rest if monomial))
    if common > 1:  # (c x + r) // (c d) is (x + r // c) // d
        inner = frozenset((monomial, factor // common) for monomial, factor in rest if monomial)
        rest, by = added(inner, constant(constant_of(rest) // common)), by // common
        if not rest or (bounds(rest)[0] >= 0 and bounds(rest)[1] < by):
            return whole
    if (nested := _nested(rest)) is not None:
        return added(whole, floor_quotient(nested[0], constant(nested[1] * by)))
    return added(whole, _one(Quotient(rest, constant(by))))


def parted(dividend: Terms, divisor: Terms) -> tuple[Terms, Terms]:
    """The quotient of the terms that are divisible one by one, and the remaining terms."""
    whole: Terms = frozenset()
    rest: Terms = frozenset()
    for term in dividend:
        part = _divided(term, divisor)
        if part is None:
            rest = added(rest, frozenset({term}))
        else:
            whole = added(whole, frozenset({part}))
    return whole, rest


def _one(quotient: Quotient) -> Terms:
    return frozenset({((quotient,), 1)})


def _nested(terms: Terms) -> tuple[Terms, int] | None:
    """For a polynomial of the form x // d + c: (x + c * d, d); None for others."""
    quotients = [monomial[0] for monomial, factor in terms if factor == 1 and len(monomial) == 1]
    others = [monomial for monomial, _ in terms if monomial]
    if len(quotients) != 1 or len(others) != 1 or not isinstance(quotients[0], Quotient):
        return None
    by = number_of(quotients[0].divisor)
    if by is None:
        return None
    return added(quotients[0].dividend, constant(constant_of(terms) * by)), by


def _divided(term: tuple[Monomial, int], divisor: Terms) -> tuple[Monomial, int] | None:
    """A term divided by a single-term polynomial; None where there is a remainder."""
    if len(divisor) != 1:
        return None
    ((atoms, factor),) = divisor
    monomial, own = list(term[0]), term[1]
    if own % factor:
        return None
    for atom in atoms:
        if atom not in monomial:
            return None
        monomial.remove(atom)
    return tuple(monomial), own // factor


def _exactly(dividend: Terms, divisor: Terms) -> Terms | None:
    """The quotient of two polynomials by long division; None where there is a remainder."""
    leading = max(divisor, key=weight)
    quotient: Terms = frozenset()
    rest = dividend
    for _ in range(2 * len(dividend) + 2):
        if not rest:
            return quotient
        part = _divided(max(rest, key=weight), frozenset({leading}))
        if part is None:
            return None
        quotient = added(quotient, frozenset({part}))
        rest = added(rest, scaled(multiplied(frozenset({part}), divisor), -1))
    return None
