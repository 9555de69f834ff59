"""A budget of memory for caches: the largest sizes of dimensions with which they stay within it.

A token is a step along the axis in which a cache's present is longer than its past. A cache takes what its buffer does,
at the largest sizes of all dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from ...dialects.errors import PlanError
from ...dialects.graph.host import caches_of, main_of
from ...dialects.graph.kv_cache_attributes import CacheAttr
from ...dialects.graph.values import nbytes_of
from ...dialects.sizes.polynomials import InputSymbol, Symbol
from ...dialects.sizes.size_attributes import sizes_of_module, symbol_of
from ...dialects.sizes.sizes import bounds_of, symbols_of, value_at
from .declared_kv_caches import LONGEST


@dataclass(frozen=True)
class CacheLimits:
    """The most tokens of a cache, and what follows for dimensions: optimal and largest sizes by name."""

    tokens: int = LONGEST
    dims: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, "tuple[int, int]"])


def limits_of(module: ModuleOp, budget: int | None) -> CacheLimits:
    """The limits with which the caches of an imported module fit into `budget` bytes; none if they do so anyway.

    Where a present is the past and something more, the past is limited. Raises PlanError if that is not enough.
    """
    caches = [cache for cache in caches_of(main_of(module, "import")) if cache is not None]
    if budget is None or not caches:
        return CacheLimits()
    held, per_token = _tokens_that_fit(caches, budget)
    best = {symbol_of(size): size.value for size in sizes_of_module(module)}
    least = {symbol: symbol.low for symbol in best}
    dims: dict[str, tuple[int, int]] = {}
    for cache in caches:
        if cache.axis is None or _room(cache) <= held:
            continue
        past, present = (type.get_shape()[cache.axis] for type in (cache.past, cache.present))
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
    return CacheLimits(held, dims)


def _tokens_that_fit(caches: Sequence[CacheAttr], budget: int) -> tuple[int, int]:
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
