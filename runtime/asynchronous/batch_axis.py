"""BatchAxis: axis 0 of a model's inputs and outputs, along which requests are joined to one run and split again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...dialects.errors import ConfigError, InvalidInputError, UnsupportedError
from ..device import Array
from ..inputs import of_any_shape
from ..specs import Signature, TensorSpec, check_placed

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class BatchAxis:
    """How many rows a run takes, `least` to `most`: the first axis of each input and output."""

    inputs: tuple[TensorSpec, ...]
    least: int
    most: int
    check_shapes: Callable[[Shapes], object] | None = None
    """Where shapes are open: raises InvalidInputError for those of the inputs that no run can have."""

    @classmethod
    def of(
        cls, plan: Signature, span: tuple[int, int] | None = None, check: Callable[[Shapes], object] | None = None
    ) -> BatchAxis:
        """Of a plan whose number of rows is fixed, or lies in `span`.

        Raises ConfigError for inputs, and UnsupportedError for outputs, without rows.
        """
        rows = rows_of(plan.inputs, plan.outputs)
        if plan.caches:
            raise UnsupportedError("a model with caches has a state for each caller: its requests can't be joined")
        return cls(plan.inputs, *(span or (rows, rows)), check)

    def request(self, values: Sequence[Any], most: int) -> list[Array]:
        """The arrays of one request, of up to `most` rows. Raises InvalidInputError for what doesn't fit the model."""
        arrays = [of_any_shape(spec, value) for spec, value in zip(self.inputs, values, strict=True)]
        for spec, array in zip(self.inputs, arrays, strict=True):
            if array.ndim != len(spec.shape):
                wanted = ", ".join(map(str, spec.shape))
                raise InvalidInputError(f"input '{spec.name}' has shape {list(array.shape)} instead of [{wanted}]")
        counts = {len(array) for array in arrays}
        if len(counts) > 1:
            raise InvalidInputError(f"inputs have different numbers of rows: {sorted(counts)}")
        (count,) = counts
        for spec, array in zip(self.inputs, arrays, strict=True):
            shape = array.shape[1:] if self.check_shapes is not None else spec.shape[1:]
            check_placed(replace(spec, shape=(count, *shape)), array.dtype, array.shape, "input ")
        if not 1 <= count <= most:
            raise InvalidInputError(f"a request has {count} rows; it may have 1 to {most}")
        if self.check_shapes is not None:
            self.check_shapes(tuple((self.padded(count), *array.shape[1:]) for array in arrays))
        return arrays

    def padded(self, count: int) -> int:
        """The number of rows of the run for `count` rows, of which the last is repeated."""
        return max(count, self.least)

    def joined(self, requests: Sequence[Sequence[Array]]) -> list[Array]:
        """The inputs of one run for several requests, as copies."""
        count = sum(len(arrays[0]) for arrays in requests)
        found: list[Array] = []
        for number, spec in enumerate(self.inputs):
            parts = [arrays[number] for arrays in requests]
            whole = np.empty((self.padded(count), *parts[0].shape[1:]), spec.dtype)
            np.concatenate(parts, out=whole[:count])
            whole[count:] = whole[count - 1]
            found.append(whole)
        return found

    def split(self, outputs: Sequence[Array], counts: Sequence[int]) -> list[list[Array]]:
        """The outputs of each of several requests with these numbers of rows, as copies."""
        found: list[list[Array]] = []
        start = 0
        for count in counts:
            found.append([np.array(array[start : start + count]) for array in outputs])
            start += count
        return found


def rows_of(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int:
    """The rows of one inference. Raises ConfigError for inputs, UnsupportedError for outputs, without rows."""
    rows = {spec.shape[0] if spec.shape else 0 for spec in inputs}
    if len(rows) != 1 or 0 in rows:
        raise ConfigError(f"inputs need one number of rows, their first axis: {', '.join(map(str, inputs)) or 'none'}")
    most = rows.pop()
    for spec in outputs:
        if not spec.shape or spec.shape[0] != most or spec.bounded:
            raise UnsupportedError(f"output {spec} has not a row for each of the {most} that go in")
    return most
