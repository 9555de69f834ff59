"""Dimensions named by an expression: exporters write "past + sequence" for sizes computed from others."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
}


def value_of_name(name: str, sizes: Mapping[str, int]) -> int | None:
    """The value of a name that is a sum, product or quotient of numbers and dimensions; None for a plain name."""
    if not any(sign in name for sign in "+-*/"):
        return None
    try:
        return _value(ast.parse(name.strip(), mode="eval").body, sizes)
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def is_calculated(name: str, names: Iterable[str]) -> bool:
    """Whether a name is an expression in other dimensions' names."""
    return value_of_name(name, dict.fromkeys(names, 1)) is not None


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Name(id=name):
            return sizes[name]
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left, sizes), _value(right, sizes))
        case _:
            raise ValueError(ast.dump(node))
