"""The launch list of one inference as plain data, read from `main`.

    0 kernel_conv_0  grid 49x2x1  block 256x1x1  shared 16384 B  arg 3 + 0, arg 4 + 4096, arg 3 + 802816  (/conv1/Conv)

A kernel's argument is an argument of main (an address) plus an offset in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.errors import CompileError
from ...dialects.gpu.kernels import LaunchFuncOp, check_grid
from ...dialects.graph.base import describe
from ...dialects.symbols import symbol_named
from ...passes.memory.analysis.buffers import Places

NODES = "onnx.nodes"
"""Attribute of a launch: the names of its ONNX nodes."""
CALL = "kernel.call"
"""Attribute of a launch: the number of its kernel call."""


@dataclass(frozen=True)
class Argument:
    """The address `offset` bytes behind argument `root` of main."""

    root: int
    offset: int


@dataclass(frozen=True)
class Launch:
    """One kernel launch: grid, block, and bytes of shared memory per block."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    arguments: tuple[Argument, ...]
    nodes: tuple[str, ...] = ()
    call: int = 0
    """The number of its kernel call in the plan; one call may be several launches."""


def launch_list(module: ModuleOp) -> tuple[Launch, ...]:
    """The launches of `main`, in order. Raises CompileError for any other operation, and for too large a grid."""
    main = symbol_named(module, "main")
    assert isinstance(main, FuncOp)
    return tuple(_launches(main))


def _launches(main: FuncOp) -> Iterator[Launch]:
    places = Places()
    for op in main.body.block.ops:
        if isinstance(op, LaunchFuncOp):
            nodes, call = op.attributes.get(NODES), op.attributes.get(CALL)
            sizes = (op.gridSizeX, op.gridSizeY, op.gridSizeZ, op.blockSizeX, op.blockSizeY, op.blockSizeZ)
            x, y, z, *block = map(_number, sizes)
            try:
                check_grid((x, y, z))
            except VerifyException as error:
                raise CompileError(f"{describe(op)}: {error}") from None
            shared = 0 if op.dynamicSharedMemorySize is None else _number(op.dynamicSharedMemorySize)
            yield Launch(
                op.kernel.string_value().rpartition(".")[2],
                (x, y, z),
                (block[0], block[1], block[2]),
                shared,
                tuple(_argument(value, places) for value in op.kernelOperands),
                tuple(each.data for each in cast("ArrayAttr[StringAttr]", nodes)) if nodes is not None else (),
                cast("IntegerAttr", call).value.data if call is not None else 0,
            )
        elif not isinstance(op, arith.ConstantOp | memref.ViewOp | memref.CastOp | memref.ReinterpretCastOp | ReturnOp):
            raise CompileError(f"{describe(op)}: main can launch kernels only")


def _number(value: SSAValue) -> int:
    """The value of a constant of main."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        raise CompileError("main: the grid of a launch and the offsets of its buffers must be constants")
    return op.value.value.data


def _argument(value: SSAValue, places: Places) -> Argument:
    """The address of a buffer of main."""
    place = places[value]
    if not isinstance(place.root, BlockArgument):
        raise CompileError("main: kernels can be launched on arguments of main only")
    return Argument(place.root.index, place.bytes.offset)
