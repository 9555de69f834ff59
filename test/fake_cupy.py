"""A stand-in for CuPy: notes what is called, and does it late, on memory of the host, when a stream is waited for.

It has what runtime/devices/cuda/cupy_calls.py calls, with the signatures of CuPy. What a kernel does is told by its
name, or is its text, where that stands for a cubin, as C++. Memory is full of garbage at first, and work that nobody
waits for is not done: whoever forgets to clear, or to wait, gets wrong numbers.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.gpu_to_cuda.device_program import Argument, Launch, TensorMap
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.device import Array
from mini_infer.runtime.devices.cuda import cuda_device, driver_calls
from mini_infer.runtime.devices.cuda import cupy_calls as cuda
from mini_infer.runtime.devices.emulated import compiled
from mini_infer.runtime.devices.emulated.compiled import Program

ALIGNED = 512
LEGACY = 0  # CUDA's default stream


def array_at(address: int, shape: Sequence[int], dtype: Any) -> Array:
    """What lies at an address."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    found: Array = np.frombuffer(cast("Any", (ctypes.c_char * count).from_address(address)), dtype)
    return found.reshape(shape)


class CUDARuntimeError(RuntimeError):
    """CuPy's."""


class CUDADriverError(RuntimeError):
    """CuPy's."""


class Stream:
    """What is put on it is done when it is waited for."""

    def __init__(self, fake: FakeCupy, ptr: int) -> None:
        self.fake, self.ptr = fake, ptr
        self.waiting: list[Callable[[], object]] = []
        self.place = 0  # of the first that waits, among all that were put on it
        self.capture: list[Callable[[], object]] | None = None
        fake.streams[ptr] = self

    def put(self, work: Callable[[], object]) -> None:
        (self.waiting if self.capture is None else self.capture).append(work)

    def record(self, event: Event | None = None) -> Event:
        found = Event(self.fake) if event is None else event
        found.stream, found.place = self, self.place + len(self.waiting)
        self.put(found.reach)
        return found

    def wait_event(self, event: Event) -> None:
        assert event.stream is not None, "the event was never recorded"
        self.fake.note("wait_event", self.ptr, event.stream.ptr)
        self.put(partial(event.stream.work_until, event.place + 1))

    def work_until(self, place: int) -> None:
        """Does what was put on it before."""
        while self.waiting and self.place < place:
            self.place += 1
            self.waiting.pop(0)()

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.ptr)

    def is_capturing(self) -> bool:
        return self.capture is not None

    def begin_capture(self, mode: int | None = None) -> None:
        self.fake.note("begin_capture", self.ptr)
        assert self.ptr != LEGACY and self.capture is None
        self.capture = []

    def end_capture(self) -> SimpleNamespace:
        self.fake.note("end_capture", self.ptr)
        assert self.capture is not None
        work, self.capture = self.capture, None

        def launch(stream: Stream | None = None) -> None:
            assert stream is not None
            self.fake.note("graph.launch", stream.ptr)
            stream.waiting += work

        return SimpleNamespace(launch=launch)

    def synchronize(self) -> None:
        if self.ptr != LEGACY:
            self.fake.note("synchronize", self.ptr)
        if self.capture is not None:
            raise CUDARuntimeError("cudaErrorStreamCaptureUnsupported")
        self.work_until(self.place + len(self.waiting))


class Event:
    """A point in a stream; what it counts as milliseconds is how many were reached before."""

    def __init__(self, fake: FakeCupy) -> None:
        self.fake, self.time = fake, -1
        self.stream: Stream | None = None
        self.place = 0

    def reach(self) -> None:
        self.fake.reached += 1
        self.time = self.fake.reached


class Pointer:
    """CuPy's MemoryPointer."""

    def __init__(self, owner: Array | UnownedMemory, ptr: int, device_id: int) -> None:
        self.owner, self.ptr, self.device_id = owner, ptr, device_id

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.owner, self.ptr + offset, self.device_id)


class UnownedMemory:
    """CuPy's: memory that another object owns, which is kept alive."""

    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


def memory_pointer(mem: UnownedMemory, offset: int) -> Pointer:
    """CuPy's constructor of MemoryPointer."""
    return Pointer(mem, mem.ptr + offset, mem.device_id)


class GpuArray:
    """CuPy's ndarray, and any other library's on a GPU."""

    def __init__(
        self, shape: Sequence[int], dtype: Any, *, memptr: Pointer, strides: Sequence[int] | None = None
    ) -> None:
        self.shape, self.dtype, self.data = tuple(shape), np.dtype(dtype), memptr
        self.size, self.itemsize = int(np.prod(self.shape)), self.dtype.itemsize
        self.strides = tuple(strides if strides is not None else np.empty(self.shape, self.dtype).strides)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.data.device_id)

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> GpuArray:
        return self

    def seen(self) -> Array:
        """The elements, by the host."""
        return np.lib.stride_tricks.as_strided(array_at(self.data.ptr, [1], self.dtype), self.shape, self.strides)


class FakeDriver:
    """libcuda, as far as it is called directly: maps of tensors are the emulation's."""

    def cuTensorMapEncodeTiled(
        self,
        map: Any,
        element: Any,
        rank: Any,
        address: Any,
        sizes: Any,
        strides: Any,
        box: Any,
        steps: Any,
        interleave: Any,
        swizzle: Any,
        promotion: Any,
        fill: Any,
    ) -> int:
        """0, or an error for what the driver would refuse."""
        lines, name = 16 << swizzle.value if swizzle.value else 0, {6: "f16", 7: "f32", 9: "bf16"}[element.value]
        sizes, strides, box = (tuple(reversed(each)) for each in (sizes, strides, box))
        made = TensorMap(0, 0, name, sizes, strides, box, lines)
        whole = len(sizes) == len(box) == len(steps) == len(strides) + 1 == rank.value and [*steps] == [1] * rank.value
        aligned = map.value % 64 == 0 and not any(each % 16 for each in (address.value, *strides))
        fits = max(box) <= 256 and box[-1] * made.itemsize % 16 == 0 and (not lines or box[-1] * made.itemsize <= lines)
        none = (interleave.value, promotion.value, fill.value) == (0, 0, 0)
        if not (whole and aligned and fits and none):
            return 1
        structure = compiled.tensor_map(made, address.value)
        ctypes.memmove(map.value, ctypes.addressof(structure), ctypes.sizeof(structure))
        return 0


class FakeCupy:
    """What was called, names with arguments, and what kernels do with the addresses that they are given."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.kernels: dict[str, Callable[..., object]] = {}
        self.devices, self.reached, self.capability = 2, 0, "90"
        self.streams: dict[int, Stream] = {}
        self.null = Stream(self, LEGACY)
        self.thread = threading.local()
        self.resident = 1
        """Blocks of a kernel that a multiprocessor holds."""
        self.refused: str | None = None
        """A kernel that can't be launched."""

    def note(self, name: str, *arguments: Any) -> None:
        self.calls.append((name, *arguments))

    def names(self) -> list[str]:
        """What was called, in order."""
        return [str(name) for name, *_ in self.calls]

    def of(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of each call of one name."""
        return [tuple(arguments) for called, *arguments in self.calls if called == name]

    def array(self, values: Array) -> GpuArray:
        """Another library's array, on GPU 0, which its default stream has yet to write."""
        pointer = self._pointer(values.nbytes)
        found = GpuArray(values.shape, values.dtype, memptr=pointer)
        self.null.put(lambda: array_at(pointer.ptr, values.shape, values.dtype).__setitem__(..., values))
        return found

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Puts this where cupy and cupyx are imported from."""
        modules = {"cupy": ModuleType("cupy"), "cupyx": ModuleType("cupyx")}
        vars(modules["cupy"]).update(
            cuda=self._cuda(), ndarray=GpuArray, from_dlpack=self._from_dlpack, asarray=self._asarray
        )
        vars(modules["cupyx"]).update(empty_pinned=self._empty_pinned)
        for name, module in modules.items():
            patch.setitem(sys.modules, name, module)
        patch.setattr(cuda_device, "DEVICE", cuda_device.Cuda(0))
        patch.setattr(driver_calls, "driver", FakeDriver)

    def _pointer(self, size: int) -> Pointer:
        owner = np.full(size + ALIGNED, 0xEE, np.uint8)
        return Pointer(owner, owner.ctypes.data + -owner.ctypes.data % ALIGNED, getattr(self.thread, "device", 0))

    def _alloc(self, size: int) -> Pointer:
        self.note("alloc", size)
        if size > 1 << 40:
            raise MemoryError
        return self._pointer(size)

    def _from_dlpack(self, array: Any, *, device: object = None, copy: bool | None = None) -> GpuArray:
        if array.__dlpack_device__()[0] != 2:
            raise RuntimeError("not CUDA memory")
        found: GpuArray = array.__dlpack__(stream=LEGACY)
        return found

    def _asarray(self, array: Any) -> GpuArray:
        told: Any = array.__cuda_array_interface__
        address, _ = told["data"]
        (size,) = told["shape"]
        memory = UnownedMemory(address, size, array, 0)
        return GpuArray(told["shape"], told["typestr"], memptr=memory_pointer(memory, 0))

    def _empty_pinned(self, shape: int, dtype: Any = float, order: str = "C") -> Array:
        self.note("empty_pinned", shape)
        return np.full(shape, 0xEE, dtype)

    def caller_stream(self) -> Stream:
        """A stream of the caller's."""
        return Stream(self, len(self.streams))

    def _stream(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> Stream:
        self.note("Stream", non_blocking)
        return Stream(self, len(self.streams))

    def _memset(self, ptr: int, value: int, size: int, stream: int) -> None:
        self.note("memsetAsync", ptr, value, size, stream)
        self.streams[stream].put(lambda: ctypes.memset(ptr, value, size))

    def _memcpy(self, dst: int, src: int, size: int, kind: int, stream: int) -> None:
        self.note("memcpyAsync", dst, src, size, kind, stream)
        self.streams[stream].put(lambda: ctypes.memmove(dst, src, size))

    def _module(self) -> SimpleNamespace:
        programs: list[Program] = []

        def load(cubin: bytes) -> None:
            self.note("Module.load", cubin)
            if b"__global__" in cubin:
                programs.append(compiled.load(cubin.decode()))
            elif not cubin.startswith((b"cubin", b"\x7fELF")):
                raise CUDADriverError("CUDA_ERROR_NO_BINARY_FOR_GPU")

        def get_function(name: str) -> Any:
            if name not in self.kernels and not programs:
                raise CUDADriverError("CUDA_ERROR_NOT_FOUND")

            def start(
                grid: tuple[int, ...],
                block: tuple[int, ...],
                args: tuple[Any, ...],
                shared_mem: int = 0,
                stream: Stream | None = None,
                enable_cooperative_groups: bool = False,
            ) -> None:
                assert stream is not None and all(type(each) is np.uintp or each.size == 1 for each in args)
                structures = [each.tobytes() for each in args if isinstance(each, np.ndarray)]
                kept = [ctypes.create_string_buffer(each, len(each)) for each in structures]
                numbers = [int(each) for each in args if not isinstance(each, np.ndarray)]
                addresses = [*numbers, *map(ctypes.addressof, kept)]
                self.note("launch", name, grid, block, addresses, shared_mem, stream.ptr)
                if enable_cooperative_groups:
                    self.note("cooperative", name)
                if name == self.refused:
                    raise CUDADriverError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")
                if programs:
                    arguments = tuple(Argument(root, 0) for root in range(len(addresses)))
                    launch = Launch(name, _three(grid), _three(block), shared_mem, arguments)
                    launch = replace(launch, cooperative=enable_cooperative_groups)
                    stream.put(partial(_run, programs[0], launch, addresses, kept))
                else:
                    stream.put(lambda: self.kernels[name](*addresses))

            vars(start)["ptr"] = 4096 + len(name)
            return start

        return SimpleNamespace(load=load, get_function=get_function)

    def _occupancy(self, func: int, blockSize: int, dynamicSMemSize: int) -> int:
        self.note("occupancy", blockSize, dynamicSMemSize)
        return self.resident

    def _cuda(self) -> SimpleNamespace:
        return SimpleNamespace(
            runtime=SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                memcpyHostToDevice=1,
                memcpyDeviceToHost=2,
                memcpyDeviceToDevice=3,
                memcpyAsync=self._memcpy,
                memsetAsync=self._memset,
                getDeviceCount=lambda: self.devices,
                driverGetVersion=lambda: 12080,
                memGetInfo=lambda: (60 << 30, 80 << 30),
            ),
            driver=SimpleNamespace(
                CUDADriverError=CUDADriverError,
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
                funcSetAttribute=partial(self.note, "funcSetAttribute"),
                occupancyMaxActiveBlocksPerMultiprocessor=self._occupancy,
            ),
            alloc=self._alloc,
            UnownedMemory=UnownedMemory,
            MemoryPointer=memory_pointer,
            Stream=self._stream,
            ExternalStream=self.streams.__getitem__,
            Event=partial(Event, self),
            Device=partial(_Device, self),
            get_current_stream=lambda: self.null,
            get_elapsed_time=_milliseconds,
            function=SimpleNamespace(Module=self._module),
        )


def _run(program: Program, launch: Launch, addresses: Sequence[int], structures: object) -> None:
    """Runs a launch, until whose end its structures are kept."""
    program.run(launch, addresses)


def _three(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = sizes
    return x, y, z


def _milliseconds(start_event: Event, end_event: Event) -> float:
    return float(end_event.time - start_event.time)


class _Device:
    """A GPU: with it, the thread's current one."""

    def __init__(self, fake: FakeCupy, number: int) -> None:
        self._fake, self._number, self._before = fake, number, 0
        self.compute_capability = fake.capability
        self.attributes = {
            "MultiProcessorCount": 114,
            "MaxSharedMemoryPerBlockOptin": 232448,
            "L2CacheSize": 50 << 20,
            "ClockRate": 1_755_000,
            "MemoryClockRate": 1_593_000,
            "GlobalMemoryBusWidth": 5120,
        }

    def __enter__(self) -> _Device:
        self._before, self._fake.thread.device = getattr(self._fake.thread, "device", 0), self._number
        return self

    def __exit__(self, *_: object) -> None:
        self._fake.thread.device = self._before


def _cubin(*_: object) -> list[bytes]:
    return [b"cubin"]


def text_as_cubin(_: object, module: ModuleOp, config: EngineConfig) -> list[bytes]:
    """Takes the place of `Cuda.objects`: kernels are run as C++."""
    return [cuda_text(module).encode()]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Generator[FakeCupy]:
    """CuPy's stand-in, in its place, and as if CUDA's compiler were there."""
    made = FakeCupy()
    made.install(monkeypatch)
    monkeypatch.setattr(cuda_device.Cuda, "objects", _cubin)
    forget()  # neither what was there before, nor this afterwards
    yield made
    forget()


def forget() -> None:
    """The next use of a GPU looks for CuPy again."""
    cuda.cupy.cache_clear()
    cuda_device.gpu_numbered.cache_clear()
