"""Random graphs of 2 to 60 nodes, mostly small: a fault takes two or three nodes, and each node takes time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any, cast

import numpy as np
from fuzz.caches import declare
from fuzz.growth import Case, Growth, Maker, Misfit
from fuzz.makers import (
    classical,
    control,
    early,
    elementwise,
    microsoft,
    microsoft_attention,
    microsoft_quantised,
    movement,
    networks,
    numbers,
    sequences,
    sizes,
    space,
    tail,
)
from onnx import defs

MICROSOFT = (microsoft, microsoft_attention, microsoft_quantised, early)
FAMILIES = (elementwise, movement, networks, control, numbers, space, tail, sequences, sizes, classical, *MICROSOFT)
MAKERS = {maker: weight for family in FAMILIES for maker, weight in family.MAKERS.items()}
WEIGHTED = [maker for maker, weight in MAKERS.items() for _ in range(weight)]
OTHER_TYPES = (np.int64, np.int32, np.bool_, np.uint8, np.int8)
TRIES = 200  # of graphs for one that holds a certain operator


def grown(seed: int, operators: Sequence[str] = (), caches: bool = False) -> Case:
    """The graph of a seed, with inputs; one that holds the given operators ("com.microsoft.QGemm").

    With `caches`, one or two of its inputs have outputs that may lie in their memory.

    Raises ValueError where no maker makes an operator, or they fit nowhere.
    """
    wanted = {operator: makers_of(operator) for operator in operators}
    oldest = max(map(_since, operators), default=0)
    for attempt in range(TRIES if all(wanted.values()) else 0):
        g = Growth(seed + attempt * 2**32)
        g.opset = max(g.opset, oldest)
        with suppress(Misfit):
            return _grown(g, wanted, caches)
    counts = ", ".join(f"{operator} ({len(makers)} makers)" for operator, makers in wanted.items())
    raise ValueError(f"no graph holds {counts}")


def _since(operator: str) -> int:
    """The opset that brought an operator of ONNX's own."""
    known = defs.get_all_schemas_with_history()
    return min((each.since_version for each in known if (each.domain, each.name) == ("", operator)), default=0)


def _grown(g: Growth, wanted: Mapping[str, Sequence[Maker]], caches: bool) -> Case:
    for rank in (g.choose([3, 4, 4]), g.choose([0, 1, 2, 2, 2]), None)[: g.integer(1, 4)]:
        g.input(g.shape(rank))
    if g.chance(0.4):
        g.input(g.shape(), g.choose(OTHER_TYPES))
    count = int(min(60, 2 + g.random.exponential(2.5)))
    if wanted:
        _add(g, WEIGHTED, g.integer(0, count))
    for operator, makers in wanted.items():
        for _ in range(20):
            if operator in held(g):
                break
            with suppress(Misfit):
                g.choose(makers)(g)
        if operator not in held(g):
            raise Misfit
    if caches:
        _add(g, WEIGHTED, g.integer(0, count + 1))
        _add_caches(g, g.choose([1, 1, 2]))
    _add(g, WEIGHTED, count)
    if not g.nodes:  # nothing that was tried fits these inputs
        g.add("Identity", g.pick(), moves=True)
    return g.case()


def _add(g: Growth, makers: Sequence[Maker], count: int) -> None:
    """Lets makers add nodes until there are so many, or none fits."""
    for _ in range(20 * count):
        if len(g.nodes) >= count:
            break
        with suppress(Misfit):
            g.choose(makers)(g)


def _add_caches(g: Growth, count: int) -> None:
    for _ in range(20):
        with suppress(Misfit):
            declare(g)
        if len(g.caches) == count:
            return
    raise Misfit


def held(g: Growth) -> set[str]:
    """The operators of a graph, with the domain in front where that is not ONNX's own."""
    return {f"{node.domain}.{node.op_type}".removeprefix(".") for node in g.nodes}


def makers_of(operator: str) -> list[Maker]:
    """The makers whose code names an operator and its domain."""
    domain, _, name = operator.rpartition(".")
    named = {maker: set(_strings(cast(FunctionType, maker))) for maker in MAKERS}
    foreign = [maker for maker, strings in named.items() if microsoft.DOMAIN in strings]
    return [
        maker
        for maker, strings in named.items()
        if name in strings and (domain in strings if domain else maker not in foreign)
    ]


def _strings(function: FunctionType) -> Iterator[str]:
    """What a function's code holds, and what it reads of its module."""
    yield from _within(function.__code__)
    for name in _names(function.__code__):
        read = function.__globals__.get(name)
        if isinstance(read, FunctionType) and read.__module__.startswith("fuzz.makers"):
            yield from _strings(read)
        elif not isinstance(read, FunctionType):
            yield from _within(read)


def _within(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, CodeType):
        yield from _within(value.co_consts)
    elif isinstance(value, tuple | list | Mapping):
        for each in cast("Sequence[Any]", value):
            yield from _within(each)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
