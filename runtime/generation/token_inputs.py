"""The inputs of a language model's calls, but for its caches: tokens, positions, masks and lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...lowering.onnx_to_graph.language_models.language_model import LanguageModel, Role
from ..device import Array


@dataclass(frozen=True)
class Call:
    """The tokens of a call [sequences, rows], behind as many of each sequence as `lengths` says.

    `past` is the largest of the lengths: those of caches that grow, whose shorter sequences begin later.
    """

    ids: Array
    lengths: Sequence[int]
    past: int


class TokenInputs:
    """Fills inputs, in arrays that are made once for each shape.

    With `first`, tokens of a sequence lie in the first places of caches, otherwise in the last ones.
    """

    def __init__(self, model: LanguageModel, capacity: int, *, first: bool) -> None:
        self._model, self._capacity, self._first = model, capacity, first
        self._arrays: dict[tuple[Role, tuple[int, ...]], Array] = {}
        self._masks: dict[int, Array] = {}  # by number of sequences, memory for the longest

    def shapes(self, batch: int, rows: int, past: int) -> dict[str, tuple[int, ...]]:
        """The inputs' shapes."""
        inputs = self._model.inputs.items()
        return {each.name: self._shape(role, batch, rows, past) for role, each in inputs if role != "kept"}

    def _shape(self, role: Role, batch: int, rows: int, past: int) -> tuple[int, ...]:
        match role:
            case "ids" | "positions":
                return (batch, rows)
            case "mask":
                return (batch, past + rows)
            case "rows":
                return (rows,)
            case "seqlens" | "lengths":
                return (batch, 1)[: len(self._model.inputs[role].shape)]
            case _:
                return (1,)[: len(self._model.inputs[role].shape)]

    def fill(self, call: Call) -> Mapping[str, Array]:
        """The arrays of a call, by name; the next call with such shapes changes them."""
        batch, rows = call.ids.shape
        found: dict[str, Array] = {}
        for role, each in self._model.inputs.items():
            if role != "kept":
                array = found[each.name] = self._array(role, self._shape(role, batch, rows, call.past))
                self._write(role, array, call)
        return found

    def _array(self, role: Role, shape: tuple[int, ...]) -> Array:
        dtype = self._model.inputs[role].dtype
        if role == "mask":
            if shape[0] not in self._masks:
                self._masks[shape[0]] = np.zeros(shape[0] * self._capacity, dtype)
            return self._masks[shape[0]][: shape[0] * shape[1]].reshape(shape)
        if (role, shape) not in self._arrays:
            self._arrays[role, shape] = np.zeros(shape, dtype)
        return self._arrays[role, shape]

    def _write(self, role: Role, array: Array, call: Call) -> None:
        rows = call.ids.shape[1]
        match role:
            case "ids":
                array[...] = call.ids
            case "positions":
                for own, length in zip(array, call.lengths, strict=True):
                    own[...] = range(length, length + rows)
            case "mask":
                array[...] = 1
                for own, length in zip(array, call.lengths, strict=True):
                    apart = call.past - length
                    own[slice(length + rows, None) if self._first else slice(0, apart)] = 0
            case "rows":
                array[...] = range(call.past, call.past + rows)
            case "seqlens":
                array.reshape(-1)[...] = [length + rows - 1 for length in call.lengths]
            case "lengths":
                array.reshape(-1)[...] = call.lengths
            case "total":
                array[...] = call.past + rows
            case "past":
                array[...] = call.past
            case _:
                array[...] = call.past > 0
