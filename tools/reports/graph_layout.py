"""Layered layout of a graph: each node on a layer below those that it reads, with few crossings of edges.

    layout = layered({"a": (60, 20), "b": (60, 20)}, [("a", "b")])
    x, y = layout.positions["b"]

The layers, and the order of nodes in each, are by fast-sugiyama (Sugiyama, Tagawa and Toda, "Methods for visual
understanding of hierarchical system structures", 1981). It knows no sizes, so nodes are moved apart here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Generic, TypeVar

from xdsl.utils.disjoint_set import DisjointSet, IntDisjointSet

from ...dialects.errors import ConfigError

Key = TypeVar("Key", bound=Hashable)
Point = tuple[float, float]
Edge = tuple[int, int]

COLUMN_GAP = 16.0  # between nodes of a layer, in the unit of the nodes' sizes
LAYER_GAP = 26.0  # between layers
MOST_SPANS = 20_000
"""How many layers the edges may pass, all together: the solver has a vertex for each, which took 0.2 s at this number
and 1.5 s at ten times as many."""


@dataclass(frozen=True)
class GraphLayout(Generic[Key]):
    """The centres of nodes, x to the right and y downward from the corner at (0, 0), and the ways of edges."""

    positions: Mapping[Key, Point]
    routes: Mapping[tuple[Key, Key], Sequence[Point]]
    """The points that each edge passes, from the lower side of its first node to the upper side of its second."""
    width: float
    height: float


def layered(nodes: Mapping[Key, tuple[float, float]], edges: Iterable[tuple[Key, Key]]) -> GraphLayout[Key]:
    """Places nodes, given with their widths and heights, so that all edges lead downward; parts stand side by side.

    An edge that occurs several times is drawn once. Where edges pass very many layers, the longest of them are straight
    lines, which may cross nodes. Raises CycleError, a ValueError, for a cycle; KeyError for an edge of an unknown node;
    ConfigError without the package fast-sugiyama.
    """
    positions: dict[Key, Point] = {}
    routes: dict[tuple[Key, Key], Sequence[Point]] = {}
    left, height = 0.0, 0.0
    for keys, pairs in _components(list(nodes), edges):
        sizes = [nodes[key] for key in keys]
        cells, chains = _solved(len(keys), pairs, max(width for width, _ in sizes))
        points, (width, bottom) = _apart(cells, sizes)
        shifted = {number: (left + x, y) for number, (x, y) in points.items()}
        positions |= {key: shifted[number] for number, key in enumerate(keys)}
        for first, second in pairs:
            (x, y), (to_x, to_y) = shifted[first], shifted[second]
            start, end = (x, y + sizes[first][1] / 2), (to_x, to_y - sizes[second][1] / 2)
            bends = [shifted[each] for each in chains.get((first, second), ())]
            routes[keys[first], keys[second]] = [start, *bends, end]
        left, height = left + width + COLUMN_GAP, max(height, bottom)
    return GraphLayout(positions, routes, max(0.0, left - COLUMN_GAP), height)


def _components(nodes: Sequence[Key], edges: Iterable[tuple[Key, Key]]) -> list[tuple[list[Key], list[Edge]]]:
    """The connected parts in the order of their first nodes: nodes, and different edges by the nodes' numbers."""
    sets = DisjointSet(nodes)
    different = list(dict.fromkeys(edges))
    for first, second in different:
        sets.union(first, second)
    parts: dict[Key, tuple[list[Key], list[Edge]]] = {}
    numbers: dict[Key, int] = {}
    for key in nodes:
        members, _ = parts.setdefault(sets.find(key), ([], []))
        numbers[key] = len(members)
        members.append(key)
    for first, second in different:
        parts[sets.find(first)][1].append((numbers[first], numbers[second]))
    return list(parts.values())


def _solved(
    count: int, pairs: Sequence[Edge], widest: float
) -> tuple[dict[int, tuple[float, int]], dict[Edge, list[int]]]:
    """The x and the layer of each node and of each bend, which are numbered from `count` on; the bends of edges."""
    layers = _longest_paths(count, pairs)
    if not pairs:
        return {0: (0.0, 0)}, {}
    try:
        from fast_sugiyama import from_edges
    except ImportError:
        raise ConfigError("drawing a graph needs the package fast-sugiyama: pip install fast-sugiyama") from None
    unit = widest + COLUMN_GAP
    for ranking in ("minimize", "up"):
        [(places, _, _, links)] = from_edges(_short(pairs, layers), vertex_spacing=unit, ranking_type=ranking)
        top = max(y for _, (_, y) in places)
        cells = {int(number): (x, round((top - y) / unit)) for number, (x, y) in places}
        if all(cells[first][1] < cells[second][1] for first, second in pairs):
            break  # always by "up": each node that is no source keeps an edge from the layer above
    return cells, _chains(count, [(int(first), int(second)) for first, second in links or ()])


def _longest_paths(count: int, pairs: Sequence[Edge]) -> list[int]:
    """The length of the longest path to each node. Raises CycleError: the solver would end the process."""
    before: dict[int, list[int]] = {number: [] for number in range(count)}
    for first, second in pairs:
        before[second].append(first)
    layers = [0] * count
    for number in TopologicalSorter(before).static_order():
        layers[number] = 1 + max((layers[each] for each in before[number]), default=-1)
    return layers


def _short(pairs: Sequence[Edge], layers: Sequence[int]) -> list[Edge]:
    """The shortest edges that pass at most MOST_SPANS layers, and those without which the graph falls apart."""

    def span(pair: Edge) -> int:
        return layers[pair[1]] - layers[pair[0]]

    kept: list[Edge] = []
    total, sets = 0, IntDisjointSet(size=len(layers))
    for pair in sorted(pairs, key=span):
        total += span(pair)
        if sets.union(*pair) or span(pair) == 1 or total <= MOST_SPANS:
            kept.append(pair)
    return kept


def _chains(count: int, links: Sequence[Edge]) -> dict[Edge, list[int]]:
    """The bends of each edge that has some, from the links between nodes and bends."""
    after = {first: second for first, second in links if first >= count}
    chains: dict[Edge, list[int]] = {}
    for first, second in links:
        if first < count <= second:
            bends = [second]
            while (second := after[second]) >= count:
                bends.append(second)
            chains[first, second] = bends
    return chains


def _apart(
    cells: Mapping[int, tuple[float, int]], sizes: Sequence[tuple[float, float]]
) -> tuple[dict[int, Point], tuple[float, float]]:
    """Points with room for the sizes of nodes, in the order of the cells; and the size of the whole.

    Pushing each layer's nodes to the right until they are apart, or to the left, keeps their distances; so does the
    mean of both, which moves nodes least.
    """
    rows: dict[int, list[tuple[float, int]]] = {}
    for number, (x, layer) in sorted(cells.items()):
        rows.setdefault(layer, []).append((x, number))
    nothing = (0.0, 0.0)
    points: dict[int, Point] = {}
    bottom = -LAYER_GAP
    for _, row in sorted(rows.items()):
        row.sort()
        found = [sizes[number] if number < len(sizes) else nothing for _, number in row]
        halves = [width / 2 for width, _ in found]
        needed = [before + after + COLUMN_GAP for before, after in pairwise(halves)]
        to_right = [x for x, _ in row]
        to_left = list(to_right)
        for place, least in enumerate(needed, 1):
            to_right[place] = max(to_right[place], to_right[place - 1] + least)
        for place in range(len(needed) - 1, -1, -1):
            to_left[place] = min(to_left[place], to_left[place + 1] - needed[place])
        high = max(height for _, height in found)
        middle = bottom + LAYER_GAP + high / 2
        for (_, number), one, other in zip(row, to_right, to_left, strict=True):
            points[number] = ((one + other) / 2, middle)
        bottom += LAYER_GAP + high
    edges = [(x, sizes[number][0] / 2 if number < len(sizes) else 0.0) for number, (x, _) in points.items()]
    left, right = min(x - half for x, half in edges), max(x + half for x, half in edges)
    return {number: (x - left, y) for number, (x, y) in points.items()}, (right - left, bottom)
