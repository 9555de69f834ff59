"""For tests of whole graphs of kernels: a graph-level module becomes machine code and is judged by float64.

    def product(m: Model) -> SSAValue:
        return m(MatmulOp(m.input(3, 64), m.weight(64, 33)))

    check([product, ...], Target(bits=256, threads=2))

Several cases become one module, compiled once. Inputs, results and the arena end where a page begins that can't be
touched, so code that reads or writes behind them dies at once. What nobody has written holds NaNs.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from everything_shared import everything_shared
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.base import GraphOp, named_location
from mini_infer.dialects.graph.blobs import MiniContext, blob_store
from mini_infer.dialects.graph.host import main_of
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.structure import ConstantOp, KernelOp, WeightOp
from mini_infer.dialects.graph.values import Array, element_type_of, tensor
from mini_infer.dialects.kernel.calls import CallOp
from mini_infer.dialects.kernel.kernel_attributes import FormAttr, ScheduleAttr
from mini_infer.dialects.kernel.targets import BF16_DOTS, BYTE_DOTS, MATRIX_PRODUCTS, CpuAttr
from mini_infer.lowering import pipelines
from mini_infer.runtime.compile.module_to_plan import build_plan
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import target_attribute
from mini_infer.runtime.plan import InferencePlan

_PRODUCTS = {*BYTE_DOTS, *BF16_DOTS, *MATRIX_PRODUCTS}
GUARD = 4096 * 16  # bytes: at least a page everywhere


class Model:
    """A graph-level module under construction: `m(AddOp(x, y))` adds an op and gives its result."""

    def __init__(self, seed: int = 0) -> None:
        self.ctx = MiniContext()
        self.main = FuncOp("main", ([], []))
        self.module = ModuleOp([self.main])
        self.inputs: dict[str, Array] = {}
        self._outputs: dict[str, SSAValue] = {}
        self._random = np.random.default_rng(seed)
        self._names = 0

    def random(self, *shape: int, dtype: Any = np.float32, scale: float = 1.0) -> Array:
        """Numbers of mean 0 and deviation `scale`; truth values are mostly true."""
        if np.dtype(dtype) == np.bool_:
            return self._random.random(shape) < 0.7
        if np.dtype(dtype).kind in "iu":
            return self._random.integers(0, 100, shape).astype(dtype)
        return (self._random.standard_normal(shape) * scale).astype(dtype)

    def input(self, *shape: int, data: Array | None = None, dtype: Any = np.float32, scale: float = 1.0) -> SSAValue:
        """An input, with the data of the test run."""
        array = self.random(*shape, dtype=dtype, scale=scale) if data is None else data
        self.inputs[f"x{len(self.inputs)}"] = array
        block = self.main.body.block
        return block.insert_arg(tensor(element_type_of(array.dtype), array.shape), len(block.args))

    def weight(self, *shape: int, data: Array | None = None, dtype: Any = np.float32, scale: float = 1.0) -> SSAValue:
        """A weight."""
        array = self.random(*shape, dtype=dtype, scale=scale) if data is None else data
        blob = blob_store(self.ctx).add(array)
        return self(WeightOp(blob, tensor(element_type_of(array.dtype), array.shape)))

    def constant(self, value: Any, dtype: Any = np.float32) -> SSAValue:
        """A constant in the IR."""
        return self(ConstantOp.from_numpy(np.asarray(value, dtype)))

    def __call__(self, op: GraphOp) -> SSAValue:
        self._names += 1
        op.location = named_location(f"node_{self._names}")
        self.main.body.block.add_op(op)
        return op.results[0]

    def outputs(self, case: str, values: Iterable[SSAValue]) -> None:
        """Values that the module returns."""
        for number, value in enumerate(values):
            self._outputs[f"{case}.{number}"] = value

    def finish(self) -> None:
        """Ends the function."""
        self.main.body.block.add_op(ReturnOp(*self._outputs.values()))
        self.main.update_function_type()
        self.main.arg_attrs = _named(self.inputs)
        self.main.res_attrs = _named(self._outputs)
        self.module.verify()


def _named(names: Iterable[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"graph.name": StringAttr(name)}) for name in names])


Case: TypeAlias = "Callable[[Model], SSAValue | Sequence[SSAValue]]"


@dataclass(frozen=True)
class Target:
    """What a test compiles for, and which passes run. `l2`, in bytes, sets thresholds of fusion; 0 takes the host's.

    `without` are dot products that the host may have and are not to be used, `forbid` a schedule.
    """

    bits: int = 512
    threads: int = 1
    l2: int = 0
    fuse: bool = True
    plan: bool = True
    winograd: Literal["auto", "off"] = "auto"
    without: tuple[str, ...] = ()
    forbid: str = ""
    reproducible: bool = False

    def config(self) -> EngineConfig:
        """The engine's options."""
        if self.reproducible:
            return EngineConfig(threads=self.threads, winograd=self.winograd, reproducible=True)
        return EngineConfig(threads=self.threads, vector_bits=self.bits, winograd=self.winograd)


THREE = (Target(512, 1), Target(256, 2), Target(128, 5))
EVERY = tuple(Target(bits, threads) for bits in (512, 256, 128) for threads in (1, 2, 5))


@dataclass
class Run:
    """A compiled module and its results; `module` is what it was at the buffers level."""

    plan: InferencePlan
    module: ModuleOp
    results: dict[str, Array]

    @property
    def names(self) -> list[str]:
        """The kernels that run, in order."""
        return [call.kernel for call in self.plan.calls]

    def kernel(self, name: str) -> KernelOp:
        """A kernel, with its body of graph ops."""
        (found,) = [op for op in self.module.ops if isinstance(op, KernelOp) and op.sym_name.data == name]
        return found

    @property
    def schedules(self) -> list[str]:
        """The kinds of schedules of the kernels that run, in order."""
        return [schedule_of(self.kernel(name)).kind.data for name in self.names]

    @property
    def forms(self) -> list[str]:
        """What the kernels that run compute, in order."""
        return [form.kind.data for name in self.names if isinstance(form := self.kernel(name).form, FormAttr)]

    def calls(self) -> list[CallOp]:
        """The calls of kernels on buffers, in order."""
        return [op for op in main_of(self.module).body.block.ops if isinstance(op, CallOp)]


def schedule_of(kernel: KernelOp) -> ScheduleAttr:
    """A kernel's schedule."""
    assert isinstance(kernel.schedule, ScheduleAttr)
    return kernel.schedule


def build(cases: Sequence[Case], seed: int = 0) -> Model:
    """The module of some cases, each named by its function and its number."""
    m = Model(seed)
    for number, case in enumerate(cases):
        values = case(m)
        name = f"{getattr(case, '__name__', 'case')}[{number}]"
        m.outputs(name, [values] if isinstance(values, SSAValue) else values)
    m.finish()
    return m


def compiled(m: Model, target: Target) -> tuple[InferencePlan, ModuleOp]:
    """The plan of a module, whose graph is taken as it is, and the module at the buffers level."""
    module = m.module.clone()
    config = target.config()
    host = target_attribute(config)
    module.attributes["kernel.target"] = CpuAttr.of(
        cpu=host.cpu.data,
        reproducible=target.reproducible,
        features=[each.data for each in host.features if each.data in _PRODUCTS - {*target.without}],
        vector_bits=host.vector_bits.data,
        registers=host.registers.data,
        l2=target.l2 or host.l2.data,
        threads=target.threads,
    )
    kernels = pipelines.KERNELS if target.fuse else pipelines.PLAIN_KERNELS
    forbidden = [*(["winograd"] if target.winograd == "off" else []), *([target.forbid] if target.forbid else [])]
    if forbidden:
        kernels = pipelines.with_options(kernels, {"choose-schedule": {"forbid": ",".join(forbidden)}})
    buffers = pipelines.BUFFERS if target.plan else pipelines.PLAIN_BUFFERS
    down = [pipelines.Phase("kernels", kernels), pipelines.Phase("buffers", buffers)]
    with everything_shared():
        pipelines.run_phases(m.ctx, module, down)
        seen = module.clone()
        return build_plan(module, m.ctx, config), seen


def spread(cases: Sequence[Case], targets: Sequence[Target] = THREE, bound: float = 4e-6) -> list[Run]:
    """Checks each case for one of the targets, so that all of them get a share of the cases."""
    shares = [cases[index :: len(targets)] for index in range(len(targets))]
    return [check(share, target, bound=bound)[0] for share, target in zip(shares, targets, strict=True) if share]


def check(cases: Sequence[Case], *targets: Target, bound: float = 4e-6, seed: int = 0) -> list[Run]:
    """Compiles and runs the cases for each target; max |error| / max |reference| of every result is below `bound`.

    The reference is the interpreter in float64. Results that aren't floats must be equal.
    """
    m = build(cases, seed)
    expected = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64)
    runs: list[Run] = []
    for target in targets:
        plan, module = compiled(m, target)
        runs.append(Run(plan, module, execute(plan, m.inputs)))
        for name, reference in expected.items():
            got, what = runs[-1].results[name], f"{name} on {target}: {runs[-1].names}"
            assert got.shape == reference.shape, what
            if got.dtype.kind != "f":
                np.testing.assert_array_equal(got, reference, what)
                continue
            assert np.isfinite(got).all(), what
            largest = np.abs(reference).max(initial=0) or 1
            error = np.abs(got - reference).max(initial=0) / largest
            assert error < bound, f"{what}: {error:.2g}"
    return runs


def execute(plan: InferencePlan, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Two runs on guarded memory, which must agree to the bit; inputs must stay what they were."""
    context = plan.create_execution_context(guarded(plan.arena_bytes, plan.alignment))
    given = {spec.name: inputs[spec.name] for spec in plan.inputs}
    for name, array in given.items():
        context.bind_input(name, _copy(array))
    results: list[dict[str, Array]] = []
    for _ in range(2):
        results.append({spec.name: _like(spec.shape, spec.dtype) for spec in plan.outputs})
        for name, array in results[-1].items():
            context.bind_output(name, array)
        context.execute()
    first, second = results
    for name, array in first.items():
        assert array.tobytes() == second[name].tobytes(), f"{name}: another result in the second run"
    return first


def guarded(nbytes: int, alignment: int = 1, *, front: bool = False) -> Array:
    """Bytes, all 0xFF, between untouchable pages: they end (up to alignment) where one begins, or begin after one."""
    used = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, GUARD + used + GUARD)
    whole = np.frombuffer(memory, np.uint8)
    whole[GUARD : GUARD + used] = 0xFF
    libc = ctypes.CDLL(None)
    for guard in (whole.ctypes.data, whole.ctypes.data + GUARD + used):
        assert libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(GUARD), 0) == 0
    start = GUARD + (0 if front else (used - nbytes) // alignment * alignment)
    return whole[start : start + nbytes]


def _like(shape: Sequence[int], dtype: Any) -> Array:
    count = int(np.prod(shape))
    return guarded(count * np.dtype(dtype).itemsize, np.dtype(dtype).itemsize).view(dtype).reshape(shape)


def _copy(array: Array) -> Array:
    copy = _like(array.shape, array.dtype)
    copy[...] = array
    copy.flags.writeable = False
    return copy
