"""Reads the device program of one inference off `main` at the launches level.

    %n = memref.load %count[] : memref<i64>                    %0 = read i64 at argument 1 + 0
    scf.for %i = %c0 to %last step %c1 {                       for %1 = 0 to %0 step 1
      gpu.launch_func @kernels::@step_0 ... args(%x, %w)         launch 0

A kernel's argument is an argument of main (an address) plus an offset in bytes; that of a window may depend on the
turns of loops. Scalars are integers: those that loops and branches hand on are registers. Sizes of run time stay what
they are: a program has them in the place of numbers until it is settled for a shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, IntegerType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ...dialects.errors import CompileError
from ...dialects.gpu.kernels import FuncOp as KernelFuncOp
from ...dialects.gpu.kernels import LaunchFuncOp, check_grid
from ...dialects.gpu.tensor_maps import TensorMapOp
from ...dialects.graph.base import describe
from ...dialects.kernel.calls import WindowOp
from ...dialects.sizes.sizes import Size
from ...dialects.symbols import symbol_named
from ...passes.memory.analysis.buffers import VIEWS, Places, is_memref, itemsize_of, memref_type
from .device_program import (
    OPERATIONS,
    Argument,
    Assign,
    Compute,
    DeviceProgram,
    For,
    If,
    Launch,
    Launches,
    LaunchWith,
    Number,
    Program,
    Read,
    Register,
    Step,
    TensorMap,
    While,
    computed,
    wrapped,
)

NODES = "onnx.nodes"
"""Attribute of a launch: the names of its ONNX nodes."""
CALL = "kernel.call"
"""Attribute of a launch: the number of its kernel call."""

_SILENT = (memref.ViewOp, WindowOp, ReturnOp, scf.YieldOp, scf.ConditionOp, *VIEWS)
"""Ops without a step: addresses are computed where they are used."""
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")  # arith.cmpi's predicates, without its four unsigned ones
_NEUTRAL = {"addi": 0, "muli": 1}
_WIDER = 128  # bits that hold every integer of the IR, signed or unsigned


def launch_list(module: ModuleOp) -> tuple[Launch, ...]:
    """The launches of `main`, in textual order. Raises as `device_program`."""
    return device_program(module).launches


def device_program(module: ModuleOp) -> DeviceProgram:
    """The program of `main`. Raises CompileError for any other operation, and for too large a grid."""
    main = symbol_named(module, "main")
    assert isinstance(main, FuncOp)
    kernels = {each.sym_name.data: each for each in module.walk() if isinstance(each, KernelFuncOp)}
    reader = _Reader(main, kernels)
    steps = reader.block(main.body.block)
    return DeviceProgram(tuple(reader.launches), steps, reader.registers)


class _Reader:
    """Collects launches, and appends steps to the block that is being read."""

    def __init__(self, main: FuncOp, kernels: Mapping[str, KernelFuncOp]) -> None:
        self._kernels = kernels
        self.launches: list[Launch] = []
        self.registers = 0
        self._main = main.body.block
        self._maps = {name: tuple(map(_tensor_map, maps_of(each))) for name, each in kernels.items()}
        self._places = Places()
        self._numbers: dict[SSAValue, Number] = {}
        self._steps: list[Step] = []

    def block(self, block: Block) -> Program:
        """The steps of a block."""
        outer, self._steps = self._steps, []
        for op in block.ops:
            self._op(op)
        made, self._steps = self._steps, outer
        return tuple(made)

    def _op(self, op: Operation) -> None:
        match op:
            case LaunchFuncOp():
                self._launch(op)
            case memref.LoadOp():
                self._read(op)
            case scf.IfOp():
                self._branch(op)
            case scf.ForOp():
                self._for(op)
            case scf.WhileOp():
                self._while(op)
            case arith.ConstantOp():
                if isinstance(op.value, IntegerAttr):
                    number = op.value.value.data
                    self._numbers[op.result] = wrapped(number, 1) if _bits(op.result.type) == 1 else number
            case _ if op.name.startswith("arith."):
                self._numbers[op.results[0]] = self._computed(op)
            case _ if not isinstance(op, _SILENT):
                raise CompileError(f"{describe(op)}: main can launch kernels, loop and branch only")
            case _:
                pass

    def _launch(self, op: LaunchFuncOp) -> None:
        grid = [self._number(each) for each in (op.gridSizeX, op.gridSizeY, op.gridSizeZ)]
        block = [_constant(each) for each in (op.blockSizeX, op.blockSizeY, op.blockSizeZ)]
        places = [self._address(value) for value in op.kernelOperands if is_memref(value)]
        nodes, call = op.attributes.get(NODES), op.attributes.get(CALL)
        offsets = [offset for _, offset in places]
        name = op.kernel.string_value().rpartition(".")[2]
        launch = Launch(
            name,
            cast("tuple[int, int, int]", tuple(map(_known, grid))),
            (block[0], block[1], block[2]),
            0 if op.dynamicSharedMemorySize is None else _constant(op.dynamicSharedMemorySize),
            tuple(Argument(root, _known(offset)) for root, offset in places),
            tuple(each.data for each in cast("ArrayAttr[StringAttr]", nodes)) if nodes is not None else (),
            cast("IntegerAttr", call).value.data if call is not None else 0,
            tuple(_constant(value) for value in op.kernelOperands if not is_memref(value)),
            self._kernels[name].cooperative is not None,
            self._maps.get(name, ()),
        )
        try:
            check_grid(launch.grid)
        except VerifyException as error:
            raise CompileError(f"{describe(op)}: {error}") from None
        number = len(self.launches)
        self.launches.append(launch)
        last = self._steps[-1] if self._steps else None
        if any(isinstance(each, Register) for each in (*grid, *offsets)):
            self._steps.append(LaunchWith(number, (grid[0], grid[1], grid[2]), tuple(offsets)))
        elif isinstance(last, Launches) and last.end == number:
            self._steps[-1] = Launches(last.first, number + 1)
        else:
            self._steps.append(Launches(number, number + 1))

    def _read(self, op: memref.LoadOp) -> None:
        root, offset = self._address(op.memref)
        type = memref_type(op.memref)
        for index, stride in zip(op.indices, self._places[op.memref].box.strides, strict=True):
            offset = self._sum(offset, self._number(index), stride * itemsize_of(type))
        (result,) = self._fresh([op.res])
        self._steps.append(Read(result, root, offset, _bits(op.res.type, op)))

    def _branch(self, op: scf.IfOp) -> None:
        condition, results = self._number(op.cond), self._fresh(op.results)
        sides = [self._handing_on(each.block, results) if each.blocks else () for each in op.regions]
        self._steps.append(If(condition, sides[0], sides[1]))

    def _for(self, op: scf.ForOp) -> None:
        bounds = [self._number(each) for each in (op.lb, op.ub, op.step)]
        (counter,), carried = self._fresh(op.body.block.args[:1]), self._fresh(op.body.block.args[1:])
        self._numbers.update(zip(op.results, carried, strict=True))
        self._assign(carried, op.iter_args)
        body = self._handing_on(op.body.block, carried)
        self._steps.append(For(counter, bounds[0], bounds[1], bounds[2], body))

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        carried = self._fresh(before.args)
        self._assign(carried, op.arguments)
        test, last = self.block(before), before.last_op
        assert isinstance(last, scf.ConditionOp)
        condition, *handed = map(self._number, last.operands)
        for values in after.args, op.results:
            self._numbers.update(zip(values, handed, strict=True))
        self._steps.append(While(test, condition, self._handing_on(after, carried)))

    def _handing_on(self, block: Block, targets: Sequence[Register]) -> Program:
        """The steps of a block that ends by giving the targets what it yields."""
        steps, last = self.block(block), block.last_op
        if not targets or last is None:
            return steps
        return (*steps, Assign(tuple(targets), tuple(map(self._number, last.operands))))

    def _assign(self, targets: Sequence[Register], values: Sequence[SSAValue]) -> None:
        if targets:
            self._steps.append(Assign(tuple(targets), tuple(map(self._number, values))))

    def _fresh(self, values: Sequence[SSAValue]) -> list[Register]:
        """New registers for scalars."""
        made = [self._register() for _ in values]
        self._numbers.update(zip(values, made, strict=True))
        return made

    def _register(self) -> Register:
        self.registers += 1
        return Register(self.registers - 1)

    def _number(self, value: SSAValue) -> Number:
        known = self._numbers.get(value)
        if known is None:
            owner = value.owner
            where = f"{describe(owner)}: " if isinstance(owner, Operation) else "main: "
            raise CompileError(f"{where}on a GPU, loops and branches hang on integers only, got {value.type}")
        return known

    def _computed(self, op: Operation) -> Number:
        """The result of an op on integers. Casts to more bits are none, as registers have any number of them."""
        bits, before = _bits(op.results[0].type, op), _bits(op.operands[-1].type, op)
        name, operands = op.name.removeprefix("arith."), [self._number(each) for each in op.operands]
        match name:
            case "extui":
                return self._unsigned(operands[0], before)
            case "extsi" | "index_cast" | "trunci":
                if before == 1:
                    return self._compute("subi", (0, operands[0]), bits)
                return operands[0] if bits >= before else self._compute("ori", (operands[0], 0), bits)
            case "cmpi":
                predicate = cast("IntegerAttr", op.properties["predicate"]).value.data
                if predicate >= len(_COMPARISONS):
                    predicate -= 4  # an unsigned one
                    operands = [self._unsigned(each, before) for each in operands]
                return self._compute(_COMPARISONS[predicate], operands, 1)
            case _ if name in OPERATIONS:
                return self._compute(name, operands, bits)
            case _:
                raise CompileError(f"{describe(op)}: the host of a GPU has no operation {op.name}")

    def _unsigned(self, value: Number, bits: int) -> Number:
        return value if bits == 1 else self._compute("andi", (value, (1 << bits) - 1), _WIDER)

    def _compute(self, operation: str, operands: Sequence[Number], bits: int) -> Number:
        """The result of an operation: a constant where all operands are, an operand where the other one is neutral."""
        if not any(isinstance(each, Register | Size) for each in operands):
            return computed(operation, [_known(each) for each in operands], bits)
        if _NEUTRAL.get(operation) in operands:
            return operands[1] if operands[0] == _NEUTRAL[operation] else operands[0]
        result = self._register()
        self._steps.append(Compute(result, operation, tuple(operands), bits))
        return result

    def _sum(self, a: Number, b: Number, factor: int = 1) -> Number:
        if isinstance(a, int) and isinstance(b, int):  # of sizes, too
            return a + b * factor
        return self._compute("addi", (a, self._compute("muli", (b, factor), 64)), 64)

    def _address(self, value: SSAValue) -> tuple[int, Number]:
        """The argument of main that a buffer lies in, and its offset there in bytes."""
        op = value.owner
        if isinstance(op, memref.ViewOp):
            root, offset = self._address(op.source)
            return root, self._sum(offset, self._number(op.byte_shift))
        if isinstance(op, WindowOp):
            root, offset = self._address(op.source)
            return root, self._sum(offset, self._number(op.offset), itemsize_of(memref_type(value)))
        if isinstance(op, VIEWS):
            root, offset = self._address(op.operands[0])
            behind = self._places[value].bytes.offset - self._places[op.operands[0]].bytes.offset
            return root, self._sum(offset, behind)
        if not isinstance(value, BlockArgument) or value.owner is not self._main:
            raise CompileError("main: kernels can be launched on arguments of main only")
        return value.index, 0


def maps_of(function: KernelFuncOp) -> list[TensorMapOp]:
    """The maps that a kernel takes, in the order of its parameters."""
    return [op for op in function.walk() if isinstance(op, TensorMapOp)]


def _tensor_map(op: TensorMapOp) -> TensorMap:
    argument, offset = op.place
    type, source = op.tensorMap.type, op.source
    sizes, box = tuple(source.get_shape()), tuple(type.box.get_shape())
    return TensorMap(argument.index, offset, str(source.element_type), sizes, op.strides, box, type.line)


def _bits(type: Attribute, op: Operation | None = None) -> int:
    """The bits of an integer type; an index has 64."""
    if isinstance(type, IndexType):
        return 64
    if not isa(type, IntegerType):
        where = "main" if op is None else describe(op)
        raise CompileError(f"{where}: on a GPU, loops and branches hang on integers only, got {type}")
    return type.width.data


def _known(number: Number) -> int:
    """A constant; 0 for a register."""
    return 0 if isinstance(number, Register) else number


def _constant(value: SSAValue) -> int:
    """The value of a constant of main."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        raise CompileError("main: the blocks of a launch, and its numbers, must be constants")
    return op.value.value.data
