"""What a plan says of itself: its inputs and outputs, its calls, and what may be wrong with a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any, NoReturn, SupportsIndex, cast

import numpy as np
from typing_extensions import override

from ..dialects.arguments import nearest, shown
from ..dialects.errors import InvalidInputError, UnsupportedError, out_of_range


@dataclass(frozen=True)
class TensorSpec:
    """An input or output: name, static shape and element type.

    Along `bounded` axes the shape is the most there can be: how much there is turns out in a run.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    bounded: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return prod(self.shape) * self.dtype.itemsize

    @override
    def __str__(self) -> str:
        return _spec_text(self)


@dataclass(frozen=True)
class SymbolicSpec:
    """An input or output of an engine for many shapes: as TensorSpec, but sizes that differ are texts.

    Such a text is a dimension's name, or how a size hangs on such names: ("batch", 2, "tokens + 1").
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: np.dtype[Any]
    bounded: tuple[int, ...] = ()

    @override
    def __str__(self) -> str:
        return _spec_text(self)


def _spec_text(spec: TensorSpec | SymbolicSpec) -> str:
    sizes = (f"<={size}" if axis in spec.bounded else str(size) for axis, size in enumerate(spec.shape))
    return f"{spec.name}: {spec.dtype}[{', '.join(sizes)}]"


@dataclass(frozen=True)
class CacheSpec:
    """An input and an output, by number, that lie in the same memory: `room` is all of it.

    Input and output begin where the memory does, and have its strides.
    """

    input: int
    output: int
    room: TensorSpec


def check_placed(spec: TensorSpec, dtype: np.dtype[Any], shape: Sequence[int], what: str) -> None:
    """Raises InvalidInputError where type or shape are not those of an input or output; `what` goes before its name."""
    if dtype != spec.dtype:
        raise InvalidInputError(f"{what}'{spec.name}' has type {dtype} instead of {spec.dtype}")
    if shape != spec.shape:
        raise InvalidInputError(f"{what}'{spec.name}' has shape {list(shape)} instead of {list(spec.shape)}")


@dataclass(frozen=True)
class KernelCall:
    """One call in the order of execution: the kernel's function and the ONNX node it began with."""

    kernel: str
    node: str


@dataclass(frozen=True)
class RunCheck:
    """What may be wrong with a run: an index in the dimension of `size` elements that the op `subject` counts in.

    Without a size it is a graph.fail that was run, and the subject is its message.
    """

    subject: str
    size: int | None = None

    def error(self, noted: int) -> InvalidInputError:
        """The error for what a run has noted."""
        return InvalidInputError(self.subject) if self.size is None else out_of_range(self.subject, noted, self.size)


def ordered(names: tuple[str, ...], inputs: Mapping[str, Any]) -> list[Any]:
    """What is given by name, in the names' order; raises InvalidInputError naming what is missing or unknown."""
    if not isinstance(cast("object", inputs), Mapping):
        raise InvalidInputError(f"inputs by name are expected as a mapping, got {type(inputs).__name__}")
    missing = [name for name in names if name not in inputs]
    if missing or len(inputs) > len(names):
        if unknown := [name for name in inputs if name not in names]:
            hint = nearest(unknown[0], names)
            raise InvalidInputError(f"there is no input {_quoted(unknown)}{hint}; the model has {_quoted(names)}")
        raise InvalidInputError(f"input {_quoted(missing)} is missing")
    return [inputs[name] for name in names]


def _quoted(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def ordered_shapes(names: tuple[str, ...], shapes: Mapping[str, Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """One shape for each input, in the order of their names; raises InvalidInputError for what is no shape."""
    found: list[tuple[int, ...]] = []
    for name, shape in zip(names, ordered(names, shapes), strict=True):
        try:
            found.append(tuple(map(index, shape)))
        except TypeError:
            raise InvalidInputError(
                f"the shape of input '{name}' is {shown(shape)}; it must be a sequence of sizes"
            ) from None
    return tuple(found)


class Stationary:
    """What holds machine code or memory that it points to: it stays in its process, and there is one of it."""

    @override
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        raise UnsupportedError(
            f"{type(self).__name__} can't be pickled or copied: it holds machine code loaded into this process. "
            "Threads may share it; another process compiles the model itself"
        )
