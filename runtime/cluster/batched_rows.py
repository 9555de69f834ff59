"""Runs any number of rows through an engine with a fixed or limited batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...dialects.errors import ConfigError, InvalidInputError, UnsupportedError
from ..device import Array
from ..engine import Engine
from ..specs import TensorSpec


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
            for name, array in self._engine(part).items():
                found[name][start : start + size] = array[:size]
        return found

    def _part(self, rows: Array) -> Array:
        if len(rows) < self.most and not self._engine.config.is_dynamic:
            rows = np.concatenate([rows, np.repeat(rows[-1:], self.most - len(rows), axis=0)])
        return np.ascontiguousarray(rows)


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
