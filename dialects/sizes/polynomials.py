"""Polynomials of symbols with whole factors, and what bounds the symbols give them.

A symbol is a dimension of an input; a product may also have floor quotients of polynomials (quotients.py) among its
factors. Equal polynomials are equal as Python's values.
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
    """A size that is known at run time, in [low, high]. Two symbols of one name are two symbols."""

    name: str
    low: int
    high: int
    number: int = field(default_factory=count().__next__, init=False)
    """In the order in which symbols were made: code must not hang on where Python has them."""

    @cached_property
    def spelled(self) -> str:
        """The name as IR has it: in quotes where it is no identifier."""
        return spelled_name(self.name)

    @override
    def __repr__(self) -> str:
        return self.name


_IDENTIFIER = re.compile(r"(?!floordiv\b)[A-Za-z_][\w$.]*", re.ASCII)


def spelled_name(name: str) -> str:
    """A name as IR has it: in quotes, and escaped as MLIR does, where it is no identifier."""
    if _IDENTIFIER.fullmatch(name):
        return name
    escaped = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in name.encode())
    return f'"{"".join(escaped)}"'


@dataclass(frozen=True, eq=False, repr=False)
class InputSymbol(Symbol):
    """A dimension of an input that is `unit` times the symbol, from `span[0]` to `span[1]`.

    Where it may be 0, its bounds are without 0, for loops over nothing don't run, whatever is decided inside. Code that
    would do something with nothing notes a guard: see `note_empty_operands`.
    """

    unit: int = 1
    span: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, name: str, low: int, high: int, unit: int = 1) -> InputSymbol:
        """A dimension in [low, high]; `unit` must divide it, or the code is not for it."""
        called = name if unit == 1 else f"{name} / {unit}"
        return cls(called, -(-max(low, 1) // unit), high // unit, unit, (low, high))

    @property
    def dimension(self) -> str:
        """The dimension's own name."""
        return self.name.removesuffix(f" / {self.unit}")

    @property
    def may_be_empty(self) -> bool:
        """Whether the bounds leave out that the dimension may be 0."""
        return self.span[0] == 0


@dataclass(frozen=True)
class Quotient:
    """floor(dividend / divisor); the divisor is positive."""

    dividend: Terms
    divisor: Terms

    @cached_property
    def text(self) -> str:
        """As MLIR writes it."""
        return f"({_bracketed(self.dividend, repr)} floordiv {_bracketed(self.divisor, repr)})"

    @cached_property
    def spelled(self) -> str:
        """As IR has it, where names that are no identifiers stand in quotes."""
        return f"({_bracketed(self.dividend, _spelled)} floordiv {_bracketed(self.divisor, _spelled)})"

    @override
    def __repr__(self) -> str:
        return self.text


Atom: TypeAlias = "Symbol | Quotient"
Monomial: TypeAlias = "tuple[Atom, ...]"  # a product; () is 1
Terms: TypeAlias = "frozenset[tuple[Monomial, int]]"  # a sum of products times numbers


def constant(value: int) -> Terms:
    """A number as a polynomial."""
    return frozenset({((), value)}) if value else frozenset()


def constant_of(terms: Terms) -> int:
    """What a polynomial has without symbols."""
    return dict(terms).get((), 0)


def number_of(terms: Terms) -> int | None:
    """The number that a polynomial is; None where it hangs on symbols."""
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
    """a times a number"""
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
    """A place in an order of all atoms: quotients first, by what they are."""
    return (atom.number, "") if isinstance(atom, Symbol) else (-1, atom.text)


def weight(term: tuple[Monomial, int]) -> tuple[int, tuple[tuple[int, str], ...]]:
    """A place in an order of all terms, by which they are divided and written."""
    return len(term[0]), tuple(sorted(map(_rank, term[0]), reverse=True))


@lru_cache(maxsize=65536)
def bounds(terms: Terms) -> tuple[int, int]:
    """The smallest and the largest value of a polynomial that the bounds of its symbols allow."""
    low, high = _plain_bounds(terms)
    for monomial, factor in terms:  # b * floor(a / b) = a - (what is left, in [0, b))
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
    """An upper bound where quotients by numbers are taken for those of reals, from which floor takes something."""
    quotients: list[tuple[Quotient, int, int]] = []
    for monomial, factor in terms:
        if len(monomial) == 1 and isinstance(monomial[0], Quotient) and (by := number_of(monomial[0].divisor)):
            quotients.append((monomial[0], factor, by))
    unit = lcm(*(by for _, _, by in quotients))
    together, taken = scaled(terms, unit), 0
    for quotient, factor, by in quotients:  # b * floor(a / b) = a - (what is left, in [0, b))
        times = factor * unit // by
        exact = added(scaled(quotient.dividend, times), frozenset({((quotient,), -factor * unit)}))
        together, taken = added(together, exact), taken + min(times * (by - 1), 0)
    return (_plain_bounds(together)[1] - taken) // unit


def _paired_bounds(terms: Terms) -> tuple[int, int]:
    """Bounds by way of terms of two signs one of which divides the other: x * y - x is x * (y - 1)."""
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
    """Whether a product has all factors of one that has fewer, but some."""
    return 0 < len(part) < len(monomial) and not Counter(part) - Counter(monomial)


MOST_CORNERS = 32


def _plain_bounds(terms: Terms) -> tuple[int, int]:
    atoms = {atom for monomial, _ in terms for atom in monomial}
    if 2 ** len(atoms) <= MOST_CORNERS and all(len(set(monomial)) == len(monomial) for monomial, _ in terms):
        # Linear in each factor: the ends are at corners.
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
    """The atoms that are in every term."""
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
    return min(low // least, low // most), max(high // least, high // most)


def symbols_in(terms: Terms) -> set[Symbol]:
    """The symbols that a polynomial hangs on."""
    found: set[Symbol] = set()
    for monomial, _ in terms:
        for atom in monomial:
            found |= {atom} if isinstance(atom, Symbol) else symbols_in(atom.dividend) | symbols_in(atom.divisor)
    return found


def evaluated(terms: Terms, give: Callable[[Symbol], Any], combine: Combine) -> Any:
    """A polynomial with values for its symbols, in whatever arithmetic `combine` offers."""
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
    """An arithmetic: what `evaluated` computes with."""

    number: Callable[[int], Any]
    add: Callable[[Any, Any], Any]
    multiply: Callable[[Any, Any], Any]
    divide: Callable[[Any, Any], Any]


_NUMBERS = Combine(int, lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a // b)


def value_of(terms: Terms, values: Mapping[Symbol, int]) -> int:
    """A polynomial where its symbols have these values."""
    return cast("int", evaluated(terms, values.__getitem__, _NUMBERS))


def _bracketed(terms: Terms, name: Callable[[Atom], str]) -> str:
    text = _text(terms, name)
    return f"({text})" if " " in text or text.startswith("-") else text


def _spelled(atom: Atom) -> str:
    return atom.spelled


def text_of(terms: Terms) -> str:
    """As MLIR writes affine expressions, for messages."""
    return _text(terms, repr)


def spelled(terms: Terms) -> str:
    """As IR has it, where names that are no identifiers stand in quotes (see spelling.py)."""
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
