"""lower-kernels-to-gpu: kernels become GPU functions, and their calls in `main` launches.

before:  func.func @main(%x: ..., %y: ..., %arena: ..., %weights: ...) {
           kernel.call @conv_0 ins(%x, %w : ...) outs(%b : ...)
after:   func.func @main(%x: ..., %y: ..., %arena: ..., %weights: ...) {
           gpu.launch_func @kernels::@conv_0 on a grid of blocks, args(%x, %w, %b : ...)
         gpu.module @kernels { gpu.func @conv_0(...) kernel { the code of one thread } }

A kernel whose schedule needs grid-wide synchronisation becomes several launches, which run one after the other; those
of one function differ in their window arguments. Calls of one kernel on buffers of the same types, sharing and
alignment launch the same functions. A buffer that a call both reads and writes is one argument. Loops and branches of
`main` stay, with launches inside of them, and so do the scalars that control them, which the host computes.

Sizes of run time stay in types, constants, grids and offsets. A function takes the symbols that it computes them from
as numbers behind its buffers: the CUDA compiler then knows that they are the same in all threads, which it would not of
numbers loaded from a table.

The schedule alone selects the code: the file of its name in families/. Needs choose-schedule, bufferize and plan-arena.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i8,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.gpu.kernels import LaunchFuncOp
from ...dialects.gpu.kernels import ModuleOp as GpuModuleOp
from ...dialects.graph.base import node_name
from ...dialects.graph.host import blocks_of, kernels_of, main_of, state_level
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.graph.values import int_attr
from ...dialects.kernel.calls import BarrierOp, CallOp, WindowOp
from ...dialects.kernel.targets import GpuAttr, gpu_of
from ...dialects.modules import module_named
from ...dialects.sizes.offsets import Offset
from ...dialects.sizes.polynomials import Monomial, Symbol
from ...dialects.sizes.size_attributes import SIZES, sizes_of_module, symbol_of
from ...dialects.sizes.sizes import is_fixed, terms_of
from ...passes.geometry.boxes import Box, row_major
from ...passes.kernels.schedules import schedule_of
from ...passes.memory.analysis.buffers import (
    IndexConstants,
    Places,
    argument_with_role,
    cast_to,
    drop_argument,
    memref_type,
)
from ...passes.memory.analysis.main_steps import calls_of
from ...passes.memory.analysis.turn_numbers import numbers_of
from ...passes.statistics import count
from ..gpu_to_cuda.launch_list import CALL, NODES
from ..kernel_code.call_types import anywhere, cast_before, sharing_of
from ..kernel_code.elements.run_checks import positions_checked, write_checks
from .gpu_kernel import BuiltLaunch, GpuKernel, LaunchWindow
from .thread_builder import ACCESS

MODULE = "kernels"
CHECK_BLOCK = 128  # threads of a block that checks indices

Key = tuple[str, tuple[Attribute, ...], tuple[int, ...], tuple[int, ...]]


def code_of(schedule: str) -> Callable[[GpuKernel], None]:
    """The function `lower` of the file in families/ that is named like the schedule."""
    return cast("Callable[[GpuKernel], None]", module_named(f"{__package__}.families", schedule).lower)


def _build(
    kernel: KernelOp,
    call: CallOp,
    key: Key,
    target: GpuAttr,
    fresh: Callable[[str], str],
    symbols: Mapping[Symbol, int],
) -> list[BuiltLaunch]:
    """Builds the launches of a kernel for this call's buffer types."""
    _, types, sharing, aligned = key
    distinct = [i for i, first in enumerate(sharing) if first == i]
    position = {first: number for number, first in enumerate(distinct)}
    ins, outs = len(call.ins), len(call.ins) + len(call.outs)
    own = [position[first] for first in sharing]
    k = GpuKernel(
        kernel=kernel,
        target=target,
        schedule=schedule_of(kernel, target.device),
        name=kernel.sym_name.data,
        types=[types[i] for i in distinct],
        operands=own[:ins],
        results=own[ins:outs],
        scratch=own[outs] if call.scratch else None,
        status=own[-1] if call.status else None,
        aligned=[aligned[i] for i in distinct],
        fresh=fresh,
        symbols=symbols,
    )
    if k.status is not None:
        _insert_checks(k, k.status)
    code_of(k.schedule.name)(k)
    return k.launches


def _insert_checks(k: GpuKernel, status: int) -> None:
    """A launch before the kernel's own that records run-time errors, such as indices out of range."""
    positions = positions_checked(k.kernel)
    if positions:
        blocks = -(-positions // CHECK_BLOCK)
        k.launch(blocks, CHECK_BLOCK, lambda grid: write_checks(grid, grid.b.block.args[status]), part="check_indices")


def _alignment(value: SSAValue, places: Places) -> int:
    """The alignment in bytes of a buffer, up to a thread's widest access: at all shapes, in all turns of loops."""
    place, window, moved = places[value], value.owner, 0
    if isinstance(window, WindowOp) and is_fixed(*memref_type(window.source).get_shape()):
        (elements,) = numbers_of(window.offset)
        moved = gcd(*elements.flat) * place.itemsize
    if not place.exact and not moved:
        return 1
    steps = (factor for monomial, factor in terms_of(place.bytes.offset) if not _is_aligned(monomial))
    return gcd(*steps, moved, ACCESS)


def _is_aligned(monomial: Monomial) -> bool:
    """Whether a monomial is a multiple of ACCESS: one with the offset of a buffer in the arena."""
    return any(isinstance(atom, Offset) for atom in monomial)


@dataclass(frozen=True)
class LowerKernelsToGpu(ModulePass):
    """Kernels become GPU functions, and their calls in `main` launches."""

    name = "lower-kernels-to-gpu"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target, main, kernels = gpu_of(op), main_of(op, self.name), kernels_of(op)
        functions: dict[Key, list[BuiltLaunch]] = {}
        taken: set[str] = set()
        symbols = {symbol_of(size): size.value for size in sizes_of_module(op)}
        constants, places = IndexConstants(main), Places()
        region = Region(Block())
        blocks_of(main, self.name)
        for barrier in [each for each in main.walk() if isinstance(each, BarrierOp)]:
            Rewriter.erase_op(barrier)  # launches run one after the other
        for number, inner in enumerate(list(calls_of(main))):
            kernel = kernels[inner.callee.string_value()]
            buffers = [*inner.ins, *inner.outs, *inner.scratch, *inner.status]
            sharing = _all_sharing(inner)
            aligned = tuple(_alignment(value, places) for value in buffers)
            key = (kernel.sym_name.data, tuple(anywhere(value.type) for value in buffers), sharing, aligned)
            if key not in functions:
                functions[key] = _build(kernel, inner, key, target, lambda stem: _fresh(stem, taken), symbols)
                region.block.add_ops(dict.fromkeys(each.function for each in functions[key]))
            passed = [
                cast_before(inner, value, anywhere(value.type)) for i, value in enumerate(buffers) if sharing[i] == i
            ]
            distinct = [value for i, value in enumerate(buffers) if sharing[i] == i]
            for written in functions[key]:
                windows = [_window(distinct[each.buffer], each, inner, constants, places) for each in written.windows]
                _insert_launch(inner, written, [*passed, *windows], constants, number)
            Rewriter.erase_op(inner)
        count(ctx, self.name, "function", len(taken))
        for kernel in kernels.values():
            Rewriter.erase_op(kernel)
        if (table := argument_with_role(main, SIZES)) is not None:  # the host reads it, and passes numbers
            drop_argument(main, table)
        op.body.block.add_op(GpuModuleOp(MODULE, region))
        op.attributes["gpu.container_module"] = UnitAttr()
        state_level(op, "launches")


def _fresh(stem: str, taken: set[str]) -> str:
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name


def _all_sharing(call: CallOp) -> tuple[int, ...]:
    """For each buffer of a call, the position of its first occurrence."""
    own = sharing_of(call)
    return (*own, *range(len(own), len(own) + len(call.scratch) + len(call.status)))


def _window(
    buffer: SSAValue, window: LaunchWindow, call: CallOp, constants: IndexConstants, places: Places
) -> SSAValue:
    """A window of a buffer of main, with the type of the launched function's parameter."""
    type = window.type
    if memref_type(buffer).element_type == i8:
        dense = MemRefType(window.element, window.sizes)
        made: Operation = memref.ViewOp(buffer, constants[window.offset], [], dense)
    else:
        box = Box(places[buffer].box.offset + window.offset, window.sizes, row_major(window.sizes))
        made = cast_to(buffer, box)
    Rewriter.insert_op(made, InsertPoint.before(call))
    if made.results[0].type != type:
        made = memref.CastOp.get(made.results[0], type)
        Rewriter.insert_op(made, InsertPoint.before(call))
    return made.results[0]


def _insert_launch(
    call: CallOp, written: BuiltLaunch, passed: Sequence[SSAValue], constants: IndexConstants, number: int
) -> None:
    """Inserts a launch before its kernel call."""
    shared: Operation | None = None
    if written.shared:
        shared = arith.ConstantOp(IntegerAttr(written.shared, i32))
        Rewriter.insert_op(shared, InsertPoint.before(call))
    launch = LaunchFuncOp(
        SymbolRefAttr(MODULE, [written.function.sym_name.data]),
        [constants[size] for size in written.grid],
        [constants[size] for size in written.block],
        kernelOperands=[*(passed[i] for i in written.arguments), *(constants[size] for size in written.sizes)],
        dynamicSharedMemorySize=shared,
    )
    nodes = node_name(call)
    launch.attributes[NODES] = ArrayAttr([StringAttr(nodes)] if nodes else [])
    launch.attributes[CALL] = int_attr(number)
    launch.location = call.location
    Rewriter.insert_op(launch, InsertPoint.before(call))
