"""Numbers that code is given when it is called, so that kernels which differ in them only are one function.

What a family knows of a kernel before it writes anything is a tree of frozen dataclasses and tuples. Numbers in it
that decide nothing but how far a loop runs and where an element lies are `Extent`s:

    Nest(pixels=(Extent(3136),), depth=Extent(64), ...)      the skeleton has a hole for each; what stays is the key
    Nest(pixels=(%p,), depth=%d, ...)                        given to the code: arguments of the shared function

0 and 1 stay what they are: they decide which loops and products are written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from .builder import Index

T = TypeVar("T")


class Extent(int):
    """A size or stride that the code is told when it is called."""


def extents(values: Sequence[int]) -> tuple[Index, ...]:
    """Sizes or strides, all of them told when the code is called."""
    return tuple(Extent(value) for value in values)


def lifted(tree: T, give: Callable[[int, str], object], name: str = "") -> T:
    """The tree with what `give(number, name of its field)` makes of each of its extents, in order."""
    if isinstance(tree, Extent):
        number = int(tree)
        return cast("T", number if number in (0, 1) else give(number, name))
    if isinstance(tree, tuple):
        return cast("T", tuple(lifted(each, give, name) for each in cast("tuple[object, ...]", tree)))
    if is_dataclass(tree):
        known = cast("Any", tree)
        parts = {field.name: lifted(getattr(known, field.name), give, field.name) for field in fields(known)}
        return cast("T", replace(known, **parts))
    return tree


def skeleton(tree: object) -> tuple[Hashable, list[tuple[int, str]]]:
    """What is left of a tree without its extents, and the extents in order with the names of their fields."""
    numbers: list[tuple[int, str]] = []
    return cast("Hashable", lifted(tree, lambda number, name: numbers.append((number, name)))), numbers
