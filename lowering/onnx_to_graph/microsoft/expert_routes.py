"""Loops over routes, pairs of a token and an expert: in tiles of routes that have an expert in common, or one by one.

The routes of an expert are tiles of TILE, the last of which may be filled up, and fewer than ALONE that are left. Which
route is where is computed by counts: a route's place among those of its expert, and where an expert's begin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.elementwise import AddOp, DivOp, EqualOp, LessOp, MaxOp, MinOp, MulOp, SubOp, WhereOp
from ....dialects.graph.ops.indexing import GatherOp, ScatterNdOp
from ....dialects.graph.ops.reduction import CumsumOp, ReduceSumOp
from ....dialects.graph.ops.unary import NotOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import bounds_of
from ..handlers.indexing import positions
from ..handlers.loops import Iteration, repeat
from ..handlers.movement import slice_axis
from ..node import Node

TILE = 32
"""Routes of a tile, which read an expert's weights once."""
ALONE = 8
"""So many routes of an expert are a tile, and fewer are computed one by one."""

Compute = Callable[[SSAValue, SSAValue], SSAValue]
"""The results [rows, columns] of an expert, a number of rank 0, for rows of tokens."""


class Routes:
    """Routes [tokens, each]: the experts of each token."""

    def __init__(self, node: Node, x: SSAValue, experts: SSAValue, count: int, compute: Compute) -> None:
        self._node, self._x, self._compute, self._count = node, x, compute, count
        self._tokens, self._each = shape_of(experts)
        self._routes = self._tokens * self._each
        self._experts = node.reshape(experts, (self._routes,))

    def results(self, columns: int) -> SSAValue:
        """What the experts make of their tokens, [routes, columns]."""
        made = self._node.zeros(element_type_of_value(self._x), (self._routes + 1, columns))  # the last row is nobody's
        if bounds_of(self._routes)[1] < ALONE:
            made = self._loop(made, self._number(self._routes), self._alone)
        else:
            made = self._in_tiles(made)
        return slice_axis(self._node, made, 0, 0, self._routes)

    def _emit(self, op: GraphOp) -> SSAValue:
        return self._node.emit(op)

    def _number(self, number: int) -> SSAValue:
        return self._node.scalar(number, i64)

    def _in_tiles(self, made: SSAValue) -> SSAValue:
        node, tile = self._node, self._number(TILE)
        every = positions(node, self._routes)
        is_of = self._emit(EqualOp(node.reshape(self._experts, (self._routes, 1)), positions(node, self._count)))
        marks = node.cast(is_of, i64)
        before = self._emit(MulOp(marks, self._emit(CumsumOp(marks, 0, exclusive=True))))
        place = self._emit(ReduceSumOp(before, (1,)))  # among the routes of the same expert
        counts = self._emit(ReduceSumOp(marks, (0,)))
        tiles = self._emit(DivOp(self._emit(AddOp(counts, self._number(TILE - ALONE))), tile))
        tiled = self._emit(MulOp(tiles, tile))
        alone = self._emit(MaxOp(self._emit(SubOp(counts, tiled)), self._number(0)))
        in_tiles = self._emit(LessOp(place, self._of_route(tiled)))
        slot = self._emit(AddOp(self._of_route(self._emit(MulOp(self._begins(tiles), tile))), place))
        rest = self._emit(AddOp(self._of_route(self._begins(alone)), self._emit(SubOp(place, self._of_route(tiled)))))
        most = self._routes // ALONE + 1
        tables = self._table(in_tiles, slot, every, most * TILE)
        grouped = node.reshape(tables, (most, TILE))
        single = self._table(self._emit(NotOp(in_tiles)), rest, every, self._routes)

        def of_tile(number: SSAValue, made: SSAValue) -> SSAValue:
            return self._rows(self._emit(GatherOp(grouped, number, 0)), made)

        def alone_at(number: SSAValue, made: SSAValue) -> SSAValue:
            return self._alone(self._emit(GatherOp(single, number, 0)), made)

        made = self._loop(made, self._emit(ReduceSumOp(tiles, (0,))), of_tile)
        return self._loop(made, self._emit(ReduceSumOp(alone, (0,))), alone_at)

    def _of_route(self, value: SSAValue) -> SSAValue:
        """What a value [experts] is for each route's expert."""
        return self._emit(GatherOp(value, self._experts, 0))

    def _begins(self, counts: SSAValue) -> SSAValue:
        return self._emit(CumsumOp(counts, 0, exclusive=True))

    def _table(self, chosen: SSAValue, slots: SSAValue, routes: SSAValue, size: int) -> SSAValue:
        """The chosen routes, each in its slot of `size` ones; nobody's route in the others."""
        node = self._node
        slots = self._emit(WhereOp(chosen, slots, self._number(size)))
        nobody = node.broadcast(self._number(self._routes), (size + 1,))
        filled = self._emit(ScatterNdOp(nobody, node.reshape(slots, (self._routes, 1)), routes))
        return slice_axis(node, filled, 0, 0, size)

    def _loop(self, made: SSAValue, count: SSAValue, body: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
        def turn(number: SSAValue, carried: Sequence[SSAValue]) -> Iteration:
            return Iteration([body(number, carried[0])])

        return repeat(self._node, self._node.reshape(count, ()), None, [made], turn).carried[0]

    def _alone(self, route: SSAValue, made: SSAValue) -> SSAValue:
        """The result of one route, put into its row."""
        return self._rows(self._node.reshape(route, (1,)), made)

    def _rows(self, routes: SSAValue, made: SSAValue) -> SSAValue:
        """The results of routes with an expert in common, put into their rows; the first one is somebody's."""
        node, last = self._node, self._number(self._routes - 1)
        there = self._emit(MinOp(routes, last))
        tokens = self._emit(DivOp(there, self._number(self._each)))
        first = node.reshape(slice_axis(node, routes, 0, 0, 1), ())
        expert = self._emit(GatherOp(self._experts, first, 0))
        found = self._compute(self._emit(GatherOp(self._x, tokens, 0)), expert)
        return self._emit(ScatterNdOp(made, node.reshape(routes, (shape_of(routes)[0], 1)), found))
