"""Specialises a module: replaces symbolic sizes by numbers; finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntAttr, ModuleOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute

from ..sizes.size_attributes import BuffersAttr, GuardsAttr, SymbolsAttr
from ..sizes.sizes import Size, now
from .values import ints, ints_attr, is_fixed_attr

A = TypeVar("A", bound=Attribute)


def settled(module: ModuleOp, number: Callable[[int], int] = now) -> ModuleOp:
    """A copy of a module with numbers for its sizes: the current values, unless `number` gives others."""
    made = module.clone()
    settle(made, number)
    return made


def settle(root: Operation, number: Callable[[int], int] = now) -> Callable[[Attribute], Attribute]:
    """Replaces the sizes of an op and everything inside it by numbers; returns the same mapping for attributes."""
    settling = _Settling(number)
    for op in root.walk():
        op.properties = {name: settling(value) for name, value in op.properties.items()}
        op.attributes = {
            name: settling(value)
            for name, value in op.attributes.items()
            if not isinstance(value, (BuffersAttr, GuardsAttr, SymbolsAttr))
        }
        for value in (*op.results, *(each for region in op.regions for block in region.blocks for each in block.args)):
            value._type = settling(value.type)  # pyright: ignore[reportPrivateUsage]
    return settling


def settled_attribute(attribute: A, number: Callable[[int], int]) -> A:
    """An attribute, such as a type, with numbers for its sizes."""
    return _Settling(number)(attribute)


def sizes_in(root: Operation) -> list[Size]:
    """The distinct sizes of run time in types and attributes of an op and everything inside it, in order."""
    found: dict[Size, None] = {}

    def note(size: int) -> int:
        if isinstance(size, Size):
            found[size] = None
        return now(size)

    settling = _Settling(note)
    for op in root.walk():
        for each in (*op.properties.values(), *op.attributes.values(), *(result.type for result in op.results)):
            settling(each)
        for argument in (each for region in op.regions for block in region.blocks for each in block.args):
            settling(argument.type)
    return list(found)


class _Settling:
    """Replaces sizes in attributes; memoised by attribute."""

    def __init__(self, number: Callable[[int], int]) -> None:
        self.number = number
        self.known: dict[int, tuple[Attribute, Attribute]] = {}

    def __call__(self, attribute: Attribute) -> Any:
        found = self.known.get(id(attribute))
        if found is None:
            found = self.known[id(attribute)] = (attribute, self._settled(attribute))
        return found[1]

    def _settled(self, attribute: Attribute) -> Attribute:
        match attribute:
            case IntAttr():
                return IntAttr(self.number(attribute.data)) if isinstance(attribute.data, Size) else attribute
            case DenseArrayBase():
                if is_fixed_attr(attribute):
                    return attribute
                return ints_attr([self.number(size) for size in ints(cast("Any", attribute))])
            case ArrayAttr():
                made = [self(each) for each in attribute.data]
                return attribute if _same(attribute.data, made) else ArrayAttr(made)
            case DictionaryAttr():
                entries = {name: self(each) for name, each in attribute.data.items()}
                return attribute if _same(attribute.data.values(), entries.values()) else DictionaryAttr(entries)
            case ParametrizedAttribute():
                made = [self(each) for each in attribute.parameters]
                return attribute if _same(attribute.parameters, made) else type(attribute).new(made)
            case _:
                return attribute


def _same(a: Any, b: Any) -> bool:
    return all(x is y for x, y in zip(a, b, strict=True))
