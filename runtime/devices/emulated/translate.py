"""Translates a gpu.func to a Python function that executes each step for all threads of a batch of blocks.

    %3 = arith.addi %1, %2 : index        v3 = v1 + v2
    scf.for %4 = %c0 to %c8 step %c1 {    for v4 in range(0, 8, 1):
    scf.if %5 {                           m1, m2 = split(v5, m0)
                                          if m1 is not False:

An op without a Python operator becomes a call of a function bound to a name (f3); memory accesses call functions with
the op's site (s4); m0, m1, ... are masks of active threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects.errors import CompileError
from ....dialects.gpu.cluster import ClusterLoadOp
from ....dialects.gpu.grid_barrier import GridBarrierOp
from ....dialects.gpu.kernels import FuncOp
from ....dialects.gpu.mbarriers import BulkCopyOp, MBarrierCreateOp, MBarrierWaitOp
from ....dialects.gpu.nvgpu import LINE_BYTES, AsyncCopyOp, AsyncWaitOp, LdMatrixOp
from ....dialects.gpu.shuffle import ShuffleOp
from ....dialects.gpu.tensor_maps import TensorLoadOp
from ....dialects.gpu.warpgroup import WarpgroupMmaOp, WarpgroupWaitOp
from ....dialects.graph.base import describe
from ....dialects.sizes.formulas import formula
from ....dialects.sizes.polynomials import Symbol
from ....dialects.sizes.sizes import Size
from ....lowering.gpu_to_cuda.cuda_text import is_wide
from .conversions import conversion
from .memory import element_bytes, site_of
from .numpy_arithmetic import constant_lanes, function_of, infix
from .thread_values import constant, is_vector, lanes_of
from .vectors import vector_function

INDEX_32, INDEX_64 = np.dtype(np.int32), np.dtype(np.int64)
DEEPEST = 18  # nesting depth of loops; Python allows 20


def translate(function: FuncOp) -> tuple[str, dict[str, Any]]:
    """The text of `def kernel(batch, ...)`, and the objects bound to names in it.

    Raises CompileError for an unsupported op.
    """
    block = function.body.block
    writer = _Writer(INDEX_64 if is_wide(function) else INDEX_32)
    writer.sizes = {symbol: writer.name(argument) for symbol, argument in function.symbols.items()}
    arguments = ", ".join(writer.name(argument) for argument in block.args)
    writer.line(f"def kernel(run, {arguments}):")
    writer.depth += 1
    writer.line("m0 = True")
    writer.block(block, "m0")
    writer.line("return")
    return "\n".join(writer.lines) + "\n", writer.given


class _Writer:
    def __init__(self, index: np.dtype[Any]) -> None:
        self.lines: list[str] = []
        self._index = index
        self.depth = 0
        self.given: dict[str, Any] = {}
        self.sizes: dict[Symbol, str] = {}
        """The variables that hold sizes of run time."""
        self._names: dict[SSAValue, str] = {}
        self._numbers: dict[SSAValue, int] = {}
        self._masks = 0
        self._loops = 0
        self._concurrent = False

    # names

    def name(self, value: SSAValue) -> str:
        """The variable of a value, or the literal of a constant index."""
        if value not in self._names:
            self._names[value] = f"v{len(self._names)}"
        return self._names[value]

    def names(self, values: Sequence[SSAValue]) -> str:
        """Variables of several values, as elements of a tuple."""
        return "".join(f"{self.name(value)}, " for value in values)

    def size(self, size: int) -> str:
        """The expression of a number, or of a size of run time."""
        return f"({formula(size.terms, self.sizes)})" if isinstance(size, Size) else str(size)

    def give(self, kind: str, thing: Any) -> str:
        """Binds an object to a new name."""
        name = f"{kind}{len(self.given)}"
        self.given[name] = thing
        return name

    def mask(self) -> str:
        """A new variable for a mask."""
        self._masks += 1
        return f"m{self._masks}"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    # blocks

    def block(self, block: Block, mask: str) -> Sequence[SSAValue]:
        """Emits a block; returns the operands of its terminator."""
        for op in block.ops:
            if isinstance(op, scf.YieldOp | scf.ConditionOp):
                return op.operands
            handler = _HANDLERS.get(op.name)
            if handler is not None:
                handler(self, op, mask)
            else:
                self._compute(op)
        return ()

    def _compute(self, op: Operation) -> None:
        result = self.name(op.results[0]) if len(op.results) == 1 else ""
        operator = infix(op)
        if operator is not None:
            a, b = map(self.name, op.operands)
            self.line(f"{result} = {a} {operator} {b}")
            return
        function = function_of(op) or conversion(op, self._index) or vector_function(op)
        if function is None:
            raise CompileError(f"{describe(op)}: the emulation of GPUs doesn't support this operation")
        self.line(f"{result} = {self.give('f', function)}({self.names(op.operands)})")

    def constant(self, op: arith.ConstantOp) -> None:
        value, result = op.value, op.result
        if isinstance(value, IntegerAttr) and isinstance(size := value.value.data, Size):
            text = self.size(size)
            if not isinstance(result.type, IndexType):
                text = f"{self.give('f', partial(constant, type=result.type))}({text})"
            self.line(f"{self.name(result)} = {text}")
            return
        if isinstance(value, IntegerAttr) and isinstance(result.type, IndexType):
            number = value.value.data
            self._numbers[result] = number
            self._names[result] = str(number) if number >= 0 else f"({number})"
            return
        if isinstance(value, IntegerAttr | FloatAttr):
            made = constant(value.value.data, result.type)
        elif isinstance(value, DenseIntOrFPElementsAttr):
            numbers = cast("list[float | int]", list(value.get_values()))
            made = constant_lanes(numbers * (lanes_of(result.type) // len(numbers)), result.type)
        else:
            raise CompileError(f"{describe(op)}: the emulation of GPUs doesn't support such a constant")
        self._names[result] = self.give("c", made)

    # control flow

    def region(self, region: Region, mask: str, results: Sequence[str], types: Sequence[SSAValue]) -> None:
        """Emits a branch, which assigns its results to variables."""
        self.depth += 1
        values = self.block(region.block, mask) if region.blocks else ()
        self.line(f"{_tuple(results)} = {self.names(values)}" if results else "pass")
        self.depth -= 1

    def branch(self, op: scf.IfOp, mask: str) -> None:
        if not op.results and all(map(_waits, op.regions)):
            self.concurrent(op, mask)
            return
        then, otherwise = self.mask(), self.mask()
        taken = [f"{self.name(result)}_a" for result in op.results]
        other = [f"{self.name(result)}_b" for result in op.results]
        for name in (*taken, *other):
            self.line(f"{name} = None")
        self.line(f"{then}, {otherwise} = split({self.name(op.cond)}, {mask})")
        self.line(f"if {then} is not False:")
        self.region(op.true_region, then, taken, op.results)
        if op.false_region.blocks:
            self.line(f"if {otherwise} is not False:")
            self.region(op.false_region, otherwise, other, op.results)
        for result, a, b in zip(op.results, taken, other, strict=True):
            self.check_carried(op, result)
            function = "joined_lanes" if is_vector(result.type) else "joined"
            self.line(f"{self.name(result)} = {function}({then}, {otherwise}, {a}, {b})")

    def concurrent(self, op: scf.IfOp, mask: str) -> None:
        """A branch both sides of which wait for barriers, maybe for each other: generators, which take turns."""
        then, otherwise = self.mask(), self.mask()
        self.line(f"{then}, {otherwise} = split({self.name(op.cond)}, {mask})")
        outer, self._concurrent = self._concurrent, True
        sides: list[str] = []
        for region, active in zip(op.regions, (then, otherwise), strict=True):
            side = f"side{self._masks}_{len(sides)}"
            self.line(f"def {side}():")
            self.region(region, active, (), ())
            sides.append(f"*([{side}()] if {active} is not False else [])")
        self._concurrent = outer
        self.line(f"run.concurrently({', '.join(sides)})")

    def loop(self, op: scf.ForOp, mask: str) -> None:
        counter, *carried = op.body.block.args
        bounds = [op.lb, op.ub, op.step]
        if not isinstance(counter.type, IndexType):
            raise CompileError(f"{describe(op)}: a counter is an index, not {counter.type}")
        for argument, initial in zip(carried, op.iter_args, strict=True):
            self.check_carried(op, argument)
            self.line(f"{self.name(argument)} = {self.name(initial)}")
        self._loops += 1
        if self._loops > DEEPEST:
            raise CompileError(f"{describe(op)}: more than {DEEPEST} nested loops")
        inside = mask
        if all(bound in self._numbers for bound in bounds):
            self.line(f"for {self.name(counter)} in range({self.names(bounds)}):")
        else:
            inside = self.mask()
            self.line(f"for {self.name(counter)}, {inside} in trips({self.names(bounds)}{mask}):")
        self.depth += 1
        values = self.block(op.body.block, inside)
        if carried:
            new = [self.merged(inside, mask, value, old) for value, old in zip(values, carried, strict=True)]
            self.line(f"{self.names(carried)} = {_tuple(new)}")
        else:
            self.line("pass")
        self.depth -= 1
        self._loops -= 1
        if carried:
            self.line(f"{self.names(op.results)} = {self.names(carried)}")

    def merged(self, inside: str, mask: str, new: SSAValue, old: SSAValue) -> str:
        """The loop-carried value: the old one in threads that have left the loop."""
        if inside == mask:
            return self.name(new)
        function = "merged_lanes" if is_vector(new.type) else "merged"
        return f"{function}({inside}, {mask}, {self.name(new)}, {self.name(old)})"

    def repeat(self, op: scf.WhileOp, mask: str) -> None:
        before, after = op.before_region.block, op.after_region.block
        for argument, initial in zip(before.args, op.arguments, strict=True):
            self.check_carried(op, argument)
            self.line(f"{self.name(argument)} = {self.name(initial)}")
        for result in op.results:
            self.line(f"{self.name(result)} = None")
        testing, going, spare = self.mask(), self.mask(), self.mask()
        self.line(f"{testing} = {mask}")
        self._loops += 1
        self.line("while True:")
        self.depth += 1
        condition, *values = self.block(before, testing)
        self.line(f"{going}, {spare} = split({self.name(condition)}, {testing})")
        for result, value in zip(op.results, values, strict=True):
            old, new = self.name(result), self.name(value)
            function = "merged_lanes" if is_vector(result.type) else "merged"
            self.line(f"{old} = {new} if {old} is None else {function}({testing}, {mask}, {new}, {old})")
        self.line(f"if {going} is False:")
        self.line("    break")
        if values:
            self.line(f"{self.names(after.args)} = {self.names(values)}")
        yielded = self.block(after, going)
        if yielded:
            self.line(f"{self.names(before.args)} = {self.names(yielded)}")
        self.line(f"{testing} = {going}")
        self.depth -= 1
        self._loops -= 1

    def check_carried(self, op: Operation, value: SSAValue) -> None:
        """Refuses buffers as loop-carried values."""
        if isinstance(value.type, MemRefType):
            raise CompileError(f"{describe(op)}: a loop or branch can't yield a buffer")

    # memory

    def load(self, op: memref.LoadOp | vector.LoadOp, mask: str) -> None:
        base, *indices = op.operands
        result = op.results[0]
        site = self.give("s", site_of(op, result.type, 0 if op.name == "memref.load" else None))
        self.line(f"{self.name(result)} = load({site}, {self.name(base)}, ({self.names(indices)}), {mask})")

    def store(self, op: memref.StoreOp | vector.StoreOp, mask: str) -> None:
        value, base, *indices = op.operands
        site = self.give("s", site_of(op, value.type, 0 if op.name == "memref.store" else None))
        self.line(f"store({site}, {self.name(value)}, {self.name(base)}, ({self.names(indices)}), {mask})")

    def alloca(self, op: memref.AllocaOp, _: str) -> None:
        sizes = _type(op.memref).get_shape()
        self.line(f"{self.name(op.memref)} = run.private({self.listed(sizes)})")

    def view(self, op: memref.ViewOp, mask: str) -> None:
        sizes = self.mixed(_type(op.results[0]).get_shape(), op.sizes)
        what = f"{self.name(op.source)}, {self.name(op.byte_shift)}, {sizes}, {element_bytes(_type(op.results[0]))}"
        self.line(f"{self.name(op.results[0])} = run.viewed({self.give('s', op)}, {what}, {mask})")

    def same(self, op: Operation, _: str) -> None:
        self.line(f"{self.name(op.results[0])} = {self.name(op.operands[0])}")

    def reshaped(self, op: Operation, _: str) -> None:
        sizes = _type(op.results[0]).get_shape()
        box = f"{self.listed(sizes)}, {self.listed(_strides(op, op.results[0]))}"
        self.line(f"{self.name(op.results[0])} = moved({self.name(op.operands[0])}, 0, {box})")

    def window(self, op: memref.ReinterpretCastOp, _: str) -> None:
        """Offsets count from the start of the buffer if its type states the offset of its first element."""
        (known,) = op.static_offsets.get_values()
        layout = _type(op.source).layout
        known_start = isinstance(layout, StridedLayoutAttr) and isinstance(layout.offset, IntAttr)
        start = cast("IntAttr", cast("StridedLayoutAttr", layout).offset).data if known_start else 0
        offset = self.name(op.offsets[0]) if known == DYNAMIC_INDEX else self.size(known)
        sizes = self.mixed(op.static_sizes.get_values(), op.sizes)
        strides = self.mixed(op.static_strides.get_values(), op.strides)
        shift = f"{offset} - {self.size(start)}" if start else offset
        self.line(f"{self.name(op.result)} = moved({self.name(op.source)}, {shift}, {sizes}, {strides})")

    def subview(self, op: memref.SubviewOp, _: str) -> None:
        offsets = self.mixed(op.static_offsets.get_values(), op.offsets)
        sizes = self.mixed(op.static_sizes.get_values(), op.sizes)
        if len(_type(op.result).get_shape()) != _type(op.source).get_num_dims() or op.strides:
            raise CompileError(f"{describe(op)}: the emulation of GPUs doesn't support windows that drop dimensions")
        steps = self.listed(op.static_strides.get_values())
        self.line(f"{self.name(op.result)} = subview({self.name(op.source)}, {offsets}, {sizes}, {steps})")

    def mixed(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> str:
        """A mixed list, with dynamic entries taken from values."""
        rest = iter(dynamic)
        return _tuple([self.name(next(rest)) if each == DYNAMIC_INDEX else self.size(each) for each in static])

    def listed(self, sizes: Sequence[int]) -> str:
        """A tuple of sizes."""
        return _tuple([*map(self.size, sizes)])

    def dim(self, op: memref.DimOp, _: str) -> None:
        self.line(f"{self.name(op.result)} = {self.name(op.source)}.sizes[{self.name(op.index)}]")

    # threads

    def id(self, op: Operation, _: str) -> None:
        dimension = cast("StringAttr", cast("Any", op.properties["dimension"])).data
        text = str(getattr(dimension, "value", dimension))
        self.line(f"{self.name(op.results[0])} = run.id({op.name!r}, {text!r})")

    def step(self, op: Operation, mask: str) -> None:
        """Emits an op that needs only operands and the mask."""
        results = f"{self.names(op.results)[:-2]} = " if op.results else ""
        method = op.name.rpartition(".")[2]
        self.line(f"{results}run.{method}({self.give('s', op)}, {self.names(op.operands)}{mask})")

    def shuffle(self, op: ShuffleOp, mask: str) -> None:
        what = f"{self.give('s', op)}, {op.mode.data!r}, {self.names(op.operands)}{mask}"
        self.line(f"{self.names(op.results)} = run.shuffle({what})")

    def copy(self, op: AsyncCopyOp, mask: str) -> None:
        site = self.give("s", site_of(op, _type(op.source).element_type, op.elements.value.data))
        places = [
            f"{self.name(window)}, ({self.names(indices)})"
            for window, indices in ((op.source, op.source_indices), (op.destination, op.destination_indices))
        ]
        valid = None if op.valid is None else self.name(op.valid)
        self.line(f"run.copies.begin({site}, {', '.join(places)}, {valid}, {mask})")

    def ldmatrix(self, op: LdMatrixOp, mask: str) -> None:
        element, (base, *indices) = _type(op.source).element_type, op.operands
        row = site_of(op, element, LINE_BYTES // element_bytes(_type(op.source)))
        what = f"{self.give('s', row)}, {self.name(base)}, ({self.names(indices)})"
        self.line(f"{self.name(op.result)} = run.ldmatrix({what}, {mask})")

    def cluster_load(self, op: ClusterLoadOp, mask: str) -> None:
        what = f"{self.give('s', site_of(op, op.result.type))}, {self.name(op.source)}, ({self.names(op.indices)})"
        self.line(f"{self.name(op.result)} = run.cluster_load({what}, {self.name(op.rank)}, {mask})")

    def grid_barrier(self, op: GridBarrierOp, mask: str) -> None:
        site = self.give("s", site_of(op, i32))
        self.line(f"run.grid_barrier({site}, {self.name(op.counter)}, {mask})")

    def group(self, _: Operation, mask: str) -> None:
        self.line(f"run.copies.group({mask})")

    def wait(self, op: AsyncWaitOp, mask: str) -> None:
        self.line(f"run.copies.wait({op.groups.value.data}, {mask})")

    def barriers(self, op: MBarrierCreateOp, _: str) -> None:
        self.line(f"{self.name(op.barriers)} = run.barriers.create({op.barriers.type.num_barriers.data})")

    def at_barrier(self, method: str, op: Operation, mask: str) -> None:
        """Emits an op on one barrier of a group."""
        self.line(f"run.barriers.{method}({self.give('s', op)}, {self.names(op.operands)}{mask})")

    def barrier_wait(self, op: MBarrierWaitOp, mask: str) -> None:
        if self._concurrent:
            barrier = ", ".join(map(self.name, (op.barriers, op.index, op.phase)))
            self.line(f"while not run.barriers.is_over({barrier}, {mask}):")
            self.line("    yield")
        self.at_barrier("wait", op, mask)

    def bulk_copy(self, op: BulkCopyOp, mask: str) -> None:
        site = self.give("s", site_of(op, _type(op.source).element_type, op.elements.value.data))
        places = [
            f"{self.name(window)}, ({self.names(indices)})"
            for window, indices in ((op.source, op.source_indices), (op.destination, op.destination_indices))
        ]
        barrier = f"{self.name(op.barriers)}, {self.name(op.index)}"
        self.line(f"run.barriers.copy({site}, {', '.join(places)}, {barrier}, {mask})")

    def box_copy(self, op: TensorLoadOp, mask: str) -> None:
        box = op.map.box
        site = self.give("s", site_of(op, box.element_type, prod(box.get_shape())))
        barrier = f"{self.name(op.barriers)}, {self.name(op.index)}"
        target = f"{self.name(op.destination)}, ({self.names(op.destination_indices)})"
        source = f"{self.name(op.tensorMap)}, ({self.names(op.coordinates)})"
        self.line(f"run.barriers.copy_box({site}, {source}, {target}, {barrier}, {mask})")

    def product(self, op: WarpgroupMmaOp, mask: str) -> None:
        site = self.give("s", site_of(op, _type(op.b).element_type, 0))
        b = f"{self.name(op.b)}, ({self.names(op.indices)})"
        self.line(f"run.products.start({site}, {self.name(op.a)}, {b}, {self.name(op.sums)}, {mask})")

    def products_fence(self, op: Operation, mask: str) -> None:
        self.line(f"run.products.fence({self.give('s', op)}, {mask})")

    def products_commit(self, op: Operation, mask: str) -> None:
        self.line(f"run.products.commit({self.give('s', op)}, {mask})")

    def products_wait(self, op: WarpgroupWaitOp, mask: str) -> None:
        self.line(f"run.products.wait({self.give('s', op)}, {op.groups.value.data}, {mask})")

    def shared(self, op: Operation, _: str) -> None:
        self.line(f"{self.name(op.results[0])} = run.shared")

    def nothing(self, op: Operation, mask: str) -> None:
        """The end of the function."""


def _waits(region: Region) -> bool:
    """Whether there are waits for barriers in a branch."""
    return any(isinstance(op, MBarrierWaitOp) for op in region.walk())


def _type(value: SSAValue) -> MemRefType[Attribute]:
    return cast("MemRefType[Attribute]", value.type)


def _tuple(texts: Sequence[str]) -> str:
    return f"({''.join(f'{text}, ' for text in texts)})"


def _strides(op: Operation, value: SSAValue) -> tuple[int, ...]:
    type = _type(value)
    strides = type.get_strides()
    if strides is None or None in strides:
        raise CompileError(f"{describe(op)}: the strides of {type} must be known")
    return tuple(cast("Sequence[int]", strides))


_HANDLERS: dict[str, Callable[[_Writer, Any, str], None]] = {
    "arith.constant": lambda w, op, _: w.constant(op),
    "scf.if": _Writer.branch,
    "scf.for": _Writer.loop,
    "scf.while": _Writer.repeat,
    "memref.load": _Writer.load,
    "memref.store": _Writer.store,
    "vector.load": _Writer.load,
    "vector.store": _Writer.store,
    "memref.alloca": _Writer.alloca,
    "memref.view": _Writer.view,
    "memref.cast": _Writer.same,
    "memref.assume_alignment": _Writer.same,
    "memref.collapse_shape": _Writer.reshaped,
    "memref.expand_shape": _Writer.reshaped,
    "memref.reinterpret_cast": _Writer.window,
    "memref.subview": _Writer.subview,
    "memref.dim": _Writer.dim,
    "gpu.thread_id": _Writer.id,
    "gpu.block_id": _Writer.id,
    "gpu.barrier": _Writer.step,
    "gpu.shuffle": _Writer.shuffle,
    "gpu.dynamic_shared_memory": _Writer.shared,
    "gpu.return": _Writer.nothing,
    "nvgpu.device_async_copy": _Writer.copy,
    "nvgpu.device_async_create_group": _Writer.group,
    "nvgpu.device_async_wait": _Writer.wait,
    "nvgpu.ldmatrix": _Writer.ldmatrix,
    "nvgpu.mma.sync": _Writer.step,
    "nvgpu.cluster_barrier": _Writer.step,
    "nvgpu.cluster_load": _Writer.cluster_load,
    "nvgpu.grid_barrier": _Writer.grid_barrier,
    "nvgpu.mbarrier.create": _Writer.barriers,
    "nvgpu.mbarrier.init": lambda w, op, mask: w.at_barrier("init", op, mask),
    "nvgpu.mbarrier.fence": lambda w, _, mask: w.line(f"run.barriers.fence({mask})"),
    "nvgpu.mbarrier.arrive.expect_tx": lambda w, op, mask: w.at_barrier("expect", op, mask),
    "nvgpu.mbarrier.arrive": lambda w, op, mask: w.at_barrier("arrive", op, mask),
    "nvgpu.mbarrier.try_wait.parity": _Writer.barrier_wait,
    "nvgpu.bulk_async_copy": _Writer.bulk_copy,
    "nvgpu.proxy_fence": _Writer.step,
    "nvgpu.tma.create.descriptor": _Writer.same,
    "nvgpu.tma.async.load": _Writer.box_copy,
    "nvgpu.setmaxregister": lambda w, op, mask: w.line(f"run.products.whole({w.give('s', op)}, {mask})"),
    "nvgpu.warpgroup.fence": _Writer.products_fence,
    "nvgpu.warpgroup.mma": _Writer.product,
    "nvgpu.warpgroup.commit": _Writer.products_commit,
    "nvgpu.warpgroup.wait": _Writer.products_wait,
}
