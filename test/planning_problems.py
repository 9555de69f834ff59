"""Planning problems for tests: random ones, ones with a known answer, and an answer by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from mini_infer.passes.planning import Buffer, Problem

# One step above what is live: [0, 1) fills 5 bytes with a and b, so b lies at the floor or at the ceiling; say at the
# floor. [3, 4) then puts d and e on top of b, [4, 5) f and g below 3. In [5, 6) e, f and h must leave no hole: f is at
# 0, h at 2, e at 4. In [6, 7) h cuts what is left into 2 and 1 bytes, and i has 3.
GAP = ((2, 0, 1), (3, 0, 4), (2, 1, 3), (1, 3, 5), (1, 3, 6), (2, 4, 6), (1, 4, 5), (2, 5, 7), (3, 6, 7))


def problem_of(rows: Sequence[tuple[int, int, int]], capacity: int | None = None) -> Problem:
    """Buffers a, b, c, ... from (size, birth, death), aligned to single bytes."""
    names = "abcdefghijklmnopqrstuvwxyz"
    return Problem(tuple(Buffer(names[k], *row) for k, row in enumerate(rows)), capacity, alignment=1)


@st.composite
def problems(draw: st.DrawFn, most: int, *, plain: bool = False) -> Problem:
    """Up to `most` buffers; unless plain with some gaps, alignments, pinned offsets and empty buffers among them."""
    unit = 1 if plain else draw(st.sampled_from((1, 1, 4)))
    buffers: list[Buffer] = []
    for number in range(draw(st.integers(1, most))):
        birth = draw(st.integers(0, 6))
        death = birth + draw(st.integers(1, 5))
        size = draw(st.integers(1 if plain else 0, 6))
        gaps: tuple[tuple[int, int], ...] = ()
        alignment, offset = 1, None
        if not plain and death - birth > 2 and draw(st.integers(0, 3)) == 0:
            gaps = ((birth + 1, death - 1),)
        if not plain and draw(st.integers(0, 3)) == 0:
            alignment = draw(st.sampled_from((2, 4, 8)))
        if not plain and draw(st.integers(0, 7)) == 0:
            offset = 8 * draw(st.integers(0, 2))
        buffers.append(Buffer(number, size, birth, death, alignment, offset, gaps))
    return Problem(tuple(buffers), alignment=unit)


def perfect_packing(seed: int, height: int, steps: int, cuts: int) -> Problem:
    """A rectangle of bytes and steps cut into buffers at random: they fit into `height` without a hole."""
    rng = Random(seed)
    pieces = [(0, steps, 0, height)]
    for _ in range(cuts):
        birth, death, low, high = pieces.pop(rng.randrange(len(pieces)))
        if high - low > 1 and (death - birth < 2 or rng.random() < 0.5):
            cut = rng.randrange(low + 1, high)
            pieces += [(birth, death, low, cut), (birth, death, cut, high)]
        elif death - birth > 1:
            cut = rng.randrange(birth + 1, death)
            pieces += [(birth, cut, low, high), (cut, death, low, high)]
        else:
            pieces.append((birth, death, low, high))
    rng.shuffle(pieces)
    return Problem(tuple(Buffer(k, p[3] - p[2], p[0], p[1]) for k, p in enumerate(pieces)), alignment=1)


def least_height(problem: Problem) -> int | None:
    """The height of the best plan, from all orders of the buffers; None where the pinned ones collide.

    In a plan pushed down as far as it goes, every buffer lies as low as those below it allow: placing buffers as low as
    they go finds that plan in one of the orders.
    """
    buffers = [b for b in problem.buffers if b.size]
    sizes = [problem.padded(b) for b in buffers]
    meets = [[any(p < s and r < q for p, q in a.live for r, s in b.live) for b in buffers] for a in buffers]
    places = [b.offset for b in buffers]
    best = sum(sizes) + sum(b.alignment for b in buffers) + max((b.offset or 0 for b in buffers), default=0)

    def free(k: int, place: int) -> bool:
        others = [(other, taken) for other, taken in enumerate(places) if other != k and meets[k][other]]
        return all(
            taken is None or place >= taken + sizes[other] or taken >= place + sizes[k] for other, taken in others
        )

    def lowest(k: int) -> int:
        unit = max(problem.alignment, buffers[k].alignment)
        ends = [taken + sizes[other] for other, taken in enumerate(places) if taken is not None]
        return min(place for end in (0, *ends) if free(k, place := -(-end // unit) * unit))

    def search(left: frozenset[int], height: int) -> None:
        nonlocal best
        if height < best and not left:
            best = height
        for k in left if height < best else ():
            place = lowest(k)
            places[k] = place
            search(left - {k}, max(height, place + sizes[k]))
            places[k] = None

    pinned = [(k, place) for k, place in enumerate(places) if place is not None]
    if not all(free(k, place) for k, place in pinned):
        return None
    height = max((place + sizes[k] for k, place in pinned), default=0)
    search(frozenset(k for k, place in enumerate(places) if place is None), height)
    return best
