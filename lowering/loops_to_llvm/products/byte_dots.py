"""Lowering of kernel.dot: to a dot-product instruction, to 16-bit multiply-adds, or to plain multiplications.

The target's features are the names of the available instructions.

    vpdpbusd    four products of unsigned by signed bytes, added to 32 bits (AVX-VNNI, AVX512-VNNI)
    sdot        the same for bytes of equal signedness (ARM dotprod)
    usdot       the same for unsigned by signed bytes (ARM i8mm)
    pmaddubsw   two products of unsigned by signed bytes in 16 bits, which saturate: for narrow columns
    pmaddwd     two products of 16 bits: applied to the even and to the odd bytes, or to those sums and ones
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i16, i32
from xdsl.ir import Operation, SSAValue

from ....dialects.byte_dot import GROUP, DotOp
from ..body import FunctionBody, Handler
from ..types import element_of, vector_type
from .vector_parts import called, joined, lanes_in, part

INTRINSICS: Mapping[str, Sequence[str]] = {
    "pmaddubsw": ("llvm.x86.ssse3.pmadd.ub.", "llvm.x86.avx2.pmadd.ub.", "llvm.x86.avx512.pmaddubs."),
    "pmaddwd": ("llvm.x86.sse2.pmadd.", "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx512.pmaddw."),
    "vpdpbusd": ("llvm.x86.avx512.vpdpbusd.",),
    "sdot": ("llvm.aarch64.neon.sdot.", "llvm.aarch64.neon.udot."),
    "usdot": ("llvm.aarch64.neon.usdot.",),
}
"""Prefixes of the names of LLVM's intrinsics; LLVM aborts the process if the CPU lacks the instruction."""
_PMADDWD = {128: "llvm.x86.sse2.pmadd.wd", 256: "llvm.x86.avx2.pmadd.wd", 512: "llvm.x86.avx512.pmaddw.d.512"}
_PMADDUBSW = {
    128: "llvm.x86.ssse3.pmadd.ub.sw.128",
    256: "llvm.x86.avx2.pmadd.ub.sw",
    512: "llvm.x86.avx512.pmaddubs.w.512",
}
_REGISTERS = frozenset(_PMADDWD)  # in bits

_Signs = tuple[bool, bool]  # whether the bytes of the row, and those of the columns, are unsigned
_Way = Callable[[FunctionBody, SSAValue, SSAValue, SSAValue, _Signs], SSAValue]
"""(row of each lane, columns, sums so far) -> sums."""


def _dot(body: FunctionBody, op: Operation) -> None:
    assert isinstance(op, DotOp)
    row, columns, sums = body.lowered(op.operands)
    signs = op.unsigned_row is not None, op.unsigned_columns is not None
    narrow = op.narrow_columns is not None
    if narrow and body.target.has("sdot"):
        signs = signs[0], signs[0]
    lanes, register = lanes_in(sums), body.target.vector_bits.data
    held = min(lanes, register // 32)
    way = _way(body, signs, narrow) if lanes % held == 0 and held * 32 in _REGISTERS else None
    if way is None:
        way, held = _by_multiplication, lanes
    repeated = body.splat(body.emit(llvm.BitcastOp, (row,), i32), vector_type(i32, held))
    parts = [
        way(body, repeated, part(body, columns, GROUP * start, GROUP * held), part(body, sums, start, held), signs)
        for start in range(0, lanes, held)
    ]
    body.values[op.results[0]] = joined(body, parts)


def _way(body: FunctionBody, signs: _Signs, narrow: bool) -> _Way | None:
    """The implementation for bytes of these signs, by an instruction of the target; None without one."""
    has, mixed = body.target.has, signs[0] != signs[1]
    if mixed and has("vpdpbusd"):
        return _by_vpdpbusd
    if has("usdot") if mixed else has("sdot"):
        return _by_sdot
    if narrow and not signs[0] and has("pmaddubsw"):
        return _by_pmaddubsw
    return _by_pmaddwd if has("pmaddwd") else None


def _by_vpdpbusd(body: FunctionBody, row: SSAValue, columns: SSAValue, sums: SSAValue, signs: _Signs) -> SSAValue:
    row = body.emit(llvm.BitcastOp, (row,), columns.type)
    factors = [row, columns] if signs[0] else [columns, row]
    return called(body, f"llvm.x86.avx512.vpdpbusd.{32 * lanes_in(sums)}", [sums, *factors], sums)


def _by_sdot(body: FunctionBody, row: SSAValue, columns: SSAValue, sums: SSAValue, signs: _Signs) -> SSAValue:
    row = body.emit(llvm.BitcastOp, (row,), columns.type)
    factors = [columns, row] if signs == (False, True) else [row, columns]
    kind = {(False, False): "sdot", (True, True): "udot"}.get(signs, "usdot")
    return called(body, f"llvm.aarch64.neon.{kind}.v4i32.v16i8", [sums, *factors], sums)


def _by_pmaddubsw(body: FunctionBody, row: SSAValue, columns: SSAValue, sums: SSAValue, signs: _Signs) -> SSAValue:
    bits, words = 32 * lanes_in(sums), vector_type(i16, 2 * lanes_in(sums))
    row = body.emit(llvm.BitcastOp, (row,), columns.type)
    pairs = body.intrinsic(_PMADDUBSW[bits], [columns, row], words)
    assert pairs is not None
    ones = body.number(1, words)
    return body.emit(llvm.AddOp, (sums, called(body, _PMADDWD[bits], [pairs, ones], sums)), sums.type)


def _by_pmaddwd(body: FunctionBody, row: SSAValue, columns: SSAValue, sums: SSAValue, signs: _Signs) -> SSAValue:
    name = _PMADDWD[32 * lanes_in(sums)]
    for factors in zip(_halves(body, row, signs[0]), _halves(body, columns, signs[1]), strict=True):
        sums = body.emit(llvm.AddOp, (sums, called(body, name, factors, sums)), sums.type)
    return sums


def _by_multiplication(body: FunctionBody, row: SSAValue, columns: SSAValue, sums: SSAValue, signs: _Signs) -> SSAValue:
    """Multiplies the even and the odd bytes as 16-bit numbers, and adds the products in 32 bits."""
    right, sixteen = llvm.LShrOp if all(signs) else llvm.AShrOp, body.number(16, sums.type)
    for factors in zip(_halves(body, row, signs[0]), _halves(body, columns, signs[1]), strict=True):
        products = body.emit(llvm.BitcastOp, (body.emit(llvm.MulOp, factors, factors[0].type),), sums.type)
        low = body.emit(llvm.ShlOp, (products, sixteen), sums.type)
        for each in (low, products):
            sums = body.emit(llvm.AddOp, (sums, body.emit(right, (each, sixteen), sums.type)), sums.type)
    return sums


def _halves(body: FunctionBody, vector: SSAValue, unsigned: bool) -> list[SSAValue]:
    """The even and the odd bytes, extended to 16 bits."""
    bits = lanes_in(vector) * (32 if element_of(vector.type) == i32 else 8)
    words = body.emit(llvm.BitcastOp, (vector,), vector_type(i16, bits // 16))
    eight = body.number(8, words.type)
    if unsigned:
        even = body.emit(llvm.AndOp, (words, body.number(255, words.type)), words.type)
        return [even, body.emit(llvm.LShrOp, (words, eight), words.type)]
    even = body.emit(llvm.AShrOp, (body.emit(llvm.ShlOp, (words, eight), words.type), eight), words.type)
    return [even, body.emit(llvm.AShrOp, (words, eight), words.type)]


HANDLERS: dict[str, Handler] = {"kernel.dot": _dot}
