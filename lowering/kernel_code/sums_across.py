"""The sums over the lanes of several vectors at once, as the lanes of one vector.

A reduction of n lanes takes log2(n) shuffles and additions. Of n vectors together it takes about three instructions
each: two vectors become one that holds partial sums of both, until one is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .arithmetic import Arithmetic, lanes_of
from .loop_builder import LoopBuilder


def sums_across(b: LoopBuilder, vectors: Sequence[SSAValue]) -> SSAValue:
    """A vector of the sums of vectors, at most as many as each has lanes; both numbers are powers of two.

    The order of additions in a sum does not depend on the number of vectors.
    """
    m, width = Arithmetic(b, vectors[0].type), lanes_of(vectors[0])
    # Each vector has one or several parts of `width` lanes; the sum of a part is one of the results.
    current = list(vectors)
    while width > 1:
        pairs = list(zip(current[::2], current[1::2], strict=False)) or [(current[0], current[0])]
        parts = len(vectors) // len(pairs)
        lower = [part * width + lane for part in range(parts) for lane in range(width // 2)]
        upper = [lane + width // 2 for lane in lower]
        current = [m.add(b.shuffle(x, y, lower), b.shuffle(x, y, upper)) for x, y in pairs]
        width //= 2
    return current[0]
