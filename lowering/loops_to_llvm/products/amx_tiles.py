"""Lowering of amx operations: each is one instruction of Intel's AMX.

LLVM assigns the registers and configures them at the beginning of a function. Other CPUs have none of them: unlike dot
products of registers, tiles have no meaning in other instructions, and kernels with them are compiled for CPUs that
have AMX alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import i16, i64
from xdsl.ir import Operation, SSAValue

from ....dialects.amx import TileLoadOp, TileMulFOp, TileMulIOp, TileStoreOp, TileType, TileZeroOp
from ..body import FunctionBody, Handler
from ..types import X86_AMX

INTRINSICS: Mapping[str, Sequence[str]] = {
    "tdpbf16ps": ("llvm.x86.tdpbf16ps.",),
    "tdpbusd": ("llvm.x86.tdpbuud.", "llvm.x86.tdpbusd.", "llvm.x86.tdpbsud.", "llvm.x86.tdpbssd."),
}
"""Names of LLVM's intrinsics, by feature of a target; LLVM aborts the process if the CPU lacks the instructions."""


def _shape(body: FunctionBody, value: SSAValue) -> list[SSAValue]:
    """Rows, and bytes of a row, as numbers of 16 bits."""
    assert isinstance(value.type, TileType)
    return [body.integer(value.type.rows.data, i16), body.integer(value.type.row_bytes, i16)]


def _place(body: FunctionBody, memref: SSAValue, indices: Sequence[SSAValue]) -> list[SSAValue]:
    """The address of a tile, and the bytes from row to row."""
    stride, size = body.strides_of(memref)[-2], body.types.layout(memref.type).element_bytes
    if isinstance(stride, int):
        return [body.address(memref, indices), body.integer(stride * size, i64)]
    return [body.address(memref, indices), body.linear([(stride, size)])]


def _zero(body: FunctionBody, op: Operation) -> None:
    assert isinstance(op, TileZeroOp)
    _keep(body, op.result, "llvm.x86.tilezero.internal", _shape(body, op.result))


def _load(body: FunctionBody, op: Operation) -> None:
    assert isinstance(op, TileLoadOp)
    operands = [*_shape(body, op.result), *_place(body, op.memref, op.indices)]
    _keep(body, op.result, "llvm.x86.tileloadd64.internal", operands)


def _store(body: FunctionBody, op: Operation) -> None:
    assert isinstance(op, TileStoreOp)
    operands = [*_shape(body, op.value), *_place(body, op.memref, op.indices), body.values[op.value]]
    body.intrinsic("llvm.x86.tilestored64.internal", operands, None)


def _multiply(body: FunctionBody, op: Operation) -> None:
    assert isinstance(op, TileMulFOp | TileMulIOp)
    signs = "bf16ps"
    if isinstance(op, TileMulIOp):
        signs = "b" + "".join("s" if unsigned is None else "u" for unsigned in (op.zext_lhs, op.zext_rhs)) + "d"
    rows, columns = _shape(body, op.result)
    depth = _shape(body, op.lhs)[1]
    tiles = body.lowered([op.sums, op.lhs, op.rhs])
    _keep(body, op.result, f"llvm.x86.tdp{signs}.internal", [rows, columns, depth, *tiles])


def _keep(body: FunctionBody, result: SSAValue, name: str, operands: Sequence[SSAValue]) -> None:
    made = body.intrinsic(name, operands, X86_AMX)
    assert made is not None
    body.values[result] = made


HANDLERS: dict[str, Handler] = {
    TileZeroOp.name: _zero,
    TileLoadOp.name: _load,
    TileStoreOp.name: _store,
    TileMulFOp.name: _multiply,
    TileMulIOp.name: _multiply,
}
