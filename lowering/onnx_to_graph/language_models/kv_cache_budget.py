"""The room of caches, and a budget of memory for it: the largest sizes of dimensions with which caches stay within it.

A token is a step along the axis in which a cache's present is longer than its past. A cache takes what its buffer does,
at the largest sizes of all dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ....dialects.errors import PlanError
from ....dialects.graph.host import caches_of, main_of
from ....dialects.graph.kv_cache_attributes import CacheAttr
from ....dialects.graph.values import nbytes_of
from ....dialects.sizes.polynomials import InputSymbol, Symbol
from ....dialects.sizes.size_attributes import sizes_of_module, symbol_of
from ....dialects.sizes.sizes import bounds_of, is_fixed, symbols_of, value_at


@dataclass(frozen=True)
class CacheLimits:
    """The tokens that caches have room for, and what follows of them for dimensions."""

    rooms: Mapping[str, tuple[int, int]]
    """By the name of the output: the axis along which a cache grows, and its tokens."""
    dims: Mapping[str, tuple[int, int]]
    """By the name of the dimension: upper bounds of the optimal size and of the largest one."""


def is_special(module: ModuleOp) -> bool:
    """Whether an imported module has shapes at which caches may grow otherwise than usual: an empty past, say."""
    caches = _caches(module)
    kept = [cache for cache in caches if cache.axis is None and not is_fixed(*cache.past.get_shape())]
    return bool(kept) or any(cache.axis is not None and is_fixed(_past(cache)) for cache in caches)


def limits_of(module: ModuleOp, budget: int | None) -> CacheLimits:
    """The rooms of an imported module's caches, within `budget` bytes for all of them, if that is given.

    Where a present is the past and something more, the past is limited. Raises PlanError if that is not enough.
    """
    caches = _caches(module)
    growing = [cache for cache in caches if cache.axis is not None]
    held, per_token = (max(map(_room, growing), default=0), 0) if budget is None else _most_tokens(caches, budget)
    best = {symbol_of(size): size.value for size in sizes_of_module(module)}
    least = {symbol: symbol.low for symbol in best}
    rooms: dict[str, tuple[int, int]] = {}
    dims: dict[str, tuple[int, int]] = {}
    for cache in growing:
        assert cache.axis is not None
        rooms[cache.output.data] = cache.axis, min(_room(cache), held)
        if _room(cache) <= held:
            continue
        past, present = _past(cache), cache.present.get_shape()[cache.axis]
        if value_at(present, least) > held:
            raise PlanError(
                f"cache_memory: {budget:,} bytes hold {held:,} tokens of {per_token:,} bytes each, but "
                f"'{cache.output.data}' has at least {value_at(present, least):,}"
            )
        for size, most in ((past, held - 1), (present, held)):
            for symbol in symbols_of(size) & symbols_of(past) or symbols_of(size):
                if isinstance(symbol, InputSymbol):
                    limits = _limit(size, symbol, most, best), _limit(size, symbol, most, least)
                    dims[symbol.dimension] = min(limits, dims.get(symbol.dimension, limits))
    return CacheLimits(rooms, dims)


def _most_tokens(caches: Sequence[CacheAttr], budget: int) -> tuple[int, int]:
    """The most tokens that a cache may hold, and what one takes in those caches that have room for more.

    Raises PlanError if there is no room for a token.
    """
    fixed = sum(_bytes(cache) for cache in caches if cache.axis is None)
    growing = sorted((cache for cache in caches if cache.axis is not None), key=_room)
    left, held, per_token = budget - fixed, 0, 0
    while growing:
        per_token = sum(_bytes(cache) // _room(cache) for cache in growing)
        held = left // per_token
        if held < _room(growing[0]):
            break
        left -= _bytes(growing.pop(0))
    if left < 0 and not growing:
        raise PlanError(f"cache_memory: the caches take {budget - left:,} bytes at their largest sizes, not {budget:,}")
    if growing and held < 1:
        others = f", and the others take {fixed:,}" if fixed else ""
        raise PlanError(
            f"cache_memory: {budget:,} bytes hold no token, which takes {per_token:,} in the caches{others}"
        )
    return held, per_token


def _caches(module: ModuleOp) -> list[CacheAttr]:
    return [cache for cache in caches_of(main_of(module, "import")) if cache is not None]


def _past(cache: CacheAttr) -> int:
    """The tokens in the past of a cache that grows."""
    assert cache.axis is not None
    return cache.past.get_shape()[cache.axis]


def _room(cache: CacheAttr) -> int:
    """The tokens for which a cache that grows has room."""
    assert cache.axis is not None
    return bounds_of(cache.room.get_shape()[cache.axis])[1]


def _bytes(cache: CacheAttr) -> int:
    """The bytes of a cache's buffer at the largest sizes."""
    return bounds_of(nbytes_of(cache.room))[1]


def _limit(size: int, symbol: InputSymbol, most: int, others: Mapping[Symbol, int]) -> int:
    """The largest value of a dimension with which a size stays within `most`, given the other symbols; or the least."""
    low, high = symbol.low, symbol.high
    while low < high:
        middle = (low + high + 1) // 2
        fits = value_at(size, {**others, symbol: middle}) <= most
        low, high = (middle, high) if fits else (low, middle - 1)
    return low * symbol.unit
