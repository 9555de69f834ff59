"""#kernel.packing, and the table of all packings."""

from __future__ import annotations

from dataclasses import MISSING, fields

from typing_extensions import override
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from ...kind_and_options import KindAndOptions, numbers_of
from ...modules import classes_in
from . import block_panels, core_matrices, grouped_panels, packings, winograd_filters
from .packings import Packing

PACKINGS: dict[str, type[Packing]] = {
    each.kind: each
    for module in (packings, grouped_panels, block_panels, core_matrices, winograd_filters)
    for each in classes_in(module, Packing)
    if "kind" in vars(each)
}
"""All packings by kind."""


@irdl_attr_definition
class PackingAttr(KindAndOptions, ParametrizedAttribute):
    """`#kernel.packing<"panels", {nr = 32}>`: memory layout of a packed weight."""

    name = "kernel.packing"
    kind: StringAttr
    options: DictionaryAttr

    @classmethod
    def of(cls, packing: Packing) -> PackingAttr:
        """The attribute for a packing; parameters with their default value are left out."""
        given = {each.name: (int(getattr(packing, each.name)), each.default) for each in fields(packing)}
        values = {key: IntegerAttr(value, i64) for key, (value, usual) in given.items() if value != usual}
        return cls(StringAttr(packing.kind), DictionaryAttr(values))

    @property
    def packing(self) -> Packing:
        """The packing that the attribute describes."""
        kind = PACKINGS[self.kind.data]
        flags = [each.name for each in fields(kind) if each.default is False]
        return kind(**{key: bool(n) if key in flags else n for key, n in numbers_of(self.options).items()})

    @override
    def verify(self) -> None:
        kind, numbers = self.kind.data, numbers_of(self.options)
        if kind not in PACKINGS:
            raise VerifyException(f"there is no packing '{kind}'; there are {', '.join(PACKINGS)}")
        known = {each.name: each.default is MISSING for each in fields(PACKINGS[kind])}
        if wrong := [key for key in numbers if key not in known]:
            raise VerifyException(f"the packing '{kind}' has no '{wrong[0]}'; it has {', '.join(known)}")
        if missing := [key for key, needed in known.items() if needed and key not in numbers]:
            raise VerifyException(f"the packing '{kind}' needs a number '{missing[0]}'")
        for each in fields(PACKINGS[kind]):
            number, least = numbers.get(each.name), 0 if each.default is False else 1
            if number is not None and number < least:
                raise VerifyException(f"the packing '{kind}' has {each.name} = {number}; it must be at least {least}")
