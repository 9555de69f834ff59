"""Arithmetic on permutations and reshapes, without any IR.

A permutation is a tuple as in numpy's transpose: result dim i is source dim permutation[i].
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from ...dialects.sizes.sizes import equal

Permutation: TypeAlias = tuple[int, ...]


def identity(rank: int) -> Permutation:
    """The permutation that changes nothing."""
    return tuple(range(rank))


def is_identity(permutation: Sequence[int]) -> bool:
    """Whether the permutation changes nothing."""
    return all(index == dim for index, dim in enumerate(permutation))


def inverse(permutation: Sequence[int]) -> Permutation:
    """The permutation that undoes this one."""
    result = [0] * len(permutation)
    for index, dim in enumerate(permutation):
        result[dim] = index
    return tuple(result)


def compose(first: Sequence[int], then: Sequence[int]) -> Permutation:
    """The permutation that equals transposing by `first`, then by `then`."""
    return tuple(first[dim] for dim in then)


def permuted(items: Sequence[int], permutation: Sequence[int]) -> tuple[int, ...]:
    """A list with one entry per dim (a shape, for example), permuted."""
    return tuple(items[dim] for dim in permutation)


def channels_last(rank: int) -> Permutation:
    """From batch, channels, space... to batch, space..., channels."""
    return (0, *range(2, rank), 1)


def moves_no_bytes(shape: Sequence[int], permutation: Sequence[int]) -> bool:
    """Whether the transposition moves only dims of size 1, so that on a dense tensor it equals a reshape."""
    kept = [dim for dim in permutation if shape[dim] != 1]
    return kept == sorted(kept)


class Group(NamedTuple):
    """Adjacent source dims that a reshape turns into adjacent target dims, as small as possible."""

    source: tuple[int, ...]
    target: tuple[int, ...]


def reshape_groups(source: Sequence[int], target: Sequence[int]) -> list[Group] | None:
    """The groups of dims that a reshape splits or merges, in order; None for empty tensors, where any reshape is valid.

    A dim of size 1 that has no counterpart is a group of its own with one side empty.
    """
    if 0 in source or 0 in target or prod(source) != prod(target):
        return None
    groups: list[Group] = []
    i = j = 0
    while i < len(source) or j < len(target):
        if j == len(target) or (i < len(source) and source[i] == 1 and target[j] != 1):
            groups.append(Group((i,), ()))
            i += 1
        elif i == len(source) or (target[j] == 1 and source[i] != 1):
            groups.append(Group((), (j,)))
            j += 1
        else:
            left, right = source[i], target[j]
            first_i, first_j = i, j
            i, j = i + 1, j + 1
            while not equal(left, right):  # where they are equal only now, with a guard
                if left < right:
                    left *= source[i]
                    i += 1
                else:
                    right *= target[j]
                    j += 1
            groups.append(Group(tuple(range(first_i, i)), tuple(range(first_j, j))))
    return groups
