"""LLVM IR text of a compiled model's C entry points, which check their arguments.

`i32 @NAME_run(ptr %weights, ptr %arena, ptr %a0, ..., ptr %share)` calls mini_infer_run (runtime_ir.py) with %a0, ...,
the model's inputs and written buffers, in the order of main's buffers. %share exists only in code for several threads.
`i32 @NAME_check_weights(ptr %weights, i64 %bytes)` verifies the digest of all weights, which a run doesn't.

Weights begin with a header of three words: a magic number, the bytes of header and weights, and the digest of the
weights (XXH64, seed 0), followed by zeros up to HEADER_BYTES.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

MARK = int.from_bytes(b"mi-wgts1", "little")
HEADER_BYTES = 64
BLOCK_BYTES = 64
"""Size of weights in bytes is a multiple of this, and at least this."""


class Status(IntEnum):
    """Return values of the functions."""

    OK = 0
    NULL = 1
    ALIGNMENT = 2
    WEIGHTS = 3
    INDEX = 4
    FAILED = 5
    AMX = 6


@dataclass(frozen=True)
class Pointer:
    """A pointer argument of a run, and its required alignment in bytes; 0 for any."""

    name: str
    alignment: int


@dataclass(frozen=True)
class CEntry:
    """The C interface of a model. `buffers` are its inputs and written buffers; `checks` are the words of its status.

    Of these, the words in `failures` are set where the model can't be run on its inputs, the others where an index is
    out of range.
    """

    name: str
    buffers: Sequence[Pointer]
    arena: Pointer
    weights: Pointer
    checks: int
    failures: Sequence[int]
    threads: int
    weights_bytes: int
    """Bytes, header included."""
    digest: int
    asks_for_amx: bool = False
    """Whether its code has instructions of AMX, and its system is Linux, which must be asked for their registers."""

    def ir(self) -> str:
        """The LLVM IR text."""
        return "\n".join([self._run(), self._check_weights(), self._has_header()])

    def _run(self) -> str:
        given = [f"%{each.name}" for each in (self.weights, self.arena, *self.buffers)]
        taken = [*(f"%{each.name}" for each in self.buffers), "%arena", *["%status"] * bool(self.checks), "%body"]
        several = self.threads > 1
        lines = [
            f"define i32 @{self.name}_run({', '.join(f'ptr {each}' for each in [*given, *['%share'] * several])}) "
            "nounwind {",
            f"  %args = alloca [{len(taken)} x ptr]",
            f"  %status = alloca [{max(self.checks, 1)} x i64]",
            *_judged((self.weights, self.arena, *self.buffers)),
            *self._ask_for_amx(),
            f"  %known = call i1 @{self.name}_has_header(ptr %weights)",
            "  br i1 %known, label %ready, label %strange",
            "ready:",
            f"  %body = getelementptr i8, ptr %weights, i64 {HEADER_BYTES}",
            f"  call void @llvm.memset.p0.i64(ptr %status, i8 0, i64 {8 * max(self.checks, 1)}, i1 false)",
        ]
        for number, each in enumerate(taken):
            lines += [
                f"  %slot{number} = getelementptr ptr, ptr %args, i64 {number}",
                f"  store ptr {each}, ptr %slot{number}",
            ]
        lines += [
            f"  call void @mini_infer_run(ptr %args, ptr {'%share' if several else 'null'})",
            "  br label %look",
            "look:",
            "  %i = phi i64 [ 0, %ready ], [ %next, %look ]",
            "  %seen = phi i64 [ 0, %ready ], [ %all, %look ]",
            "  %place = getelementptr i64, ptr %status, i64 %i",
            "  %word = load i64, ptr %place",
            "  %all = or i64 %seen, %word",
            "  %next = add i64 %i, 1",
            f"  %more = icmp ult i64 %next, {max(self.checks, 1)}",
            "  br i1 %more, label %look, label %end",
            "end:",
            "  %right = icmp eq i64 %all, 0",
            f"  %found = select i1 %right, i32 {Status.OK}, i32 {Status.INDEX}",
            *self._judge_failures(),
            "  ret i32 %result",
            *_ENDS,
            "}",
            "declare void @mini_infer_run(ptr, ptr)",
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            *["declare i64 @syscall(i64, ...)"] * self.asks_for_amx,
        ]
        return "\n".join(lines)

    def _ask_for_amx(self) -> Iterator[str]:
        """IR text of Linux's arch_prctl(ARCH_REQ_XCOMP_PERM, 18), which takes 0.1 us where it was asked before."""
        if self.asks_for_amx:
            yield "  %refused = call i64 (i64, ...) @syscall(i64 158, i64 4131, i64 18)"
            yield "  %may = icmp eq i64 %refused, 0"
            yield "  br i1 %may, label %granted, label %forbidden"
            yield "forbidden:"
            yield f"  ret i32 {Status.AMX}"
            yield "granted:"

    def _judge_failures(self) -> Iterator[str]:
        """IR text that computes %result from %found and the words of failures."""
        yield "  %failed0 = add i64 0, 0"
        for number, place in enumerate(self.failures):
            yield f"  %failure{number} = getelementptr i64, ptr %status, i64 {place}"
            yield f"  %noted{number} = load i64, ptr %failure{number}"
            yield f"  %failed{number + 1} = or i64 %failed{number}, %noted{number}"
        yield f"  %fine = icmp eq i64 %failed{len(self.failures)}, 0"
        yield f"  %result = select i1 %fine, i32 %found, i32 {Status.FAILED}"

    def _check_weights(self) -> str:
        judged = "\n".join(_judged((self.weights,)))
        ends = "\n".join(_ENDS)
        return f"""\
define i32 @{self.name}_check_weights(ptr %weights, i64 %bytes) nounwind {{
{judged}
  %whole = icmp eq i64 %bytes, {self.weights_bytes}
  br i1 %whole, label %open, label %strange
open:
  %known = call i1 @{self.name}_has_header(ptr %weights)
  br i1 %known, label %read, label %strange
read:
  %at = phi i64 [ {HEADER_BYTES}, %open ], [ %next, %read ]
  %lanes = phi <4 x i64> [ <i64 {_signed(_P1 + _P2)}, i64 {_P2}, i64 0, i64 {_signed(-_P1)}>, %open ], [ %mixed, %read ]
  %place = getelementptr i8, ptr %weights, i64 %at
  %words = load <4 x i64>, ptr %place, align 32
  %scaled = mul <4 x i64> %words, splat (i64 {_P2})
  %added = add <4 x i64> %lanes, %scaled
  %turned = call <4 x i64> @llvm.fshl.v4i64(<4 x i64> %added, <4 x i64> %added, <4 x i64> splat (i64 31))
  %mixed = mul <4 x i64> %turned, splat (i64 {_P1})
  %next = add i64 %at, 32
  %more = icmp ult i64 %next, {self.weights_bytes}
  br i1 %more, label %read, label %close
close:
  %sides = add <4 x i64> zeroinitializer, <i64 1, i64 7, i64 12, i64 18>
  %shifted = call <4 x i64> @llvm.fshl.v4i64(<4 x i64> %mixed, <4 x i64> %mixed, <4 x i64> %sides)
  %sum = call i64 @llvm.vector.reduce.add.v4i64(<4 x i64> %shifted)
  %left = mul <4 x i64> %mixed, splat (i64 {_P2})
  %left.turned = call <4 x i64> @llvm.fshl.v4i64(<4 x i64> %left, <4 x i64> %left, <4 x i64> splat (i64 31))
  %round = mul <4 x i64> %left.turned, splat (i64 {_P1})
{_merges()}
  %sized = add i64 %merged4, {self.weights_bytes - HEADER_BYTES}
  %high = lshr i64 %sized, 33
  %a = xor i64 %sized, %high
  %b = mul i64 %a, {_P2}
  %high.b = lshr i64 %b, 29
  %c = xor i64 %b, %high.b
  %d = mul i64 %c, {_P3}
  %high.d = lshr i64 %d, 32
  %digest = xor i64 %d, %high.d
  %right = icmp eq i64 %digest, {_signed(self.digest)}
  br i1 %right, label %end, label %strange
end:
  ret i32 {Status.OK}
{ends}
}}
declare <4 x i64> @llvm.fshl.v4i64(<4 x i64>, <4 x i64>, <4 x i64>)
declare i64 @llvm.vector.reduce.add.v4i64(<4 x i64>)
"""

    def _has_header(self) -> str:
        lines = [f"define internal i1 @{self.name}_has_header(ptr %weights) nounwind {{", "  %right0 = add i1 0, 1"]
        for number, word in enumerate((MARK, self.weights_bytes, self.digest)):
            lines += [
                f"  %place{number} = getelementptr i64, ptr %weights, i64 {number}",
                f"  %word{number} = load i64, ptr %place{number}",
                f"  %same{number} = icmp eq i64 %word{number}, {_signed(word)}",
                f"  %right{number + 1} = and i1 %right{number}, %same{number}",
            ]
        return "\n".join([*lines, "  ret i1 %right3", "}"])


def _signed(word: int) -> int:
    """64 bits as the signed number that LLVM's text uses."""
    return (word + 2**63) % 2**64 - 2**63


_P1, _P2, _P3, _P4 = map(
    _signed, (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63)
)  # XXH64's primes
_ENDS = [
    line
    for label, status in (("missing", Status.NULL), ("askew", Status.ALIGNMENT), ("strange", Status.WEIGHTS))
    for line in (f"{label}:", f"  ret i32 {status}")
]


def _judged(pointers: Sequence[Pointer]) -> Iterator[str]:
    """IR text that branches to %missing for null, to %askew for a misaligned pointer, else falls through."""
    yield "  %null = add i1 0, 0"
    yield "  %bits = add i64 0, 0"
    null, bits = "%null", "%bits"
    for each in pointers:
        if each.alignment == 0:
            continue
        name = each.name
        yield f"  %is.{name} = icmp eq ptr %{name}, null"
        yield f"  %null.{name} = or i1 {null}, %is.{name}"
        yield f"  %number.{name} = ptrtoint ptr %{name} to i64"
        yield f"  %low.{name} = and i64 %number.{name}, {each.alignment - 1}"
        yield f"  %bits.{name} = or i64 {bits}, %low.{name}"
        null, bits = f"%null.{name}", f"%bits.{name}"
    yield f"  br i1 {null}, label %missing, label %there"
    yield "there:"
    yield f"  %even = icmp eq i64 {bits}, 0"
    yield "  br i1 %even, label %aligned, label %askew"
    yield "aligned:"


def _merges() -> str:
    lines = ["  %merged0 = add i64 %sum, 0"]
    for lane in range(4):
        lines += [
            f"  %lane{lane} = extractelement <4 x i64> %round, i64 {lane}",
            f"  %crossed{lane} = xor i64 %merged{lane}, %lane{lane}",
            f"  %grown{lane} = mul i64 %crossed{lane}, {_P1}",
            f"  %merged{lane + 1} = add i64 %grown{lane}, {_P4}",
        ]
    return "\n".join(lines)
