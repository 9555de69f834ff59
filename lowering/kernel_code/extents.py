"""Extents: sizes and strides passed as arguments, so that kernels that differ only in these share a function.

What a family knows before it builds a function is a tree of frozen dataclasses and tuples. Its `Extent`s are numbers
that determine nothing but loop bounds and addresses; they, and SSA values, become arguments:

    Nest(pixels=(Extent(3136),), depth=Extent(64), ...)      the skeleton has a hole for each; what stays is the key
    Nest(pixels=(%pixels,), depth=%depth, ...)               as the code sees it: arguments of the function

The extents 0 and 1 stay constants: they determine which loops and products are built.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self, TypeVar, cast

from xdsl.ir import Attribute, SSAValue

from ...dialects.sizes.sizes import Size
from .loop_builder import Index

T = TypeVar("T")


class Extent(int):
    """A size or stride passed as an argument. Symbolic sizes are extents without being marked as such."""

    def __new__(cls, value: int) -> Self:
        return cast("Self", value) if isinstance(value, Size) else super().__new__(cls, value)


def extents(values: Sequence[int]) -> tuple[Index, ...]:
    """Sizes or strides, all passed as arguments."""
    return tuple(Extent(value) for value in values)


def lifted(tree: T, give: Callable[[Extent | SSAValue, str], object], name: str = "") -> T:
    """The tree with each extent and value replaced by `give(leaf, names of the fields that lead to it)`, in order."""
    if isinstance(tree, SSAValue | Size) or (isinstance(tree, Extent) and tree not in (0, 1)):
        return cast("T", give(cast("Extent | SSAValue", tree), name))
    if isinstance(tree, Extent):
        return cast("T", int(tree))
    if isinstance(tree, tuple):
        return cast("T", tuple(lifted(each, give, name) for each in cast("tuple[object, ...]", tree)))
    if is_dataclass(tree) and not isinstance(tree, Attribute):
        known, prefix = cast("Any", tree), f"{name}_" if name else ""
        parts = {each.name: lifted(getattr(known, each.name), give, prefix + each.name) for each in fields(known)}
        return cast("T", replace(known, **parts))
    return tree


def skeleton(tree: object) -> tuple[Hashable, list[tuple[Extent | SSAValue, str]]]:
    """The tree without its extents and values, and the list of these with their names, in order."""
    told: list[tuple[Extent | SSAValue, str]] = []
    return cast("Hashable", lifted(tree, lambda leaf, name: told.append((leaf, name)))), told
