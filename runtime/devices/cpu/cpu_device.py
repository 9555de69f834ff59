"""The CPU as a device: memory of this process, machine code in it, and the thread team."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from typing_extensions import override

from ....dialects.errors import ConfigError, InvalidInputError
from ....lowering import call_times
from ...asynchronous.cancellation import NOT_LIMITED, RunControl
from ...compute_device import ComputeDevice, LoadedPlan, Session, Wrong
from ...device import Array, Code, Memory
from ...hooks.hook_points import CallObserver, Hook, HookObserver
from ...memory.host_memory import HostMemory, aligned_bytes, as_array, spanned_bytes
from ...memory.mapped_file import PagedWeights
from ...memory.tensor import Tensor
from ...specs import Compilation, TensorSpec, check_placed

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ....dialects.graph.blobs import MiniContext
    from ....dialects.kernel.targets import Target
    from ....lowering.pipelines import Observer, Phase
    from ...config import EngineConfig
    from ...native.llvm_processes import Compilers
    from .hooked_calls import HookedCalls

_NEVER = ctypes.c_uint64(NOT_LIMITED)
"""The stop word of runs without a control."""
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)  # see runtime_ir.py

_addressof = ctypes.addressof
_from_buffer: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer  # looked up once: calls are short


class CpuSession(Session):
    """Calls native code with pointers to arrays.

    These are inputs, outputs, the arena, the table of sizes (for symbolic shapes), the status (8 bytes for each of the
    plan's `checks`, if any), weights, the stop word if the plan is cancellable, and the times if it is profiled.
    """

    def __init__(self, plan: LoadedPlan, arena: Memory) -> None:
        self._arena, self._weights = arena, plan.weights  # keeps memory alive that native code may access
        self._turn = plan.weights.turn if isinstance(plan.weights, PagedWeights) else None
        self._nothing_wrong = bytes(8 * len(plan.checks))
        self._status = memoryview(bytearray(self._nothing_wrong))  # checking an array would take ten times as long
        self._times = np.zeros(call_times.length(len(plan.calls)) if plan.profiled else 0, np.int64)
        own = [arena.address]
        if plan.sizes is not None:
            own.append(plan.sizes.ctypes.data)
        if plan.checks:
            own.append(ctypes.addressof(ctypes.c_char.from_buffer(self._status)))
        own.append(plan.weights.address)
        stop_at = len(own)
        if plan.cancellable:
            own.append(ctypes.addressof(_NEVER))
        if plan.profiled:
            own.append(self._times.ctypes.data)
        count = len(plan.inputs) + len(plan.written)
        bound, given = ((ctypes.c_void_p * (count + len(own)))(*[None] * count, *own) for _ in range(2))
        self._plan, self._sizes_at, self._stop_at = plan, count + 1, count + stop_at
        self._bound: list[Array | None] = [None] * count
        self._bound_pointers, self._bound_address = bound, ctypes.addressof(bound)
        self._given_pointers, self._given_address = given, ctypes.addressof(given)
        self.entry: Any = ENTRY(plan.code.address("mini_infer_run"))
        self._take(plan)
        self._threads = plan.threads
        self._helpers = self._share = None
        self._hooked: HookedCalls | None = None
        self._observers: list[CallObserver] = []
        if plan.config.is_observed:
            self._start_observing(plan)
        if plan.threads > 1:
            from ...native.team import team

            self._helpers = team()
            self._share = self._helpers.share

    @override
    def use(self, plan: LoadedPlan) -> None:
        assert plan.sizes is not None
        self._plan = plan  # keeps the sizes alive that native code reads
        self._take(plan)
        self._bound_pointers[self._sizes_at] = self._given_pointers[self._sizes_at] = plan.sizes.ctypes.data

    def _take(self, plan: LoadedPlan) -> None:
        """Notes what `take_ready` compares inputs with, and what it makes for outputs."""
        self._wanted = tuple((spec.dtype, spec.shape, spec.dtype.alignment - 1) for spec in plan.inputs)
        self._written = tuple((spec.shape, spec.dtype) for spec in plan.written)

    @override
    def watch(self, control: RunControl | None) -> None:
        if self._plan.cancellable:
            never = _NEVER if self._hooked is None else self._hooked.stop_word
            address = ctypes.addressof(never) if control is None else control.address
            self._bound_pointers[self._stop_at] = self._given_pointers[self._stop_at] = address

    @override
    def bind(self, index: int, spec: TensorSpec, memory: object, *, written: bool) -> tuple[int, int]:
        array = memory.numpy() if isinstance(memory, Tensor) else as_array(memory)
        check_placed(spec, array.dtype, array.shape, "the memory for ")
        if not (array.flags.c_contiguous and array.flags.aligned):
            raise InvalidInputError(f"the memory for '{spec.name}' must be row-major without gaps and aligned")
        if written and not array.flags.writeable:
            raise InvalidInputError(f"the memory for '{spec.name}' is read-only")
        self._bound[index] = array
        self._bound_pointers[index] = address = _address(array)
        return address, address + array.nbytes

    @override
    def execute(self) -> Wrong | None:
        if self._observers:
            return self._observed(self._bound_pointers, cast("Sequence[Array]", self._bound))
        return self._call(self._bound_address)

    @override
    def run(self, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> Wrong | None:
        pointers, index = self._given_pointers, 0
        for array in inputs:
            pointers[index] = self._bound_pointers[index] if array is None else _address(array)
            index += 1
        for array in outputs:
            pointers[index] = _address(array)
            index += 1
        if self._observers:
            known = [self._bound[index] if array is None else array for index, array in enumerate(inputs)]
            return self._observed(self._given_pointers, [*cast("Sequence[Array]", known), *outputs])
        return self._call(self._given_address)

    @override
    def hooked(self, hook: Hook) -> AbstractContextManager[None]:
        if self._hooked is None:
            raise ConfigError("the plan has no hook points: compile with enable_hooks=True")
        return self._hooked_by(HookObserver(hook))

    @contextmanager
    def _hooked_by(self, observer: CallObserver) -> Generator[None]:
        self._observers.insert(0, observer)
        try:
            yield
        finally:
            self._observers.remove(observer)

    def _start_observing(self, plan: LoadedPlan) -> None:
        """Makes what shows calls, and the check that the configuration asks for."""
        from ...hooks.value_check import ValueCheck
        from .hooked_calls import HookedCalls

        self._hooked = HookedCalls(plan, len(self._given_pointers))
        self.watch(None)
        if plan.config.check is not None:
            self._observers.append(ValueCheck(plan.config.check, plan.inputs))

    def _observed(self, pointers: ctypes.Array[ctypes.c_void_p], arrays: Sequence[Array]) -> Wrong | None:
        """A run whose calls are shown to the observers."""
        hooked, share = self._hooked, self._share
        assert hooked is not None, "what is observed has hook points"
        stop = pointers[self._stop_at] if self._plan.cancellable else None
        keep = (self._arena, self._weights, arrays)
        with hooked.observing(self._observers, arrays[: len(self._plan.inputs)], keep, cast("int | None", stop)):
            self._share = ctypes.cast(hooked.share, ctypes.c_void_p)
            try:
                return self._call(ctypes.addressof(pointers))
            finally:
                self._share = share

    @override
    def take_ready(self, inputs: Sequence[Any]) -> list[Array] | None:
        if self._observers:
            return None
        pointers, index = self._given_pointers, 0
        try:
            for dtype, shape, misaligned in self._wanted:
                array = inputs[index]
                if type(array) is not np.ndarray or array.dtype is not dtype or array.shape != shape:
                    return None
                # It refuses what is read-only, empty, or not row-major without gaps.
                pointers[index] = address = _addressof(_from_buffer(array))
                if address & misaligned:
                    return None
                index += 1
            outputs = [np.empty(shape, dtype) for shape, dtype in self._written]
            for array in outputs:
                pointers[index] = _addressof(_from_buffer(array))
                index += 1
        except (TypeError, ValueError, BufferError, MemoryError):
            return None
        return outputs

    @override
    def run_taken(self) -> Wrong | None:
        return self._call(self._given_address)

    def _call(self, pointers: int) -> Wrong | None:
        if self._nothing_wrong:
            self._status[:] = self._nothing_wrong
        if self._plan.profiled:
            self._times[: 2 * len(self._plan.calls) + 1] = 0
        if self._helpers is not None and self._helpers.threads < self._threads:  # initially, and after a fork
            self._helpers.grow(self._threads)
        if self._turn is None:
            self.entry(pointers, self._share)
        else:
            with self._turn:
                self.entry(pointers, self._share)
        if self._nothing_wrong and self._status.tobytes() != self._nothing_wrong:
            return np.frombuffer(self._status.tobytes(), np.int64)
        return None

    @override
    def times(self) -> Array:
        return call_times.totals(self._times, len(self._plan.calls))

    @override
    def turns(self) -> Array:
        return call_times.turns(self._times, len(self._plan.calls))


class Cpu(ComputeDevice):
    """The host CPU. Tensors alone don't import the compiler with it."""

    @override
    def target(self, config: EngineConfig, machine: str = "", scheduled: Target | None = None) -> Target:
        from ....dialects.kernel.targets import CpuAttr
        from ...native.cpu_targets import host_target, target_attribute

        if scheduled is None:
            return target_attribute(config, machine)
        if not isinstance(scheduled, CpuAttr):
            raise ConfigError(f"the module is for {scheduled}, and the device is 'cpu'")
        return scheduled.on(machine or host_target().name)

    @override
    def start_compiling(
        self,
        ctx: MiniContext,
        module: ModuleOp,
        config: EngineConfig,
        phases: Sequence[Phase],
        observer: Observer | None,
        compilers: Compilers | None,
    ) -> Compilation:
        from ...native.machine_code import start_compiling

        return start_compiling(ctx, module, phases, observer, compilers)

    @override
    def allocate(self, nbytes: int, alignment: int) -> Memory:
        return HostMemory(aligned_bytes(nbytes, alignment))

    @override
    def borrow(self, memory: object) -> Memory:
        array = as_array(memory)
        if not array.flags.c_contiguous:
            raise InvalidInputError("borrowed memory must be contiguous")
        return HostMemory(spanned_bytes(array)[0])

    @override
    def hold(self, data: Array) -> Memory:
        return HostMemory(data)

    @override
    def load(self, objects: Sequence[bytes]) -> Code:
        from ...native.loaded_code import loaded  # with the linker, which kept code has no use for

        return loaded(objects)

    @override
    def session(self, plan: LoadedPlan, arena: Memory) -> CpuSession:
        return CpuSession(plan, arena)


def _address(array: Array) -> int:
    """The address of an array's first element; avoids `array.ctypes.data`, which takes 2 us, where possible."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(cast("Any", array)))
    except (TypeError, ValueError):  # read-only, empty, or of a type unknown to the buffer protocol
        return int(array.ctypes.data)


DEVICE = Cpu()
