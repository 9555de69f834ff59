"""Text forms of objects: the options that were chosen, and sizes in bytes."""

from __future__ import annotations

from dataclasses import MISSING, fields
from reprlib import Repr
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_SHORT = Repr()
_SHORT.maxdict = 4
_SHORT.maxother = _SHORT.maxstring = 80  # characters; an OptimizationProfile is such an other


def chosen_fields(record: DataclassInstance) -> str:
    """The repr of a dataclass with its non-default fields, abbreviated."""
    chosen: list[str] = []
    for each in fields(record):
        value = getattr(record, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if value != default:
            chosen.append(f"{each.name}={_SHORT.repr(value)}")
    return f"{type(record).__name__}({', '.join(chosen)})"


def size_text(count: int) -> str:
    """Bytes in the largest fitting decimal unit."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.2f} {unit}"
    return f"{count} B"
