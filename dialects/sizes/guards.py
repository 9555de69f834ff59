"""Guards: assumptions on the sizes that a compilation made; its code is valid for shapes that meet them all."""

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
    """States that `terms > 0` (kind "positive") or `terms == 0` (kind "zero") has the truth value `holds`."""

    terms: Terms
    kind: str  # "positive" or "zero"
    holds: bool

    def is_met(self, values: Mapping[Symbol, int]) -> bool:
        """Whether the guard holds at these values of the symbols."""
        try:
            value = value_of(self.terms, values)
        except ZeroDivisionError:  # a guard on the divisor itself is then violated, too
            return False
        return self.allows(value)

    def allows(self, value: int) -> bool:
        """Whether the guard holds where `terms` has this value."""
        return (value > 0 if self.kind == "positive" else value == 0) == self.holds

    @override
    def __str__(self) -> str:
        relation = {("positive", True): ">", ("positive", False): "<=", ("zero", True): "=="}
        return f"{text_of(self.terms)} {relation.get((self.kind, self.holds), '!=')} 0"


@dataclass
class Guards:
    """The guards of one compilation, in the order in which they were noted."""

    explicit: ClassVar[bool] = False
    """Whether an implicit conversion to a plain number (`int(size)`, `range(size)`, numpy) raises LostSizeError.

    By default it notes a guard. Tests set this: an unintended guard costs a compile for every shape.
    """

    noted: dict[tuple[Terms, str], Guard] = field(default_factory=dict[tuple["Terms", str], Guard])

    def note(self, guard: Guard) -> None:
        """Adds a guard unless it is there already."""
        self.noted.setdefault((guard.terms, guard.kind), guard)

    def add(self, others: Guards) -> None:
        """Adds all guards of `others`."""
        for guard in others.noted.values():
            self.note(guard)

    @contextmanager
    def collecting(self) -> Generator[Guards]:
        """A context in which noted guards are added to these."""
        token = _NOTED.set(self)
        try:
            yield self
        finally:
            _NOTED.reset(token)


_NOTED: ContextVar[Guards | None] = ContextVar("guards", default=None)


@contextmanager
def unguarded() -> Generator[None]:
    """A context without guards, for decisions that are correct at all shapes and merely best at the current one."""
    token = _NOTED.set(None)
    try:
        yield
    finally:
        _NOTED.reset(token)


def are_noted() -> bool:
    """Whether a context is collecting guards."""
    return _NOTED.get() is not None


def note(terms: Terms, kind: str, holds: bool) -> bool:
    """Returns `holds`, noting that the code depends on it."""
    guards = _NOTED.get()
    if guards is not None:
        guards.note(Guard(terms, kind, holds))
    return holds


def units_of(guards: Guards) -> dict[str, int]:
    """Divisors of dimensions, by name, under which the guards' equations between floor quotients hold.

    A model that halves a picture's size and doubles it again needs them: with such units all its sizes are polynomials
    without quotients.
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
