"""The sizes of a language model's inputs: numbers, ranges for a profile, and the shapes of its caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...dialects.errors import InvalidInputError, InvalidModelError
from ...lowering.onnx_to_graph.declared_inputs import Dimension, place_of
from ...lowering.onnx_to_graph.dimension_names import value_of_name
from ...lowering.onnx_to_graph.language_models.language_model import CachePair, Declared, LanguageModel
from .model_folder import ModelFolder

USUAL_PAST = 512
"""Tokens in caches for which code is optimised, if there is room for twice as many."""
USUAL_CHUNK = 512
"""Tokens of a prompt that are read at once where the model writes into caches itself."""

Span = tuple[int, int, int]


@dataclass(frozen=True)
class CacheShape:
    """The shape of a cache: sizes behind the batch, of which the number of tokens is None where it grows."""

    past: str
    present: str
    sizes: tuple[int | None, ...]

    @property
    def token_axis(self) -> int | None:
        """The axis of tokens of a cache that grows."""
        return self.sizes.index(None) + 1 if None in self.sizes else None

    @property
    def scales(self) -> CacheShape:
        """The cache of its scales, if it is narrowed to bytes."""
        return CacheShape(f"{self.past}.scale", f"{self.present}.scale", (*self.sizes[:-1], 1))

    def shape(self, batch: int, past: int) -> tuple[int, ...]:
        """The shape with so many sequences and tokens."""
        return (batch, *(past if size is None else size for size in self.sizes))


@dataclass(frozen=True)
class ModelSizes:
    """What `compile` is told of dimensions, and how many tokens there is room for."""

    dims: Mapping[str, int]
    ranges: Mapping[str, Span]
    caches: Sequence[CacheShape]
    capacity: int
    chunk: int


def model_sizes(
    model: LanguageModel,
    folder: ModelFolder,
    capacity: int,
    sequences: int,
    chunk: int | None,
    dims: Mapping[str, int],
) -> ModelSizes:
    """The sizes for so many tokens and sequences, and prompts of up to `chunk` tokens at once, or as many as usual.

    `dims` are sizes that the caller knows. Raises InvalidModelError for dimensions that nothing tells, and
    InvalidInputError for more tokens or sequences than the model is made for.
    """
    found = _Sizes(model, folder, capacity, sequences, chunk, dims)
    caches = [found.cache(each) for each in model.caches]
    for role, each in model.inputs.items():
        match role, each.shape:
            case (("ids" | "positions"), (_, rows)):
                found.batch(each)
                found.chunk = found.span(each, 1, rows, (1, 1, found.chunk))
            case "mask", (_, total):
                found.batch(each)
                found.span(each, 1, total, (1, found.usual + 1, found.capacity))
            case "rows", (rows,):
                found.span(each, 0, rows, (1, 1, found.chunk))
            case (("seqlens" | "lengths"), (_,) | (_, 1)):
                found.batch(each)
            case (("total" | "past" | "cached" | "kept"), () | (1,)):
                pass
            case _:
                raise InvalidModelError(
                    f"input '{each.name}' has a shape {list(each.shape)} that the loop over tokens doesn't know"
                )
    return ModelSizes({**dims, **found.dims}, found.ranges, caches, found.capacity, found.chunk)


class _Sizes:
    """Sizes found so far."""

    def __init__(
        self,
        model: LanguageModel,
        folder: ModelFolder,
        capacity: int,
        sequences: int,
        chunk: int | None,
        given: Mapping[str, int],
    ) -> None:
        self.folder, self.sequences, self.given = folder, sequences, given
        self.capacity = min(capacity, folder.context or capacity)
        for each in model.caches:  # some have room for so many tokens
            if len(each.past.shape) == 4 and not each.shared and isinstance(each.past.shape[2], int):
                self.capacity = min(self.capacity, each.past.shape[2])
        self.usual = min(USUAL_PAST, self.capacity // 2)
        self.chunk = min(
            self.capacity, chunk or (USUAL_CHUNK if all(each.shared for each in model.caches) else capacity)
        )
        self.dims: dict[str, int] = {}
        self.ranges: dict[str, Span] = {}
        shapes = [each.shape for each in (*model.inputs.values(), *(cache.past for cache in model.caches))]
        self.names = {each: 1 for shape in shapes for each in shape if isinstance(each, str) and each}

    def span(self, value: Declared, axis: int, size: Dimension, wanted: Span) -> int:
        """Gives a range to a dimension; the largest size it may have. One of a fixed size has that of a step."""
        name = size if isinstance(size, str) and size else place_of(value.name, axis)
        fixed = size if isinstance(size, int) else self.given.get(name)
        if fixed is not None:
            if fixed != 1:
                raise InvalidInputError(
                    f"input '{value.name}': dimension {axis} is {fixed}, but a step has a single token"
                )
            return fixed
        if name in self.dims or value_of_name(name, self.names) is not None:
            return wanted[2]
        low, best, high = wanted
        if low == high:
            self.dims[name] = low
        else:
            self.ranges.setdefault(name, (low, min(best, high), high))
        return high

    def batch(self, value: Declared) -> None:
        """Gives a range to the axis of sequences. Prompts are read one by one, whatever their number."""
        size = value.shape[0]
        name = size if isinstance(size, str) and size else place_of(value.name, 0)
        fixed = size if isinstance(size, int) else self.given.get(name)
        if fixed is not None and (fixed != 1 or self.sequences > 1):
            wanted = f"1 to {self.sequences}" if self.sequences > 1 else "1"
            raise InvalidInputError(f"input '{value.name}' is for {fixed} sequences, not for {wanted}")
        self.span(value, 0, size, (1, 1, self.sequences))

    def cache(self, pair: CachePair) -> CacheShape:
        """The shape of a cache, whose first axis is that of sequences."""
        past = pair.past
        if len(past.shape) < 2:
            raise InvalidModelError(f"input '{past.name}' has a shape {list(past.shape)} that no cache has")
        self.batch(past)
        return CacheShape(past.name, pair.present, tuple(self._size(pair, axis) for axis in range(1, len(past.shape))))

    def _size(self, pair: CachePair, axis: int) -> int | None:
        past = pair.past
        size = past.shape[axis]
        if isinstance(size, int):
            return size
        name = size or place_of(past.name, axis)
        known: int | None = self.given.get(name)
        if known is None and len(past.shape) == 4:
            if axis == 2:
                if not pair.shared:
                    self.ranges.setdefault(name, (0, self.usual, self.capacity - 1))
                    return None
                known = self.capacity
            else:
                known = self.folder.heads if axis == 1 else self.folder.size
        if known is None:
            raise InvalidModelError(
                f"nothing tells the size of '{name}', axis {axis} of '{past.name}': give it by dims={{'{name}': SIZE}}"
            )
        self.dims[name] = known
        return known
