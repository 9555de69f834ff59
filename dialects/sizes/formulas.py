"""Compiles many polynomials to one Python function of their symbols, for evaluation at each new shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from .polynomials import Combine, Quotient, Symbol, Terms, constant_of, evaluated, number_of
from .sizes import terms_of

Shape: TypeAlias = "tuple[int, ...]"
Formulas: TypeAlias = "Callable[..., tuple[int, ...]]"
"""Takes the values of the symbols, in order. Raises ZeroDivisionError for a quotient whose divisor is 0 there."""

_TEXT = Combine(str, lambda a, b: f"{a} + {b}", lambda a, b: f"{a} * {b}", lambda a, b: f"(({a}) // ({b}))")


def formula(terms: Terms, names: Mapping[Symbol, str]) -> str:
    """A polynomial as a Python expression, given the names of its symbols."""
    return cast("str", evaluated(terms, names.__getitem__, _TEXT))


def formulas(polynomials: Iterable[Terms], symbols: Sequence[Symbol]) -> Formulas:
    """A function from values of the symbols to the values of the polynomials."""
    return _function(_tuple(polynomials, _names(symbols)), symbols)


def shape_formulas(shapes: Iterable[Sequence[int]], symbols: Sequence[Symbol]) -> Callable[..., tuple[Shape, ...]]:
    """A function from values of the symbols (positional, in the given order) to the shapes."""
    names = _names(symbols)
    return _function(f"({''.join(f'{_tuple(map(terms_of, shape), names)}, ' for shape in shapes)})", symbols)


def _names(symbols: Sequence[Symbol]) -> dict[Symbol, str]:
    return {symbol: f"s{index}" for index, symbol in enumerate(symbols)}


def _tuple(polynomials: Iterable[Terms], names: Mapping[Symbol, str]) -> str:
    return f"({''.join(f'{formula(terms, names)}, ' for terms in polynomials)})"


def _function(text: str, symbols: Sequence[Symbol]) -> Callable[..., Any]:
    return eval(f"lambda {', '.join(_names(symbols).values())}: {text}")


def grows(terms: Terms) -> bool:
    """Whether a polynomial is provably monotone: no smaller where its symbols are larger."""
    return all(
        not monomial or (factor > 0 and all(_atom_grows(atom) for atom in monomial if isinstance(atom, Quotient)))
        for monomial, factor in terms
    )


def _atom_grows(atom: Quotient) -> bool:
    """Whether floor(a / c) is monotone: `a` is, and is nowhere negative."""
    return number_of(atom.divisor) is not None and constant_of(atom.dividend) >= 0 and grows(atom.dividend)
