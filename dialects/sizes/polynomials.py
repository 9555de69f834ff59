"""Polynomials of symbols with integer coefficients, and interval bounds derived from the bounds of the symbols.

A symbol is a dimension of an input; a monomial may also contain floor quotients of polynomials (quotients.py). Equal
polynomials are equal Python values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import count, product
from math import lcm, prod
from typing import Any, TypeAlias, cast

from typing_extensions import override


@dataclass(frozen=True, eq=False)
class Symbol:
    """A size known at run time, in [low, high]. Identity decides: two symbols of one name are different."""

    name: str
    low: int
    high: int
    number: int = field(default_factory=count().__next__, init=False)
    """In the order in which symbols were made: code must not hang on where Python has them."""

    @cached_property
    def spelled(self) -> str:
        """The name as IR spells it: quoted where it is no identifier."""
        return spelled_name(self.name)

    @override
    def __repr__(self) -> str:
        return self.name


_IDENTIFIER = re.compile(r"(?!floordiv\b)[A-Za-z_][\w$.]*", re.ASCII)


def spelled_name(name: str) -> str:
    """A name as IR spells it: quoted, with MLIR's escapes, where it is no identifier."""
    if _IDENTIFIER.fullmatch(name):
        return name
    escaped = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in name.encode())
    return f'"{"".join(escaped)}"'


@dataclass(frozen=True, eq=False, repr=False)
class InputSymbol(Symbol):
    """A dimension of an input: `unit` times the symbol, in [span[0], span[1]].

    Where the dimension may be 0, the symbol's bounds exclude 0: loops without iterations are harmless whatever was
    decided for their bodies. Code that does something for an empty dimension notes a guard (`note_empty_operands`).
    """

    unit: int = 1
    span: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, name: str, low: int, high: int, unit: int = 1) -> InputSymbol:
        """A dimension in [low, high] that must be a multiple of `unit`."""
        called = name if unit == 1 else f"{name} / {unit}"
        return cls(called, -(-max(low, 1) // unit), high // unit, unit, (low, high))

    @property
    def dimension(self) -> str:
        """The dimension's name, without the unit."""
        return self.name.removesuffix(f" / {self.unit}")

    @property
    def may_be_empty(self) -> bool:
        """Whether the dimension may be 0, which the symbol's bounds exclude."""
        return self.span[0] == 0


@dataclass(frozen=True)
class Quotient:
    """floor(dividend / divisor) of polynomials; the divisor is positive."""

    dividend: Terms
    divisor: Terms

    @cached_property
    def text(self) -> str:
        """In MLIR's affine syntax, for messages."""
        return f"({_bracketed(self.dividend, repr)} floordiv {_bracketed(self.divisor, repr)})"

    @cached_property
    def spelled(self) -> str:
        """In the syntax of IR: names that are no identifiers are quoted."""
        return f"({_bracketed(self.dividend, _spelled)} floordiv {_bracketed(self.divisor, _spelled)})"

    @override
    def __repr__(self) -> str:
        return self.text


Atom: TypeAlias = "Symbol | Quotient"
Monomial: TypeAlias = "tuple[Atom, ...]"  # a monomial; () is 1
Terms: TypeAlias = "frozenset[tuple[Monomial, int]]"  # a polynomial: monomials with their coefficients


def constant(value: int) -> Terms:
    """The polynomial of a constant."""
    return frozenset({((), value)}) if value else frozenset()


def constant_of(terms: Terms) -> int:
    """The constant term."""
    return dict(terms).get((), 0)


def number_of(terms: Terms) -> int | None:
    """The value of a constant polynomial, else None."""
    if not terms:
        return 0
    if len(terms) > 1:
        return None
    ((monomial, factor),) = terms
    return None if monomial else factor


def added(a: Terms, b: Terms) -> Terms:
    """a + b"""
    factors = dict(a)
    for monomial, factor in b:
        factors[monomial] = factors.get(monomial, 0) + factor
    return frozenset((monomial, factor) for monomial, factor in factors.items() if factor)


def scaled(a: Terms, by: int) -> Terms:
    """a times an integer"""
    return frozenset((monomial, factor * by) for monomial, factor in a) if by else frozenset()


def multiplied(a: Terms, b: Terms) -> Terms:
    """a * b"""
    factors: dict[Monomial, int] = {}
    for left, x in a:
        for right, y in b:
            monomial = _sorted((*left, *right))
            factors[monomial] = factors.get(monomial, 0) + x * y
    return frozenset((monomial, factor) for monomial, factor in factors.items() if factor)


def _sorted(atoms: Sequence[Atom]) -> Monomial:
    return tuple(sorted(atoms, key=_rank)) if len(atoms) > 1 else tuple(atoms)


def _rank(atom: Atom) -> tuple[int, str]:
    """A sort key for atoms: quotients first, then symbols by name."""
    return (atom.number, "") if isinstance(atom, Symbol) else (-1, atom.text)


def weight(term: tuple[Monomial, int]) -> tuple[int, tuple[tuple[int, str], ...]]:
    """A sort key for terms: their order in division and in text."""
    return len(term[0]), tuple(sorted(map(_rank, term[0]), reverse=True))


@lru_cache(maxsize=65536)
def bounds(terms: Terms) -> tuple[int, int]:
    """The smallest and largest value of a polynomial within the bounds of its symbols (conservative)."""
    low, high = _plain_bounds(terms)
    for monomial, factor in terms:  # b * floor(a / b) = a - remainder, the remainder in [0, b)
        if len(monomial) != 1 or not isinstance(monomial[0], Quotient):
            continue
        quotient = monomial[0]
        by = number_of(quotient.divisor)
        if by is None or factor % by:
            continue
        times = factor // by
        others = added(terms, frozenset({(monomial, -factor)}))
        least, most = _plain_bounds(added(others, scaled(quotient.dividend, times)))
        left = -times * (by - 1)
        low, high = max(low, least + min(left, 0)), min(high, most + max(left, 0))
    least, most = _paired_bounds(terms)
    return max(low, least, -_most(scaled(terms, -1))), min(high, most, _most(terms))


def _most(terms: Terms) -> int:
    """An upper bound that replaces quotients by a constant with exact rational ones, which are no smaller."""
    quotients: list[tuple[Quotient, int, int]] = []
    for monomial, factor in terms:
        if len(monomial) == 1 and isinstance(monomial[0], Quotient) and (by := number_of(monomial[0].divisor)):
            quotients.append((monomial[0], factor, by))
    unit = lcm(*(by for _, _, by in quotients))
    together, taken = scaled(terms, unit), 0
    for quotient, factor, by in quotients:  # b * floor(a / b) = a - remainder, the remainder in [0, b)
        times = factor * unit // by
        exact = added(scaled(quotient.dividend, times), frozenset({((quotient,), -factor * unit)}))
        together, taken = added(together, exact), taken + min(times * (by - 1), 0)
    return (_plain_bounds(together)[1] - taken) // unit


def _paired_bounds(terms: Terms) -> tuple[int, int]:
    """Bounds that factor pairs of terms with opposite signs: x * y - x is x * (y - 1)."""
    left = dict(sorted(terms, key=weight))
    low = high = 0
    for monomial, factor in tuple(left.items()):
        larger = [each for each in left if left[each] * factor < 0 and _contains(each, monomial)]
        if monomial not in left or not larger:
            continue
        pair = frozenset((each, left.pop(each)) for each in (monomial, larger[0]))
        least, most = _plain_bounds(pair)
        low, high = low + least, high + most
    least, most = _plain_bounds(frozenset(left.items()))
    return low + least, high + most


def _contains(monomial: Monomial, part: Monomial) -> bool:
    """Whether `part` is a proper, non-trivial divisor of a monomial."""
    return 0 < len(part) < len(monomial) and not Counter(part) - Counter(monomial)


MOST_CORNERS = 32


def _plain_bounds(terms: Terms) -> tuple[int, int]:
    atoms = {atom for monomial, _ in terms for atom in monomial}
    if 2 ** len(atoms) <= MOST_CORNERS and all(len(set(monomial)) == len(monomial) for monomial, _ in terms):
        # Linear in each factor: extremes are at corners.
        known = sorted(atoms, key=_rank)
        corners = (dict(zip(known, ends, strict=True)) for ends in product(*map(_atom_bounds, known)))
        values = [sum(factor * prod(at[atom] for atom in monomial) for monomial, factor in terms) for at in corners]
        return min(values), max(values)
    if len(terms) > 1 and (shared := _shared(terms)):  # x * a + x * b is x * (a + b)
        (least, most), rest = _plain_bounds(frozenset({(shared, 1)})), terms
        for atom in shared:
            rest = frozenset((_without(monomial, atom), factor) for monomial, factor in rest)
        ends = [a * b for a in (least, most) for b in _plain_bounds(rest)]
        return min(ends), max(ends)
    low = high = 0
    for monomial, factor in terms:
        least = most = 1
        for atom in monomial:
            ends = _atom_bounds(atom)
            products = [a * b for a in (least, most) for b in ends]
            least, most = min(products), max(products)
        low, high = low + min(least * factor, most * factor), high + max(least * factor, most * factor)
    return low, high


def _shared(terms: Terms) -> Monomial:
    """The greatest common monomial of all terms."""
    first, *others = (list(monomial) for monomial, _ in terms)
    shared: list[Atom] = []
    for atom in first:
        if all(atom in other for other in others):
            for other in others:
                other.remove(atom)
            shared.append(atom)
    return tuple(shared)


def _without(monomial: Monomial, atom: Atom) -> Monomial:
    left = list(monomial)
    left.remove(atom)
    return tuple(left)


@lru_cache(maxsize=65536)
def _atom_bounds(atom: Atom) -> tuple[int, int]:
    if isinstance(atom, Symbol):
        return atom.low, atom.high
    low, high = bounds(atom.dividend)
    least, most = bounds(atom.divisor)
    least = max(least, 1)
    largest = max(high // least, high // most)
    if low >= 0 and (part := _largest_part(atom)) is not None:
        largest = min(largest, part)
    return min(low // least, low // most), largest


def _largest_part(atom: Quotient) -> int | None:
    """The most that a // divisor can be, a not negative, where the divisor is e + b // d and f * b = a + c; else None.

    The divisor is at least (a + k) / (f * d), with k = c + f + (e - 1) * f * d, which must not be negative. So a size
    that is divided into the fewest parts of 28 at most has parts of 28 at most.
    """
    others = [(monomial, factor) for monomial, factor in atom.divisor if monomial]
    if len(others) != 1 or others[0][1] != 1 or len(others[0][0]) != 1 or not isinstance(others[0][0][0], Quotient):
        return None
    inner, whole = others[0][0][0], dict(atom.dividend)
    by, monomial = number_of(inner.divisor), next(monomial for monomial, _ in inner.dividend if monomial)
    times = whole.get(monomial, 0) // dict(inner.dividend)[monomial]
    rest = number_of(added(scaled(inner.dividend, times), scaled(atom.dividend, -1)))
    if by is None or rest is None or times < 1:
        return None
    by *= times
    more = rest + times + (constant_of(atom.divisor) - 1) * by
    return None if more < 0 else by if more == 0 else by - 1


def symbols_in(terms: Terms) -> set[Symbol]:
    """The symbols that occur in a polynomial, quotients included."""
    found: set[Symbol] = set()
    for monomial, _ in terms:
        for atom in monomial:
            found |= {atom} if isinstance(atom, Symbol) else symbols_in(atom.dividend) | symbols_in(atom.divisor)
    return found


def evaluated(terms: Terms, give: Callable[[Symbol], Any], combine: Combine) -> Any:
    """Evaluates a polynomial with values for its symbols, in the arithmetic that `combine` provides."""
    total: Any = None
    for monomial, factor in sorted(terms, key=weight):
        product: Any = None
        for atom in monomial:
            if isinstance(atom, Symbol):
                value = give(atom)
            else:
                value = combine.divide(evaluated(atom.dividend, give, combine), evaluated(atom.divisor, give, combine))
            product = value if product is None else combine.multiply(product, value)
        if product is None:
            product = combine.number(factor)
        elif factor != 1:
            product = combine.multiply(product, combine.number(factor))
        total = product if total is None else combine.add(total, product)
    return combine.number(0) if total is None else total


@dataclass(frozen=True)
class Combine:
    """The operations with which `evaluated` computes."""

    number: Callable[[int], Any]
    add: Callable[[Any, Any], Any]
    multiply: Callable[[Any, Any], Any]
    divide: Callable[[Any, Any], Any]


_NUMBERS = Combine(int, lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a // b)


def value_of(terms: Terms, values: Mapping[Symbol, int]) -> int:
    """The value of a polynomial at given values of its symbols."""
    return cast("int", evaluated(terms, values.__getitem__, _NUMBERS))


def _bracketed(terms: Terms, name: Callable[[Atom], str]) -> str:
    text = _text(terms, name)
    return f"({text})" if " " in text or text.startswith("-") else text


def _spelled(atom: Atom) -> str:
    return atom.spelled


def text_of(terms: Terms) -> str:
    """In MLIR's affine syntax, for messages."""
    return _text(terms, repr)


def spelled(terms: Terms) -> str:
    """In the syntax of IR: names that are no identifiers are quoted (spelling.py)."""
    return _text(terms, _spelled)


def _text(terms: Terms, name: Callable[[Atom], str]) -> str:
    text = ""
    for monomial, factor in sorted(terms, key=lambda term: (-len(term[0]), *map(repr, term[0]))):
        size = abs(factor)
        atoms = " * ".join(map(name, monomial))
        if factor == 1 and len(monomial) == 1 and isinstance(monomial[0], Quotient):
            atoms = atoms[1:-1]  # floordiv binds as * does
        part = str(size) if not atoms else atoms if size == 1 else f"{atoms} * {size}"
        text += (f" - {part}" if factor < 0 else f" + {part}") if text else f"-{part}" if factor < 0 else part
    return text or "0"
