"""Device "cuda-emulated": a GPU's launches and memory on a machine without one.

Its memory is out of numpy's sight, as a GPU's is, behind addresses that mean nothing to the CPU. The option `emulator`
says how kernels run: "interpreter" checks every access and names what is wrong. The
bytes of the arena and of outputs count as written by nobody when an inference begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from typing_extensions import override

from ...dialects.errors import CompileError, InvalidInputError, UnsupportedError
from ..device import Array, Code, Memory, Session
from ..host_memory import aligned_bytes
from ..launching import LaunchDevice
from ..remote_session import RemoteSession
from .checks import Place
from .interpreter import Kernel

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...lowering.gpu_to_cuda.launch_list import Launch
    from ..config import EngineConfig
    from ..plan import InferencePlan

PLACE_BITS = 40  # of an address; above them is the number of the memory


class EmulatedMemory(Memory):
    """Bytes of their own behind an address."""

    host = None
    _numbers = count(1)
    alive: ClassVar[WeakValueDictionary[int, EmulatedMemory]] = WeakValueDictionary()

    def __init__(self, nbytes: int, alignment: int) -> None:
        self.bytes = aligned_bytes(nbytes, alignment)
        self.number = next(self._numbers)
        self.alive[self.number] = self

    @property
    @override
    def nbytes(self) -> int:
        return self.bytes.nbytes

    @property
    @override
    def address(self) -> int:
        return self.number << PLACE_BITS

    @property
    @override
    def writable(self) -> bool:
        return True

    @override
    def zero(self) -> None:
        self.bytes[:] = 0

    @override
    def write(self, offset: int, data: Array) -> None:
        self.bytes[offset : offset + data.nbytes] = data

    @override
    def read(self, offset: int, data: Array) -> None:
        data[:] = self.bytes[offset : offset + data.nbytes]


def located(address: int) -> tuple[Array, int]:
    """The allocation that an address is in, and how many bytes it is from its start."""
    return EmulatedMemory.alive[address >> PLACE_BITS].bytes, address % (1 << PLACE_BITS)


class EmulatedCode(Code):
    """Kernels that can be launched."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    @override
    def address(self, name: str) -> int:
        if name not in self._names:
            raise CompileError(f"there is no kernel '{name}'")
        return self._names.index(name)

    def launcher(self, plan: InferencePlan) -> Callable[[Sequence[int]], None]:
        """What runs a plan's launches on addresses."""
        raise NotImplementedError


class InterpretedCode(EmulatedCode):
    """Kernels as functions of GPU code."""

    def __init__(self, text: bytes) -> None:
        from ...dialects.gpu import FuncOp
        from ...lowering.module_text import module_context, parse_module

        module = parse_module(module_context(), text, "kernels")
        self._kernels = {op.sym_name.data: Kernel(op) for op in module.walk() if isinstance(op, FuncOp)}
        super().__init__(list(self._kernels))

    @override
    def launcher(self, plan: InferencePlan) -> Callable[[Sequence[int]], None]:
        first, last = len(plan.inputs), len(plan.inputs) + len(plan.outputs)
        status = last + 1 if plan.checks else None

        def launch(addresses: Sequence[int]) -> None:
            roots: list[Place] = []
            for number, address in enumerate(addresses):
                allocation, offset = located(address)
                written = np.zeros(len(allocation), np.uint8) if first <= number <= last else None
                roots.append(Place(allocation, offset, written, number == status))
            for each in plan.launches:
                self._run(each, roots)

        return launch

    def _run(self, launch: Launch, roots: Sequence[Place]) -> None:
        places = [roots[each.root].behind(each.offset) for each in launch.arguments]
        kernel = self._kernels[launch.kernel]
        kernel.run(launch.grid, launch.block, launch.shared, places, nodes=launch.nodes)


class Emulation(LaunchDevice):
    """A GPU that isn't there."""

    @override
    def objects(self, module: ModuleOp, config: EngineConfig) -> Sequence[bytes]:
        """The text of the kernels."""
        if config.emulator == "compiled":
            raise UnsupportedError("emulator='compiled': kernels can only be interpreted so far")
        from ...lowering.module_text import module_context, print_module

        return [print_module(module_context(), module).encode()]

    @override
    def allocate(self, nbytes: int, alignment: int) -> Memory:
        return EmulatedMemory(nbytes, alignment)

    @override
    def borrow(self, memory: object) -> Memory:
        if not isinstance(memory, EmulatedMemory):
            raise InvalidInputError(f"{type(memory).__name__} is no memory of the emulated device")
        return memory

    @override
    def load(self, objects: Sequence[bytes]) -> Code:
        if not objects:
            return EmulatedCode(())
        (text,) = objects
        return InterpretedCode(text)

    @override
    def session(self, plan: InferencePlan, arena: Memory) -> Session:
        assert isinstance(plan.code, EmulatedCode)
        return RemoteSession(plan, arena, plan.code.launcher(plan))


DEVICE = Emulation()
