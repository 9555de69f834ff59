"""Results whose size turns out when the model runs: at most that of their type, of which the first `count` are there.

`main` gives back the whole tensor, and the count as a further result behind those of the model, with an attribute that
says what it cuts: `graph.counts = [[0, 1]]` is axis 1 of result 0. Nothing else in the IR knows of it. Who runs `main`
cuts the arrays when it is over.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr
from xdsl.ir import Attribute

from ..cuts import Cut
from .values import int_attr

COUNTS = "graph.counts"
"""Attribute of a result of main that is a count."""


def counts_attr(cuts: Sequence[Cut]) -> ArrayAttr[ArrayAttr[Attribute]]:
    """What `graph.counts` says of a count that cuts these."""
    return ArrayAttr([ArrayAttr([int_attr(result), int_attr(axis)]) for result, axis in cuts])


def cuts_of(attributes: DictionaryAttr) -> tuple[Cut, ...]:
    """What a result of main with such attributes cuts: nothing where it is no count."""
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
