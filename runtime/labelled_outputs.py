"""Outputs as the model's caller expects them: texts in place of their places, and mappings from labels to numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .device import Array

if TYPE_CHECKING:
    from .memory.tensor import Tensor
    from .specs import SymbolicSpec, TensorSpec


def labelled(specs: Sequence[TensorSpec | SymbolicSpec], outputs: Sequence[Array | Tensor]) -> list[Any]:
    """The outputs, in their specs' order.

    One with `labels` [...], which holds places among them, becomes an array of the texts, of type object. One with
    `keys`, [rows, keys], becomes a list of a dictionary for each row, from a key to the number as Python's.
    """
    return [
        _labelled(spec, output) if spec.labels or spec.keys else output
        for spec, output in zip(specs, outputs, strict=True)
    ]


def _labelled(spec: TensorSpec | SymbolicSpec, output: Array | Tensor) -> Any:
    array = output if isinstance(output, np.ndarray) else output.to("cpu").numpy()
    if spec.labels:
        return np.array(spec.labels, object)[array]
    return [dict(zip(spec.keys, row, strict=True)) for row in array.tolist()]
