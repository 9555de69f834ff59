"""TensorType: the shape and element type of a value, as the rules of operators compute with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..arguments import checked_dtype, checked_sequence
from ..errors import OperatorError


@dataclass(frozen=True, init=False)
class TensorType:
    """The element type (a numpy dtype) and shape of a value.

    Sizes that are known only at run time are integers with a formula: they can be added, multiplied, divided (`//`,
    `%`) and compared like others, and what is computed from them is right at all shapes; a comparison holds the
    compiled code to the shapes with the same answer.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def __init__(self, dtype: Any, shape: Sequence[int]) -> None:
        """`dtype` is anything that numpy takes for one. Raises OperatorError for anything else, and for no sequence."""
        what = "a TensorType"
        sizes = checked_sequence(f"{what}'s shape", shape, "a sequence of sizes", OperatorError)
        object.__setattr__(self, "dtype", checked_dtype(f"{what}'s dtype", dtype, OperatorError))
        object.__setattr__(self, "shape", tuple(sizes))

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.dtype.itemsize

    def with_shape(self, *shape: int) -> TensorType:
        """The same element type with another shape."""
        return TensorType(self.dtype, shape)

    def with_dtype(self, dtype: Any) -> TensorType:
        """The same shape with another element type."""
        return TensorType(dtype, self.shape)
