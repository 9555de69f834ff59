"""Sizes of run time in a module's text: how they are read.

A size is written as the polynomial that it is, in parentheses: `tensor<(batch)x(tokens * 64)xf32>`. In it are numbers,
names of symbols (in quotes where they are no identifiers), `+`, `-`, `*`, `floordiv` and parentheses, with the
precedence that MLIR's affine expressions have. What the symbols are stands in the module's attributes, read before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from xdsl.parser import AttrParser

from .polynomials import Quotient
from .sizes import Size, is_fixed, now, terms_of

S = TypeVar("S", bound=int)

_KNOWN = "_sizes_of_symbols"  # where a parser keeps them


def declare(parser: AttrParser, sizes: Mapping[str, S]) -> tuple[S, ...]:
    """Tells a parser what the symbols of the module that it reads stand for, by name; those that it was told before.

    What it was told stays: in the generic form a module's attributes are read once more behind its body.
    """
    known = vars(parser).setdefault(_KNOWN, dict(sizes))
    return tuple(known.values()) if [*known] == [*sizes] else tuple(sizes.values())


def has_symbols(parser: AttrParser) -> bool:
    """Whether the module that is being read has sizes of run time."""
    return _KNOWN in vars(parser)


def parse_optional_name(parser: AttrParser) -> str | None:
    """The name of a symbol, if there is one: an identifier or a string."""
    if (name := parser.parse_optional_str_literal()) is not None:
        return name
    return parser.parse_optional_identifier()


def parse_size(parser: AttrParser) -> int:
    """`(` polynomial `)`"""
    parser.parse_punctuation("(")
    size = parse_polynomial(parser)
    parser.parse_punctuation(")")
    return size


def parse_polynomial(parser: AttrParser) -> int:
    """product ((`+` | `-`) product)*"""
    negative = parser.parse_optional_punctuation("-") is not None
    total = -_product(parser) if negative else _product(parser)
    while True:
        if parser.parse_optional_punctuation("+") is not None:
            total = total + _product(parser)
        elif parser.parse_optional_punctuation("-") is not None:
            total = total - _product(parser)
        else:
            return total


def _product(parser: AttrParser) -> int:
    """atom ((`*` | `floordiv`) atom)*"""
    product = _atom(parser)
    while True:
        if parser.parse_optional_punctuation("*") is not None:
            product = product * _atom(parser)
        elif parser.parse_optional_keyword("floordiv") is not None:
            at = parser.pos
            divisor = _atom(parser)
            if not divisor > 0:
                parser.raise_error("a size is divided by what is not positive", at, at + 1)
            product = _quotient(product, divisor)
        else:
            return product


def _quotient(dividend: int, divisor: int) -> int:
    """floor(dividend / divisor), which stays what is written: code hangs on how a size is made."""
    if is_fixed(dividend, divisor):
        return dividend // divisor
    quotient = Quotient(terms_of(dividend), terms_of(divisor))
    return Size(now(dividend) // now(divisor), frozenset({((quotient,), 1)}))


def _atom(parser: AttrParser) -> int:
    """number | symbol | size"""
    if (number := parser.parse_optional_integer(allow_boolean=False, allow_negative=False)) is not None:
        return number
    at = parser.pos
    name = parse_optional_name(parser)
    if name is None:
        return parse_size(parser)
    known: Mapping[str, int] = vars(parser).get(_KNOWN, {})
    if name not in known:
        parser.raise_error(f"{name} is no symbol of the module's #kernel.symbols", at, parser.pos)
    return known[name]
