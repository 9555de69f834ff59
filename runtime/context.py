"""ExecutionContext: one arena and the buffers bound to a plan's inputs and outputs."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..dialects.errors import InvalidInputError
from .plan import InferencePlan, TensorSpec
from .storage import Array, Storage, Tensor, as_array


@dataclass(frozen=True)
class KernelTime:
    """Nanoseconds that one call took in the last run, on the first thread."""

    kernel: str
    node: str
    nanoseconds: int


class ExecutionContext:
    """Runs a plan on memory of its own. A context serves one thread at a time; make one for each.

    Buffers may be bound (`bind_input`, `bind_output`) and `execute` called many times, without a copy and without an
    allocation; or `run` takes arrays and returns fresh ones.
    """

    def __init__(self, plan: InferencePlan, arena: object | None = None) -> None:
        self.plan = plan
        self._arena = _arena_storage(plan, arena)
        self._run = plan.entry()
        self._inputs = {spec.name: index for index, spec in enumerate(plan.inputs)}
        self._outputs = {spec.name: index for index, spec in enumerate(plan.outputs)}
        self._bound: list[Array | None] = [None] * (len(plan.inputs) + len(plan.outputs))
        count = len(self._bound) + 2 + int(plan.profiled)
        self._pointers = (ctypes.c_void_p * count)()
        self._address = ctypes.addressof(self._pointers)
        base = len(self._bound)
        self._pointers[base] = self._arena.address
        self._pointers[base + 1] = plan.weights.ctypes.data
        self._times = np.zeros(len(plan.calls) + 1, np.int64)
        if plan.profiled:
            self._pointers[base + 2] = self._times.ctypes.data

    @property
    def arena(self) -> Storage:
        """The memory of the intermediates."""
        return self._arena

    def bind_input(self, name: str, tensor: Tensor | Array | Any) -> None:
        """Read input `name` from this memory in the following runs; shape, type and contiguity must be right."""
        index = self._index(self._inputs, name, "input")
        self._bind(index, self.plan.inputs[index], tensor)

    def bind_output(self, name: str, tensor: Tensor | Array | Any) -> None:
        """Write output `name` to this memory in the following runs."""
        index = self._index(self._outputs, name, "output")
        array = self._bind(len(self.plan.inputs) + index, self.plan.outputs[index], tensor)
        if not array.flags.writeable:
            raise InvalidInputError(f"output '{name}' is bound to read-only memory")

    def execute(self) -> None:
        """One inference on the bound buffers. Raises InvalidInputError where one is missing or two overlap."""
        names = [*self.plan.input_names, *self.plan.output_names]
        bound: list[Array] = []
        for name, array in zip(names, self._bound, strict=True):
            if array is None:
                raise InvalidInputError(f"nothing is bound to '{name}'")
            bound.append(array)
        inputs = len(self.plan.inputs)
        for index, output in enumerate(bound[inputs:], inputs):
            for other in range(index):
                if np.may_share_memory(output, bound[other]):
                    raise InvalidInputError(f"output '{names[index]}' overlaps '{names[other]}' in memory")
        self._run(self._address, self.plan.threads)

    def run(self, inputs: Mapping[str, Any]) -> list[Array]:
        """One inference on arrays; fresh arrays with the outputs, in the plan's order."""
        plan, pointers = self.plan, self._pointers
        if len(inputs) != len(plan.inputs):
            self._check_names(inputs)
        kept: list[Array] = []
        for index, spec in enumerate(plan.inputs):
            try:
                array = checked(spec, inputs[spec.name])
            except KeyError:
                self._check_names(inputs)
                raise
            kept.append(array)
            pointers[index] = array.__array_interface__["data"][0]
        outputs: list[Array] = []
        for index, spec in enumerate(plan.outputs, len(plan.inputs)):
            output = np.empty(spec.shape, spec.dtype)
            outputs.append(output)
            pointers[index] = output.__array_interface__["data"][0]
        self._run(self._address, plan.threads)
        self._rebind()
        return outputs

    def profile(self) -> list[KernelTime]:
        """What each call of the last run took; empty unless the plan was built with `enable_profiling`."""
        if not self.plan.profiled:
            return []
        spans = np.diff(self._times)
        return [
            KernelTime(call.kernel, call.node, int(span)) for call, span in zip(self.plan.calls, spans, strict=True)
        ]

    def _rebind(self) -> None:
        """`run` used the pointers: put back those of bound buffers."""
        for index, array in enumerate(self._bound):
            if array is not None:
                self._pointers[index] = array.ctypes.data

    def _check_names(self, inputs: Mapping[str, Any]) -> None:
        wanted = set(self.plan.input_names)
        missing, unknown = sorted(wanted - set(inputs)), sorted(set(inputs) - wanted)
        if missing:
            raise InvalidInputError(f"missing input: {', '.join(missing)}")
        if unknown:
            raise InvalidInputError(f"no input named {', '.join(unknown)}; the model has {', '.join(sorted(wanted))}")

    def _index(self, table: Mapping[str, int], name: str, kind: str) -> int:
        if name not in table:
            raise InvalidInputError(f"no {kind} named '{name}'; the model has {', '.join(table)}")
        return table[name]

    def _bind(self, index: int, spec: TensorSpec, tensor: Tensor | Array | Any) -> Array:
        array = tensor.numpy() if isinstance(tensor, Tensor) else as_array(tensor)
        if array.shape != spec.shape or array.dtype != spec.dtype:
            raise InvalidInputError(
                f"'{spec.name}' is {spec.dtype}{list(spec.shape)}, not {array.dtype}{list(array.shape)}"
            )
        if not array.flags.c_contiguous:
            raise InvalidInputError(f"memory bound to '{spec.name}' must be contiguous")
        self._bound[index] = array
        self._pointers[index] = array.ctypes.data
        return array


def checked(spec: TensorSpec, value: Any) -> Array:
    """`value` as a contiguous array of the input's type and shape; raises InvalidInputError naming the input.

    Arrays must have the type already; lists and scalars are converted.
    """
    array: Array
    if isinstance(value, np.ndarray):
        array = cast("Array", value)
    elif hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        array = np.asarray(value)
    else:
        try:
            array = np.asarray(value, spec.dtype)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"input '{spec.name}': {error}") from None
    if array.dtype != spec.dtype:
        raise InvalidInputError(f"input '{spec.name}' is {spec.dtype}, not {array.dtype}")
    if array.shape != spec.shape:
        raise InvalidInputError(f"input '{spec.name}' has shape {list(spec.shape)}, not {list(array.shape)}")
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def _arena_storage(plan: InferencePlan, arena: object | None) -> Storage:
    if arena is None:
        return Storage.allocate(max(plan.arena_bytes, 1), plan.alignment)
    storage = Storage.borrow(arena)
    if storage.nbytes < plan.arena_bytes:
        raise InvalidInputError(f"the arena has {storage.nbytes} bytes, but the plan needs {plan.arena_bytes}")
    if storage.address % plan.alignment:
        raise InvalidInputError(f"the arena at {storage.address:#x} is not aligned to {plan.alignment} bytes")
    return storage
