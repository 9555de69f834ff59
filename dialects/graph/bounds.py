"""Results whose size turns out when the model runs: at most that of their type, of which the first `count` are there.

`main` gives back the whole tensor, and the count as a further result behind those of the model, with an attribute that
says what it cuts: `graph.counts = [[0, 1]]` is axis 1 of result 0. Nothing else in the IR knows of it. Who runs `main`
cuts the arrays when it is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr
from xdsl.ir import Attribute

from .values import Array, int_attr

COUNTS = "graph.counts"
"""Attribute of a result of main that is a count."""

Cut: TypeAlias = tuple[int, int]
"""(result, axis)"""


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


def bounded_axes(cuts: Sequence[Sequence[Cut]], result: int) -> tuple[int, ...]:
    """The axes of a result that counts cut."""
    return tuple(sorted(axis for each in cuts for number, axis in each if number == result))


def cut_shape(shape: Sequence[int], result: int, cuts: Sequence[Sequence[Cut]], counts: Sequence[int]) -> list[int]:
    """How much of a result there is, for the counts of a run."""
    left = list(shape)
    for each, count in zip(cuts, counts, strict=True):
        for number, axis in each:
            if number == result:
                left[axis] = count
    return left


def trimmed(arrays: Sequence[Array], cuts: Sequence[Sequence[Cut]], counts: Sequence[int]) -> list[Array]:
    """What there is of the results of a run; a copy where that is less than all, so that the rest can go."""
    found: list[Array] = []
    for number, array in enumerate(arrays):
        shape = cut_shape(array.shape, number, cuts, counts)
        found.append(array if shape == list(array.shape) else array[tuple(map(slice, shape))].copy())
    return found
