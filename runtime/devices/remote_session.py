"""Sessions on devices whose memory numpy can't access: device tensors are bound, host arrays are copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from typing_extensions import override

from ...dialects.errors import InvalidInputError
from ...lowering import call_times
from ..asynchronous.cancellation import RunControl
from ..compute_device import LoadedPlan, Session, Wrong, check_no_stream
from ..device import DEFAULT_ALIGNMENT, Array, Memory, device_named
from ..limits import memory_for
from ..memory.host_memory import bytes_of
from ..memory.kv_cache_memory import beginning
from ..memory.tensor import Tensor, lies_on_gpu
from ..specs import TensorSpec, check_placed


class RemoteSession(Session):
    """Runs a plan by `launch`, which receives the addresses of the buffers and returns when it is done.

    It also receives the run's control, and may return before a launch where that is over.

    These are inputs, outputs, the arena, the status (8 bytes for each of the plan's `checks`, if any), weights, the
    stop word if the plan is cancellable, and the times if it is profiled.
    """

    def __init__(
        self, plan: LoadedPlan, arena: Memory, launch: Callable[[Sequence[int], RunControl | None], None]
    ) -> None:
        self._name = plan.config.place
        self._device = device_named(self._name)
        self._launch = launch
        self._take_shapes(plan)
        self._status = self._zeroed(8 * len(plan.checks)) if plan.checks else None
        self._calls = len(plan.calls)
        self._times = self._zeroed(8 * call_times.length(self._calls)) if plan.profiled and not plan.launches else None
        never = self._zeroed(8) if plan.cancellable else None  # the stop word of a CPU's code, which nobody sets
        self._own = [each for each in (arena, self._status, plan.weights, never, self._times) if each is not None]
        self._bound: dict[int, Tensor] = {}
        self._staged: dict[int, Memory] = {}
        self._control: RunControl | None = None

    def _zeroed(self, nbytes: int) -> Memory:
        with memory_for(f"{nbytes} bytes of an inference's"):
            return self._device.allocate(nbytes, DEFAULT_ALIGNMENT)

    @override
    def use(self, plan: LoadedPlan) -> None:
        self._take_shapes(plan)
        shown = len(self._specs) - len(plan.counts)
        self._bound = {each: held for each, held in self._bound.items() if each in self._presents or each >= shown}

    def _take_shapes(self, plan: LoadedPlan) -> None:
        self._specs, self._inputs = plan.buffers, len(plan.inputs)
        self._presents = {cache.input: plan.outputs[cache.output].shape for cache in plan.caches}

    def _stage(self, elsewhere: Mapping[int, int]) -> list[int]:
        """The addresses of all buffers: some are `elsewhere`, by number; the others are memory of the session."""
        for number, spec in enumerate(self._specs):
            held = self._staged.get(number)
            if number not in elsewhere and (held is None or held.nbytes < spec.nbytes):
                self._staged[number] = self._zeroed(grown(spec.nbytes, held))
        numbers = range(len(self._specs))
        return [elsewhere[each] if each in elsewhere else self._staged[each].address for each in numbers]

    def _left_out(self, inputs: Sequence[Array | None]) -> dict[int, int]:
        """The addresses of the bound caches for which no arrays are given."""
        return {number: self._bound[number].address for number, array in enumerate(inputs) if array is None}

    def _give_back(self, number: int, room: Array, found: Array) -> None:
        """Takes a cache's present over from the bytes of its buffer on the device; its room may reach further."""
        shape = self._presents[number]
        beginning(room, shape)[...] = beginning(found.view(room.dtype).reshape(room.shape), shape)

    @override
    def watch(self, control: RunControl | None) -> None:
        self._control = control

    @override
    def bind(self, index: int, spec: TensorSpec, memory: object, *, written: bool) -> tuple[int, int]:
        if lies_on_gpu(memory):
            memory = Tensor.from_dlpack(memory)
        if not isinstance(memory, Tensor) or memory.device != self._name:
            where = f"a tensor on '{memory.device}'" if isinstance(memory, Tensor) else type(memory).__name__
            raise InvalidInputError(f"the memory for '{spec.name}' must be a tensor on '{self._name}', got {where}")
        check_placed(spec, memory.dtype, memory.shape, "the memory for ")
        aligned = max(spec.dtype.alignment, self._device.access_bytes)
        if not memory.is_contiguous or memory.address % aligned:
            where = f"aligned to {aligned} bytes"
            raise InvalidInputError(f"the memory for '{spec.name}' must be row-major without gaps and {where}")
        if written and not memory.storage.writable:
            raise InvalidInputError(f"the memory for '{spec.name}' is read-only")
        # A snapshot, independent of later changes to the caller's tensor and its storage.
        self._bound[index] = memory.pinned()
        return memory.address, memory.address + spec.nbytes

    def _bound_addresses(self) -> tuple[int, ...]:
        return tuple(self._bound[index].address for index in range(len(self._specs)))

    @override
    def execute(self) -> Wrong | None:
        return self._run(self._bound_addresses())

    @override
    def run_tensors(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], stream: object = None) -> Wrong | None:
        check_no_stream(stream)
        return self._run([each.address for each in (*inputs, *outputs)])

    @override
    def run(self, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> Wrong | None:
        addresses = self._stage(self._left_out(inputs))
        for number, array in enumerate(inputs):
            if array is not None:
                self._staged[number].write(0, bytes_of(array))
        wrong = self._run(addresses)
        for number, array in enumerate(outputs, self._inputs):
            self._staged[number].read(0, bytes_of(array))
        for number in self._presents:
            if (room := inputs[number]) is not None:
                found = np.empty(room.nbytes, np.uint8)
                self._staged[number].read(0, found)
                self._give_back(number, room, found)
        return wrong

    def _run(self, addresses: Sequence[int]) -> Wrong | None:
        if self._status is not None:
            self._status.zero()
        if self._times is not None:
            self._times.zero()
        self._launch([*addresses, *(memory.address for memory in self._own)], self._control)
        if self._status is None:
            return None
        wrong = _integers(self._status)
        return wrong if wrong.any() else None

    @override
    def times(self) -> Array:
        return call_times.totals(self._noted(), self._calls)

    @override
    def turns(self) -> Array:
        return call_times.turns(self._noted(), self._calls)

    def _noted(self) -> Array:
        assert self._times is not None, "the plan is not profiled"
        return _integers(self._times)


def grown(nbytes: int, held: Memory | Array | None) -> int:
    """Bytes to allocate in place of what is too small: twice as many, as what grows once mostly grows on."""
    return nbytes if held is None else max(nbytes, 2 * held.nbytes)


def _integers(memory: Memory) -> Array:
    found = np.empty(memory.nbytes // 8, np.int64)
    memory.read(0, found.view(np.uint8))
    return found
