"""Runs any number of rows through an engine with a fixed or limited batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...dialects.errors import InvalidInputError
from ..asynchronous.batch_axis import rows_of
from ..asynchronous.batching import BatchingQueue
from ..device import Array
from ..engine import Engine


class Rows:
    """An engine as a function of rows: the first axis of each of its inputs and outputs.

    For an engine of fixed batch, an incomplete last batch is padded by repeating a row. Raises ConfigError for inputs,
    and UnsupportedError for outputs, without rows.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, plan = engine, engine.plan
        self.inputs, self.outputs = plan.inputs, plan.outputs
        self.most = rows_of(plan.inputs, plan.outputs)
        """Rows of one inference."""

    def __call__(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs for inputs by name, which all must have the same number of rows, 0 or more."""
        counts = {len(columns[spec.name]) for spec in self.inputs}
        if len(counts) != 1:
            raise InvalidInputError(f"inputs have different numbers of rows: {sorted(counts)}")
        (count,) = counts
        found = {spec.name: np.empty((count, *spec.shape[1:]), spec.dtype) for spec in self.outputs}
        for start in range(0, count, self.most):
            size = min(self.most, count - start)
            part = {spec.name: self._part(columns[spec.name][start : start + size]) for spec in self.inputs}
            for name, array in self._engine.tensors(part).items():
                found[name][start : start + size] = array[:size]
        return found

    def queue(self, wait: float) -> BatchingQueue:
        """A queue of requests, of which the first of a batch waits at most `wait` seconds for others.

        Results are tensors by name: `batched` would give what a call does, with labels as texts.
        """
        names = self._engine.output_names

        def shaped(outputs: Sequence[Array], _: object) -> dict[str, Array]:
            return dict(zip(names, outputs, strict=True))

        return self._engine._queue(shaped, self.most, wait * 1000, 1)  # pyright: ignore[reportPrivateUsage]

    def _part(self, rows: Array) -> Array:
        if len(rows) < self.most and not self._engine.config.is_dynamic:
            rows = np.concatenate([rows, np.repeat(rows[-1:], self.most - len(rows), axis=0)])
        return np.ascontiguousarray(rows)
