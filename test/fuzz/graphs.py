"""Random graphs of 2 to 60 nodes, mostly small: a fault takes two or three nodes, and each node takes time."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from fuzz.growth import Case, Growth, Misfit
from fuzz.makers import control, elementwise, microsoft, movement, networks, numbers, sizes, space, tail

FAMILIES = (elementwise, movement, networks, control, numbers, space, tail, sizes, microsoft)
MAKERS = {maker: weight for family in FAMILIES for maker, weight in family.MAKERS.items()}
OTHER_TYPES = (np.int64, np.int32, np.bool_, np.uint8, np.int8)


def grown(seed: int) -> Case:
    """The graph of a seed, with inputs."""
    g = Growth(seed)
    for rank in (g.choose([3, 4, 4]), 2, None)[: g.integer(1, 4)]:
        g.input(g.shape(rank))
    if g.chance(0.4):
        g.input(g.shape(), g.choose(OTHER_TYPES))
    wanted = int(min(60, 2 + g.random.exponential(2.5)))
    makers = [maker for maker, weight in MAKERS.items() for _ in range(weight)]
    for _ in range(20 * wanted):
        with suppress(Misfit):
            g.choose(makers)(g)
        if len(g.nodes) >= wanted:
            break
    if not g.nodes:  # nothing that was tried fits these inputs
        g.add("Identity", g.pick(), moves=True)
    return g.case()
