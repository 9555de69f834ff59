"""What a caller gets in place of an output's tensor: texts of labels, or for each row a mapping from labels to numbers.

`main` returns a tensor, whose result has an attribute with the labels: `graph.labels = ["cat", "dog"]` where the
tensor holds places among texts, and `graph.keys = ["cat", "dog"]` or `graph.keys = [3, 7]` where it has a number for
each label in each row. No other IR knows about it; the engine applies it after the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute

from .values import int_attr

LABELS, KEYS = "graph.labels", "graph.keys"
"""Attributes of a result of main; it has one of them at most."""
Names = tuple[int, ...] | tuple[str, ...]


def labels_attr(labels: Sequence[int] | Sequence[str]) -> ArrayAttr[Attribute]:
    """The value of either attribute."""
    return ArrayAttr([StringAttr(each) if isinstance(each, str) else int_attr(each) for each in labels])


def labels_of(attributes: DictionaryAttr, name: str) -> Names:
    """The labels that attributes of a result give by LABELS or by KEYS; () without that attribute."""
    match attributes.data.get(name):
        case ArrayAttr(data=entries):
            texts = tuple(each.data for each in entries if isinstance(each, StringAttr))
            numbers = tuple(each.value.data for each in entries if isinstance(each, IntegerAttr) and name == KEYS)
            return texts if len(texts) == len(entries) else numbers if len(numbers) == len(entries) else ()
        case _:
            return ()
