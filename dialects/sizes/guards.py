"""What a compilation has taken for granted of the sizes: its code is for the shapes at which all of it holds."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import lcm
from typing import ClassVar

from typing_extensions import override

from .polynomials import Quotient, Symbol, Terms, number_of, symbols_in, text_of, value_of


@dataclass(frozen=True)
class Guard:
    """`terms > 0`, or `terms == 0`, is as `holds` says."""

    terms: Terms
    kind: str  # "positive" or "zero"
    holds: bool

    def is_met(self, values: Mapping[Symbol, int]) -> bool:
        """Whether it is so at other shapes."""
        try:
            value = value_of(self.terms, values)
        except ZeroDivisionError:  # then the guard of the divisor's own doesn't hold
            return False
        return self.allows(value)

    def allows(self, value: int) -> bool:
        """Whether it is so where `terms` has that value."""
        return (value > 0 if self.kind == "positive" else value == 0) == self.holds

    @override
    def __str__(self) -> str:
        relation = {("positive", True): ">", ("positive", False): "<=", ("zero", True): "=="}
        return f"{text_of(self.terms)} {relation.get((self.kind, self.holds), '!=')} 0"


@dataclass
class Guards:
    """What a compilation has taken for granted of the sizes."""

    explicit: ClassVar[bool] = False
    """Whether what becomes a number by the way (`int(size)`, `range(size)`, numpy) is an error instead of a guard.

    Tests compile so: a guard that nobody meant is no wrong result, but a compile for every shape.
    """

    noted: dict[tuple[Terms, str], Guard] = field(default_factory=dict[tuple["Terms", str], Guard])

    def note(self, guard: Guard) -> None:
        """Add a guard, once."""
        self.noted.setdefault((guard.terms, guard.kind), guard)

    def add(self, others: Guards) -> None:
        """Add all of others."""
        for guard in others.noted.values():
            self.note(guard)

    @contextmanager
    def collecting(self) -> Generator[Guards]:
        """Guards of what is done inside are noted here."""
        token = _NOTED.set(self)
        try:
            yield self
        finally:
            _NOTED.reset(token)


_NOTED: ContextVar[Guards | None] = ContextVar("guards", default=None)


@contextmanager
def unguarded() -> Generator[None]:
    """What is decided inside is right at all shapes, and best at the present ones."""
    token = _NOTED.set(None)
    try:
        yield
    finally:
        _NOTED.reset(token)


def are_noted() -> bool:
    """Whether guards are collected here."""
    return _NOTED.get() is not None


def note(terms: Terms, kind: str, holds: bool) -> bool:
    """Tells `holds`, and that the code hangs on it."""
    guards = _NOTED.get()
    if guards is not None:
        guards.note(Guard(terms, kind, holds))
    return holds


def units_of(guards: Guards) -> dict[str, int]:
    """By what dimensions must be divisible for equations between quotients of them to hold, by name.

    A model that halves a picture and doubles it again counts on it. With such units all of that is plain products.
    """
    units: dict[str, int] = {}
    for guard in guards.noted.values():
        if guard.kind == "zero" and guard.holds:
            quotients = (atom for monomial, _ in guard.terms for atom in monomial if isinstance(atom, Quotient))
            for quotient in quotients:
                by, of = number_of(quotient.divisor), symbols_in(quotient.dividend)
                if by is not None and len(of) == 1:
                    (symbol,) = of
                    units[symbol.name] = lcm(units.get(symbol.name, 1), by)
    return units
