"""Sizes that are known at run time: integers that remember how they hang on symbols.

A `Size` is a Python integer, its value at the shapes that a model is compiled for, and a polynomial of symbols:
dimensions of the inputs, and floor quotients of such polynomials. So all code that computes with sizes computes with
these too; what it makes of them, index arithmetic above all, becomes instructions in the end
(loops_to_llvm/instructions.py).

    batch, tokens = Symbol("batch", 1, 8), Symbol("tokens", 1, 512)
    rows = size_of(batch, 2) * size_of(tokens, 64)      # 128 now; batch*tokens
    rows * 256 // 256 == rows                           # true whatever they are
    rows < 4096                                         # depends: true now, which is noted as a guard

Two sizes are equal only if they are at all shapes. Where an order, or whether a size is 0, hangs on the shapes, the
value now decides, and that is noted (`Guards`): code made so is right where all its guards hold. Choices that are
right anyway, such as which of two schedules is faster, are made `unguarded`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import count
from math import gcd, lcm
from typing import Any, Self, TypeAlias, cast

from typing_extensions import override


@dataclass(frozen=True, eq=False)
class Symbol:
    """A size that is known at run time, in [low, high]. Two symbols of one name are two symbols."""

    name: str
    low: int
    high: int
    number: int = field(default_factory=count().__next__, init=False)
    """In the order in which symbols were made: code must not hang on where Python has them."""

    @override
    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, repr=False)
class InputSymbol(Symbol):
    """A dimension of an input that is `unit` times the symbol, from `span[0]` to `span[1]`."""

    unit: int = 1
    span: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, name: str, low: int, high: int, unit: int = 1) -> InputSymbol:
        """A dimension in [low, high]; `unit` must divide it, or the code is not for it."""
        called = name if unit == 1 else f"{name} / {unit}"
        return cls(called, -(-low // unit), high // unit, unit, (low, high))


@dataclass(frozen=True)
class Quotient:
    """floor(dividend / divisor); the divisor is positive."""

    dividend: Terms
    divisor: Terms

    @cached_property
    def text(self) -> str:
        """As MLIR writes it."""
        return f"({_bracketed(self.dividend)} floordiv {_bracketed(self.divisor)})"

    @override
    def __repr__(self) -> str:
        return self.text


Atom: TypeAlias = "Symbol | Quotient"
Monomial: TypeAlias = "tuple[Atom, ...]"  # a product; () is 1
Terms: TypeAlias = "frozenset[tuple[Monomial, int]]"  # a sum of products times numbers


class Size(int):
    """An integer, and the polynomial that says what it is at other shapes."""

    terms: Terms

    def __new__(cls, value: int, terms: Terms) -> Size:
        """See `size_of` and `_made`."""
        made = super().__new__(cls, value)
        made.terms = terms
        return made

    @override
    def __hash__(self) -> int:
        return hash(self.terms)

    @override
    def __str__(self) -> str:
        return _text(self.terms)

    @override
    def __repr__(self) -> str:
        return _text(self.terms)

    @override
    def __format__(self, spec: str) -> str:
        # IR is printed by numbers; here is none, as in MLIR's dynamic sizes.
        return "?" if spec == "d" and not _SPELLED_OUT.get() else _text(self.terms)

    # arithmetic

    @override
    def __add__(self, other: int) -> int:
        if not _is_int(other):
            return NotImplemented
        return _made(int(self) + int(other), _sum(self.terms, terms_of(other)))

    __radd__ = __add__

    @override
    def __neg__(self) -> int:
        return _made(-int(self), _scaled(self.terms, -1))

    @override
    def __pos__(self) -> int:
        return self

    @override
    def __abs__(self) -> int:
        return self if self >= 0 else -self

    @override
    def __sub__(self, other: int) -> int:
        if not _is_int(other):
            return NotImplemented
        return _made(int(self) - int(other), _sum(self.terms, _scaled(terms_of(other), -1)))

    @override
    def __rsub__(self, other: int) -> int:
        return -self + other

    @override
    def __mul__(self, other: int) -> int:
        if not _is_int(other):
            return NotImplemented
        return _made(int(self) * int(other), _product(self.terms, terms_of(other)))

    @override
    def __rmul__(self, other: Any) -> Any:
        return self * other if _is_int(other) else other * pinned(self)

    @override
    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if _is_int(other) and not isinstance(other, Size) and other >= 0:
            result: int = 1
            for _ in range(other):
                result = result * self
            return result
        return pinned(self) ** pinned(other)

    @override
    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return other ** pinned(self)

    @override
    def __floordiv__(self, other: int) -> int:
        return _quotient(self, other)

    @override
    def __rfloordiv__(self, other: int) -> int:
        return _quotient(other, self)

    @override
    def __mod__(self, other: int) -> int:
        return self - _quotient(self, other) * other

    @override
    def __rmod__(self, other: int) -> int:
        return other - _quotient(other, self) * self

    @override
    def __divmod__(self, other: int) -> tuple[int, int]:
        return self // other, self % other

    @override
    def __rdivmod__(self, other: int) -> tuple[int, int]:
        return other // self, other % self

    # What is no polynomial is right for the value now only, which is noted.

    @override
    def __float__(self) -> float:
        return float(pinned(self))

    @override
    def __truediv__(self, other: int) -> float:
        return pinned(self) / pinned(other) if _is_int(other) else NotImplemented

    @override
    def __rtruediv__(self, other: int) -> float:
        return other / pinned(self) if _is_int(other) else NotImplemented

    @override
    def __lshift__(self, other: int) -> int:
        return self * 2 ** pinned(other)

    @override
    def __rshift__(self, other: int) -> int:
        return self // 2 ** pinned(other)

    @override
    def __and__(self, other: int) -> int:
        return pinned(self) & pinned(other)

    @override
    def bit_length(self) -> int:
        return pinned(self).bit_length()

    # comparisons

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    @override
    def __ne__(self, other: object) -> bool:
        return not self == other

    @override
    def __lt__(self, other: int) -> bool:
        return _positive(other - self) if _is_int(other) else NotImplemented

    @override
    def __gt__(self, other: int) -> bool:
        return _positive(self - other) if _is_int(other) else NotImplemented

    @override
    def __le__(self, other: int) -> bool:
        return not _positive(self - other) if _is_int(other) else NotImplemented

    @override
    def __ge__(self, other: int) -> bool:
        return not _positive(other - self) if _is_int(other) else NotImplemented

    @override
    def __bool__(self) -> bool:
        low, high = bounds(self.terms)
        if low > 0 or high < 0:
            return True
        return not equal(self, 0)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest value that the symbols allow."""
        return bounds(self.terms)


def _is_int(value: object) -> bool:
    return isinstance(value, int)


# What is noted while a model is compiled.


@dataclass(frozen=True)
class Guard:
    """`size > 0`, or `size == 0`, is as `holds` says."""

    size: Size
    kind: str  # "positive" or "zero"
    holds: bool

    def is_met(self, values: Mapping[Symbol, int]) -> bool:
        """Whether it is so at other shapes."""
        try:
            value = value_at(self.size, values)
        except ZeroDivisionError:  # then the guard of the divisor's own doesn't hold
            return False
        return (value > 0 if self.kind == "positive" else value == 0) == self.holds

    @override
    def __str__(self) -> str:
        relation = {("positive", True): ">", ("positive", False): "<=", ("zero", True): "=="}
        return f"{self.size} {relation.get((self.kind, self.holds), '!=')} 0"


@dataclass
class Guards:
    """What a compilation has taken for granted of the sizes."""

    noted: dict[tuple[Terms, str], Guard] = field(default_factory=dict[tuple["Terms", str], Guard])

    def note(self, guard: Guard) -> None:
        """Add a guard, once."""
        self.noted.setdefault((guard.size.terms, guard.kind), guard)

    @contextmanager
    def collecting(self) -> Generator[Guards]:
        """Guards of what is done inside are noted here."""
        token = _NOTED.set(self)
        try:
            yield self
        finally:
            _NOTED.reset(token)


_NOTED: ContextVar[Guards | None] = ContextVar("guards", default=None)


_SPELLED_OUT: ContextVar[bool] = ContextVar("spelled_out", default=False)


@contextmanager
def spelled_out() -> Generator[None]:
    """IR that is printed inside tells sizes from each other, which are all `?` otherwise."""
    token = _SPELLED_OUT.set(True)
    try:
        yield
    finally:
        _SPELLED_OUT.reset(token)


@contextmanager
def unguarded() -> Generator[None]:
    """What is decided inside is right at all shapes, and best at the present ones."""
    token = _NOTED.set(None)
    try:
        yield
    finally:
        _NOTED.reset(token)


def _note(size: Size, kind: str, holds: bool) -> bool:
    guards = _NOTED.get()
    if guards is not None:
        guards.note(Guard(size, kind, holds))
    return holds


def _positive(size: int) -> bool:
    """Whether size > 0: at all shapes, or now, with a guard."""
    if not isinstance(size, Size):
        return size > 0
    low, high = size.bounds
    if low > 0 or high <= 0:
        return low > 0
    return _note(size, "positive", int(size) > 0)


def equal(a: int, b: int) -> bool:
    """Whether two sizes are equal: at all shapes, or now, with a guard."""
    difference = a - b
    if not isinstance(difference, Size):
        return difference == 0
    low, high = difference.bounds
    if low > 0 or high < 0:
        return False
    return _note(difference, "zero", int(difference) == 0)


def pinned(size: int) -> int:
    """The value now, as a number: what is made with it is right for this value only, which is noted."""
    if isinstance(size, Size):
        equal(size, int(size))
        return int(size)
    return size


def now(size: int) -> int:
    """The value now, as a number, for a choice that is right anyway."""
    return int(size)


def surely_below(a: int, b: int) -> bool:
    """Whether a < b at all shapes."""
    difference = b - a
    return difference.bounds[0] > 0 if isinstance(difference, Size) else difference > 0


def bounds_of(size: int) -> tuple[int, int]:
    """The smallest and the largest value at all shapes."""
    return size.bounds if isinstance(size, Size) else (size, size)


def is_fixed(*sizes: int) -> bool:
    """Whether none of the sizes hangs on the shapes."""
    return not any(isinstance(size, Size) for size in sizes)


def smaller(a: int, b: int) -> int:
    """The smaller one, where one is at all shapes; else the smaller one now, with a guard."""
    return a if a <= b else b


def larger(a: int, b: int) -> int:
    """The larger one, where one is at all shapes; else the larger one now, with a guard."""
    return b if a <= b else a


def common_divisor(a: int, b: int) -> int:
    """A number that divides both at all shapes: the greatest where they are numbers."""
    return gcd(*(factor for size in (a, b) for _, factor in terms_of(size)))


def units_of(guards: Guards) -> dict[str, int]:
    """By what dimensions must be divisible for equations between quotients of them to hold, by name.

    A model that halves a picture and doubles it again counts on it. With such units all of that is plain products.
    """
    units: dict[str, int] = {}
    for guard in guards.noted.values():
        if guard.kind == "zero" and guard.holds:
            for monomial, _ in guard.size.terms:
                for atom in monomial:
                    by = _constant(atom.divisor) if isinstance(atom, Quotient) else 1
                    of = symbols_of(_made(0, atom.dividend)) if isinstance(atom, Quotient) else set[Symbol]()
                    for symbol in of if len(of) == 1 and by > 1 else ():
                        units[symbol.name] = lcm(units.get(symbol.name, 1), by)
    return units


# Making sizes.


def size_of(symbol: Symbol, value: int) -> int:
    """The size that a symbol stands for, which is `value` now; a number where it can't be another one."""
    return symbol.low if symbol.low == symbol.high else Size(value, frozenset({((symbol,), 1)}))


def terms_of(value: int) -> Terms:
    """A size as a polynomial."""
    if isinstance(value, Size):
        return value.terms
    return frozenset({((), int(value))}) if value else frozenset()


def _made(value: int, terms: Terms) -> int:
    """A size, or a number where the polynomial is one."""
    if not terms:
        return 0
    if len(terms) == 1:
        ((monomial, factor),) = terms
        if not monomial:
            return factor
    return Size(value, terms)


def _sum(a: Terms, b: Terms) -> Terms:
    factors = dict(a)
    for monomial, factor in b:
        factors[monomial] = factors.get(monomial, 0) + factor
    return frozenset((monomial, factor) for monomial, factor in factors.items() if factor)


def _scaled(a: Terms, by: int) -> Terms:
    return frozenset((monomial, factor * by) for monomial, factor in a) if by else frozenset()


def _product(a: Terms, b: Terms) -> Terms:
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


def _quotient(a: int, b: int) -> int:
    """floor(a / b) of sizes; which sign the divisor has may be a guess, with a guard."""
    if is_fixed(a, b):
        return int(a) // int(b)
    if not b:
        raise ZeroDivisionError(f"{a} is divided by 0")
    if not b > 0:
        return _quotient(-a, -b)
    value, dividend, divisor = int(a) // int(b), terms_of(a), terms_of(b)
    whole: Terms = frozenset()
    rest: Terms = frozenset()
    for term in dividend:
        part = _divided(term, divisor)
        if part is None:
            rest = _sum(rest, frozenset({term}))
        else:
            whole = _sum(whole, frozenset({part}))
    if rest and len(divisor) > 1 and (exact := _exactly(dividend, divisor)) is not None:
        return _made(value, exact)
    if rest:
        low, high = bounds(rest)
        if high <= 0:  # floor(-a / b) is -ceil(a / b)
            up = _quotient(_made(0, _scaled(rest, -1)) + b - 1, b)
            return _made(value, _sum(whole, _scaled(terms_of(up), -1)))
        if low >= 0 and bounds(_sum(divisor, _scaled(rest, -1)))[0] > 0:
            return _made(value, whole)  # 0 <= rest < b
        if not isinstance(b, Size):
            constant = dict(rest).get((), 0)
            step = constant // b
            if step:
                whole = _sum(whole, terms_of(step))
                rest = _sum(rest, terms_of(-step * b))
            common = gcd(b, *(factor for monomial, factor in rest if monomial))
            if common > 1:  # (c x + r) // (c d) is (x + r // c) // d
                inner = frozenset((monomial, factor // common) for monomial, factor in rest if monomial)
                rest, divisor = _sum(inner, terms_of(dict(rest).get((), 0) // common)), terms_of(b // common)
                if not rest or (bounds(rest)[0] >= 0 and bounds(rest)[1] < b // common):
                    return _made(value, whole)
            if (nested := _nested(rest)) is not None:
                return _made(
                    value, _sum(whole, terms_of(_quotient(_made(0, nested[0]), nested[1] * _constant(divisor))))
                )
        whole = _sum(whole, frozenset({((Quotient(rest, divisor),), 1)}))
    return _made(value, whole)


def _nested(terms: Terms) -> tuple[Terms, int] | None:
    """x + c * d, and d, of a polynomial x // d + c."""
    quotients = [monomial[0] for monomial, factor in terms if factor == 1 and len(monomial) == 1]
    others = [monomial for monomial, _ in terms if monomial]
    if len(quotients) != 1 or len(others) != 1 or not isinstance(quotients[0], Quotient):
        return None
    by = dict(quotients[0].divisor)
    if set(by) != {()}:
        return None
    return _sum(quotients[0].dividend, terms_of(dict(terms).get((), 0) * by[()])), by[()]


def _constant(terms: Terms) -> int:
    return dict(terms).get((), 0)


def _divided(term: tuple[Monomial, int], divisor: Terms) -> tuple[Monomial, int] | None:
    """A term divided by a polynomial of one term, where nothing is left over."""
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
    """The quotient of two polynomials where nothing is left over; by long division."""
    leading = max(divisor, key=_weight)
    quotient: Terms = frozenset()
    rest = dividend
    for _ in range(2 * len(dividend) + 2):
        if not rest:
            return quotient
        part = _divided(max(rest, key=_weight), frozenset({leading}))
        if part is None:
            return None
        quotient = _sum(quotient, frozenset({part}))
        rest = _sum(rest, _scaled(_product(frozenset({part}), divisor), -1))
    return None


def _weight(term: tuple[Monomial, int]) -> tuple[int, tuple[tuple[int, str], ...]]:
    return len(term[0]), tuple(sorted(map(_rank, term[0]), reverse=True))


@lru_cache(maxsize=65536)
def bounds(terms: Terms) -> tuple[int, int]:
    """The smallest and the largest value of a polynomial that the bounds of its symbols allow."""
    low, high = _plain_bounds(terms)
    for monomial, factor in terms:  # b * floor(a / b) = a - (what is left, in [0, b))
        if len(monomial) != 1 or not isinstance(monomial[0], Quotient):
            continue
        quotient = monomial[0]
        by = dict(quotient.divisor)
        if set(by) != {()} or factor % by[()]:
            continue
        times = factor // by[()]
        others = _sum(terms, frozenset({(monomial, -factor)}))
        least, most = _plain_bounds(_sum(others, _scaled(quotient.dividend, times)))
        left = -times * (by[()] - 1)
        low, high = max(low, least + min(left, 0)), min(high, most + max(left, 0))
    return low, high


def _plain_bounds(terms: Terms) -> tuple[int, int]:
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


@cache
def _atom_bounds(atom: Atom) -> tuple[int, int]:
    if isinstance(atom, Symbol):
        return atom.low, atom.high
    low, high = bounds(atom.dividend)
    least, most = bounds(atom.divisor)
    least = max(least, 1)
    return min(low // least, low // most), max(high // least, high // most)


class SizesData(bytes):
    """The bytes of a list of 64-bit numbers, some of which are sizes of run time."""

    sizes: tuple[int, ...]

    def __new__(cls, data: bytes, sizes: tuple[int, ...]) -> Self:
        """The list itself is beside its present bytes."""
        made = super().__new__(cls, data)
        made.sizes = sizes
        return made

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, SizesData) and self.sizes == other.sizes

    @override
    def __hash__(self) -> int:
        return hash(self.sizes)


# Using sizes.


def evaluated(terms: Terms, give: Callable[[Symbol], Any], combine: Combine) -> Any:
    """A polynomial with values for its symbols, in whatever arithmetic `combine` offers."""
    total: Any = None
    for monomial, factor in sorted(terms, key=_weight):
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


def value_at(size: int, values: Mapping[Symbol, int]) -> int:
    """A size where its symbols have these values."""
    return cast("int", evaluated(size.terms, values.__getitem__, _NUMBERS)) if isinstance(size, Size) else size


def symbols_of(size: int) -> set[Symbol]:
    """The symbols that a size hangs on."""
    found: set[Symbol] = set()

    def visit(terms: Terms) -> None:
        for monomial, _ in terms:
            for atom in monomial:
                if isinstance(atom, Symbol):
                    found.add(atom)
                else:
                    visit(atom.dividend)
                    visit(atom.divisor)

    if isinstance(size, Size):
        visit(size.terms)
    return found


def _bracketed(terms: Terms) -> str:
    text = _text(terms)
    return f"({text})" if " " in text else text


def _text(terms: Terms) -> str:
    """As MLIR writes affine expressions."""
    parts: list[str] = []
    for monomial, factor in sorted(terms, key=lambda term: (-len(term[0]), *map(repr, term[0]))):
        atoms = " * ".join(map(repr, monomial))
        parts.append(str(factor) if not atoms else atoms if factor == 1 else f"{atoms} * {factor}")
    return " + ".join(parts) or "0"
