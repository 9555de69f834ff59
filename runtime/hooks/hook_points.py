"""Hook points: where the buffers of each kernel call of a plan lie, and the ONNX tensors that its results are."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from ..device import Array

Offset: TypeAlias = "Callable[[Sequence[int]], int]"
"""Bytes, from the numbers of the turns of loops."""


@dataclass(frozen=True)
class HookedBuffer:
    """A result or a weight of a kernel call: a strided window of the memory that one of main's arguments points to."""

    name: str
    """The ONNX tensor's name, where it is one."""
    argument: int
    offset: Offset
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes."""
    dtype: np.dtype[Any]
    model_shape: tuple[int, ...] | None = None
    """The shape of the ONNX tensor that it is; None if it is none of the model's."""
    order: tuple[int, ...] | None = None
    """The order in which axes of the ONNX tensor lie in memory; None for the model's own order."""

    def array(self, address: int, turns: Sequence[int], keep: object) -> Array:
        """A read-only view, in the model's shape where it is a tensor of the model; `keep` lives as long."""
        extents = ((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))
        nbytes = sum(extents) + self.dtype.itemsize if all(self.shape) else 0
        buffer = cast("Any", (ctypes.c_char * nbytes).from_address(address + self.offset(turns)))
        buffer.keep = keep
        stored: Array = np.ndarray(self.shape, self.dtype, buffer, 0, self.strides)
        stored.flags.writeable = False
        return stored if self.model_shape is None else self._in_model_order(stored, self.model_shape)

    def _in_model_order(self, stored: Array, shape: tuple[int, ...]) -> Array:
        if self.order is None:
            return stored.reshape(shape)
        permuted = tuple(shape[axis] for axis in self.order)
        return stored.reshape(permuted).transpose(np.argsort(self.order))


@dataclass(frozen=True)
class HookPoint:
    """A kernel call of main."""

    step: int
    kernel: str
    nodes: tuple[str, ...]
    results: tuple[HookedBuffer, ...]
    weights: tuple[HookedBuffer, ...] = ()
    """Its operands that are weights."""
    turns: int = 0
    """How many numbers of turns of loops the places of its buffers depend on."""


HookPoints: TypeAlias = Mapping[str, HookPoint]
"""By the names of the functions that make the calls."""


class CallBuffers:
    """The buffers of one call, as arrays."""

    def __init__(
        self, point: HookPoint, turn: int, addresses: Sequence[int], turns: Sequence[int], keep: object
    ) -> None:
        self.point, self.turn = point, turn
        self._addresses, self._turns, self._keep = addresses, turns, keep

    def array(self, buffer: HookedBuffer) -> Array:
        """An operand or a result of the call."""
        return buffer.array(self._addresses[buffer.argument], self._turns, self._keep)


class CallObserver(Protocol):
    """Who looks at the calls of a run."""

    def start(self, inputs: Sequence[Array]) -> None:
        """Called before the first call of a run."""
        ...

    def called(self, call: CallBuffers) -> None:
        """Called after each call; an exception ends the run."""
        ...


@dataclass(frozen=True)
class KernelRun:
    """A kernel call that has just been carried out, as a hook gets it.

    `outputs` are read-only views of the memory that it has written, which later calls overwrite: copy what is to be
    kept. `temporaries` are results that are no tensors of the model, as they lie in memory.
    """

    step: int
    """The number of the call in the plan."""
    kernel: str
    nodes: tuple[str, ...]
    """The ONNX nodes that it computes."""
    turn: int
    """How often it was carried out before in this run: more than 0 in a loop."""
    outputs: Mapping[str, Array] = field(repr=False)
    """By the names of the ONNX tensors, in their shapes."""
    temporaries: Mapping[str, Array] = field(repr=False)
    """By names of the plan's own."""


Hook: TypeAlias = "Callable[[KernelRun], object]"


class HookObserver:
    """Shows calls to a function of the user's."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def start(self, inputs: Sequence[Array]) -> None:
        """Nothing is to be done."""

    def called(self, call: CallBuffers) -> None:
        """Calls the function."""
        point = call.point
        shown = {each.name: call.array(each) for each in point.results if each.model_shape is not None}
        others = {each.name: call.array(each) for each in point.results if each.model_shape is None}
        self._hook(KernelRun(point.step, point.kernel, point.nodes, call.turn, shown, others))
