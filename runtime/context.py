"""ExecutionContext: one arena and the buffers bound to a plan's inputs and outputs."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..dialects.errors import InvalidInputError, OutOfMemoryError
from ..dialects.graph.indexing import out_of_range
from .specs import Stationary, TensorSpec
from .storage import Array, Storage, Tensor, as_array

if TYPE_CHECKING:
    from .plan import InferencePlan


@dataclass(frozen=True)
class KernelTime:
    """Nanoseconds that one call took in the last run."""

    kernel: str
    node: str
    nanoseconds: int


class ExecutionContext(Stationary):
    """Runs a plan on memory of its own. A context serves one thread at a time; make one for each.

    Buffers may be bound (`bind_input`, `bind_output`) and `execute` called many times, without a copy and without an
    allocation; or `run` takes arrays and returns fresh ones.
    """

    def __init__(self, plan: InferencePlan, arena: object | None = None) -> None:
        self.plan = plan
        self.arena = _arena_storage(plan, arena)
        self._arena_bytes = self.arena.data  # alive as long as native code may write there
        self._run_native = plan.run
        self._nothing_wrong = bytes(8 * len(plan.checks))
        self._status = memoryview(bytearray(self._nothing_wrong))  # an array would take ten times as long to look at
        self._names = (*plan.input_names, *plan.output_names)
        self._times = np.zeros(len(plan.calls) + 1, np.int64)
        self._bound: list[Array | None] = [None] * len(self._names)
        self._bound_pointers = self._pointer_array()
        self._bound_are_apart = False
        self._run_pointers = self._pointer_array()

    def _pointer_array(self) -> ctypes.Array[ctypes.c_void_p]:
        """What the native code takes; inputs and outputs, which come first, are to be filled in."""
        own = [self.arena.address]
        if self.plan.checks:
            own.append(ctypes.addressof(ctypes.c_char.from_buffer(self._status)))
        own.append(self.plan.weights.ctypes.data)
        if self.plan.profiled:
            own.append(self._times.ctypes.data)
        return (ctypes.c_void_p * (len(self._names) + len(own)))(*[None] * len(self._names), *own)

    def bind_input(self, name: str, memory: object) -> None:
        """Read input `name` from this memory in the following runs: a Tensor, a numpy array or DLPack memory.

        Raises InvalidInputError where shape or type are wrong or the elements don't lie row-major without gaps.
        """
        index = _index(self.plan.input_names, name, "input")
        self._bind(index, _fitting(self.plan.inputs[index], memory))

    def bind_output(self, name: str, memory: object) -> None:
        """Write output `name` to this memory in the following runs; as bind_input, and it must be writable."""
        index = _index(self.plan.output_names, name, "output")
        array = _fitting(self.plan.outputs[index], memory)
        if not array.flags.writeable:
            raise InvalidInputError(f"the memory for '{name}' is read-only")
        self._bind(len(self.plan.inputs) + index, array)

    def _bind(self, index: int, array: Array) -> None:
        self._bound[index] = array
        self._bound_pointers[index] = _address(array)
        self._bound_are_apart = False

    def execute(self) -> None:
        """One inference on the bound buffers.

        Raises InvalidInputError where one is not bound, or what is written overlaps anything else; and where an index
        turned out to be out of range, once all is over: then what the outputs hold means nothing.
        """
        if not self._bound_are_apart:
            self._check_bound()
        self._run(self._bound_pointers)

    def _run(self, pointers: ctypes.Array[ctypes.c_void_p]) -> None:
        self._status[:] = self._nothing_wrong
        self._run_native(ctypes.addressof(pointers))
        if self._status.tobytes() != self._nothing_wrong:
            indices = np.frombuffer(self._status, np.int64)
            place = int(np.flatnonzero(indices)[0])
            check = self.plan.checks[place]
            raise out_of_range(check.subject, int(indices[place]), check.size)

    def _check_bound(self) -> None:
        spans: list[tuple[str, int, int]] = []
        for name, array in zip(self._names, self._bound, strict=True):
            if array is None:
                raise InvalidInputError(f"nothing is bound to '{name}'")
            start = _address(array)
            spans.append((f"'{name}'", start, start + array.nbytes))
        read, written = spans[: len(self.plan.inputs)], spans[len(self.plan.inputs) :]
        written.append(("the arena", self.arena.address, self.arena.address + self.plan.arena_bytes))
        for index, (what, low, high) in enumerate(written):
            for other, start, end in (*read, *written[:index]):
                if low < end and start < high:
                    raise InvalidInputError(f"the memory of {what} overlaps that of {other}")
        self._bound_are_apart = True

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """One inference on arrays by name; fresh arrays by name.

        Raises InvalidInputError: before anything runs, or for an index that turned out to be out of range.
        """
        outputs = self.run_ordered(self.plan.ordered(inputs))
        return dict(zip(self.plan.output_names, outputs, strict=True))

    def run_ordered(self, inputs: Sequence[Any]) -> list[Array]:
        """`run` on one array for each input, in the model's order, to arrays in the model's order."""
        plan, pointers = self.plan, self._run_pointers
        if len(inputs) != len(plan.inputs):
            raise InvalidInputError(f"{len(inputs)} inputs are given; the model has {len(plan.inputs)}")
        arrays = [checked(spec, value) for spec, value in zip(plan.inputs, inputs, strict=True)]
        if not self.arena.owned:
            self._check_outside_arena(arrays)
        try:
            outputs = [np.empty(spec.shape, spec.dtype) for spec in plan.outputs]
        except MemoryError:
            total = sum(spec.nbytes for spec in plan.outputs)
            raise OutOfMemoryError(f"there is no memory for {total} bytes of outputs") from None
        index = 0
        for array in arrays:
            pointers[index] = _address(array)
            index += 1
        for array in outputs:
            pointers[index] = _address(array)
            index += 1
        self._run(pointers)
        return outputs

    def tensor(self, name: str) -> Tensor:
        """An intermediate by its name in the memory plan, where it lies in the arena.

        Its bytes are others' before and after its lifetime, so after a run it holds what the run left there: look at
        `plan.memory` for who that is, or compile with `enable_memory_planning=False` to keep every intermediate.
        Raises InvalidInputError where the arena holds no tensor of that name.
        """
        for record in self.plan.memory.tensors:
            if record.name == name and record.offset is not None:
                return Tensor(self.arena, record.shape, record.dtype, record.offset, record.strides)
        raise InvalidInputError(f"the arena holds no tensor '{name}'; plan.memory.tensors lists what it holds")

    def _check_outside_arena(self, arrays: Sequence[Array]) -> None:
        """The caller lent the arena, so that an input may lie in it; it would be overwritten while being read."""
        for name, array in zip(self.plan.input_names, arrays, strict=True):
            if np.may_share_memory(array, self.arena.data[: self.plan.arena_bytes]):
                raise InvalidInputError(f"input '{name}' lies in the arena")

    def profile(self) -> list[KernelTime]:
        """What each call of the last run took; empty unless the plan was built with `enable_profiling`."""
        if not self.plan.profiled:
            return []
        spans = zip(self.plan.calls, np.diff(self._times), strict=True)
        return [KernelTime(call.kernel, call.node, int(span)) for call, span in spans]


def checked(spec: TensorSpec, value: Any) -> Array:
    """`value` as a row-major array of the input's type and shape; raises InvalidInputError naming the input.

    Arrays must have the type already; Python's lists and numbers are converted.
    """
    array = cast("Array", value) if isinstance(value, np.ndarray) else _converted(spec, value)
    _check_type(spec, array, "input ")
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")


def _converted(spec: TensorSpec, value: Any) -> Array:
    """An array from what is not a numpy array."""
    try:
        if hasattr(value, "__array__"):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return as_array(value)
        natural: Array = np.asarray(value)
        both_integers = natural.dtype.kind in "iu" and spec.dtype.kind in "iu"
        if both_integers or np.can_cast(natural.dtype, spec.dtype, "same_kind"):
            return np.asarray(value, spec.dtype)
    except (BufferError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(f"input '{spec.name}': {error}") from None
    return natural


def _fitting(spec: TensorSpec, memory: object) -> Array:
    """An array over memory that native code may use as it is."""
    array = memory.numpy() if isinstance(memory, Tensor) else as_array(memory)
    _check_type(spec, array, "the memory for ")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise InvalidInputError(f"the memory for '{spec.name}' must be row-major without gaps and aligned")
    return array


def _check_type(spec: TensorSpec, array: Array, what: str) -> None:
    if array.dtype != spec.dtype:
        raise InvalidInputError(f"{what}'{spec.name}' has type {array.dtype} instead of {spec.dtype}")
    if array.shape != spec.shape:
        raise InvalidInputError(f"{what}'{spec.name}' has shape {list(array.shape)} instead of {list(spec.shape)}")


def _index(names: tuple[str, ...], name: str, kind: str) -> int:
    if name not in names:
        raise InvalidInputError(f"there is no {kind} '{name}'; the model has {', '.join(map(repr, names))}")
    return names.index(name)


def _address(array: Array) -> int:
    """Where an array's first element is; `array.ctypes.data`, which takes 2 us, only where nothing else works."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(cast("Any", array)))
    except (TypeError, ValueError):  # read-only, empty, or of a type that buffers don't know
        return int(array.ctypes.data)


def _arena_storage(plan: InferencePlan, arena: object | None) -> Storage:
    if arena is None:
        return Storage.allocate(plan.arena_bytes, plan.alignment)
    storage = Storage.borrow(arena)
    if not storage.writable:
        raise InvalidInputError("the arena is read-only")
    if storage.capacity < plan.arena_bytes:
        raise InvalidInputError(f"the arena has {storage.capacity} bytes, but the plan needs {plan.arena_bytes}")
    if plan.arena_bytes and storage.address % plan.alignment:
        raise InvalidInputError(f"the arena at {storage.address:#x} is not aligned to {plan.alignment} bytes")
    return storage
