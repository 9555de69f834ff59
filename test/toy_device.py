"""A device whose memory numpy can't see: private bytes behind handles, which "runs" by copying to the CPU and back.

An address is a handle and a place in its bytes; it means nothing to the CPU.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from ctypes import addressof, c_void_p
from itertools import count
from types import ModuleType
from typing import ClassVar
from weakref import WeakValueDictionary

import numpy as np
import pytest
from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.errors import InvalidInputError
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.kernel.targets import Target
from mini_infer.lowering.pipelines import Observer, Phase
from mini_infer.runtime import device
from mini_infer.runtime.asynchronous.cancellation import RunControl
from mini_infer.runtime.compute_device import ComputeDevice, LoadedPlan, Session
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.device import Array, Code, Memory
from mini_infer.runtime.devices.cpu.cpu_device import DEVICE as CPU
from mini_infer.runtime.devices.cpu.cpu_device import ENTRY
from mini_infer.runtime.devices.remote_session import RemoteSession
from mini_infer.runtime.memory.host_memory import aligned_bytes
from mini_infer.runtime.native.llvm_processes import Compilers
from mini_infer.runtime.specs import Compilation

NAME = "toy"
PLACE_BITS = 40  # of an address; the handle is above


class ToyMemory(Memory):
    """Bytes behind a handle."""

    host = None
    _handles = count(1)
    alive: ClassVar[WeakValueDictionary[int, ToyMemory]] = WeakValueDictionary()

    def __init__(self, nbytes: int, writable: bool = True) -> None:
        self._bytes = bytearray(nbytes)
        self._writable = writable
        self.handle = next(self._handles)
        self.alive[self.handle] = self

    @property
    @override
    def nbytes(self) -> int:
        return len(self._bytes)

    @property
    @override
    def address(self) -> int:
        return self.handle << PLACE_BITS

    @property
    @override
    def writable(self) -> bool:
        return self._writable

    @override
    def zero(self) -> None:
        self._bytes[:] = bytes(self.nbytes)

    @override
    def write(self, offset: int, data: Array) -> None:
        self._bytes[offset : offset + data.nbytes] = data.tobytes()

    @override
    def read(self, offset: int, data: Array) -> None:
        data[:] = np.frombuffer(self._bytes, np.uint8)[offset : offset + data.nbytes]


class Toy(ComputeDevice):
    """Notes what it allocates and how often it runs."""

    def __init__(self) -> None:
        self.allocated: list[int] = []
        self.runs = 0

    @override
    def allocate(self, nbytes: int, alignment: int) -> Memory:
        self.allocated.append(nbytes)
        return ToyMemory(nbytes)

    @override
    def borrow(self, memory: object) -> Memory:
        if not isinstance(memory, ToyMemory):
            raise InvalidInputError(f"{type(memory).__name__} is no memory of the toy's")
        return memory

    @override
    def target(self, config: EngineConfig, machine: str = "", scheduled: Target | None = None) -> Target:
        return CPU.target(config, machine, scheduled)

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
        return CPU.start_compiling(ctx, module, config, phases, observer, compilers)

    @override
    def load(self, objects: Sequence[bytes]) -> Code:
        return CPU.load(objects)

    @override
    def session(self, plan: LoadedPlan, arena: Memory) -> Session:
        entry = ENTRY(plan.code.address("mini_infer_run"))

        def launch(addresses: Sequence[int], _: RunControl | None) -> None:
            self.runs += 1
            here: dict[int, Array] = {}
            pointers = (c_void_p * len(addresses))()
            for index, address in enumerate(addresses):
                handle, place = address >> PLACE_BITS, address % (1 << PLACE_BITS)
                if handle not in here:
                    here[handle] = aligned_bytes(ToyMemory.alive[handle].nbytes)
                    ToyMemory.alive[handle].read(0, here[handle])
                pointers[index] = here[handle].ctypes.data + place
            entry(addressof(pointers), None)
            for handle, data in here.items():
                ToyMemory.alive[handle].write(0, data)

        return RemoteSession(plan, arena, launch)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    """The toy as device "toy"."""
    made = Toy()
    monkeypatch.setitem(vars(device)["_HOMES"], NAME, "toy_device")
    home = ModuleType("mini_infer.runtime.toy_device")
    vars(home)["DEVICE"] = made
    monkeypatch.setitem(sys.modules, home.__name__, home)
    return made
