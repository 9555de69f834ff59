"""Which tensors the functions at the loops level work on: their buffers are followed to where main takes them from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects.graph.host import NAME, argument_texts
from ...dialects.symbols import symbol_named
from ...lowering.kernels_to_loops.lower_kernels import KERNEL
from ...passes.memory.analysis.buffers import label
from ...runtime.native.machine_code import kernel_calls

FOLLOWED = (memref.CastOp, memref.SubviewOp, memref.ReinterpretCastOp, memref.CollapseShapeOp, memref.ExpandShapeOp)
"""Ops whose result lies in their first operand."""


DEPTH = 4
"""Operations between a load and the arithmetic on what was loaded: a broadcast, a conversion, a shuffle, a sign."""


LineUse: TypeAlias = "tuple[frozenset[int], frozenset[tuple[int, str]]]"
"""The calls for which a line runs, and the (call, tensor) pairs that it works on."""


class ValueTensors:
    """For each line of the loops level: the calls of main that it runs for, and the tensors that it works on.

    These are what it accesses, or of arithmetic what its operands were loaded from.
    Tensors are told by the names of main's views, arguments and weights, with the call by which they came.
    """

    def __init__(self, module: ModuleOp) -> None:
        main = symbol_named(module, "main")
        assert isinstance(main, func.FuncOp)
        self._arguments = dict(enumerate(argument_texts(main, NAME)))
        self._number = {call: number for number, call in enumerate(kernel_calls(module, main))}
        self._callers: dict[str, list[func.CallOp]] = {}
        for op in module.walk():
            if isinstance(op, func.CallOp):
                self._callers.setdefault(op.callee.string_value(), []).append(op)
        self._steps: dict[str, frozenset[int]] = {}
        self._roots: dict[SSAValue, frozenset[tuple[int, str]]] = {}

    def steps_of(self, function: str) -> frozenset[int]:
        """The kernel calls for which a function runs."""
        if function not in self._steps:
            self._steps[function] = frozenset()  # of a function that calls itself
            found: set[int] = set()
            for call in self._callers.get(function, ()):
                found |= {self._number[call]} if call in self._number else self.steps_of(_function_of(call))
            self._steps[function] = frozenset(found)
        return self._steps[function]

    def of_lines(self, ops: Mapping[int, Operation]) -> dict[int, LineUse]:
        """What each line is about, given the op of each, in their order."""
        found: dict[int, LineUse] = {}
        steps = frozenset[int]()
        read: dict[Operation | Block, tuple[int, Sequence[SSAValue]]] = {}
        pairs: dict[tuple[SSAValue, ...], frozenset[tuple[int, str]]] = {}
        for line, op in ops.items():
            if isinstance(op, func.FuncOp):
                steps = self.steps_of(op.sym_name.data)
            operands, depth = op.operands, 0
            memory = [each for each in (*operands, *op.results) if type(each.type) is MemRefType]
            if not memory and not op.regions:
                for operand in operands:
                    before, loaded = read.get(operand.owner, (DEPTH, ()))
                    if before < DEPTH and type(operand.type) is not IndexType:
                        memory += loaded
                        depth = max(depth, before + 1)
            read[op] = depth, memory
            key = tuple(dict.fromkeys(memory))
            if key not in pairs:
                pairs[key] = frozenset(pair for value in key for pair in self._tensors(value))
            number = self._number.get(op)
            found[line] = steps if number is None else frozenset((number,)), pairs[key]
        return found

    def _tensors(self, value: SSAValue) -> frozenset[tuple[int, str]]:
        """The tensors that a value may be: (call, name); the call is -1 in main and stages."""
        if value not in self._roots:
            self._roots[value] = frozenset()
            self._roots[value] = frozenset(self._found(value))
        return self._roots[value]

    def _found(self, value: SSAValue) -> Iterator[tuple[int, str]]:
        match value:
            case BlockArgument(owner=Block() as block):
                function = block.parent_op()
                if not isinstance(function, func.FuncOp) or block is not function.body.first_block:
                    return
                name = function.sym_name.data
                if not self._is_kernels(name):
                    if named := self._arguments.get(value.index, ""):
                        yield -1, named
                    return
                for call in self._callers.get(name, ()):
                    if value.index >= len(call.operands):
                        continue
                    for number, tensor in self._tensors(call.operands[value.index]):
                        yield self._number.get(call, number), tensor
            case _:
                op = value.owner
                if isinstance(op, memref.ViewOp):
                    if named := label(op):
                        yield -1, named
                elif isinstance(op, FOLLOWED):
                    yield from self._tensors(op.operands[0])

    def _is_kernels(self, function: str) -> bool:
        """Whether a function is a kernel or called by one, and not main or a stage of it."""
        return function.startswith(KERNEL) or (bool(self._callers.get(function)) and function != "main")


def _function_of(op: Operation) -> str:
    inside: Operation | None = op
    while inside is not None and not isinstance(inside, func.FuncOp):
        inside = inside.parent_op()
    return "" if inside is None else inside.sym_name.data
