"""Linking and loading images: what code means does not change by it, on this machine; on others, what is filled in."""

from __future__ import annotations

import ctypes
import math
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from mini_infer.dialects.errors import CompileError
from mini_infer.runtime.native import llvm_worker
from mini_infer.runtime.native.images.elf import ElfObject
from mini_infer.runtime.native.images.image import PAGE, Image
from mini_infer.runtime.native.images.linked import link
from mini_infer.runtime.native.images.loaded import LoadedImage
from mini_infer.runtime.native.llvmlite_calls import Machine, compile_to_object, part_of

# Two objects that call each other, the C library twice, a table of functions, variables, and constants.
FIRST = """
@count = global i64 40
@zeros = global [3 x i64] zeroinitializer
@table = constant [2 x ptr] [ptr @one, ptr @two]
declare double @sin(double)
declare double @two(double)
define double @one(double %x) {
  %r = call double @sin(double %x)
  %s = fadd double %r, 1.25
  ret double %s
}
define double @by_table(i64 %i, double %x) {
  %p = getelementptr ptr, ptr @table, i64 %i
  %f = load ptr, ptr %p
  %r = call double %f(double %x)
  ret double %r
}
define double @both(double %x) {
  %a = call double @one(double %x)
  %b = call double @two(double %x)
  %r = fadd double %a, %b
  ret double %r
}
define i64 @next() {
  %c = load i64, ptr @count
  %z = getelementptr i64, ptr @zeros, i64 2
  %d = load i64, ptr %z
  %e = add i64 %d, 1
  store i64 %e, ptr %z
  %r = add i64 %c, %e
  ret i64 %r
}
"""
SECOND = """
@count = external global i64
declare double @sin(double)
declare double @cos(double)
define double @two(double %x) {
  %a = call double @cos(double %x)
  %b = call double @sin(double %a)
  %c = load i64, ptr @count
  %d = sitofp i64 %c to double
  %r = fadd double %b, %d
  ret double %r
}
"""
LOADER = r"""
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int n, char **a) {
  static char *m;
  long v[64], size = 1 << 20;
  for (int i = 2; i < n; i++) v[i - 2] = atol(a[i]);
  m = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  FILE *f = fopen(a[1], "rb");
  if (!fread(m, 1, size, f)) return 1;
  *(void **)(m + v[1]) = (void *)(double (*)(double))sin;
  *(void **)(m + v[2]) = (void *)(double (*)(double))cos;
  for (int i = 6; i < n - 2; i++) *(uint64_t *)(m + v[i]) += (uint64_t)m;
  mprotect(m, v[0], PROT_READ | PROT_EXEC);
  double (*by_table)(int64_t, double) = (void *)(m + v[3]), (*both)(double) = (void *)(m + v[4]);
  int64_t (*next)(void) = (void *)(m + v[5]);
  printf("%.17g %.17g %.17g", by_table(0, 0.5), by_table(1, 0.5), both(0.5));
  printf(" %ld", (long)next());
  printf(" %ld\n", (long)next());
  return 0;
}
"""
CROSS, QEMU = shutil.which("aarch64-linux-gnu-gcc") or "", shutil.which("qemu-aarch64") or ""
AARCH64 = Machine("aarch64-linux-gnu", "generic")


def compiled(texts: Sequence[str], machine: Machine) -> Image:
    return link([llvm_worker.compiled(part_of(text, machine, 1)).code for text in texts])


@pytest.fixture
def image() -> Image:
    return compiled([FIRST, SECOND], Machine())


def test_code_runs_as_it_is_written(image: Image) -> None:
    code = LoadedImage(image)
    double = ctypes.c_double
    one, two, both = (ctypes.CFUNCTYPE(double, double)(code.address(name)) for name in ("one", "two", "both"))
    first, second = math.sin(0.5) + 1.25, math.sin(math.cos(0.5)) + 40
    assert (one(0.5), two(0.5), both(0.5)) == (first, second, first + second)
    by_table = ctypes.CFUNCTYPE(double, ctypes.c_int64, double)(code.address("by_table"))
    assert [by_table(0, 0.5), by_table(1, 0.5)] == [first, second]
    count = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("next"))
    assert [count(), count()] == [41, 42]
    again = LoadedImage(image)  # with variables of its own
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(again.address("next"))() == 41


def test_an_image_says_what_it_needs(image: Image) -> None:
    assert [name for name, _ in image.links.imports] == ["cos", "sin"]
    assert {"one", "two", "both", "count"} <= {name for name, _ in image.links.exports}
    assert image.links.writable % PAGE == 0
    assert compiled([FIRST, SECOND], Machine()) == image


def test_no_page_is_both_written_and_run(image: Image) -> None:
    code = LoadedImage(image)
    start, rights = code.address("one") - dict(image.links.exports)["one"], dict[str, str]()
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, right, *_ = line.split()
            low, high = (int(each, 16) for each in span.split("-"))
            if low < start + len(image.data) and start < high:
                rights[span] = right
    assert {each[:3] for each in rights.values()} == {"r-x", "rw-"}


@pytest.mark.skipif(not (CROSS and QEMU), reason="needs gcc for aarch64 and qemu-user")
def test_code_for_aarch64_runs_as_it_is_written(tmp_path: Path) -> None:
    image = compiled([FIRST, SECOND], AARCH64)
    (tmp_path / "image").write_bytes(image.data)
    (tmp_path / "loader.c").write_text(LOADER)
    program = str(tmp_path / "loader")
    subprocess.run([CROSS, "-static", "-O1", tmp_path / "loader.c", "-o", program, "-lm"], check=True)
    imports = dict(image.links.imports)
    places = [
        imports["sin"],
        imports["cos"],
        *(dict(image.links.exports)[name] for name in ("by_table", "both", "next")),
    ]
    command = [QEMU, program, tmp_path / "image", image.links.writable, *places, *image.links.moved]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    first, second = math.sin(0.5) + 1.25, math.sin(math.cos(0.5)) + 40
    assert [float(each) for each in done.stdout.split()] == pytest.approx([first, second, first + second, 41, 42])


def test_what_cannot_be_linked_is_refused() -> None:
    first = compile_to_object("define void @f() {\n ret void\n}", Machine())
    with pytest.raises(CompileError, match="two functions are called 'f'"):
        link([first, compile_to_object("define i32 @f() {\n ret i32 1\n}", Machine())])
    with pytest.raises(CompileError, match="that starts with 6e6f206f626a is no ELF of 64 bits"):
        link([b"no object"])
    other = compile_to_object("define void @g() {\n ret void\n}", AARCH64)
    with pytest.raises(CompileError, match=r"objects for the ELF machines \[62, 183\] can't be linked"):
        link([first, other])
    with pytest.raises(CompileError, match="which can't be linked"):
        compiled(["@x = thread_local global i32 1"], Machine())
    code = LoadedImage(link([first]))
    with pytest.raises(CompileError, match="function 'g' can't be linked: the code has none of that name"):
        code.address("g")


def test_a_function_that_this_machine_lacks_is_named() -> None:
    text = "declare void @nowhere_at_all()\ndefine void @f() {\n call void @nowhere_at_all()\n ret void\n}"
    with pytest.raises(CompileError, match="function 'nowhere_at_all' can't be linked: this machine has none"):
        LoadedImage(compiled([text], Machine()))


def test_an_unknown_relocation_is_refused() -> None:
    call = "define double @f(double %x) {\n %r = call double @sin(double %x)\n ret double %r\n}"
    data = bytearray(compile_to_object(f"declare double @sin(double)\n{call}", Machine()))
    section = next(each for each in ElfObject(bytes(data)).sections if each.type == 4)
    data[section.offset + 8 : section.offset + 12] = struct.pack("<I", 200)
    with pytest.raises(CompileError, match="a relocation of type 200, which can't be linked"):
        link([bytes(data)])
