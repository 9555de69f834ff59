"""Operations for kernels, their launch and the thread's position, in the assembly format of MLIR's `gpu` dialect.

gpu.module @kernels {
  gpu.func @scale(%x: memref<64xf32>) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %i = gpu.thread_id x
    gpu.barrier
    gpu.return
  }
}
gpu.launch_func @kernels::@scale blocks in (%two, %one, %one) threads in (%n, %one, %one)
  dynamic_shared_memory_size %bytes args(%a : memref<64xf32>)
"""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Sequence
from typing import Self, cast

from typing_extensions import override
from xdsl.dialects import gpu
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i32,
)
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    Pure,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from ..sizes.polynomials import Symbol
from ..sizes.size_attributes import symbol_of
from ..sizes.sizes import Size, bounds_of
from .cluster import MOST_BLOCKS_OF_A_CLUSTER
from .grid_barrier import COOPERATIVE

SIZES = "kernel.sizes"
"""Attribute of a kernel: the sizes of run time that its last arguments are."""
_RESERVED = ("sym_name", "function_type", "kernel")
_SIZE_NAMES = ("gpu.known_block_size", "gpu.known_grid_size", "gpu.known_cluster_size")
MOST_BLOCKS = (2**31 - 1, 65_535, 65_535)
"""Of a grid along x, y and z, on all of NVIDIA's GPUs that code is made for."""


def check_grid(sizes: Sequence[int]) -> None:
    """Raises VerifyException where a grid has more blocks along a dimension, at any shape, than a launch may have."""
    for dimension, size, most in zip("xyz", sizes, MOST_BLOCKS, strict=False):
        largest = bounds_of(size)[1]
        if largest > most:
            raise VerifyException(f"a grid of {largest} blocks along {dimension}; a launch has at most {most}")


class _PlaceOp(IRDLOperation, ABC):
    """Position of a thread or block along one dimension; constant throughout the kernel."""

    dimension = prop_def(DimensionAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$dimension attr-dict"

    def __init__(self, dimension: DimensionAttr | str) -> None:
        if isinstance(dimension, str):
            dimension = DimensionAttr(DimensionEnum(dimension))
        super().__init__(result_types=[IndexType()], properties={"dimension": dimension})


@irdl_op_definition
class ThreadIdOp(_PlaceOp):
    """`%i = gpu.thread_id x`: index of the thread within its block."""

    name = "gpu.thread_id"


@irdl_op_definition
class BlockIdOp(_PlaceOp):
    """`%i = gpu.block_id x`: index of the block within the grid."""

    name = "gpu.block_id"


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Waits until every thread of the block arrives; writes before it are visible to the whole block after it."""

    name = "gpu.barrier"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class ModuleOp(IRDLOperation):
    """All kernels of a model; compiled as one translation unit."""

    name = "gpu.module"
    body = region_def("single_block")
    sym_name = prop_def(SymbolNameConstraint())
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable())
    assembly_format = "$sym_name attr-dict-with-keyword $body"

    def __init__(self, name: str | StringAttr, body: Region) -> None:
        super().__init__(properties={"sym_name": StringAttr(name) if isinstance(name, str) else name}, regions=[body])


def _is_symbol(size: int) -> bool:
    """Whether a size is a symbol alone."""
    monomials = [*size.terms] if isinstance(size, Size) else []
    return [(len(atoms), factor) for atoms, factor in monomials] == [(1, 1)] and isinstance(monomials[0][0][0], Symbol)


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A kernel, executed by every thread of a launch.

    Its arguments are buffers of `main`, and behind these the sizes of run time that `kernel.sizes` lists: symbols, from
    which its code computes all other sizes.
    """

    name = "gpu.func"
    body = region_def()
    sym_name = attr_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    kernel = opt_prop_def(UnitAttr)
    known_block_size = opt_attr_def(DenseArrayBase.constr(i32), attr_name=_SIZE_NAMES[0])
    known_grid_size = opt_attr_def(DenseArrayBase.constr(i32), attr_name=_SIZE_NAMES[1])
    known_cluster_size = opt_attr_def(DenseArrayBase.constr(i32), attr_name=_SIZE_NAMES[2])
    sizes = opt_attr_def(ArrayAttr[IntegerAttr[IndexType]], attr_name=SIZES)
    cooperative = opt_attr_def(UnitAttr, attr_name=COOPERATIVE)
    traits = traits_def(IsolatedFromAbove(), HasParent(ModuleOp), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        function_type: FunctionType | tuple[Sequence[Attribute], Sequence[Attribute]],
        region: Region | None = None,
        kernel: bool | None = None,
        known_block_size: Sequence[int] | None = None,
        known_grid_size: Sequence[int] | None = None,
        known_cluster_size: Sequence[int] | None = None,
        cooperative: bool = False,
    ) -> None:
        if isinstance(function_type, tuple):
            function_type = FunctionType.from_lists(*function_type)
        attributes: dict[str, Attribute] = {"sym_name": StringAttr(name)}
        given = (known_block_size, known_grid_size, known_cluster_size)
        for key, sizes in zip(_SIZE_NAMES, given, strict=True):
            if sizes is not None:
                attributes[key] = DenseArrayBase.from_list(i32, sizes)
        if cooperative:
            attributes[COOPERATIVE] = UnitAttr()
        super().__init__(
            properties={"function_type": function_type, "kernel": UnitAttr() if kernel else None},
            attributes=attributes,
            regions=[region if region is not None else Region(Block(arg_types=function_type.inputs))],
        )

    @override
    def verify_(self) -> None:
        if self.function_type.inputs.data != self.body.blocks[0].arg_types:
            raise VerifyException("the arguments of a gpu.func differ from its type")
        if self.kernel is not None and self.function_type.outputs.data:
            raise VerifyException("a kernel has no results")
        known = (self.known_block_size, self.known_grid_size, self.known_cluster_size)
        for name, sizes in zip(_SIZE_NAMES, known, strict=True):
            if sizes is not None and (len(sizes) != 3 or min(sizes.get_values()) < 1):
                raise VerifyException(f"{name} is {sizes}; it must be three positive numbers")
        check_grid(grid := self.known_grid_size.get_values() if self.known_grid_size is not None else ())
        if self.known_cluster_size is not None:
            self._verify_cluster(self.known_cluster_size, grid)
        if self.cluster > 1 and self.cooperative is not None:
            raise VerifyException(f"a kernel with clusters of {self.cluster} blocks is not cooperative, too")
        if self.buffers < 0 or any(type != IndexType() for type in self.function_type.inputs.data[self.buffers :]):
            raise VerifyException(f"{SIZES} lists what the last arguments are: each must be an index")
        for each in () if self.sizes is None else self.sizes.data:
            if not _is_symbol(each.value.data):
                raise VerifyException(f"{SIZES} lists symbols of sizes, and not {each.value.data}")

    def _verify_cluster(self, sizes: DenseArrayBase[IntegerType], grid: Sequence[int]) -> None:
        blocks, *others = sizes.get_values()
        if blocks > MOST_BLOCKS_OF_A_CLUSTER or any(other != 1 for other in others):
            raise VerifyException(
                f"{_SIZE_NAMES[2]} is {sizes}; a cluster has at most {MOST_BLOCKS_OF_A_CLUSTER} blocks along x only"
            )
        if grid and grid[0] % blocks:
            raise VerifyException(f"{grid[0]} blocks along x are no whole number of clusters of {blocks}")

    @property
    def cluster(self) -> int:
        """The number of blocks of a cluster: 1 without clusters."""
        return 1 if self.known_cluster_size is None else self.known_cluster_size.get_values()[0]

    @property
    def buffers(self) -> int:
        """The number of its arguments that are buffers."""
        return len(self.function_type.inputs) - (0 if self.sizes is None else len(self.sizes))

    @property
    def symbols(self) -> dict[Symbol, BlockArgument]:
        """The symbols of its sizes of run time, with the arguments that they are."""
        listed = () if self.sizes is None else self.sizes.data
        given = (symbol_of(cast("Size", each.value.data)) for each in listed)
        return dict(zip(given, self.body.blocks[0].args[self.buffers :], strict=True))

    def take_sizes(self, sizes: Sequence[int]) -> None:
        """Adds arguments for symbols of sizes of run time."""
        block = self.body.blocks[0]
        self.sizes = ArrayAttr([IntegerAttr(size, IndexType()) for size in sizes])
        for size in sizes:
            argument = block.insert_arg(IndexType(), len(block.args))
            # Without "_1" at its end, by which xDSL tells values of one name.
            name = re.sub(r"^(?=\d)|\W+", "_", str(size), flags=re.ASCII)
            argument.name_hint = re.sub(r"(?<=.)_+(?=\d)", "", name)
        self.function_type = FunctionType.from_lists(block.arg_types, [])

    @classmethod
    @override
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name().data
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        kernel = parser.parse_optional_keyword("kernel") is not None
        attributes = parser.parse_optional_attr_dict_with_keyword(_RESERVED)
        region = parser.parse_region(arguments)
        made = cls(name, ([each.type for each in arguments], []), region, kernel)
        if attributes is not None:
            made.attributes |= attributes.data
        return made

    @override
    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.body.blocks[0].args, printer.print_block_argument)
        printer.print_string(" kernel" if self.kernel is not None else "")
        printer.print_op_attributes(self.attributes, reserved_attr_names=_RESERVED, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, False, False)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """Ends the thread."""

    name = "gpu.return"
    args = var_operand_def()
    traits = traits_def(IsTerminator(), HasParent(FuncOp))
    assembly_format = "attr-dict ($args^ `:` type($args))?"

    def __init__(self, operands: Sequence[SSAValue | Operation] = ()) -> None:
        super().__init__(operands=[operands])


@irdl_custom_directive
class Arguments(CustomDirective):
    """`args(%a : f32, %b : f64)`: values, each with its type behind it; nothing where there are none."""

    values: VariadicOperandVariable
    types: TypeDirective

    @override
    def parse(self, parser: Parser, state: ParsingState) -> None:
        def argument() -> tuple[UnresolvedOperand, Attribute]:
            name = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            return name, parser.parse_type()

        arguments: list[tuple[UnresolvedOperand, Attribute]] = []
        if parser.parse_optional_keyword("args"):
            arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        self.values.set(state, [name for name, _ in arguments])
        self.types.set(state, [type for _, type in arguments])

    @override
    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        def argument(value: SSAValue) -> None:
            printer.print_operand(value)
            printer.print_string(" : ")
            printer.print_attribute(value.type)

        if values := self.values.get(op):
            state.print_whitespace(printer)
            printer.print_string("args")
            with printer.in_parens():
                printer.print_list(values, argument)


@irdl_op_definition
class LaunchFuncOp(IRDLOperation):
    """Runs a kernel on a grid of thread blocks, after all launches before it (one stream)."""

    name = "gpu.launch_func"
    asyncDependencies = var_operand_def(gpu.AsyncTokenType)
    gridSizeX = operand_def(IndexType)
    gridSizeY = operand_def(IndexType)
    gridSizeZ = operand_def(IndexType)
    blockSizeX = operand_def(IndexType)
    blockSizeY = operand_def(IndexType)
    blockSizeZ = operand_def(IndexType)
    clusterSizeX = opt_operand_def(IndexType)
    clusterSizeY = opt_operand_def(IndexType)
    clusterSizeZ = opt_operand_def(IndexType)
    dynamicSharedMemorySize = opt_operand_def(i32)
    kernelOperands = var_operand_def()
    asyncObject = opt_operand_def()
    kernel = prop_def(SymbolRefAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (Arguments,)
    assembly_format = (
        "(`[` $asyncDependencies^ `]`)? (`<` $asyncObject^ `:` type($asyncObject) `>`)? $kernel "
        "(`clusters` `in` ` ` `(` $clusterSizeX^ `,` $clusterSizeY `,` $clusterSizeZ `)`)? "
        "`blocks` `in` ` ` `(` $gridSizeX `,` $gridSizeY `,` $gridSizeZ `)` "
        "`threads` `in` ` ` `(` $blockSizeX `,` $blockSizeY `,` $blockSizeZ `)` "
        "(`dynamic_shared_memory_size` $dynamicSharedMemorySize^)? "
        "custom<Arguments>($kernelOperands, type($kernelOperands)) attr-dict"
    )

    def __init__(
        self,
        func: SymbolRefAttr,
        gridSize: Sequence[SSAValue | Operation],
        blockSize: Sequence[SSAValue | Operation],
        kernelOperands: Sequence[SSAValue | Operation] = (),
        dynamicSharedMemorySize: SSAValue | Operation | None = None,
    ) -> None:
        super().__init__(
            operands=[[], *gridSize, *blockSize, None, None, None, dynamicSharedMemorySize, kernelOperands, None],
            properties={"kernel": func},
        )
