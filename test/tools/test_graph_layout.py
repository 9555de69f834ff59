"""The layered layout of graphs: edges lead downward, nodes don't overlap, and long edges have a limit."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from graphlib import CycleError
from itertools import pairwise

import pytest

from mini_infer.dialects.errors import ConfigError
from mini_infer.tools.reports import graph_layout
from mini_infer.tools.reports.graph_layout import COLUMN_GAP, GraphLayout, layered

Sizes = Mapping[int, tuple[float, float]]
LADDER = [(number, number + 1) for number in range(30)] + [(number, number + 4) for number in range(0, 26, 3)]
UNLIKE: Sizes = {number: (10 + 7 * (number % 5), 8 + number % 3) for number in range(31)}


def drawn(nodes: Sizes, edges: Sequence[tuple[int, int]]) -> GraphLayout[int]:
    """The layout, of which all that any layout promises is checked."""
    pytest.importorskip("fast_sugiyama")
    layout = layered(nodes, edges)
    assert set(layout.positions) == set(nodes) and set(layout.routes) == set(edges)
    rows: dict[float, list[tuple[float, float]]] = {}
    for key, (x, y) in layout.positions.items():
        width, height = nodes[key]
        assert x - width / 2 >= -1e-6 and x + width / 2 <= layout.width + 1e-6
        assert y - height / 2 >= -1e-6 and y + height / 2 <= layout.height + 1e-6
        rows.setdefault(y, []).append((x, width))
    for row in rows.values():
        for (x, width), (next_x, next_width) in pairwise(sorted(row)):
            assert next_x - x >= (width + next_width) / 2 + COLUMN_GAP - 1e-6
    for (first, second), points in layout.routes.items():
        assert all(y < next_y for (_, y), (_, next_y) in pairwise(points))
        assert points[0] == (layout.positions[first][0], layout.positions[first][1] + nodes[first][1] / 2)
        assert points[-1] == (layout.positions[second][0], layout.positions[second][1] - nodes[second][1] / 2)
    return layout


def test_an_edge_over_layers_bends_around_the_nodes_between() -> None:
    layout = drawn(dict.fromkeys(range(3), (40, 10)), [(0, 1), (1, 2), (0, 2)])
    start, bend, end = layout.routes[0, 2]
    assert start[1] < bend[1] == layout.positions[1][1] < end[1]
    assert abs(bend[0] - layout.positions[1][0]) >= 20


def test_nodes_of_unlike_sizes_stand_apart() -> None:
    layout = drawn(UNLIKE, LADDER)
    assert len({y for _, y in layout.positions.values()}) == 31
    assert drawn(UNLIKE, LADDER) == layout


def test_parts_stand_side_by_side() -> None:
    # Bends of the second part must not be taken for nodes of the first, nor nodes without edges be lost.
    layout = drawn(dict.fromkeys(range(9), (20, 10)), [(0, 1), (1, 2), (0, 2), (4, 5), (5, 6), (6, 7), (4, 7)])
    right = [max(layout.positions[number][0] for number in part) for part in ((0, 1, 2), (3,), (4, 5, 6, 7), (8,))]
    assert right == sorted(right)


def test_of_too_many_long_edges_some_are_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two chains that only the longest edge joins, which therefore stays: the solver takes one connected graph.
    monkeypatch.setattr(graph_layout, "MOST_SPANS", 100)
    edges = [*LADDER, *((number, number + 1) for number in range(31, 60)), (5, 60), (0, 30), (0, 29)]
    layout = drawn(dict.fromkeys(range(61), (20, 10)), edges)
    assert len(layout.routes[0, 30]) == 2 and len(layout.routes[0, 4]) > 2


def test_a_graph_of_nothing_has_no_size() -> None:
    assert layered({}, []) == GraphLayout({}, {}, 0.0, 0.0)


def test_a_cycle_is_refused() -> None:
    with pytest.raises(CycleError):
        layered({1: (1, 1), 2: (1, 1)}, [(1, 2), (2, 1)])


def test_the_package_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fast_sugiyama", None)
    with pytest.raises(ConfigError, match="drawing a graph needs the package fast-sugiyama: pip install fast-sugiyama"):
        layered({1: (1, 1), 2: (1, 1)}, [(1, 2)])
