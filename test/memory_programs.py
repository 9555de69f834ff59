"""Random programs at the kernels level for the memory passes: small, but with every way to share bytes.

Kernels are elementwise (in place or not), softmax rows, products with scratch, concatenations, slices,
splits, transposes of unit axes; reshapes lie between them; main returns inputs, duplicates and reshapes
too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, f32
from xdsl.ir import Block, Operation, Region, SSAValue

from mini_infer.dialects import graph
from mini_infer.dialects.graph import (
    Array,
    MiniContext,
    blob_store,
    named_location,
    shape_of,
    tensor,
)
from mini_infer.dialects.kernel import InterfaceAttr, ScheduleAttr, TargetAttr

SHAPES = [(4, 6), (24,), (2, 3, 4), (1, 4, 6), (4, 1, 6), (8, 8), (64,)]
Body = Callable[[Sequence[SSAValue]], Sequence[Operation]]


class ProgramBuilder:
    """Writes a main and its kernels, for the random generator and for tests that want one special program."""

    def __init__(self, inputs: Sequence[tuple[int, ...]], threads: int = 2) -> None:
        self.context = MiniContext()
        self.module = ModuleOp([])
        self.module.attributes["kernel.target"] = TargetAttr.of(threads=threads)
        self.block = Block(arg_types=[tensor(f32, shape) for shape in inputs])
        self.count = 0

    @property
    def inputs(self) -> list[SSAValue]:
        return list(self.block.args)

    def call(self, body: Body, operands: Sequence[SSAValue], interface: InterfaceAttr) -> list[SSAValue]:
        """A call of a new kernel; `body` makes its ops, of which the last ones' results are yielded."""
        name = f"k{self.count}"
        location = named_location(f"node{self.count}")
        self.count += 1
        kernel = graph.KernelOp(name, [value.type for value in operands], [])
        made = body(kernel.arguments)
        kernel.body.block.add_ops(made)
        results = [op.results[0] for op in made]
        kernel.body.block.add_op(graph.YieldOp(*results))
        kernel.refresh_type()
        kernel.schedule, kernel.interface = ScheduleAttr.of("map"), interface
        self.module.body.block.add_op(kernel)
        call = graph.CallOp(name, operands, [value.type for value in results], location)
        self.block.add_op(call)
        return list(call.res)

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A reshape in main."""
        op = graph.ReshapeOp(value, shape, named_location(f"reshape{self.count}"))
        self.count += 1
        self.block.add_op(op)
        return op.result

    def weight(self, array: Array) -> SSAValue:
        """A weight of main."""
        blob = blob_store(self.context).add(array)
        op = graph.WeightOp(blob, tensor(f32, array.shape))
        self.block.add_op(op)
        return op.result

    def finish(self, outputs: Sequence[SSAValue]) -> ModuleOp:
        """The module, with main returning the values."""
        self.block.add_op(func.ReturnOp(*outputs))
        inputs = [value.type for value in self.block.args]
        main = func.FuncOp("main", (inputs, [value.type for value in outputs]), Region(self.block))
        main.arg_attrs = _names("x", len(inputs))
        main.res_attrs = _names("y", len(outputs))
        self.module.body.block.add_op(main)
        self.module.verify()
        return self.module


def _names(prefix: str, count: int) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"graph.name": StringAttr(f"{prefix}{i}")}) for i in range(count)])


def random_program(seed: int, length: int = 12) -> tuple[MiniContext, ModuleOp, dict[str, Array]]:
    """A program, the context of its weights, and inputs for it. Equal seeds give equal programs."""
    random = Random(seed)
    builder = ProgramBuilder([random.choice(SHAPES) for _ in range(random.randint(1, 3))], random.randint(1, 3))
    values = builder.inputs
    for _ in range(random.randint(1, length)):
        values += _step(random, builder, values)
    outputs = random.choices(values, k=random.randint(1, 3))
    outputs.append(values[-1])
    numbers = np.random.default_rng(seed)
    arrays = {
        f"x{i}": numbers.integers(-8, 8, shape_of(value)).astype(np.float32) for i, value in enumerate(builder.inputs)
    }
    return builder.context, builder.finish(outputs), arrays


def _interface(random: Random, operands: int, results: int, inplace: Sequence[tuple[int, int]]) -> InterfaceAttr:
    strided = random.random() < 0.7
    return InterfaceAttr.of(
        inplace=[pair for pair in inplace if random.random() < 0.8],
        strided_operands=range(operands) if strided else (),
        strided_results=range(results) if strided else (),
        scratch=random.choice([0, 0, 0, 256, 1000]),
        per_thread=random.choice([0, 0, 0, 64, 300]),
    )


def _step(random: Random, builder: ProgramBuilder, values: list[SSAValue]) -> list[SSAValue]:
    """One more op of main on recent values; its results."""
    recent = values[-6:]
    x = random.choice(recent)
    shape = shape_of(x)
    same = [value for value in recent if value.type == x.type]
    match random.randrange(10):
        case 0 | 1:
            op = random.choice([graph.ReluOp, graph.NegOp, graph.AbsOp])
            return builder.call(lambda a: [op(a[0])], [x], _interface(random, 1, 1, [(0, 0)]))
        case 2 | 3:
            op = random.choice([graph.AddOp, graph.SubOp, graph.MaxOp])
            operands = [x, random.choice(same)]
            interface = _interface(random, 2, 1, [(0, 0), (1, 0)])
            return builder.call(lambda a: [op(a[0], a[1])], operands, interface)
        case 4:
            target = random.choice([s for s in SHAPES if np.prod(s) == np.prod(shape)] or [shape])
            return [builder.reshape(x, target)]
        case 5 | 6:
            axis = random.randrange(len(shape))
            fitting = [v for v in recent if _beside(shape_of(v), axis) == _beside(shape, axis)]
            parts = random.choices(fitting, k=random.randint(1, 3))
            if sum(int(np.prod(shape_of(v))) for v in parts) > 512:
                return []
            interface = _interface(random, len(parts), 1, [])
            return builder.call(lambda a: [graph.ConcatOp(a, axis)], parts, interface)
        case 7:
            axis = random.randrange(len(shape))
            cut = random.randint(0, shape[axis])
            ranges = [(0, cut), (cut, shape[axis])]
            chosen = [r for r in ranges if r[0] < r[1]][: random.randint(1, 2)]
            interface = _interface(random, 1, len(chosen), [])
            return builder.call(lambda a: [_slice(a[0], axis, *r) for r in chosen], [x], interface)
        case 8:
            columns = random.choice([4, 6, 8])
            if len(shape) < 2:
                return []
            inner = shape[-1]
            weight = builder.weight(np.full((inner, columns), seed_value(random), np.float32))
            interface = _interface(random, 2, 1, [])
            return builder.call(lambda a: [graph.MatmulOp(a[0], a[1])], [x, weight], interface)
        case _:
            order = _unit_transpose(shape)
            interface = _interface(random, 1, 1, [])
            return builder.call(lambda a: [graph.TransposeOp(a[0], order)], [x], interface)


def seed_value(random: Random) -> float:
    """A small number that products keep exact."""
    return random.choice([-1.0, 0.5, 1.0])


def _beside(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (len(shape), *shape[:axis], *shape[axis + 1 :])


def _slice(value: SSAValue, axis: int, start: int, stop: int) -> Operation:
    shape = shape_of(value)
    starts = [start if i == axis else 0 for i in range(len(shape))]
    stops = [stop if i == axis else size for i, size in enumerate(shape)]
    return graph.SliceOp(value, starts, stops, [1] * len(shape))


def _unit_transpose(shape: tuple[int, ...]) -> list[int]:
    """A permutation that only moves axes of size 1, to the front."""
    units = [axis for axis, size in enumerate(shape) if size == 1]
    return units + [axis for axis, size in enumerate(shape) if size != 1]
