"""Random programs at the kernels level for the memory passes: small, but with every way to share bytes.

Kernels are elementwise (in place or not), softmax rows, products with scratch, concatenations, slices,
splits, transposes of unit axes; reshapes lie between them; main returns inputs, duplicates and reshapes
too. With `regions` there are loops and branches as well, in each other, whose trips and conditions are constants, read
from an input, or computed; loops pass values on, swap them, drop them, and yield what lies outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects import tensor as tensor_dialect
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, IntegerAttr, ModuleOp, StringAttr, f32, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mini_infer.dialects.graph.base import named_location
from mini_infer.dialects.graph.blobs import MiniContext, blob_store
from mini_infer.dialects.graph.ops.activation import ClipOp
from mini_infer.dialects.graph.ops.contraction import MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, GreaterOp, MaxOp, SubOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.structure import CallOp, KernelOp, WeightOp, YieldOp
from mini_infer.dialects.graph.ops.unary import AbsOp, NegOp, ReluOp
from mini_infer.dialects.graph.values import Array, shape_of, tensor
from mini_infer.dialects.kernel.kernel_attributes import InterfaceAttr, ScheduleAttr
from mini_infer.dialects.kernel.targets import CpuAttr
from mini_infer.lowering.pipelines import parse_passes, run_passes
from mini_infer.passes.kernels.moves import moves_of

SHAPES = [(4, 6), (24,), (2, 3, 4), (1, 4, 6), (4, 1, 6), (8, 8), (64,)]
MEMORY = (
    "order-kernels",
    "mark-inplace",
    "bufferize",
    "elide-copies",
    "plan-arena",
    "verify-arena",
    "insert-barriers",
)
Body = Callable[[Sequence[SSAValue]], Sequence[Operation]]


class ProgramBuilder:
    """Writes a main and its kernels, for the random generator and for tests that want one special program.

    With `plain` there are no kernels yet: their bodies stand in main, at the graph level. With `whiles` half of the
    loops are scf.while.
    """

    def __init__(
        self, inputs: Sequence[tuple[int, ...]], threads: int = 2, plain: bool = False, whiles: bool = False
    ) -> None:
        self.plain = plain
        self.whiles = whiles
        self.context = MiniContext()
        self.module = ModuleOp([])
        self.module.attributes["kernel.target"] = CpuAttr.of(threads=threads)
        self.block = Block(arg_types=[tensor(f32, shape) for shape in inputs])
        self.main = self.block
        self.count = 0

    @property
    def inputs(self) -> list[SSAValue]:
        return list(self.main.args)

    def add(self, op: Operation) -> SSAValue:
        """An op in the block that is written; its result."""
        self.block.add_op(op)
        return op.results[0]

    def index(self, value: int) -> SSAValue:
        """A constant of the host."""
        return self.add(arith.ConstantOp(IntegerAttr(value, IndexType())))

    def inside(
        self,
        types: Sequence[Attribute],
        write: Callable[[list[SSAValue]], Sequence[SSAValue]],
        last: Callable[..., Operation] = scf.YieldOp,
    ) -> Block:
        """A block of a loop or a branch, which yields what `write` gives."""
        outside, self.block = self.block, Block(arg_types=types)
        self.block.add_op(last(*write(list(self.block.args))))
        inner, self.block = self.block, outside
        return inner

    def call(self, body: Body, operands: Sequence[SSAValue], interface: InterfaceAttr) -> list[SSAValue]:
        """A call of a new kernel; `body` makes its ops, of which the last ones' results are yielded."""
        if self.plain:
            ops = body(operands)
            self.block.add_ops(ops)
            return [op.results[0] for op in ops]
        name = f"k{self.count}"
        location = named_location(f"node{self.count}")
        self.count += 1
        kernel = KernelOp(name, [value.type for value in operands], [])
        made = body(kernel.arguments)
        kernel.body.block.add_ops(made)
        results = [op.results[0] for op in made]
        kernel.body.block.add_op(YieldOp(*results))
        kernel.refresh_type()
        kernel.schedule = ScheduleAttr.of("elements")
        inplace, _, *more = interface.parameters
        kernel.interface = InterfaceAttr.new([inplace, ArrayAttr(moves_of(kernel)), *more])
        self.module.body.block.add_op(kernel)
        call = CallOp(name, operands, [value.type for value in results], location)
        self.block.add_op(call)
        return list(call.res)

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A reshape in main."""
        op = ReshapeOp(value, shape, named_location(f"reshape{self.count}"))
        self.count += 1
        self.block.add_op(op)
        return op.result

    def weight(self, array: Array) -> SSAValue:
        """A weight of main."""
        blob = blob_store(self.context).add(array)
        op = WeightOp(blob, tensor(f32, array.shape))
        self.block.add_op(op)
        return op.result

    def finish(self, outputs: Sequence[SSAValue]) -> ModuleOp:
        """The module, with main returning the values."""
        self.block.add_op(func.ReturnOp(*outputs))
        inputs = [value.type for value in self.main.args]
        main = func.FuncOp("main", (inputs, [value.type for value in outputs]), Region(self.block))
        main.arg_attrs = _names("x", len(inputs))
        main.res_attrs = _names("y", len(outputs))
        self.module.body.block.add_op(main)
        self.module.verify()
        return self.module


def _names(prefix: str, count: int) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"graph.name": StringAttr(f"{prefix}{i}")}) for i in range(count)])


def random_program(
    seed: int, length: int = 12, regions: bool = False, plain: bool = False, whiles: bool = False
) -> tuple[MiniContext, ModuleOp, dict[str, Array]]:
    """A program, the context of its weights, and inputs for it. Equal seeds give equal programs."""
    random = Random(seed)
    shapes = [random.choice(SHAPES) for _ in range(random.randint(1, 3))]
    builder = ProgramBuilder(shapes, random.randint(1, 3), plain, whiles)
    values = builder.inputs
    for _ in range(random.randint(1, length)):
        values += _region(random, builder, values) if regions and random.random() < 0.3 else []
        values += _step(random, builder, values)
    outputs = random.choices(values, k=random.randint(1, 3))
    outputs.append(values[-1])
    numbers = np.random.default_rng(seed)
    arrays = {
        f"x{i}": numbers.integers(-8, 8, shape_of(value)).astype(np.float32) for i, value in enumerate(builder.inputs)
    }
    return builder.context, builder.finish(outputs), arrays


def _region(random: Random, builder: ProgramBuilder, values: list[SSAValue], depth: int = 0) -> list[SSAValue]:
    """A loop or a branch on recent values, with others in it; its results."""
    carried = random.choices(values[-6:], k=random.randint(1, 3))
    types = [value.type for value in carried]

    def body(arguments: list[SSAValue]) -> list[SSAValue]:
        inner = values[-4:] + [each for each in arguments if each.type in types]
        for _ in range(random.randint(0, 4)):
            if depth < 2 and random.random() < 0.25:
                inner += _region(random, builder, inner, depth + 1)
            inner += _step(random, builder, inner)
        return [random.choice([value for value in (*inner, *carried) if value.type == type]) for type in types]

    if random.random() < 0.5:
        first, step = builder.index(random.randrange(2)), builder.index(random.choice([1, 1, 2]))
        last = _count(random, builder) if random.random() < 0.5 else builder.index(random.randrange(5))
        if builder.whiles and random.random() < 0.5:
            return _while(random, builder, (first, last, step), carried, body)
        loop = scf.ForOp(first, last, step, carried, builder.inside([IndexType(), *types], body))
        builder.block.add_op(loop)
        return list(loop.results)
    condition = _condition(random, builder, values)
    then, other = (Region(builder.inside([], body)) for _ in range(2))
    branch = scf.IfOp(condition, types, then, other)
    builder.block.add_op(branch)
    return list(branch.results)


def _while(
    random: Random,
    builder: ProgramBuilder,
    bounds: tuple[SSAValue, SSAValue, SSAValue],
    carried: list[SSAValue],
    body: Callable[[list[SSAValue]], list[SSAValue]],
) -> list[SSAValue]:
    """A loop that counts by itself, and may end early; its values."""
    first, last, step = bounds
    types = [IndexType(), i1, *(value.type for value in carried)]

    def turn(arguments: list[SSAValue]) -> list[SSAValue]:
        number, _, *values = arguments
        yielded = body(values)
        after = builder.add(arith.AddiOp(number, step))
        return [after, _condition(random, builder, values) if random.random() < 0.5 else goes_on(after), *yielded]

    def goes_on(number: SSAValue) -> SSAValue:
        return builder.add(arith.CmpiOp(number, last, "slt"))

    def test(arguments: list[SSAValue]) -> list[SSAValue]:
        return [builder.add(arith.AndIOp(arguments[1], goes_on(arguments[0]))), *arguments]

    before = builder.inside(types, test, scf.ConditionOp)
    loop = scf.WhileOp([first, goes_on(first), *carried], types, [before], [builder.inside(types, turn)])
    builder.block.add_op(loop)
    return list(loop.results[2:])


def _condition(random: Random, builder: ProgramBuilder, values: list[SSAValue]) -> SSAValue:
    """Whether an element of a value is larger than another's, as a truth value of the host."""
    x = random.choice(values[-6:])
    y = random.choice([value for value in values if value.type == x.type])
    (larger,) = builder.call(lambda a: [GreaterOp(a[0], a[1])], [x, y], InterfaceAttr.of())
    return builder.add(tensor_dialect.ExtractOp(larger, [builder.index(0)] * len(shape_of(x)), i1))


def _count(random: Random, builder: ProgramBuilder) -> SSAValue:
    """A number from 0 to 3, which a kernel computes of an input."""
    x = random.choice(builder.inputs)

    def counted(a: Sequence[SSAValue]) -> list[Operation]:
        clipped = ClipOp(a[0], 0.0, 3.0)
        return [clipped, CastOp(clipped.results[0], i64)]

    *_, counts = builder.call(counted, [x], InterfaceAttr.of())
    number = builder.add(tensor_dialect.ExtractOp(counts, [builder.index(0)] * len(shape_of(x)), i64))
    return builder.add(arith.IndexCastOp(number, IndexType()))


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
            op = random.choice([ReluOp, NegOp, AbsOp])
            return builder.call(lambda a: [op(a[0])], [x], _interface(random, 1, 1, [(0, 0)]))
        case 2 | 3:
            op = random.choice([AddOp, SubOp, MaxOp])
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
            return builder.call(lambda a: [ConcatOp(a, axis)], parts, interface)
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
            return builder.call(lambda a: [MatmulOp(a[0], a[1])], [x, weight], interface)
        case _:
            order = _unit_transpose(shape)
            interface = _interface(random, 1, 1, [])
            return builder.call(lambda a: [TransposeOp(a[0], order)], [x], interface)


def seed_value(random: Random) -> float:
    """A small number that products keep exact."""
    return random.choice([-1.0, 0.5, 1.0])


def _beside(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (len(shape), *shape[:axis], *shape[axis + 1 :])


def _slice(value: SSAValue, axis: int, start: int, stop: int) -> Operation:
    shape = shape_of(value)
    starts = [start if i == axis else 0 for i in range(len(shape))]
    stops = [stop if i == axis else size for i, size in enumerate(shape)]
    return SliceOp(value, starts, stops, [1] * len(shape))


def _unit_transpose(shape: tuple[int, ...]) -> list[int]:
    """A permutation that only moves axes of size 1, to the front."""
    units = [axis for axis, size in enumerate(shape) if size == 1]
    return units + [axis for axis, size in enumerate(shape) if size != 1]


def run_memory(ctx: Context, module: ModuleOp, passes: Sequence[str] = MEMORY) -> None:
    """Some passes, all of the memory passes unless given; what they leave is verified."""
    run_passes(ctx, module, parse_passes(",".join(passes)))
    module.verify()


def assert_same(found: dict[str, Array], wanted: dict[str, Array]) -> None:
    """Each of the results that are wanted has been found."""
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
