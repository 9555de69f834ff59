"""bufferize: main on tensors becomes main on buffers, each value in a buffer of its own.

before:  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {graph.name = "y"}) {
           %w = graph.weight #graph.blob<...> : tensor<8x8xf32>
           %a = graph.call @matmul_0(%x, %w)
           %b = graph.call @relu_0(%a) {inplace = [[0, 0]]}
           %c = graph.call @softmax_0(%b)
           func.return %c }
after:   func.func @main(%x: memref<8xf32> {graph.role = "input"},
                         %y: memref<8xf32> {graph.name = "y", graph.role = "output"}) {
           %w = kernel.weight #graph.blob<...> : memref<8x8xf32>
           %a = memref.alloc() {name = "matmul"} : memref<8xf32>
           kernel.call @matmul_0 ins(%x, %w) outs(%a)
           kernel.call @relu_0 ins(%a) outs(%a)
           %s = memref.alloc() {kernel.scratch, name = "softmax"} : memref<4096xi8>
           kernel.call @softmax_0 ins(%a) outs(%y) scratch(%s)
           func.return }

- A result marked in place (mark-inplace) takes its operand's buffer; `bufferize{inplace=false}` ignores the
  marks.
- Scratch is what the kernel's interface asks for, for as many threads as the target has.
- What main returns is written into the caller's memory by whoever makes it, with all that it is written
  over in place. An input, a weight, or a value that is returned twice is copied there at the end.
- graph.reshape becomes a call of a copying kernel, which elide-copies can take away.

A mark that would overwrite a value still to be read is refused: each buffer's content is followed to the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i8,
)
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from ...dialects.errors import InvalidModelError, PlanError
from ...dialects.graph import CallOp, ReshapeOp, WeightOp, describe, named_location, node_name, type_of
from ...dialects.kernel import CallOp as BufferCallOp
from ...dialects.kernel import WeightOp as BufferWeightOp
from ...dialects.kernel import target_of
from .analysis.buffers import INPLACE, SCRATCH, AnyMemRef, buffer_type, interface_of, main_of
from .analysis.copy_kernels import CopyKernels


@dataclass(frozen=True)
class Bufferize(ModulePass):
    """Main on tensors becomes main on buffers, each value in a buffer of its own."""

    name = "bufferize"
    inplace: bool = True
    """Whether the marks of mark-inplace are carried out."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        builder = _Bufferizer(op, main, self.inplace)
        old = main.body.block
        unused = _unused_reshapes(old)
        for each in old.ops:
            if each not in unused:
                builder.convert(each)
        main.body.detach_block(old)
        main.body.add_block(builder.block)
        old.erase(safe_erase=False)
        main.function_type = FunctionType.from_lists([value.type for value in builder.block.args], [])
        main.arg_attrs = builder.argument_attributes()
        main.res_attrs = None


def inplace_pairs(call: CallOp) -> Iterator[tuple[int, int]]:
    """The (operand, result) positions that mark-inplace wrote on a call."""
    marks = cast("ArrayAttr[ArrayAttr[IntegerAttr]]", call.attributes.get(INPLACE, ArrayAttr([])))
    for mark in marks:
        numbers = [number.value.data for number in mark]
        if len(numbers) != 2 or numbers[0] >= len(call.arguments) or numbers[1] >= len(call.res):
            raise PlanError(f"{describe(call)}: {mark} is not [operand, result]")
        yield numbers[0], numbers[1]


class _Bufferizer:
    """Writes the new body of main op by op."""

    def __init__(self, module: ModuleOp, main: func.FuncOp, inplace: bool) -> None:
        self.main = main
        self.inplace = inplace
        self.threads = target_of(module).threads.data
        self.copies = CopyKernels(module)
        inputs = [_memref(value) for value in main.args]
        outputs = [_memref(value) for value in _returned(main)]
        self.block = Block(arg_types=[*inputs, *outputs])
        self.outputs = self.block.args[len(inputs) :]
        self.buffer: dict[SSAValue, SSAValue] = {}
        self.holds: dict[SSAValue, SSAValue] = {}  # what each buffer holds at this point
        for old, new in zip(main.args, self.block.args, strict=False):
            new.name_hint = old.name_hint
            self.buffer[old] = new
            self.holds[new] = old
        for name, new in zip(self.texts(main.res_attrs, "graph.name"), self.outputs, strict=True):
            new.name_hint = name if name.isidentifier() else None
        self.home = self._homes()

    def texts(self, attributes: ArrayAttr[DictionaryAttr] | None, key: str) -> list[str]:
        found = [entry.data.get(key) for entry in attributes or [DictionaryAttr({})] * len(self.outputs)]
        return [value.data if isinstance(value, StringAttr) else "" for value in found]

    def argument_attributes(self) -> ArrayAttr[DictionaryAttr]:
        """The attributes of main's arguments: their names as before, and their roles."""
        main, inputs = self.main, len(self.block.args) - len(self.outputs)
        given = [*(main.arg_attrs or [DictionaryAttr({})] * inputs)]
        given += [*(main.res_attrs or [DictionaryAttr({})] * len(self.outputs))]
        roles = ["input"] * inputs + ["output"] * len(self.outputs)
        return ArrayAttr(
            [
                DictionaryAttr({**old.data, "graph.role": StringAttr(role)})
                for old, role in zip(given, roles, strict=True)
            ]
        )

    def pairs(self, call: CallOp) -> dict[int, int]:
        """Result position -> the operand position whose buffer it takes."""
        return {result: operand for operand, result in inplace_pairs(call)} if self.inplace else {}

    def _homes(self) -> dict[SSAValue, SSAValue]:
        """Values that are made in the caller's memory: those returned, and those they overwrite in place."""
        over: dict[SSAValue, SSAValue] = {}
        for op in self.main.body.block.ops:
            if isinstance(op, CallOp):
                for result, operand in self.pairs(op).items():
                    over[op.res[result]] = op.arguments[operand]
        home: dict[SSAValue, SSAValue] = {}
        for value, output in zip(_returned(self.main), self.outputs, strict=True):
            chain = [value]
            while chain[-1] in over:
                chain.append(over[chain[-1]])
            made_here = all(isinstance(v.owner, CallOp | ReshapeOp) for v in chain)
            if made_here and not any(v in home for v in chain):
                home.update(dict.fromkeys(chain, output))
        return home

    def convert(self, op: Operation) -> None:
        """Writes what stands for `op`."""
        match op:
            case WeightOp():
                if op.result.uses:
                    weight = BufferWeightOp(op.blob, _memref(op.result))
                    self.add(weight, op.location)
                    self.assign(op.result, weight.result)
            case CallOp():
                self.call(op)
            case ReshapeOp():
                name = self.copies.get(type_of(op.x), type_of(op.result), op.location)
                source, target = self.read(op, op.x), self.new_buffer(op, op.result)
                self.add(BufferCallOp(name, [source], [target]), op.location)
                self.assign(op.result, target)
            case func.ReturnOp():
                for value, output in zip(op.arguments, self.outputs, strict=True):
                    if self.read(op, value) is not output:
                        self.copy_out(value, output)
                self.add(func.ReturnOp(), op.location)
            case _:
                raise InvalidModelError(f"{describe(op)}: bufferize takes calls, reshapes and weights only")

    def call(self, op: CallOp) -> None:
        kernel = self.copies.kernels[op.callee.string_value()]
        sources = [self.read(op, value) for value in op.arguments]
        pairs = self.pairs(op)
        targets: list[SSAValue] = []
        for position, value in enumerate(op.res):
            if position not in pairs:
                targets.append(self.new_buffer(op, value))
                continue
            target = sources[pairs[position]]
            if isinstance(self.holds[target].owner, Block | WeightOp):
                raise PlanError(f"{describe(op)}: in place over an input or a weight")
            if target.type != _memref(value):
                raise PlanError(f"{describe(op)}: in place over {target.type}, the result is {value.type}")
            targets.append(target)
        scratch = interface_of(kernel).scratch_bytes(self.threads)
        buffers = [self.alloc(buffer_type(i8, (scratch,)), op, True)] if scratch else []
        self.add(BufferCallOp(op.callee, sources, targets, buffers), op.location)
        for value, target in zip(op.res, targets, strict=True):
            self.assign(value, target)

    def copy_out(self, value: SSAValue, output: SSAValue) -> None:
        """Copies into the caller's memory what isn't made there."""
        name = self.copies.get(type_of(value), type_of(value))
        location = value.owner.location if isinstance(value.owner, Operation) else None
        self.add(BufferCallOp(name, [self.buffer[value]], [output]), location)

    def read(self, op: Operation, value: SSAValue) -> SSAValue:
        """The buffer of an operand, which must still hold it."""
        buffer = self.buffer[value]
        if self.holds[buffer] is not value:
            made = self.holds[buffer].owner
            name = describe(made) if isinstance(made, Operation) else "main"
            raise PlanError(f"{describe(op)}: reads what {name} has overwritten in place")
        return buffer

    def new_buffer(self, op: Operation, value: SSAValue) -> SSAValue:
        """Where a value that overwrites nothing is made."""
        return self.home[value] if value in self.home else self.alloc(_memref(value), op, False, value)

    def alloc(self, type: AnyMemRef, op: Operation, scratch: bool, value: SSAValue | None = None) -> SSAValue:
        kernel = op.callee.string_value() if isinstance(op, CallOp) else op.name
        name = node_name(op) or (value.name_hint if value is not None else "") or kernel
        if isinstance(value, OpResult) and value.index:
            name = f"{name}:{value.index}"
        alloc = memref.AllocOp([], [], type)
        if scratch:
            alloc.attributes[SCRATCH] = UnitAttr()
        alloc.attributes["name"] = StringAttr(name)
        alloc.memref.name_hint = value.name_hint if value is not None else None
        self.add(alloc, named_location(name))
        return alloc.memref

    def assign(self, value: SSAValue, buffer: SSAValue) -> None:
        self.buffer[value] = buffer
        self.holds[buffer] = value
        buffer.name_hint = buffer.name_hint or value.name_hint

    def add(self, op: Operation, location: LocationAttr | None) -> None:
        if location is not None:
            op.location = location
        self.block.add_op(op)


def _unused_reshapes(block: Block) -> set[Operation]:
    """Reshapes that lead to no call and to no output: what they reshape may be overwritten by then."""
    unused: set[Operation] = set()
    for op in reversed(list(block.ops)):
        if isinstance(op, ReshapeOp) and all(use.operation in unused for use in op.result.uses):
            unused.add(op)
    return unused


def _memref(value: SSAValue) -> AnyMemRef:
    """The type of the buffer of a tensor."""
    type = type_of(value)
    return buffer_type(type.element_type, type.get_shape())


def _returned(main: func.FuncOp) -> tuple[SSAValue, ...]:
    last = main.body.block.last_op
    if not isinstance(last, func.ReturnOp):
        raise InvalidModelError("bufferize: main does not end in func.return")
    return tuple(last.arguments)
