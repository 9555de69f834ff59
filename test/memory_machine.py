"""Runs main on buffers in numpy, bytes and all: the judge of what the memory passes make.

Works at the buffers level (each allocation its own bytes) and at the arena level. All memory starts as
garbage; scratch is garbage again at each call, and so is each buffer of the arena once it is dead. Every
byte of the arena also bears the number of the buffer that wrote it, which a read must find.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.blobs import BlobStore
from mini_infer.dialects.graph.ops.structure import KernelOp, YieldOp
from mini_infer.dialects.graph.values import Array, numpy_dtype, tensor
from mini_infer.dialects.kernel.calls import BarrierOp, CallOp, WeightOp, WindowOp
from mini_infer.passes.memory.analysis.buffers import int_attribute
from mini_infer.passes.memory.analysis.main_steps import loop_ranges, steps_of

GARBAGE = 0xFF  # four of them are a NaN


class Machine:
    """The memory of one run."""

    def __init__(self, module: ModuleOp, store: BlobStore) -> None:
        self.store = store
        self.kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, KernelOp)}
        self.main = next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main")
        self.memory: dict[SSAValue, Array] = {}  # roots -> bytes
        self.stamps: dict[SSAValue, Array] = {}
        self.scalars: dict[SSAValue, Any] = {}
        self.steps = {op: step for step, op in enumerate(steps_of(self.main))}
        self.turns = loop_ranges(self.main)
        self.loops: list[range] = []  # the steps of those that run

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name. AssertionError where a byte is read that another buffer has written since."""
        names: dict[SSAValue, str] = {}
        attributes = self.main.arg_attrs
        assert attributes is not None
        for argument, given in zip(self.main.args, attributes, strict=True):
            role, name = (given.data.get(key) for key in ("graph.role", "graph.name"))
            assert isinstance(role, StringAttr)
            self.reserve(argument)
            if isinstance(name, StringAttr):
                names[argument] = name.data
            if role.data == "input":
                self.array(argument)[...] = inputs[names[argument]]
        before: dict[SSAValue, Array] = {root: self.memory[root].copy() for root in self.main.args}
        self.block(self.main.body.block)
        for argument, name in names.items():
            if name in inputs:
                assert (self.memory[argument] == before[argument]).all(), f"input {name} was written"
        return {name: self.array(argument) for argument, name in names.items() if name not in inputs}

    def reserve(self, root: SSAValue) -> None:
        type = cast("MemRefType[Attribute]", root.type)
        size = int(np.prod(type.get_shape())) * numpy_dtype(type.element_type).itemsize
        self.memory[root] = np.full(size, GARBAGE, np.uint8)
        self.stamps[root] = np.full(size, -1, np.int32)

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
                first, end, step = (self.scalars[each] for each in (op.lb, op.ub, op.step))
                self.loops.append(self.turns.get(op, range(0)))
                for number in range(first, end, step):
                    self.scalars[op.body.block.args[0]] = number
                    self.block(op.body.block)
                self.bury(self.loops.pop().stop)
            case scf.WhileOp():
                self.loops.append(self.turns.get(op, range(0)))
                given = [self.scalars[each] for each in op.arguments]
                while True:
                    self.scalars.update(zip(op.before_region.block.args, given, strict=True))
                    self.block(op.before_region.block)
                    last = op.before_region.block.last_op
                    assert isinstance(last, scf.ConditionOp)
                    if not self.scalars[last.condition]:
                        break
                    self.scalars.update(zip(op.after_region.block.args, given, strict=True))
                    self.block(op.after_region.block)
                    turn = op.after_region.block.last_op
                    assert turn is not None
                    given = [self.scalars[each] for each in turn.operands]
                self.scalars.update(zip(op.results, given, strict=True))
                self.bury(self.loops.pop().stop)
            case scf.IfOp():
                region = op.regions[0 if self.scalars[op.cond] else 1]
                if region.blocks:
                    self.block(region.block)
            case memref.LoadOp():
                self.check_stamps(op.memref, op)
                position = tuple(self.scalars[each] for each in op.indices)
                self.scalars[op.res] = self.array(op.memref)[position].item()
                self.bury(self.steps[op] + 1)
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                self.scalars[op.result] = op.value.value.data
            case arith.AndIOp():
                self.scalars[op.result] = self.scalars[op.lhs] and self.scalars[op.rhs]
            case arith.IndexCastOp():
                self.scalars[op.result] = self.scalars[op.input]
            case arith.AddiOp():
                self.scalars[op.result] = self.scalars[op.lhs] + self.scalars[op.rhs]
            case arith.MuliOp():
                self.scalars[op.result] = self.scalars[op.lhs] * self.scalars[op.rhs]
            case arith.CmpiOp():
                assert op.predicate.value.data == 2, "only slt"
                self.scalars[op.result] = self.scalars[op.lhs] < self.scalars[op.rhs]
            case memref.ViewOp() | memref.ReinterpretCastOp() | WindowOp() | BarrierOp() | func.ReturnOp():
                pass
            case scf.YieldOp() | scf.ConditionOp():
                pass
            case _:
                raise AssertionError(f"{op.name} in main")

    def call(self, op: CallOp) -> None:
        for value in op.ins:
            self.check_stamps(value, op)
        operands = [self.array(value).copy() for value in op.ins]
        for value in op.scratch:
            self.spoil(value)
            self.stamped(value)[...] = _number(value) or -2
        results = self.kernel(self.kernels[op.callee.string_value()], operands)
        for value, result in zip(op.outs, results, strict=True):
            self.array(value)[...] = result
            self.stamped(value)[...] = _number(value) or -2
        self.bury(self.steps[op] + 1)

    def check_stamps(self, value: SSAValue, op: CallOp | memref.LoadOp) -> None:
        reader = op.callee if isinstance(op, CallOp) else op.name
        assert (self.stamped(value) == _number(value)).all() or not _number(value), (
            f"step {self.steps[op]}: {reader} reads bytes of {value} that another has written"
        )

    def bury(self, step: int) -> None:
        """Garbage over the buffers that are dead from this step on; those that a loop may need again die behind it."""
        for op in self.main.body.walk():
            if isinstance(op, memref.ViewOp) and self.dies(op, step):
                self.spoil(op.result)

    def dies(self, view: memref.ViewOp, step: int) -> bool:
        birth, death = int_attribute(view, "birth"), int_attribute(view, "death")
        inside = all(loop.start <= (birth or 0) and step < loop.stop for loop in self.loops)
        return death == step and inside

    def spoil(self, value: SSAValue) -> None:
        """Garbage in every byte of the value."""
        array = self.array(value)
        array[...] = np.full(array.itemsize, GARBAGE, np.uint8).view(array.dtype)[0]

    def kernel(self, kernel: KernelOp, operands: list[Array]) -> list[Array]:
        values: dict[SSAValue, Array] = dict(zip(kernel.arguments, operands, strict=True))
        for op in kernel.body.block.ops:
            if isinstance(op, YieldOp):
                return [values[value] for value in op.arguments]
            assert isinstance(op, GraphOp)
            results = op.evaluate(*(values[value] for value in op.operands))
            values.update(zip(op.results, results, strict=True))
        raise AssertionError("no yield")

    def place(self, value: SSAValue) -> tuple[SSAValue, int]:
        """The root of a value and the byte of it that the value's offsets count from."""
        op = value.owner
        match op:
            case memref.ReinterpretCastOp():
                return self.place(op.source)
            case memref.ViewOp():
                constant = op.byte_shift.owner
                assert isinstance(constant, arith.ConstantOp) and isinstance(constant.value, IntegerAttr)
                root, start = self.place(op.source)
                return root, start + constant.value.value.data
            case WindowOp():
                type = cast("MemRefType[Attribute]", op.source.type)
                root, start = self.place(op.source)
                before = self.scalars[op.offset] + (type.get_offset() or 0)
                return root, start + before * numpy_dtype(type.element_type).itemsize
            case _:
                return value, 0

    def array(self, value: SSAValue) -> Array:
        """The value's elements, in the memory."""
        root, start = self.place(value)
        return _window(self.memory[root], start, cast("MemRefType[Attribute]", value.type))

    def stamped(self, value: SSAValue) -> Array:
        """The stamps of the first byte of each of the value's elements."""
        root, start = self.place(value)
        type = cast("MemRefType[Attribute]", value.type)
        size = numpy_dtype(type.element_type).itemsize
        window = _window(np.zeros(self.memory[root].size, np.uint8), start, type)
        strides = [4 * stride for stride in window.strides]
        first = (start + (type.get_offset() or 0) * size) * 4
        return np.ndarray(window.shape, np.int32, self.stamps[root].data, first, strides)


def _window(memory: Array, start: int, type: MemRefType[Attribute]) -> Array:
    dtype = numpy_dtype(type.element_type)
    strides = cast("tuple[int, ...]", type.get_strides())
    offset = start + (type.get_offset() or 0) * dtype.itemsize
    steps = [stride * dtype.itemsize for stride in strides]
    shape = cast("tuple[Any, ...]", type.get_shape())
    if 0 in shape:
        return np.zeros(shape, dtype)
    return np.ndarray(shape, dtype, memory.data, offset, steps)


def _number(value: SSAValue) -> int:
    """The buffer's number in the arena, counted from 1; 0 where the value isn't in the arena."""
    op = value.owner
    while isinstance(op, memref.ReinterpretCastOp | WindowOp):
        if "buffer" in op.attributes:
            break
        op = op.source.owner
    found = op.attributes.get("buffer") if isinstance(op, Operation) else None
    return found.value.data + 1 if isinstance(found, IntegerAttr) else 0


def run_module(module: ModuleOp, store: BlobStore, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Runs main on buffers or on an arena."""
    return Machine(module, store).run(inputs)
