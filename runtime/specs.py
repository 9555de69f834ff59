"""Specifications in a plan: inputs and outputs, calls, run-time checks, and the signature of a compiled model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import prod
from operator import index
from typing import Any, NoReturn, SupportsIndex, cast

import numpy as np
from typing_extensions import override

from ..dialects.arguments import check_kind, nearest, shown
from ..dialects.bounded_crops import Cut
from ..dialects.errors import InvalidInputError, UnsupportedError, out_of_range
from ..lowering.gpu_to_cuda.device_program import NO_PROGRAM, DeviceProgram


@dataclass(frozen=True)
class TensorSpec:
    """An input or output: name, static shape and element type.

    Along `bounded` axes the shape is an upper bound: a run determines the actual size.

    An output with `labels` holds places among these texts, and one with `keys` has a number for each of them in each
    row: an engine's call returns an array of the texts, or a list of a dictionary for each row.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    bounded: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    keys: tuple[int, ...] | tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return prod(self.shape) * self.dtype.itemsize

    @override
    def __str__(self) -> str:
        return _spec_text(self)


@dataclass(frozen=True)
class SymbolicSpec:
    """An input or output of an engine for many shapes: as TensorSpec, with texts for variable sizes.

    Such a text is a dimension's name, or a formula: ("batch", 2, "tokens + 1").
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: np.dtype[Any]
    bounded: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    keys: tuple[int, ...] | tuple[str, ...] = ()

    @override
    def __str__(self) -> str:
        return _spec_text(self)


def _spec_text(spec: TensorSpec | SymbolicSpec) -> str:
    sizes = (f"<={size}" if axis in spec.bounded else str(size) for axis, size in enumerate(spec.shape))
    return f"{spec.name}: {spec.dtype}[{', '.join(sizes)}]"


@dataclass(frozen=True)
class CacheSpec:
    """An input and an output, by number, that share memory: `room` is the whole buffer.

    Input and output start where the buffer does, and have its strides. The output may be longer along an `axis`.
    """

    input: int
    output: int
    room: TensorSpec
    axis: int | None = None


def check_placed(spec: TensorSpec, dtype: np.dtype[Any], shape: Sequence[int], what: str) -> None:
    """Raises InvalidInputError unless type and shape are those of an input or output; `what` precedes its name."""
    if dtype != spec.dtype:
        raise InvalidInputError(f"{what}'{spec.name}' has type {dtype} instead of {spec.dtype}")
    if shape != spec.shape:
        raise InvalidInputError(f"{what}'{spec.name}' has shape {list(shape)} instead of {list(spec.shape)}")


@dataclass(frozen=True)
class KernelCall:
    """One call in execution order: the kernel's function, and the ONNX node of its root."""

    kernel: str
    node: str


@dataclass(frozen=True, kw_only=True)
class Compilation:
    """A module being compiled to a device's code."""

    calls: tuple[KernelCall, ...]
    objects: Callable[[], Sequence[bytes]]
    """Waits for the code, as `ComputeDevice.load` takes it. Raises CompileError."""
    program: DeviceProgram = NO_PROGRAM
    """A GPU's launches of an inference, and what the host decides between them."""
    threads: int = 1
    profiled: bool = False
    """Whether the code measures the time of each call."""
    cancellable: bool = False
    """Whether the code looks at a stop word before each call."""
    pages_weights: bool = False
    """Whether the code maps and releases weights, which must be mapped from a file (see advise-weights)."""


@dataclass(frozen=True)
class RunCheck:
    """A run-time check: indices into the dimension of `size` elements by the op `subject`.

    Without a size it is a graph.fail, and the subject is its message.
    """

    subject: str
    size: int | None = None

    def error(self, noted: int) -> InvalidInputError:
        """The error for a recorded value."""
        return InvalidInputError(self.subject) if self.size is None else out_of_range(self.subject, noted, self.size)


def ordered(names: tuple[str, ...], inputs: Mapping[str, Any]) -> list[Any]:
    """Values by name in the names' order. Raises InvalidInputError naming missing or unknown ones."""
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
    """One shape for each input, in the order of names. Raises InvalidInputError for an invalid shape."""
    found: list[tuple[int, ...]] = []
    for name, shape in zip(names, ordered(names, shapes), strict=True):
        try:
            found.append(tuple(map(index, shape)))
        except TypeError:
            raise InvalidInputError(
                f"the shape of input '{name}' is {shown(shape)}; it must be a sequence of sizes"
            ) from None
    return tuple(found)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Signature:
    """The inputs and outputs of `main`."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    counts: tuple[TensorSpec, ...]
    """Further outputs of the code, after the model's: the actual sizes of bounded outputs."""
    caches: tuple[CacheSpec, ...]
    """Inputs that share memory with an output."""
    cuts: tuple[tuple[Cut, ...], ...]
    """For each count, the outputs and axes that it crops."""
    checks: tuple[RunCheck, ...]

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in the model's order."""
        return tuple(spec.name for spec in self.inputs)

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in the model's order."""
        return tuple(spec.name for spec in self.outputs)

    @cached_property
    def has_labels(self) -> bool:
        """Whether a call returns something else than tensors for some outputs: see TensorSpec."""
        return any(spec.labels or spec.keys for spec in self.outputs)

    @cached_property
    def cached(self) -> dict[int, CacheSpec]:
        """The caches by input number."""
        return {cache.input: cache for cache in self.caches}

    @cached_property
    def written(self) -> tuple[TensorSpec, ...]:
        """The buffers that code writes: the outputs that lie in no cache, and the counts of bounded outputs."""
        kept = {cache.output for cache in self.caches}
        return (*(spec for number, spec in enumerate(self.outputs) if number not in kept), *self.counts)

    @cached_property
    def buffers(self) -> tuple[TensorSpec, ...]:
        """The memory that code takes from the caller: for each input, of a cache the whole buffer, then `written`."""
        rooms = {cache.input: cache.room for cache in self.caches}
        return (*(rooms.get(number, spec) for number, spec in enumerate(self.inputs)), *self.written)

    def room(self, name: str) -> TensorSpec:
        """The buffer of a cache, by its input's name. Raises InvalidInputError for any other name."""
        check_kind("name", name, str, InvalidInputError)
        for cache in self.caches:
            if cache.room.name == name:
                return cache.room
        known = ", ".join(f"'{cache.room.name}'" for cache in self.caches) or "none"
        raise InvalidInputError(f"'{name}' is no cache; the caches are {known}")

    def ordered(self, inputs: Mapping[str, Any]) -> list[Any]:
        """The inputs' values in the model's order. Raises InvalidInputError naming missing or unknown ones."""
        return ordered(self.input_names, inputs)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PlanRecord(Signature):
    """A plan without code and weights, as stored in files, field by field."""

    needed: int
    """`arena_bytes`."""
    alignment: int
    threads: int
    calls: tuple[KernelCall, ...]
    profiled: bool
    cancellable: bool
    pages_weights: bool = False

    @property
    def arena_bytes(self) -> int:
        """Bytes of memory that a context needs, for the largest shapes of a profile."""
        return self.needed


def values_of(record: Signature, kind: type[Signature]) -> dict[str, Any]:
    """The fields of `kind`, a base class of the record's class, with their values, by name."""
    return {each.name: getattr(record, each.name) for each in fields(kind)}


class Stationary:
    """An object with machine code or memory addresses: it can't be copied or sent to another process."""

    @override
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        raise UnsupportedError(
            f"{type(self).__name__} can't be pickled or copied: it holds machine code loaded into this process. "
            "Threads may share it; another process compiles the model itself"
        )
