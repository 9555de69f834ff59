"""Symbolic index expressions: linear combinations of loop variables, quotients and remainders.

A reshape is a linearisation followed by divisions. With these expressions most divisions are simplified away: the
variables' bounds show that a remainder is the whole, and `d * (e / d) + e % d` is `e` again. The rest tells the loop
planner where to split an axis, and `coefficient` gives the stride with which a loop traverses a buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from typing_extensions import override

from ...dialects.sizes.sizes import common_divisor, surely_below, times_in
from .loop_builder import Index, LoopBuilder


class Var:
    """A loop variable (or another run-time index) in [low, high]; compared by identity.

    If it is vectorised, `base` is its value in the first lane and the bounds cover all lanes.
    """

    __slots__ = ("base", "high", "low")

    def __init__(self, base: Index, low: int, high: int) -> None:
        self.base = base
        self.low = low
        self.high = high

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        return self.low, self.high


@dataclass(frozen=True)
class Quotient:
    """floor(of / by) of a non-negative expression."""

    of: Expr
    by: int

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        low, high = self.of.bounds
        return low // self.by, high // self.by


@dataclass(frozen=True)
class Remainder:
    """of % by of a non-negative expression."""

    of: Expr
    by: int

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        return 0, self.by - 1


Atom: TypeAlias = "Var | Quotient | Remainder"


class Expr:
    """constant + sum of atom * coefficient; equality is independent of the order of terms."""

    def __init__(self, terms: Sequence[tuple[Atom, int]] = (), constant: int = 0) -> None:
        """Terms with distinct atoms and coefficients other than 0."""
        self.terms = tuple(terms)
        self.constant = constant

    @cached_property
    def _key(self) -> tuple[frozenset[tuple[Atom, int]], int]:
        return frozenset(self.terms), self.constant

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self._key == other._key

    @override
    def __hash__(self) -> int:
        return hash(self._key)

    @override
    def __repr__(self) -> str:
        return " + ".join([f"{factor}*{atom}" for atom, factor in self.terms] + [str(self.constant)])

    @staticmethod
    def of(value: Expr | Var | int) -> Expr:
        """A number or a variable as an expression."""
        if isinstance(value, Expr):
            return value
        return Expr((), value) if isinstance(value, int) else Expr(((value, 1),))

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The smallest and largest value within the atoms' bounds."""
        low = high = self.constant
        for atom, factor in self.terms:
            least, most = atom.bounds if factor > 0 else atom.bounds[::-1]
            low, high = low + least * factor, high + most * factor
        return low, high

    @property
    def number(self) -> int | None:
        """The value if it is constant, else None."""
        low, high = self.bounds
        return low if low == high else None

    def coefficient(self, var: Var) -> int | None:
        """The increment per step of `var`; None if it is not constant."""
        total = 0
        for atom, factor in self.terms:
            if atom is var:
                total = factor
            elif not isinstance(atom, Var) and var in set(atom.of.variables()):
                return None
        return total

    def advanced(self, var: Var, by: int) -> Expr:
        """The expression with `var` increased."""
        total = Expr((), self.constant)
        for atom, factor in self.terms:
            if isinstance(atom, Var):
                moved = Expr.of(atom) + (by if atom is var else 0)
            else:
                quotient, remainder = atom.of.advanced(var, by).divide(atom.by)
                moved = quotient if isinstance(atom, Quotient) else remainder
            total = total + moved * factor
        return total

    def variables(self) -> Iterator[Var]:
        """All variables, including those inside divisions."""
        for atom, _ in self.terms:
            if isinstance(atom, Var):
                yield atom
            else:
                yield from atom.of.variables()

    def divisions(self) -> Iterator[Quotient | Remainder]:
        """All divisions, including nested ones."""
        for atom, _ in self.terms:
            if not isinstance(atom, Var):
                yield atom
                yield from atom.of.divisions()

    def __add__(self, other: Expr | int) -> Expr:
        if isinstance(other, int):
            return Expr(self.terms, self.constant + other)
        factors: dict[Atom, int] = dict(self.terms)
        for atom, factor in other.terms:
            factors[atom] = factors.get(atom, 0) + factor
        return _whole(factors, self.constant + other.constant)

    def __sub__(self, other: Expr | int) -> Expr:
        return self + (-other if isinstance(other, int) else other * -1)

    def __mul__(self, factor: int) -> Expr:
        if factor == 0:
            return Expr()
        return Expr([(atom, own * factor) for atom, own in self.terms], self.constant * factor)

    def divide(self, by: int) -> tuple[Expr, Expr]:
        """Floor quotient and remainder (in [0, by))."""
        if by == 1:
            return self, Expr()
        whole = Expr([(atom, factor // by) for atom, factor in self.terms if factor % by == 0])
        rest = Expr([(atom, factor) for atom, factor in self.terms if factor % by != 0], self.constant)
        shift = times_in(rest.bounds[0], by)  # makes the rest non-negative
        rest, whole = rest - shift * by, whole + shift
        if surely_below(rest.bounds[1], by):
            return whole, rest
        for common in sorted({common_divisor(factor, by) for _, factor in rest.terms} - {1}, reverse=True):
            # Separates what moves in steps of `common` from what stays within one step.
            fine = Expr([term for term in rest.terms if term[1] % common != 0], rest.constant % common)
            if surely_below(-1, fine.bounds[0]) and surely_below(fine.bounds[1], common):
                steps = [(atom, factor // common) for atom, factor in rest.terms if factor % common == 0]
                quotient, remainder = Expr(steps, rest.constant // common).divide(by // common)
                return whole + quotient, remainder * common + fine
        return whole + Expr(((Quotient(rest, by), 1),)), Expr(((Remainder(rest, by), 1),))

    def emit(self, b: LoopBuilder) -> Index:
        """Builds the expression as ops."""
        total: Index = 0
        for atom, factor in self.terms:
            if isinstance(atom, Var):
                value = atom.base
            elif isinstance(atom, Quotient):
                value = b.div(atom.of.emit(b), atom.by)
            else:
                value = b.rem(atom.of.emit(b), atom.by)
            total = b.add(total, b.mul(value, factor))
        return b.add(total, self.constant)


def _whole(factors: dict[Atom, int], constant: int) -> Expr:
    """The sum of terms, with by * (e / by) + e % by combined to e."""
    for atom, factor in factors.items():
        if isinstance(atom, Quotient) and factor:
            other = Remainder(atom.of, atom.by)
            if factors.get(other, 0) * atom.by == factor:
                rest = {key: value for key, value in factors.items() if key not in (atom, other)}
                return _whole(rest, constant) + atom.of * (factor // atom.by)
    return Expr([(atom, factor) for atom, factor in factors.items() if factor], constant)


def linear(index: Sequence[Expr], strides: Sequence[int]) -> Expr:
    """The sum of indices times strides."""
    total = Expr()
    for i, stride in zip(index, strides, strict=True):
        total = total + i * stride
    return total


def delinearize(flat: Expr, sizes: Sequence[int]) -> list[Expr]:
    """The row-major multi-index of `flat` in a box of `sizes`; the first size is not used as a bound."""
    if 0 in sizes:
        return [Expr()] * len(sizes)
    indices: list[Expr] = []
    for size in reversed(sizes[1:]):
        flat, remainder = flat.divide(size)
        indices.append(remainder)
    return [flat, *reversed(indices)] if sizes else []
