"""Parsing of symbolic sizes in a module's text.

A size is written as its polynomial, in parentheses: `tensor<(batch)x(tokens * 64)xf32>`. It consists of integers, names
of symbols (quoted where they are no identifiers), `+`, `-`, `*`, `floordiv` and parentheses, with the precedence of
MLIR's affine expressions. The symbols themselves are declared in the module's attributes, which are parsed before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from xdsl.parser import AttrParser

from .polynomials import Quotient
from .sizes import Size, is_fixed, now, terms_of

S = TypeVar("S", bound=int)

_KNOWN = "_sizes_of_symbols"  # the parser's attribute that holds the bindings


def declare(parser: AttrParser, sizes: Mapping[str, S]) -> tuple[S, ...]:
    """Binds names of symbols for the rest of a parse; returns the sizes that they are bound to.

    Names that are bound already keep their binding: in the generic form the module's attributes are parsed a second
    time, after its body.
    """
    known = vars(parser).setdefault(_KNOWN, dict(sizes))
    return tuple(known.values()) if [*known] == [*sizes] else tuple(sizes.values())


def has_symbols(parser: AttrParser) -> bool:
    """Whether the module that is being parsed declares symbols."""
    return _KNOWN in vars(parser)


def parse_optional_name(parser: AttrParser) -> str | None:
    """The name of a symbol, an identifier or a string literal, if there is one."""
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
                parser.raise_error("a size is divided by a number that is not positive", at, at + 1)
            product = _quotient(product, divisor)
        else:
            return product


def _quotient(dividend: int, divisor: int) -> int:
    """floor(dividend / divisor) without simplification: the generated code depends on how a size is spelled."""
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
