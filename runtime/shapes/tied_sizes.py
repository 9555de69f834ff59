"""tied_sizes: large sizes of dimensions that vary, among which hold the relations that held in every call so far.

A model may need such relations though it gives its dimensions unrelated names: a mask is as long as the past and the
new tokens together, say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations_with_replacement

LEAST_OPTIMAL = 64
"""Least size for which a varying dimension is optimised. Two transformers of widths 128 and 384,
made for 3 or 8 tokens, took 3 to 7 times as long at other lengths as code made for those; made for 64 or 512, at most
1.1 times for more than 8 tokens."""
MOST_COLUMNS = 40
"""Dimensions of different sizes among which sums and products are looked for."""

Column = tuple[int, ...]
"""The sizes of a dimension in all calls."""


def enlarged(calls: Sequence[Mapping[str, int]], fixed: Mapping[str, int]) -> tuple[dict[str, int], bool]:
    """Large sizes of all dimensions but the `fixed` ones, and whether one of them is not determined by others.

    `calls` has the sizes of all dimensions by name, the last one those to have code for. Dimensions that were always
    equal are so again, and one that was always the sum or product of two others, a multiple of one, or one or two and
    a constant. Free ones are multiples of their largest size.
    """
    columns: dict[Column, list[str]] = {}
    for name in calls[-1]:
        columns.setdefault(tuple(call[name] for call in calls), []).append(name)
    known = {column: fixed[names[0]] for column, names in columns.items() if names[0] in fixed}
    constant = set(known)
    sizes, is_any_free = dict(fixed), False
    for column in sorted(columns.keys() - known.keys(), key=lambda each: (sum(each), each)):  # summands before sums
        size = _dependent(column, known, constant) if len(columns) <= MOST_COLUMNS else None
        if size is None:
            size, is_any_free = _large(max(column), known.values()), True
        known[column] = size
        sizes.update(dict.fromkeys(columns[column], size))
    return sizes, is_any_free


def _large(largest: int, others: Collection[int]) -> int:
    """A large multiple of a size, and none of the sizes to which it is not tied."""
    step = size = max(largest, 2)
    while size < LEAST_OPTIMAL:
        size *= 2
    while size in others:
        size += step
    return size


def _dependent(column: Column, known: Mapping[Column, int], fixed: Collection[Column]) -> int | None:
    """The size that follows from known ones by the first relation that held in all calls; None if there is none."""
    varies = len(set(column)) > 1
    pairs = [(a, b) for a, b in combinations_with_replacement(known, 2) if varies or not (a in fixed and b in fixed)]
    for a, b in pairs:
        if all(size == x + y for size, x, y in zip(column, a, b, strict=True)):
            return known[a] + known[b]
    if not varies:  # one call, or always of one size: too little to go by
        return None
    for a, b in pairs:
        if all(size == x * y for size, x, y in zip(column, a, b, strict=True)):
            return known[a] * known[b]
    for a in known:
        if a[0] and column[0] % a[0] == 0 and all(x * a[0] == y * column[0] for x, y in zip(column, a, strict=True)):
            return known[a] * (column[0] // a[0])
    for parts in [*((a,) for a in known), *(pairs if len(set(zip(column, *known, strict=True))) > 2 else ())]:
        rests = {size - sum(others) for size, *others in zip(column, *parts, strict=True)}
        size = sum(known[each] for each in parts) + min(rests)
        if len(rests) == 1 and size > 1:
            return size
    return None
