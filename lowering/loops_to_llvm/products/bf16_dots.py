"""Lowering of kernel.bf16_dot: to an instruction, or to multiply-adds of f32.

The target's features are the names of the available instructions.

    vdpbf16ps   two products of bf16, added to 32 bits (AVX512-BF16): to nearest even, and subnormal numbers are zeros,
                both operands and results, whatever the thread's modes are
    bfdot       the same on ARM; how it rounds is the CPU's
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import bf16, f32, i32
from xdsl.ir import Operation, SSAValue

from ....dialects.bf16_dot import PAIR, Bf16DotOp
from ..body import FunctionBody, Handler
from ..instructions import NO_FAST_MATH
from ..types import vector_type
from .vector_parts import called, joined, lanes_in, part

INTRINSICS: Mapping[str, Sequence[str]] = {
    "vdpbf16ps": ("llvm.x86.avx512bf16.dpbf16ps.",),
    "bfdot": ("llvm.aarch64.neon.bfdot.",),
}
"""Prefixes of the names of LLVM's intrinsics; LLVM aborts the process if the CPU lacks the instruction."""
_HIGH = -(1 << 16)  # the bits of a pair's second element


def _dot(body: FunctionBody, op: Operation) -> None:
    assert isinstance(op, Bf16DotOp)
    row, columns, sums = body.lowered(op.operands)
    lanes, held = lanes_in(sums), body.target.vector_bits.data // 32
    name = next((name for name in INTRINSICS if body.target.has(name)), "")
    if not name or lanes % held:
        name, held = "", lanes
    pair = body.splat(body.emit(llvm.BitcastOp, (row,), i32), vector_type(i32, held))
    parts = [
        _product(body, name, pair, part(body, columns, PAIR * start, PAIR * held), part(body, sums, start, held))
        for start in range(0, lanes, held)
    ]
    body.values[op.results[0]] = joined(body, parts)


def _product(body: FunctionBody, name: str, pair: SSAValue, columns: SSAValue, sums: SSAValue) -> SSAValue:
    """The sums of one register with both products, by the instruction of that name; without one ("") in f32."""
    if not name:
        return _by_multiplication(body, pair, columns, sums)
    lanes = lanes_in(sums)
    spelling = {"vdpbf16ps": f"{32 * lanes}", "bfdot": f"v{lanes}f32.v{PAIR * lanes}bf16"}[name]
    factors = [body.emit(llvm.BitcastOp, (each,), vector_type(bf16, PAIR * lanes)) for each in (pair, columns)]
    return called(body, INTRINSICS[name][0] + spelling, [sums, *factors], sums)


def _by_multiplication(body: FunctionBody, pair: SSAValue, columns: SSAValue, sums: SSAValue) -> SSAValue:
    """Both elements of each pair as f32, which they are the upper halves of."""
    pairs = body.emit(llvm.BitcastOp, (columns,), pair.type)
    sixteen, high = body.number(16, pair.type), body.number(_HIGH, pair.type)
    for op, bits in ((llvm.ShlOp, sixteen), (llvm.AndOp, high)):
        a, b = (body.bits(body.emit(op, (each, bits), pair.type), f32) for each in (pair, pairs))
        product = body.emit(llvm.FMulOp, (a, b), sums.type, {"fastmathFlags": NO_FAST_MATH})
        sums = body.emit(llvm.FAddOp, (sums, product), sums.type, {"fastmathFlags": NO_FAST_MATH})
    return sums


HANDLERS: dict[str, Handler] = {"kernel.bf16_dot": _dot}
