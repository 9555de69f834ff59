"""The same kernels on other memory: results over operands, gaps between rows, shares one after the other in any order.

    for call in on_other_memory([residual(rows) for rows in range(1, 6)], target, every_pair):
        call.check()

Kernels are taken as the compiler forms them, with what their interfaces allow. Each is called on dense buffers of its
own and on every other memory that `choose` names; all calls are one stage, compiled once. There is no barrier inside
a kernel, so one share may be done before another begins: whoever reads what another share has written over shows in
one of two orders, the given and the reverse.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from graph_runs import Case, build
from kernel_runs import Body, kernel_of
from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp, StringAttr, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.blobs import BlobStore
from mini_infer.dialects.graph.host import main_of as graph_main_of
from mini_infer.dialects.graph.host import state_level
from mini_infer.dialects.graph.ops.structure import CallOp as GraphCallOp
from mini_infer.dialects.graph.ops.structure import KernelOp, WeightOp
from mini_infer.dialects.graph.values import Array, element_type_of_value, numpy_dtype, shape_of, type_of
from mini_infer.dialects.kernel.calls import CallOp
from mini_infer.dialects.kernel.kernel_attributes import InterfaceAttr, ScheduleAttr
from mini_infer.dialects.kernel.targets import CpuAttr
from mini_infer.lowering import pipelines
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.lowering.loops_to_llvm.runtime_ir import runtime_ir
from mini_infer.passes.geometry.boxes import Box, row_major
from mini_infer.passes.kernels.choose_schedule import ChooseSchedule
from mini_infer.passes.memory.analysis.buffers import IndexConstants, cast_to, interface_of
from mini_infer.runtime.native.cpu_targets import host_target, machine_of
from mini_infer.runtime.native.llvmlite_calls import compile_to_object
from mini_infer.runtime.native.loaded_code import loaded

ALIGNMENT = 64  # bytes, between buffers
FILLING = 0xA5


@dataclass(frozen=True)
class Memory:
    """What is not dense memory of its own: results over operands (pairs), and buffers with gaps between rows."""

    inplace: tuple[tuple[int, int], ...] = ()
    operands: frozenset[int] = frozenset()
    results: frozenset[int] = frozenset()


Choose: TypeAlias = "Callable[[InterfaceAttr], Iterator[Memory]]"


def every_pair(interface: InterfaceAttr) -> Iterator[Memory]:
    """Each in-place pair by itself, and as many together as there are results."""
    for pair in interface.inplace_pairs:
        yield Memory((pair,))
    together: list[tuple[int, int]] = []
    for operand, result in interface.inplace_pairs:
        if all(operand != o and result != r for o, r in together):
            together.append((operand, result))
    if len(together) > 1:
        yield Memory(tuple(together))


def gaps(interface: InterfaceAttr) -> Iterator[Memory]:
    """Gaps in all operands and results that may have them, and then in place too."""
    operands = frozenset(n.data for n in interface.strided_operands)
    results = frozenset(n.data for n in interface.strided_results)
    if operands or results:
        yield Memory(operands=operands, results=results)
    for operand, result in interface.inplace_pairs[:1]:
        if operand in operands and result in results:
            yield Memory(((operand, result),), operands, results)


def some(interface: InterfaceAttr) -> Iterator[Memory]:
    """Every pair, and gaps wherever they may be."""
    yield from every_pair(interface)
    yield from gaps(interface)


def every(interface: InterfaceAttr) -> Iterator[Memory]:
    """Every pair, and gaps in each operand by itself, too."""
    yield from some(interface)
    for position in sorted(n.data for n in interface.strided_operands):
        yield Memory(operands=frozenset([position]))


@dataclass(frozen=True)
class Buffer:
    """A box of elements that starts at byte `offset` of the arena."""

    offset: int
    box: Box
    itemsize: int

    def bytes(self, arena: Array) -> Array:
        """The bytes of the buffer's elements in an arena, [*sizes, bytes of an element]."""
        box = self.box.in_bytes(self.itemsize)
        return np.lib.stride_tricks.as_strided(arena[self.offset + box.offset :], box.sizes, box.strides)

    @property
    def end(self) -> int:
        """One past its last byte in the arena."""
        return self.offset + self.box.end * self.itemsize


@dataclass
class Call:
    """A kernel on some memory: `outcomes` are its results per order of shares, `plain` is the call on dense memory."""

    kernel: KernelOp
    memory: Memory
    arrays: Sequence[Array]
    operands: list[Buffer]
    results: list[Buffer]
    plain: Call | None
    outcomes: list[list[bytes]] = field(default_factory=list[list[bytes]])

    @property
    def schedule(self) -> str:
        """The kind of the kernel's schedule."""
        assert isinstance(self.kernel.schedule, ScheduleAttr)
        return self.kernel.schedule.kind.data

    def check(self) -> None:
        """Every order of shares gives, to the bit, what the first gives on dense memory."""
        expected = (self.plain or self).outcomes[0]
        for number, outcome in enumerate(self.outcomes):
            assert outcome == expected, f"{self.memory}, order {number}:\n{self.kernel}"


@dataclass(frozen=True)
class ByHand:
    """A kernel that no pass forms (yet), but its family takes."""

    family: str
    body: Body
    arrays: tuple[Array, ...]


def on_other_memory(
    cases: Sequence[Case | ByHand],
    target: CpuAttr,
    choose: Choose = some,
    opt_level: int = 1,
    forbid: Sequence[str] = (),
) -> list[Call]:
    """Runs all kernels of some cases, each on dense memory and on all that `choose` names.

    Schedules that `forbid` names are not taken.
    """
    m = build([case for case in cases if not isinstance(case, ByHand)])
    module = m.module
    module.attributes["kernel.target"] = target
    forbidden = {"choose-schedule": {"forbid": ",".join(forbid) or None}}
    passes = shared_always(pipelines.with_options(pipelines.KERNELS, forbidden))
    pipelines.run_phases(m.ctx, module, [pipelines.Phase("kernels", passes)])
    given = list(_formed(module, m.ctx.blobs))
    for number, case in enumerate(case for case in cases if isinstance(case, ByHand)):
        kernel = kernel_of(case.family, case.body, case.arrays)
        kernel.sym_name = StringAttr(f"by_hand_{number}")
        module.body.block.add_op(kernel)
        given.append((kernel, case.arrays))
    ChooseSchedule(tuple(forbid)).apply(m.ctx, module)
    calls = list(_Layout().calls(given, choose))
    kernels = [call.kernel.clone() for call in calls]
    nbytes, scratch_at = _main_of_calls(module, calls, target.threads.data)
    for call, kernel in zip(calls, kernels, strict=True):
        call.kernel = kernel
    down = f"{shared_always('share-threads')},lower-kernels,{pipelines.LLVM}"
    pipelines.run_passes(m.ctx, module, pipelines.parse_passes(down))
    threads = target.threads.data
    support = runtime_ir(1, {"stage_0": (1, 0)} if threads > 1 else {})
    code = loaded([compile_to_object(emit_llvm_ir(module), machine_of(target), opt_level, link=[support])])
    if threads == 1:
        main = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)(code.address("main"))
        _run(lambda arena: main(arena, None), calls, nbytes, scratch_at)
        return calls
    stage = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)(code.address("stage_0"))
    # The last has several shares for each seat.
    for order in (range(threads), range(threads)[::-1], range(3 * threads)[::-1]):

        def run(arena: int, order: Sequence[int] = order) -> None:
            for share in order:
                stage(arena, share, len(order), share % threads)

        _run(run, calls, nbytes, scratch_at)
    return calls


def shared_always(passes: str) -> str:
    """Passes with which little work is shared among threads, too."""
    return re.sub("limit-threads|share-threads", r"\g<0>{grain=0}", passes)


def small_target(bits: int = 128, registers: int = 8, l2: int = 64, threads: int = 1) -> CpuAttr:
    """This machine's CPU with narrow vectors and few of them, whose tiles come to their ends soon. `l2` is in bytes."""
    cpu = host_target().narrowed(bits)
    return CpuAttr.of(
        cpu=cpu.name,
        features=sorted(cpu.features),
        vector_bits=bits,
        registers=registers,
        l2=l2,
        threads=threads,
    )


def _formed(module: ModuleOp, blobs: BlobStore) -> Iterator[tuple[KernelOp, Sequence[Array]]]:
    """Each kernel that main calls, and data for its operands: weights, or random numbers of their types."""
    random = np.random.default_rng(0)

    def data(value: SSAValue) -> Array:
        if isinstance(value.owner, WeightOp):
            return blobs.read(value.owner.blob, type_of(value))
        dtype, shape = numpy_dtype(element_type_of_value(value)), shape_of(value)
        if dtype.kind in "biu":
            return random.integers(0, 2 if dtype.kind == "b" else 4, shape).astype(dtype)
        return random.standard_normal(shape).astype(dtype)

    seen: set[str] = set()
    for op in graph_main_of(module).body.block.ops:
        if isinstance(op, GraphCallOp) and op.kernel.sym_name.data not in seen:
            seen.add(op.kernel.sym_name.data)
            yield op.kernel, [data(value) for value in op.arguments]


class _Layout:
    """Lays out the calls' buffers, one behind the other."""

    def __init__(self) -> None:
        self.end = 0

    def calls(self, given: Sequence[tuple[KernelOp, Sequence[Array]]], choose: Choose) -> Iterator[Call]:
        """Every kernel on dense memory, then on each of its others."""
        for kernel, arrays in given:
            yield (plain := self.call(kernel, Memory(), arrays, None))
            yield from (self.call(kernel, memory, arrays, plain) for memory in choose(interface_of(kernel)))

    def call(self, kernel: KernelOp, memory: Memory, arrays: Sequence[Array], plain: Call | None) -> Call:
        operands = [self.buffer(value, n in memory.operands) for n, value in enumerate(kernel.arguments)]
        over = {result: operand for operand, result in memory.inplace}
        results = [
            operands[over[n]] if n in over else self.buffer(value, n in memory.results)
            for n, value in enumerate(kernel.terminator.arguments)
        ]
        return Call(kernel, memory, arrays, operands, results, plain)

    def buffer(self, value: SSAValue, gaps: bool) -> Buffer:
        """Memory for a value; with gaps it begins one element late, and each row has room for another element."""
        sizes, dtype = shape_of(value), numpy_dtype(element_type_of_value(value))
        strides = row_major([size + gaps * (axis > 0) for axis, size in enumerate(sizes)])
        buffer = Buffer(self.end, Box(int(gaps), tuple(sizes), strides), dtype.itemsize)
        self.end = _behind(buffer.end)
        return buffer


def _behind(end: int) -> int:
    """Where the next buffer begins: on a cache line, behind some bytes that nobody may write."""
    return (end // ALIGNMENT + 2) * ALIGNMENT


def _main_of_calls(module: ModuleOp, calls: Sequence[Call], threads: int) -> tuple[int, int]:
    """Replaces main by one on an arena that makes the calls; the arena's bytes, and where its scratch begins."""
    graph_main_of(module).detach()
    state_level(module, "arena")
    scratch_at = _behind(max(buffer.end for call in calls for buffer in (*call.operands, *call.results)))
    scratch = max(interface_of(call.kernel).scratch_bytes(threads) for call in calls)
    main = FuncOp("main", ([MemRefType(i8, [scratch_at + scratch + ALIGNMENT])], []))
    main.arg_attrs = ArrayAttr([DictionaryAttr({"graph.role": StringAttr("arena")})])
    module.body.block.insert_op_before(main, next(iter(module.body.block.ops)))
    block = main.body.block
    end = ReturnOp()
    block.add_op(end)
    constants = IndexConstants(main)

    def insert(op: Any) -> SSAValue:
        block.insert_op_before(op, end)
        return op.results[0]

    def view(buffer: Buffer, element: Any) -> SSAValue:
        sizes = buffer.box.sizes
        if buffer.box == Box.dense(sizes):
            return insert(memref.ViewOp(main.args[0], constants[buffer.offset], [], MemRefType(element, sizes)))
        line = MemRefType(element, [buffer.box.end])
        return insert(cast_to(insert(memref.ViewOp(main.args[0], constants[buffer.offset], [], line)), buffer.box))

    for call in calls:
        made: dict[Buffer, SSAValue] = {}
        values = [*call.kernel.arguments, *call.kernel.terminator.arguments]
        for buffer, value in zip([*call.operands, *call.results], values, strict=True):
            if buffer not in made:
                made[buffer] = view(buffer, element_type_of_value(value))
        nbytes = interface_of(call.kernel).scratch_bytes(threads)
        given = (
            [insert(memref.ViewOp(main.args[0], constants[scratch_at], [], MemRefType(i8, [nbytes])))] if nbytes else []
        )
        ins, outs = ([made[buffer] for buffer in side] for side in (call.operands, call.results))
        block.insert_op_before(CallOp(call.kernel.sym_name.data, ins, outs, given), end)
    module.verify()
    return scratch_at + scratch + ALIGNMENT, scratch_at


def _run(run: Callable[[int], None], calls: Sequence[Call], nbytes: int, scratch_at: int) -> None:
    """One run on the address of an arena that holds nothing but the operands; nothing but results changes."""
    memory = np.full(nbytes + ALIGNMENT, FILLING, np.uint8)
    arena = memory[-memory.ctypes.data % ALIGNMENT :][:nbytes]
    results = np.zeros(nbytes, np.uint8)
    for call in calls:
        for buffer, array in zip(call.operands, call.arrays, strict=True):
            buffer.bytes(arena)[...] = np.ascontiguousarray(array).reshape(*array.shape, 1).view(np.uint8)
        for buffer in call.results:
            buffer.bytes(results)[...] = 1
    before = arena.copy()
    run(arena.ctypes.data)
    changed = (arena != before) & (results == 0)
    assert not changed[:scratch_at].any(), "bytes that are no result's were written"
    for call in calls:
        call.outcomes.append([buffer.bytes(arena).tobytes() for buffer in call.results])
