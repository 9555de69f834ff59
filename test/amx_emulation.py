"""Intel's AMX on other CPUs: the instructions that LLVM IR calls, as functions of LLVM IR.

A tile is a vector of 16 x 64 bytes, as LLVM converts `x86_amx` to and from. What a tile's shape leaves out is
zero after a load, as in the manual (Intel 64 and IA-32 Architectures Software Developer's Manual, TILELOADD, TDPBF16PS,
TDPBUSD).
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from mini_infer.dialects.kernel.targets import MATRIX_PRODUCTS
from mini_infer.lowering.loops_to_llvm import emit_llvm_ir as emitter
from mini_infer.runtime.native import cpu_targets

TILE = "<256 x i32>"

_LOOPS = """
define internal void @amx.{name}(ptr %c, ptr %a, ptr %b, i64 %rows, i64 %row_words, i64 %depth) noinline {{
entry:
  br label %row
row:
  %r = phi i64 [0, %entry], [%r1, %row.end]
  br label %column
column:
  %j = phi i64 [0, %row], [%j1, %column.end]
  %at = call ptr @amx.at(ptr %c, i64 %r, i64 %j)
  %start = load {sums}, ptr %at
  br label %word
word:
  %k = phi i64 [0, %column], [%k1, %word]
  %t0 = phi {sums} [%start, %column], [%t{group}, %word]
  %x = call ptr @amx.at(ptr %a, i64 %r, i64 %k)
  %y = call ptr @amx.at(ptr %b, i64 %k, i64 %j)
  {steps}
  %k1 = add i64 %k, 1
  %last = icmp eq i64 %k1, %depth
  br i1 %last, label %column.end, label %word
column.end:
  store {sums} %t{group}, ptr %at
  %j1 = add i64 %j, 1
  %lastj = icmp eq i64 %j1, %row_words
  br i1 %lastj, label %row.end, label %column
row.end:
  %r1 = add i64 %r, 1
  %lastr = icmp eq i64 %r1, %rows
  br i1 %lastr, label %end, label %row
end:
  ret void
}}
define internal {tile} @{name}(i16 %m, i16 %n, i16 %d, {tile} %c, {tile} %a, {tile} %b) noinline {{
  %pc = alloca {tile}
  %pa = alloca {tile}
  %pb = alloca {tile}
  store {tile} %c, ptr %pc
  store {tile} %a, ptr %pa
  store {tile} %b, ptr %pb
  %m64 = zext i16 %m to i64
  %n64 = zext i16 %n to i64
  %d64 = zext i16 %d to i64
  %nw = udiv i64 %n64, 4
  %dw = udiv i64 %d64, 4
  call void @amx.{name}(ptr %pc, ptr %pa, ptr %pb, i64 %m64, i64 %nw, i64 %dw)
  %r = load {tile}, ptr %pc
  ret {tile} %r
}}
"""
_COMMON = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal ptr @amx.at(ptr %tile, i64 %row, i64 %word) {{
  %o = mul i64 %row, 16
  %i = add i64 %o, %word
  %p = getelementptr i32, ptr %tile, i64 %i
  ret ptr %p
}}
define internal void @amx.copy(ptr %to, i64 %to_row, ptr %from, i64 %from_row, i16 %rows, i16 %bytes) noinline {{
entry:
  %n = zext i16 %rows to i64
  %size = zext i16 %bytes to i64
  br label %row
row:
  %r = phi i64 [0, %entry], [%r1, %row]
  %t = mul i64 %r, %to_row
  %f = mul i64 %r, %from_row
  %tp = getelementptr i8, ptr %to, i64 %t
  %fp = getelementptr i8, ptr %from, i64 %f
  call void @llvm.memcpy.p0.p0.i64(ptr %tp, ptr %fp, i64 %size, i1 false)
  %r1 = add i64 %r, 1
  %last = icmp eq i64 %r1, %n
  br i1 %last, label %end, label %row
end:
  ret void
}}
define internal {tile} @tilezero(i16 %m, i16 %n) noinline {{
  ret {tile} zeroinitializer
}}
define internal {tile} @tileloadd64(i16 %m, i16 %n, ptr %p, i64 %stride) noinline {{
  %t = alloca {tile}
  store {tile} zeroinitializer, ptr %t
  call void @amx.copy(ptr %t, i64 64, ptr %p, i64 %stride, i16 %m, i16 %n)
  %r = load {tile}, ptr %t
  ret {tile} %r
}}
define internal void @tilestored64(i16 %m, i16 %n, ptr %p, i64 %stride, {tile} %v) noinline {{
  %t = alloca {tile}
  store {tile} %v, ptr %t
  call void @amx.copy(ptr %p, i64 %stride, ptr %t, i64 64, i16 %m, i16 %n)
  ret void
}}
"""
_BF16 = """
  %x{i}.p = getelementptr i16, ptr %x, i64 {i}
  %y{i}.p = getelementptr i16, ptr %y, i64 {i}
  %x{i}.h = load i16, ptr %x{i}.p
  %y{i}.h = load i16, ptr %y{i}.p
  %x{i}.w = zext i16 %x{i}.h to i32
  %y{i}.w = zext i16 %y{i}.h to i32
  %x{i}.s = shl i32 %x{i}.w, 16
  %y{i}.s = shl i32 %y{i}.w, 16
  %x{i}.f = bitcast i32 %x{i}.s to float
  %y{i}.f = bitcast i32 %y{i}.s to float
  %m{i} = fmul float %x{i}.f, %y{i}.f
  %t{j} = fadd float %t{i}, %m{i}
"""
_BYTE = """
  %x{i}.p = getelementptr i8, ptr %x, i64 {i}
  %y{i}.p = getelementptr i8, ptr %y, i64 {i}
  %x{i}.b = load i8, ptr %x{i}.p
  %y{i}.b = load i8, ptr %y{i}.p
  %x{i}.w = {a} i8 %x{i}.b to i32
  %y{i}.w = {b} i8 %y{i}.b to i32
  %m{i} = mul i32 %x{i}.w, %y{i}.w
  %t{j} = add i32 %t{i}, %m{i}
"""


def emulated(text: str) -> str:
    """LLVM IR whose AMX instructions are functions."""
    called = sorted(set(re.findall(r"@llvm\.x86\.(t\w+)\.internal", text)))
    if not called:
        return text
    lines = [line for line in text.splitlines() if not re.match(r"declare .*@llvm\.x86\.t\w+\.internal", line)]
    text = re.sub(r"@llvm\.x86\.(t\w+)\.internal", r"@\1", "\n".join(lines)).replace("x86_amx", TILE)
    common = _COMMON.format(tile=TILE)
    if "declare void @llvm.memcpy.p0.p0.i64" in text:
        common = common.replace("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n", "")
    extends = {"u": "zext", "s": "sext"}
    for name in called:
        if name == "tdpbf16ps":
            steps = "".join(_BF16.format(i=i, j=i + 1) for i in range(2))
            common += _LOOPS.format(name=name, sums="float", group=2, steps=steps, tile=TILE)
        elif name.startswith("tdpb"):
            a, b = (extends[sign] for sign in name[4:6])
            steps = "".join(_BYTE.format(i=i, j=i + 1, a=a, b=b) for i in range(4))
            common += _LOOPS.format(name=name, sums="i32", group=4, steps=steps, tile=TILE)
    return text + common


@contextmanager
def emulated_amx(seen: list[str] | None = None) -> Generator[None]:
    """Compiles for this machine as if it had AMX; the names of instructions that code has are added to `seen`."""
    host = cpu_targets.host_target()
    emit = emitter.emit_llvm_ir

    def emit_emulated(*given: object, **named: object) -> str:
        text: str = cast("Any", emit)(*given, **named)
        if seen is not None:
            seen.extend(re.findall(r"@llvm\.x86\.(t\w+)\.internal", text))
        return emulated(text)

    with pytest.MonkeyPatch.context() as patch:
        with_amx = replace(host, features=host.features | set(MATRIX_PRODUCTS), vector_bits=512, registers=32)
        patch.setattr(cpu_targets, "host_target", lambda: with_amx)
        patch.setattr(emitter, "emit_llvm_ir", emit_emulated)
        yield
