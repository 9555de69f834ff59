"""The reference interpreter of the buffers and arena levels: runs main on bytes in numpy, kernels by their bodies.

At the buffers level each allocation has its own bytes; at the arena level all lie where the plan puts them. Memory
starts as garbage; scratch is garbage again at each call, and so is each buffer of the arena once it is dead. Every byte
of the arena also bears the number of the buffer that wrote it, which a read must find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from ....dialects.bounded_crops import Cut, trimmed
from ....dialects.errors import InvalidModelError, PlanError, UnsupportedError
from ....dialects.graph.base import GraphOp, describe
from ....dialects.graph.blobs import BlobAttr, BlobStore
from ....dialects.graph.bounds import cuts_of
from ....dialects.graph.host import (
    NAME,
    argument_texts,
    attributes_of_arguments,
    caches_of,
    is_scalar,
    kernels_of,
    main_of,
)
from ....dialects.graph.ops.structure import KernelOp, YieldOp
from ....dialects.graph.values import Array, numpy_dtype, tensor
from ....dialects.kernel.calls import BarrierOp, CallOp, WeightOp, WindowOp
from .buffers import WEIGHTS, int_attribute
from .main_steps import loop_ranges, steps_of

if TYPE_CHECKING:
    from xdsl.interpreter import Interpreter

GARBAGE = 0xFF  # four of them are a NaN
Observer: TypeAlias = Callable[[CallOp, Sequence[Array], Sequence[Array]], None]
"""Called after each call with copies of its operands, and with its results."""
_NOTHING = (memref.ViewOp, memref.ReinterpretCastOp, WindowOp, BarrierOp, func.ReturnOp, scf.YieldOp, scf.ConditionOp)
"""Ops that do nothing by themselves: places are found where they are used."""
_KNOWN = (memref.AllocOp, memref.LoadOp, WeightOp, scf.ForOp, scf.WhileOp, scf.IfOp, *_NOTHING)


def is_interpretable(module: ModuleOp) -> bool:
    """Whether `run_module` knows all ops and arguments of main, and all kernels that it calls."""
    kernels, main = kernels_of(module), main_of(module)

    def is_known(op: Operation) -> bool:
        if isinstance(op, CallOp):
            return op.callee.string_value() in kernels
        return is_scalar(op) or isinstance(op, _KNOWN)

    buffers = all(isinstance(argument.type, MemRefType) for argument in main.args)
    return buffers and not any(caches_of(main)) and all(map(is_known, main.body.walk()))


def run_module(
    module: ModuleOp, store: BlobStore, inputs: Mapping[str, Array], on_call: Observer | None = None
) -> dict[str, Array]:
    """Runs main on buffers or on an arena, and returns the named results, in the order of main's arguments.

    Raises PlanError where a byte is read that another buffer has written since, or an input is written.
    """
    return BufferRun(module, store, on_call).run(inputs)


class BufferRun:
    """One run of `run_module`; `current` is the call that is, or was last, at work."""

    def __init__(self, module: ModuleOp, store: BlobStore, on_call: Observer | None) -> None:
        self.module, self.store, self.on_call = module, store, on_call
        self.kernels, self.main = kernels_of(module), main_of(module)
        self.memory: dict[SSAValue, Array] = {}  # roots -> bytes
        self.stamps: dict[SSAValue, Array] = {}  # the arena -> for each byte, the buffer that wrote it last
        self.numbers: dict[SSAValue, Any] = {}  # scalars
        self.steps = {op: step for step, op in enumerate(steps_of(self.main))}
        self.turns = loop_ranges(self.main)
        self.loops: list[range] = []  # the steps of those that run
        self.current: CallOp | None = None

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name."""
        names = argument_texts(self.main, NAME)
        roles = argument_texts(self.main, "graph.role")
        results: list[SSAValue] = []
        cuts: list[tuple[Cut, ...]] = []
        given: dict[SSAValue, str] = {}
        for argument, name, role, attributes in zip(
            self.main.args, names, roles, attributes_of_arguments(self.main), strict=True
        ):
            self.reserve(argument, stamped=role == "arena")
            if role == "cache":
                raise UnsupportedError(f"cache {name}: the interpreter of buffers knows no caches")
            if role == "input":
                given[argument] = name
                self.array(argument)[...] = inputs[name]
            elif role == "output":
                results.append(argument)
                cuts.append(cuts_of(attributes))
            elif role == "weights":
                self.place_weights(argument)
        before = {argument: self.memory[argument].copy() for argument in given}
        with np.errstate(all="ignore"):  # garbage is computed with only where a plan is wrong
            self.block(self.main.body.block)
        for argument, name in given.items():
            if (self.memory[argument] != before[argument]).any():
                raise PlanError(f"input {name} was written")
        counts = [int(self.array(each)) for each, cut in zip(results, cuts, strict=True) if cut]
        arrays = [self.array(each) for each, cut in zip(results, cuts, strict=True) if not cut]
        outputs = trimmed(arrays, [cut for cut in cuts if cut], counts)
        shown = [name for name, role in zip(names, roles, strict=True) if role == "output"]
        return dict(zip(shown, outputs, strict=False))  # counts come behind the others

    def reserve(self, root: SSAValue, *, stamped: bool = False) -> None:
        type = cast("MemRefType[Attribute]", root.type)
        size = int(np.prod(type.get_shape())) * numpy_dtype(type.element_type).itemsize
        self.memory[root] = np.full(size, GARBAGE, np.uint8)
        if stamped:
            self.stamps[root] = np.full(size, -1, np.int32)

    def place_weights(self, segment: SSAValue) -> None:
        placed = cast("ArrayAttr[ArrayAttr[Attribute]]", self.module.attributes.get(WEIGHTS, ArrayAttr([])))
        for entry in placed.data:
            blob, offset = cast("tuple[BlobAttr, IntegerAttr]", entry.data)
            start, size = offset.value.data, blob.nbytes.data
            self.memory[segment][start : start + size] = np.frombuffer(self.store.bytes(blob), np.uint8)

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.execute(op)

    def execute(self, op: Operation) -> None:
        match op:
            case memref.AllocOp():
                self.reserve(op.memref)
            case WeightOp():
                self.reserve(op.result)
                type = op.result.type
                self.array(op.result)[...] = self.store.read(op.blob, tensor(type.element_type, type.get_shape()))
            case CallOp():
                self.call(op)
            case scf.ForOp():
                first, end, step = (self.numbers[each] for each in (op.lb, op.ub, op.step))
                self.loops.append(self.turns.get(op, range(0)))
                for number in range(first, end, step):
                    self.numbers[op.body.block.args[0]] = number
                    self.block(op.body.block)
                self.bury(self.loops.pop().stop)
            case scf.WhileOp():
                self.loop(op)
            case scf.IfOp():
                region = op.regions[0 if self.numbers[op.cond] else 1]
                if region.blocks:
                    self.block(region.block)
            case memref.LoadOp():
                self.check_stamps(op.memref, op)
                position = tuple(self.numbers[each] for each in op.indices)
                self.numbers[op.res] = self.array(op.memref)[position].item()
                self.bury(self.steps[op] + 1)
            case _ if isinstance(op, _NOTHING):
                pass
            case _ if is_scalar(op):
                given = tuple(self.numbers[each] for each in op.operands)
                self.numbers.update(zip(op.results, self.scalar(op, given), strict=True))
            case _:
                raise InvalidModelError(f"{describe(op)}: the interpreter of buffers does not know it in main")

    def loop(self, op: scf.WhileOp) -> None:
        self.loops.append(self.turns.get(op, range(0)))
        given = [self.numbers[each] for each in op.arguments]
        while True:
            self.numbers.update(zip(op.before_region.block.args, given, strict=True))
            self.block(op.before_region.block)
            last = cast("scf.ConditionOp", op.before_region.block.last_op)
            if not self.numbers[last.condition]:
                break
            self.numbers.update(zip(op.after_region.block.args, given, strict=True))
            self.block(op.after_region.block)
            turn = cast("scf.YieldOp", op.after_region.block.last_op)
            given = [self.numbers[each] for each in turn.operands]
        self.numbers.update(zip(op.results, given, strict=True))
        self.bury(self.loops.pop().stop)

    @cached_property
    def scalars(self) -> Interpreter:
        # Few mains compute with scalars, and their interpreter is slow to import.
        from xdsl.interpreter import Interpreter
        from xdsl.interpreters.arith import ArithFunctions

        interpreter = Interpreter(ModuleOp([]))
        interpreter.register_implementations(ArithFunctions())
        return interpreter

    def scalar(self, op: Operation, given: tuple[Any, ...]) -> Sequence[Any]:
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            return (op.value.value.data,)
        try:
            return self.scalars.run_op(op, given)
        except InterpretationError as error:
            raise InvalidModelError(f"{describe(op)}: {error}") from error

    def call(self, op: CallOp) -> None:
        self.current = op
        for value in op.ins:
            self.check_stamps(value, op)
        operands = [self.array(value).copy() for value in op.ins]
        for value in op.scratch:
            self.spoil(value)
            self.stamp(value)
        results = _evaluated(self.kernels[op.callee.string_value()], operands)
        for value, result in zip(op.outs, results, strict=True):
            self.array(value)[...] = result
            self.stamp(value)
        if self.on_call is not None:
            self.on_call(op, operands, results)
        self.bury(self.steps[op] + 1)

    def stamp(self, value: SSAValue) -> None:
        if (stamps := self.stamped(value)) is not None:
            stamps[...] = _number(value) or -2

    def check_stamps(self, value: SSAValue, op: CallOp | memref.LoadOp) -> None:
        number, stamps = _number(value), self.stamped(value)
        if not number or stamps is None or (stamps == number).all():
            return
        reader = f"@{op.callee.string_value()}" if isinstance(op, CallOp) else op.name
        raise PlanError(f"step {self.steps[op]}: {reader} reads bytes of {_name(value)} that another has written")

    def bury(self, step: int) -> None:
        """Garbage over the buffers that are dead from this step on; those that a loop may need again die behind it."""
        for view in self.dying.get(step, ()):
            if all(loop.start <= (int_attribute(view, "birth") or 0) and step < loop.stop for loop in self.loops):
                self.spoil(view.result)

    @cached_property
    def dying(self) -> dict[int | None, list[memref.ViewOp]]:
        """The buffers by their deaths."""
        found: dict[int | None, list[memref.ViewOp]] = {}
        for op in self.main.body.walk():
            if isinstance(op, memref.ViewOp):
                found.setdefault(int_attribute(op, "death"), []).append(op)
        return found

    def spoil(self, value: SSAValue) -> None:
        """Garbage in every byte of the value."""
        array = self.array(value)
        array[...] = np.full(array.itemsize, GARBAGE, np.uint8).view(array.dtype)[0]

    def place(self, value: SSAValue) -> tuple[SSAValue, int]:
        """The root of a value and the byte of it that the value's offsets count from."""
        op = value.owner
        match op:
            case memref.ReinterpretCastOp():
                return self.place(op.source)
            case memref.ViewOp():
                shift, (root, start) = op.byte_shift.owner, self.place(op.source)
                if not (isinstance(shift, arith.ConstantOp) and isinstance(shift.value, IntegerAttr)):
                    raise UnsupportedError(f"{describe(op)}: its place is not a constant")
                return root, start + shift.value.value.data
            case WindowOp():
                type = cast("MemRefType[Attribute]", op.source.type)
                root, start = self.place(op.source)
                before = self.numbers[op.offset] + (type.get_offset() or 0)
                return root, start + before * numpy_dtype(type.element_type).itemsize
            case _:
                return value, 0

    def array(self, value: SSAValue) -> Array:
        """The value's elements, in the memory."""
        root, start = self.place(value)
        return _window(self.memory[root], start, cast("MemRefType[Attribute]", value.type))

    def stamped(self, value: SSAValue) -> Array | None:
        """The stamps of all bytes of the value's elements, in a last axis; None where its bytes have none."""
        root, start = self.place(value)
        if root not in self.stamps:
            return None
        window = _window(self.memory[root], start, cast("MemRefType[Attribute]", value.type))
        if not window.size:
            return np.zeros((0, 1), np.int32)
        first = window.__array_interface__["data"][0] - self.memory[root].__array_interface__["data"][0]
        strides = [4 * stride for stride in (*window.strides, 1)]
        return np.ndarray((*window.shape, window.itemsize), np.int32, self.stamps[root].data, 4 * first, strides)


def _window(memory: Array, start: int, type: MemRefType[Attribute]) -> Array:
    dtype = numpy_dtype(type.element_type)
    strides = cast("tuple[int, ...]", type.get_strides())
    offset = start + (type.get_offset() or 0) * dtype.itemsize
    steps = [stride * dtype.itemsize for stride in strides]
    shape = cast("tuple[Any, ...]", type.get_shape())
    if 0 in shape:
        return np.zeros(shape, dtype)
    try:
        return np.ndarray(shape, dtype, memory.data, offset, steps)
    except (TypeError, ValueError) as error:
        raise PlanError(f"a buffer {type} at byte {start} does not fit in {memory.size} bytes") from error


def _evaluated(kernel: KernelOp, operands: Sequence[Array]) -> list[Array]:
    """The results of a kernel's body."""
    values: dict[SSAValue, Array] = dict(zip(kernel.arguments, operands, strict=True))
    for op in kernel.body.block.ops:
        if isinstance(op, YieldOp):
            return [values[value] for value in op.arguments]
        if not isinstance(op, GraphOp):
            raise InvalidModelError(f"{describe(op)}: the interpreter of buffers does not know it in a kernel")
        values.update(zip(op.results, op.evaluate(*(values[value] for value in op.operands)), strict=True))
    raise InvalidModelError(f"kernel {kernel.sym_name.data} has no yield")


def _buffer_of(value: SSAValue) -> Operation | None:
    """The op that bears the facts of the arena's buffer."""
    op = value.owner
    while isinstance(op, memref.ReinterpretCastOp | WindowOp) and "buffer" not in op.attributes:
        op = op.source.owner
    return op if isinstance(op, Operation) else None


def _number(value: SSAValue) -> int:
    """The buffer's number in the arena, counted from 1; 0 where the value isn't in the arena."""
    op = _buffer_of(value)
    found = None if op is None else int_attribute(op, "buffer")
    return 0 if found is None else found + 1


def _name(value: SSAValue) -> str:
    op = _buffer_of(value)
    name = None if op is None else op.attributes.get("name")
    return str(name) if name is not None else str(value)
