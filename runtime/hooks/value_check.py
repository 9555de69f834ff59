"""The check of values: the first kernel call of a run whose result has a NaN, or an infinity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.errors import NonFiniteError
from ..device import Array
from ..memory.kv_cache_memory import beginning
from ..specs import TensorSpec
from .hook_points import CallBuffers

_FOUND: dict[str, tuple[str, Callable[[Array], Any]]] = {"nan": ("a NaN", np.isnan), "inf": ("an infinity", np.isinf)}


class ValueCheck:
    """An observer that raises NonFiniteError at the first tensor of floats with a NaN ("nan") or infinity ("inf").

    Inputs are looked at first, so what a call makes of them has the call, or its weights, to blame.
    """

    def __init__(self, kind: str, inputs: Sequence[TensorSpec]) -> None:
        self._what, self._is_found = _FOUND[kind]
        self._inputs = inputs

    def start(self, inputs: Sequence[Array]) -> None:
        """Looks at the inputs of a run; a cache's is the beginning of its buffer."""
        for spec, array in zip(self._inputs, inputs, strict=True):
            if (index := self._first(beginning(array, spec.shape))) is not None:
                raise NonFiniteError(f"input '{spec.name}' has {self._what} at {list(index)}", spec.name, index)

    def called(self, call: CallBuffers) -> None:
        """Looks at the results of a call."""
        for result in call.point.results:
            if (index := self._first(call.array(result))) is not None:
                raise NonFiniteError(
                    self._text(call, result.name, index),
                    result.name,
                    index,
                    call.point.kernel,
                    call.point.nodes,
                    call.turn,
                )

    def _text(self, call: CallBuffers, tensor: str, index: tuple[int, ...]) -> str:
        point = call.point
        nodes = f" of {', '.join(point.nodes)}" if point.nodes else ""
        nodes += "; without graph optimisation the one of them is told" if len(point.nodes) > 1 else ""
        turn = f", turn {call.turn}" if call.turn else ""
        text = f"tensor '{tensor}' has {self._what} at {list(index)}: made by kernel {point.kernel} (step {point.step}"
        guilty = [each.name for each in point.weights if self._first(call.array(each)) is not None]
        weights = f", whose weights ({', '.join(guilty)}) have one already" if guilty else ""
        return f"{text}{turn}){nodes}{weights}"

    def _first(self, array: Array) -> tuple[int, ...] | None:
        """The index of the first element that is looked for, row-major."""
        try:
            found = self._is_found(array)
        except TypeError:  # of no type of floats
            return None
        if not found.any():
            return None
        return tuple(int(axis) for axis in np.unravel_index(int(found.argmax()), found.shape))
