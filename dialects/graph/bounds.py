"""Bounded results: tensors of maximal size of which only the first `count` elements along an axis are valid.

`main` returns the whole tensor, and the count as an additional result after the model's, with an attribute:
`graph.counts = [[0, 1]]` means axis 1 of result 0. No other IR knows about it; the runtime crops the arrays after the
run.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr
from xdsl.ir import Attribute

from ..bounded_crops import Cut
from .values import int_attr

COUNTS = "graph.counts"
"""Attribute of a result of main that is a count of valid elements."""


def counts_attr(cuts: Sequence[Cut]) -> ArrayAttr[ArrayAttr[Attribute]]:
    """The attribute `graph.counts` of a count that crops these axes."""
    return ArrayAttr([ArrayAttr([int_attr(result), int_attr(axis)]) for result, axis in cuts])


def cuts_of(attributes: DictionaryAttr) -> tuple[Cut, ...]:
    """The axes cropped by a result of main with these attributes; () if it is no count."""
    found: list[Cut] = []
    match attributes.data.get(COUNTS):
        case ArrayAttr(data=entries):
            for entry in entries:
                match entry:
                    case ArrayAttr(data=(IntegerAttr() as result, IntegerAttr() as axis)):
                        found.append((result.value.data, axis.value.data))
                    case _:
                        pass
        case _:
            pass
    return tuple(found)
