"""C++ expressions under construction: text, precedence, and dependences on memory and variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias


class Precedence(IntEnum):
    """Precedence of a text's outermost operator, lowest first."""

    ANY = 0
    CONDITIONAL = 1
    OR = 2
    AND = 3
    BIT_OR = 4
    BIT_XOR = 5
    BIT_AND = 6
    EQUALITY = 7
    RELATION = 8
    SHIFT = 9
    SUM = 10
    PRODUCT = 11
    UNARY = 12
    CALL = 13
    ATOM = 14


BINARY = {
    "||": Precedence.OR,
    "&&": Precedence.AND,
    "|": Precedence.BIT_OR,
    "^": Precedence.BIT_XOR,
    "&": Precedence.BIT_AND,
    "==": Precedence.EQUALITY,
    "!=": Precedence.EQUALITY,
    "<": Precedence.RELATION,
    "<=": Precedence.RELATION,
    ">": Precedence.RELATION,
    ">=": Precedence.RELATION,
    "<<": Precedence.SHIFT,
    ">>": Precedence.SHIFT,
    "+": Precedence.SUM,
    "-": Precedence.SUM,
    "*": Precedence.PRODUCT,
    "/": Precedence.PRODUCT,
    "%": Precedence.PRODUCT,
}
# Operands of these are parenthesised unless they bind as tightly as products: few readers know their precedence.
_UNFAMILIAR = {"|", "^", "&", "<<", ">>"}

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Expression:
    """A scalar expression; its text is emitted once, at its place of evaluation."""

    text: str
    level: Precedence = Precedence.ATOM
    depends: frozenset[str] = NOTHING
    """The memory spaces that it reads, and "=name" for each variable that a loop assigns to."""
    number: int | None = None
    """Its value if it is a known integer."""
    sides: tuple[str, str, str] | None = None
    """The outermost operator with its left and right operands as text, without parentheses."""

    def bound(self, level: Precedence) -> str:
        """The text as an operand of an operator of that precedence, in parentheses if needed."""
        return self.text if self.level >= level else f"({self.text})"


@dataclass(frozen=True)
class Lanes:
    """A vector: as one expression, as a function from a lane's number to its expression, or both."""

    whole: Expression | None = None
    at: Callable[[str], Expression] | None = None

    @property
    def depends(self) -> frozenset[str]:
        """The dependences, as for an Expression."""
        return self.sample.depends

    @property
    def sample(self) -> Expression:
        """An expression that shows the length of the text and its dependences."""
        if self.whole is not None:
            return self.whole
        assert self.at is not None
        return self.at("lane")


Value: TypeAlias = "Expression | Lanes"


def depends_of(parts: Iterable[Expression | Lanes]) -> frozenset[str]:
    """The union of the parts' dependences."""
    return NOTHING.union(*(part.depends for part in parts))


def literal(value: int) -> Expression:
    """An int literal."""
    if value == -(2**31):
        return Expression("(-2147483647 - 1)", number=value)
    return Expression(str(value), Precedence.UNARY if value < 0 else Precedence.ATOM, number=value)


def binary(operator: str, a: Expression, b: Expression) -> Expression:
    """`a operator b`; operators of one level bind to the left."""
    level = BINARY[operator]
    least = Precedence.PRODUCT if operator in _UNFAMILIAR else level
    # Chains such as a & b & c need no parentheses; a / b * c and a - (b + c) keep their meaning.
    chained = a.level == level and level not in (Precedence.EQUALITY, Precedence.RELATION)
    first = a.bound(level if chained else Precedence(max(least, level + 1)) if a.level == level else least)
    second = b.bound(Precedence(max(least, level + 1)))
    return Expression(f"{first} {operator} {second}", level, a.depends | b.depends, sides=(a.text, operator, b.text))


def unary(operator: str, a: Expression) -> Expression:
    """`-a` or `!a`."""
    text = a.bound(Precedence.CALL)
    return Expression(f"{operator}{text}", Precedence.UNARY, a.depends)


def call(function: str, *arguments: Expression) -> Expression:
    """`function(a, b)`; also a conversion such as `float(a)`."""
    text = ", ".join(each.text for each in arguments)
    return Expression(f"{function}({text})", Precedence.CALL, depends_of(arguments))


def conditional(condition: Expression, a: Expression, b: Expression) -> Expression:
    """`condition ? a : b`"""
    second, third = a.bound(Precedence.OR), b.bound(Precedence.CONDITIONAL)
    depends = depends_of((condition, a, b))
    return Expression(f"{condition.bound(Precedence.OR)} ? {second} : {third}", Precedence.CONDITIONAL, depends)


def subscript(base: str, index: Expression, depends: frozenset[str]) -> Expression:
    """`base[index]`: an element of an array or a lane."""
    return Expression(f"{base}[{index.text}]", Precedence.CALL, index.depends | depends)


def total(terms: Iterable[tuple[Expression, int | Expression]], constant: int) -> Expression:
    """The sum of indices times strides, plus a constant."""
    result: Expression | None = None
    for index, stride in terms:
        if isinstance(stride, Expression) and stride.number is not None:
            stride = stride.number
        if isinstance(stride, int) and index.number is not None:
            constant += index.number * stride
            continue
        if stride == 0:
            continue
        factor = literal(stride) if isinstance(stride, int) else stride
        part = index if stride == 1 else binary("*", index, factor)
        if result is None:
            result = part
        else:
            text = f"{result.bound(Precedence.SUM)} + {part.bound(Precedence.SUM)}"
            result = Expression(text, Precedence.SUM, depends_of((result, part)))
    if result is None:
        return literal(constant)
    return plus(result, constant) if constant else result


def plus(value: Expression, number: int) -> Expression:
    """`value + number`, or `value - 1` where the number is negative."""
    sign, size = ("+", number) if number >= 0 else ("-", -number)
    return Expression(f"{value.bound(Precedence.SUM)} {sign} {size}", Precedence.SUM, value.depends)
