"""Sessions on devices whose memory numpy can't access: device tensors are bound, host arrays are copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

import numpy as np
from typing_extensions import override

from ...dialects.errors import InvalidInputError
from ...lowering import call_times
from ..asynchronous.cancellation import RunControl
from ..compute_device import LoadedPlan, Session, Wrong, check_no_stream
from ..device import DEFAULT_ALIGNMENT, Array, Memory, device_named
from ..limits import memory_for
from ..memory.host_memory import bytes_of
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
        self._specs = (*plan.inputs, *plan.written)
        self._status = self._zeroed(8 * len(plan.checks)) if plan.checks else None
        self._calls = len(plan.calls)
        self._times = self._zeroed(8 * call_times.length(self._calls)) if plan.profiled and not plan.launches else None
        never = self._zeroed(8) if plan.cancellable else None  # the stop word of a CPU's code, which nobody sets
        self._own = [each for each in (arena, self._status, plan.weights, never, self._times) if each is not None]
        self._bound: dict[int, Tensor] = {}
        self._staged: list[Memory] = []
        self._control: RunControl | None = None

    def _zeroed(self, nbytes: int) -> Memory:
        with memory_for(f"{nbytes} bytes of an inference's"):
            return self._device.allocate(nbytes, DEFAULT_ALIGNMENT)

    @override
    def use(self, plan: LoadedPlan) -> None:
        self._specs, self._bound = (*plan.inputs, *plan.written), {}

    def _stage(self) -> list[Memory]:
        """Device memory for inputs and outputs on the host."""
        self._staged = [
            memory if memory is not None and memory.nbytes >= spec.nbytes else self._zeroed(spec.nbytes)
            for memory, spec in zip_longest(self._staged, self._specs)
        ]
        return self._staged

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
    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Wrong | None:
        staged = self._stage()
        for memory, array in zip(staged, inputs, strict=False):
            memory.write(0, bytes_of(array))
        wrong = self._run([memory.address for memory in staged])
        for memory, array in zip(staged[len(inputs) :], outputs, strict=True):
            memory.read(0, bytes_of(array))
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


def _integers(memory: Memory) -> Array:
    found = np.empty(memory.nbytes // 8, np.int64)
    memory.read(0, found.view(np.uint8))
    return found
