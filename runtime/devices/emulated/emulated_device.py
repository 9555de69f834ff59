"""The device "cuda-emulated": a GPU's launches and memory, emulated on the host.

Its memory is not directly accessible to numpy, as with a GPU: its addresses mean nothing to the CPU. The option
`emulator` selects how kernels run: "interpreter" checks every access and names the error; "compiled" runs the CUDA C++
text compiled for the CPU. The interpreter treats the arena and outputs as uninitialised at the start of an inference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from typing_extensions import override

from ....dialects.errors import CompileError, InvalidInputError, KernelError, UnsupportedError
from ....lowering.gpu_to_cuda.device_program import Launch
from ...asynchronous.cancellation import RunControl
from ...compute_device import LoadedPlan, Session, Wrong
from ...device import Array, Code, Memory
from ...memory.host_memory import HostMemory, aligned_bytes
from ..launch_device import LaunchDevice
from ..program_run import DueRead, ProgramRun
from ..remote_session import RemoteSession
from .batch import Traffic
from .checked_memory import GlobalRange
from .gpu_interpreter import Kernel

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...config import EngineConfig

COMPILED = "compiled"
PLACE_BITS = 40  # address bits of an offset; above them is the number of the allocation


class EmulatedMemory(HostMemory):
    """An emulated allocation with a device address."""

    _numbers = count(1)
    alive: ClassVar[WeakValueDictionary[int, EmulatedMemory]] = WeakValueDictionary()

    def __init__(self, nbytes: int, alignment: int) -> None:
        self.bytes = aligned_bytes(nbytes, alignment)
        super().__init__(self.bytes)
        self.host = None
        self.number = next(self._numbers)
        self.alive[self.number] = self

    @property
    @override
    def address(self) -> int:
        return self.number << PLACE_BITS


def located(address: int) -> tuple[Array, int]:
    """The allocation of an address, and the offset in it in bytes."""
    return EmulatedMemory.alive[address >> PLACE_BITS].bytes, address % (1 << PLACE_BITS)


class EmulatedCode(Code):
    """Kernels that can be launched."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._names = names

    @override
    def address(self, name: str) -> int:
        if name not in self._names:
            raise CompileError(f"there is no kernel '{name}'")
        return self._names.index(name)

    def run(
        self,
        plan: LoadedPlan,
        program: ProgramRun,
        counted: Sequence[Traffic],
        addresses: Sequence[int],
        control: RunControl | None,
    ) -> None:
        """Runs a plan's program, up to where the control says that the run is over.

        For a profiled plan, what each launch loads and stores is added to its entry in `counted`.
        """
        roots = self.roots(plan, addresses)
        for each in program.due():
            if control is not None and control.is_over:
                return
            if isinstance(each, DueRead):
                scalar = _scalar(roots[each.root].behind(each.offset), each)
                program.slots[each.slot : each.slot + each.nbytes] = scalar
            else:
                self.launch(each.launch, roots, counted[each.number] if plan.profiled else None)

    def roots(self, plan: LoadedPlan, addresses: Sequence[int]) -> list[GlobalRange]:
        """The arguments of main."""
        del plan
        return [GlobalRange(*located(address)) for address in addresses]

    def launch(self, launch: Launch, roots: Sequence[GlobalRange], traffic: Traffic | None) -> None:
        """Runs one launch, and adds it to `traffic`."""


def _scalar(place: GlobalRange, read: DueRead) -> Array:
    """The bytes of a scalar. Raises KernelError if nobody has written them."""
    bytes = slice(place.offset, place.offset + read.nbytes)
    if place.written is not None and not place.written[bytes].all():
        raise KernelError(f"main: the host reads uninitialised bytes from {read.offset} on in argument {read.root}")
    return place.allocation[bytes]


class InterpretedCode(EmulatedCode):
    """Kernels run by the interpreter of GPU code."""

    def __init__(self, text: bytes) -> None:
        from ....dialects.gpu.kernels import FuncOp
        from ....dialects.sizes.guards import unguarded
        from ....lowering.module_text import module_context, parse_module

        with unguarded():  # the symbols of its sizes are others than the model's
            module = parse_module(module_context(), text, "kernels")
            self._kernels = {op.sym_name.data: Kernel(op) for op in module.walk() if isinstance(op, FuncOp)}
        super().__init__(list(self._kernels))

    @override
    def roots(self, plan: LoadedPlan, addresses: Sequence[int]) -> list[GlobalRange]:
        first, last = len(plan.inputs), len(plan.inputs) + len(plan.written)
        status = last + 1 if plan.checks else None
        found: list[GlobalRange] = []
        for number, address in enumerate(addresses):
            allocation, offset = located(address)
            written = np.zeros(len(allocation), np.uint8) if first <= number <= last else None
            found.append(GlobalRange(allocation, offset, written, number == status))
        return found

    @override
    def launch(self, launch: Launch, roots: Sequence[GlobalRange], traffic: Traffic | None) -> None:
        places = [roots[each.root].behind(each.offset) for each in launch.arguments]
        kernel = self._kernels[launch.kernel]
        kernel.run(
            launch.grid, launch.block, launch.shared, places, sizes=launch.sizes, nodes=launch.nodes, traffic=traffic
        )
        if traffic is not None:
            traffic.runs += 1


class CompiledCode(EmulatedCode):
    """Kernels compiled from CUDA C++ text by g++."""

    def __init__(self, text: str) -> None:
        from .compiled import load

        self._program = load(text)
        super().__init__(self._program.names)

    @override
    def launch(self, launch: Launch, roots: Sequence[GlobalRange], traffic: Traffic | None) -> None:
        if not launch.is_empty:
            self._program.run(launch, [each.allocation.ctypes.data + each.offset for each in roots])


class EmulatedSession(RemoteSession):
    """Runs launches by an emulator, which has no clock: it counts what they load and store."""

    has_clock = False

    def __init__(self, plan: LoadedPlan, arena: Memory, code: EmulatedCode) -> None:
        self._counted, self._code = [Traffic() for _ in plan.launches], code
        super().__init__(plan, arena, self._launch_of(plan))

    def _launch_of(self, plan: LoadedPlan) -> Callable[[Sequence[int], RunControl | None], None]:
        return partial(self._code.run, plan, ProgramRun(plan.program), self._counted)

    @override
    def use(self, plan: LoadedPlan) -> None:
        super().use(plan)
        self._launch = self._launch_of(plan)

    @override
    def _run(self, addresses: Sequence[int]) -> Wrong | None:
        for each in self._counted:
            each.runs = each.loaded = each.stored = 0
        return super()._run(addresses)

    @override
    def times(self) -> Array:
        return np.array([(0, each.runs) for each in self._counted], np.int64).reshape(-1, 2)

    @override
    def turns(self) -> Array:
        return np.zeros((0, 3), np.int64)

    @override
    def traffic(self) -> list[tuple[int, int]]:
        return [(each.loaded, each.stored) for each in self._counted]


class Emulation(LaunchDevice):
    """The emulated GPU."""

    @override
    def check_profiling(self, config: EngineConfig) -> None:
        if config.emulator == COMPILED:
            raise UnsupportedError("enable_profiling is not supported by the emulator 'compiled', which counts nothing")

    @override
    def objects(self, module: ModuleOp, config: EngineConfig) -> Sequence[bytes]:
        """The name of the emulator, and the text that it loads."""
        if config.emulator == COMPILED:
            from ....lowering.gpu_to_cuda.cuda_text import cuda_text

            return [COMPILED.encode(), cuda_text(module).encode()]
        from ....lowering.module_text import module_context, print_module

        return [b"", print_module(module_context(), module).encode()]

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
            return EmulatedCode()
        emulator, text = objects
        return CompiledCode(text.decode()) if emulator == COMPILED.encode() else InterpretedCode(text)

    @override
    def session(self, plan: LoadedPlan, arena: Memory) -> Session:
        assert isinstance(plan.code, EmulatedCode)
        return EmulatedSession(plan, arena, plan.code)


DEVICE = Emulation()
