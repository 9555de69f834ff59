"""What `cache_memory` makes smaller than the profile does: dimensions, and the room of caches."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.sizes.polynomials import InputSymbol
from ...dialects.sizes.sizes import bounds_of, is_fixed, symbols_of
from ..config import EngineConfig
from ..specs import Signature, TensorSpec


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


def overfull_sizes(signature: Signature) -> list[tuple[int, int]]:
    """The symbolic sizes of presents that may be larger than there is room for, and that room."""
    pairs = [(signature.outputs[cache.output].shape, cache.room.shape) for cache in signature.caches]
    sizes = dict.fromkeys(each for shapes in pairs for each in zip(*shapes, strict=True))
    return [(size, room) for size, room in sizes if is_fixed(room) and bounds_of(size)[1] > room]
