"""For tests of kernels on a GPU: a body of graph ops becomes launches, which are run on arrays by the interpreter.

`check` takes what that of kernel_runs takes: what is held of a CPU's code is held of a GPU's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from kernel_runs import Body, compare, kernel_of, reference
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp, StringAttr, i8
from xdsl.dialects.func import FuncOp, ReturnOp

from mini_infer.dialects.gpu.kernels import FuncOp as GpuFuncOp
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.values import Array, numpy_dtype, type_of
from mini_infer.dialects.kernel.calls import CallOp
from mini_infer.dialects.kernel.kernel_attributes import InterfaceAttr, ScheduleAttr
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.gpu_to_cuda.device_program import Launch
from mini_infer.lowering.gpu_to_cuda.launch_list import launch_list
from mini_infer.lowering.kernels_to_gpu.lower_kernels_to_gpu import LowerKernelsToGpu
from mini_infer.passes.kernels.choose_schedule import ChooseSchedule
from mini_infer.passes.kernels.schedules import AnySchedule
from mini_infer.runtime.devices.emulated.checked_memory import GlobalRange
from mini_infer.runtime.devices.emulated.compiled import load
from mini_infer.runtime.devices.emulated.gpu_interpreter import Kernel
from mini_infer.runtime.memory.host_memory import aligned_bytes

ALIGNMENT = 256  # bytes, of every buffer
SMALL = GpuAttr.of(multiprocessors=4)  # so that small shapes fill it, and schedules for large ones come up


@dataclass
class GpuKernel:
    """A kernel's launches, and how many bytes each argument of main has."""

    module: ModuleOp
    launches: tuple[Launch, ...]
    functions: dict[str, Kernel]
    results: list[tuple[tuple[int, ...], np.dtype]]
    scratch: int
    schedule: str
    inplace: dict[int, int]  # result -> operand

    def __call__(self, *arrays: Array, checked: bool = True) -> list[Array]:
        """The results, in bytes that nothing was written to before or in those of a copy of an operand."""
        memories = self._memories(arrays)
        fresh = [
            None if number < len(arrays) else np.zeros(each.size, np.uint8) for number, each in enumerate(memories)
        ]
        for launch in self.launches:
            places = [GlobalRange(memories[each.root], each.offset, fresh[each.root]) for each in launch.arguments]
            function = self.functions[launch.kernel]
            function.run(launch.grid, launch.block, launch.shared, places, checked=checked)
        return self._made(memories, len(arrays))

    def by_text(self, *arrays: Array, seed: int = 0) -> list[Array]:
        """The same by the printed text, compiled for this machine's CPU; the seed is the order of its threads."""
        memories, program = self._memories(arrays), load(cuda_text(self.module))
        for launch in self.launches:
            program.run(launch, [each.ctypes.data for each in memories], seed)
        return self._made(memories, len(arrays))

    def _memories(self, arrays: Sequence[Array]) -> list[Array]:
        """The bytes of operands, results and scratch, each aligned."""
        given = [np.frombuffer(array.tobytes(), np.uint8) for array in arrays]
        sizes = [prod(shape) * dtype.itemsize for shape, dtype in self.results]
        memories = [aligned_bytes(size, ALIGNMENT) for size in (*map(len, given), *sizes, self.scratch)]
        for number, memory in enumerate(memories):
            memory[...] = given[number] if number < len(given) else 0xA5
        return memories

    def _made(self, memories: Sequence[Array], operands: int) -> list[Array]:
        made = [memories[self.inplace.get(number, operands + number)] for number in range(len(self.results))]
        return [each.view(dtype).reshape(shape) for each, (shape, dtype) in zip(made, self.results, strict=True)]


def compiled(
    form: str,
    body: Body,
    arrays: Sequence[Array],
    *,
    target: GpuAttr = SMALL,
    pick: str = "",
    given: AnySchedule | None = None,
    inplace: dict[int, int] | None = None,
) -> GpuKernel:
    """The launches of one kernel, by the given schedule, that which is picked, or the cheapest.

    Results `inplace` are written over operands.
    """
    kernel, over = kernel_of(form, body, arrays), inplace or {}
    kernel.verify()
    if given is not None:
        kernel.schedule, kernel.interface = given.attribute(), given.interface(kernel)
    module = ModuleOp([kernel])
    module.attributes["kernel.target"] = target
    ChooseSchedule(pick=(f"tested:{pick}",) if pick else ()).apply(MiniContext(), module)
    interface, taken = kernel.interface, kernel.schedule
    assert isinstance(interface, InterfaceAttr) and isinstance(taken, ScheduleAttr)
    assert set(interface.inplace_pairs) >= {(operand, result) for result, operand in over.items()}
    types = [type_of(value) for value in (*kernel.arguments, *kernel.terminator.arguments)]
    memrefs = [MemRefType(each.element_type, each.get_shape()) for each in types]
    nbytes = interface.scratch_bytes(1)
    main = FuncOp("main", ([*memrefs, MemRefType(i8, [nbytes])], []))
    *buffers, arena = main.body.block.args
    ins = len(kernel.arguments)
    outs = [buffers[over.get(number, ins + number)] for number in range(len(buffers) - ins)]
    main.body.block.add_ops([CallOp("tested", buffers[:ins], outs, [arena] if nbytes else []), ReturnOp()])
    roles = [DictionaryAttr({})] * len(buffers)
    main.arg_attrs = ArrayAttr([*roles, DictionaryAttr({"graph.role": StringAttr("arena")})])
    results = [(each.get_shape(), np.dtype(numpy_dtype(each.element_type))) for each in types[ins:]]
    module.body.block.insert_op_before(main, kernel)
    LowerKernelsToGpu().apply(MiniContext(), module)
    module.verify()
    functions = {op.sym_name.data: Kernel(op) for op in module.walk() if isinstance(op, GpuFuncOp)}
    return GpuKernel(module, launch_list(module), functions, results, nbytes, taken.kind.data, over)


def check(
    form: str,
    body: Body,
    *arrays: Array,
    tolerance: float = 2e-6,
    target: GpuAttr = SMALL,
    pick: str = "",
    given: AnySchedule | None = None,
    inplace: dict[int, int] | None = None,
) -> GpuKernel:
    """Compares the kernel's launches with the ops' own meaning; see `compare`."""
    kernel = compiled(form, body, arrays, target=target, pick=pick, given=given, inplace=inplace)
    compare(kernel(*arrays), reference(body, arrays), tolerance)
    return kernel
