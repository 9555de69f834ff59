"""Dimensions whose largest size is less than the profile's, so that the caches stay within `cache_memory`."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.sizes.polynomials import InputSymbol
from ...dialects.sizes.sizes import symbols_of
from ..config import EngineConfig
from ..specs import TensorSpec


def cut_dimensions(inputs: Sequence[TensorSpec], config: EngineConfig) -> dict[str, tuple[int, int]]:
    """By name of the dimension, the profile's largest size and the one that is possible; inputs have symbolic sizes."""
    profile, found = config.profile, dict[str, tuple[int, int]]()
    if config.cache_memory is None or profile is None:
        return found
    for spec in inputs:
        for axis, size in enumerate(spec.shape):
            for symbol in symbols_of(size):
                if isinstance(symbol, InputSymbol):
                    whole, span = profile.shapes.get(spec.name), profile.dims.get(symbol.dimension)
                    asked = whole[2][axis] if whole is not None else symbol.span[1] if span is None else span[2]
                    if asked > symbol.span[1]:
                        found[symbol.dimension] = asked, symbol.span[1]
    return found
