"""Mistakes in users' operators with kernels: each is one line that names the operator and the fact."""

# Functions written in place, as users write them, have parameters of unknown types.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import stat
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from user_operators import model_with, own_registry, written

import mini_infer as mi

C = """
#include "mini_infer_operator.h"
void kernel(const void *const *inputs, void *const *outputs, void *scratch, const int64_t *const *sizes,
            const OpAttributes *attributes, int64_t thread, int64_t threads) {}
"""
MODEL = model_with("g (float[4, 6] x) => (float[4, 6] y) { y = my.domain.Op (x) }")
WHERE = r"Op_0 \(my\.domain\.Op\): "
HERE = r"\S+test_operator_mistakes\.py:\d+: "


@pytest.fixture(autouse=True)
def _own_registry() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    with own_registry():
        yield


def alike(x: mi.TensorType) -> mi.TensorType:
    """The rule of a result like the input."""
    return x


def refused(message: str, **options: Any) -> None:
    """Compiles MODEL, which fails with that one line."""
    with pytest.raises(mi.OperatorError, match=message) as caught:
        mi.compile(MODEL, threads=1, **options)
    assert "\n" not in str(caught.value)


RULES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "negative": (lambda x: x.with_shape(4, -1), r"its rule returns the shape \[4, -1\] for result 0: -1 is negative"),
    "rank": (lambda x: x.with_shape(*[1] * 33), "a rank of 33, and at most 32 is possible"),
    "no integer": (lambda x: x.with_shape(4, 1.5), r"\[4, 1\.5\] for result 0: 1\.5 is no integer"),
    "no size": (lambda x: x.with_shape("N"), "'N' is no integer"),
    "no type": (lambda x: (x, x.shape), "its rule returns a value of type tuple for result 1, which is no TensorType"),
    "nothing": (lambda x: None, "its rule returns None for result 0"),
    "no result": (lambda x: (), "its rule returns no result"),
    "element type": (lambda x: x.with_dtype(complex), "its rule returns complex128 for result 0"),
    "exception": (lambda x: x.shape[7], "IndexError: tuple index out of range"),
    "size": (lambda x: x.with_shape(2**40, 2**40), "too large for 64-bit addresses"),
}


@pytest.mark.parametrize("name", RULES)
def test_a_wrong_rule_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    rule, message = RULES[name]
    mi.operator("my.domain", "Op", kernel=written(tmp_path, "op.c", C), symbol="kernel", shape=rule)
    refused(f"{WHERE}{HERE}.*{message}")


COUNTS: dict[str, tuple[dict[str, Any], str]] = {
    "negative scratch": ({"scratch": lambda x: -1}, "scratch is -1, which is negative"),
    "no number": ({"scratch": lambda x: "many"}, "scratch is a value of type str, which is no number"),
    "exception": ({"scratch": lambda x: 1 // 0}, "ZeroDivisionError: "),
    "negative cost": ({"cost": lambda x: -2.5}, "cost is -2, which is negative"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_wrong_scratch_and_cost_are_named(name: str, tmp_path: Path) -> None:
    options, message = COUNTS[name]
    mi.operator("my.domain", "Op", kernel=written(tmp_path, "op.c", C), symbol="kernel", shape=alike, **options)
    refused(f"{WHERE}{HERE}.*{message}")


SOURCES: dict[str, tuple[str, str, str]] = {
    "no C": ("op.c", "void kernel( {", r"operator my\.domain\.Op \(op\.c\): cc fails: \S+op\.c:1:\d+: error: "),
    "another prototype": (
        "op.c",
        C.replace("int64_t threads", "int threads"),
        r"\(op\.c\): cc fails: \S+op\.c:3:\d+: error: conflicting types for",
    ),
    "no such function": (
        "op.c",
        "int other(void) { return 1; }\nint one(void) { return 1; }",
        r"\(op\.c\): it defines no function kernel; its functions: one, other",
    ),
    "foreign calls": (
        "op.c",
        C.replace("{}", "{ extern void *malloc(long); extern int strange(void *); strange(malloc(8)); }"),
        r"\(op\.c\): it calls malloc, strange; a kernel may call only memory and math functions of C",
    ),
    "code before all calls": (
        "op.c",
        f"{C}\nint begun; __attribute__((constructor)) static void begin(void) {{ begun = 1; }}",
        r"operator my\.domain\.Op \(op\.c\): object code has a section \.init_array, which can't be linked",
    ),
    "no LLVM IR": ("op.ll", "define nothing", r"operator my\.domain\.Op \(op\.ll\): LLVM refuses it: "),
    "no such function in LLVM IR": (
        "op.ll",
        "define void @other() {\n ret void\n}",
        r"\(op\.ll\): it defines no function kernel; its functions: other",
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_wrong_source_is_named(name: str, tmp_path: Path) -> None:
    file, text, message = SOURCES[name]
    mi.operator("my.domain", "Op", kernel=written(tmp_path, file, text), symbol="kernel", shape=alike)
    refused(message)


def test_a_compiler_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mi.operator("my.domain", "Op", kernel=written(tmp_path, "op.c", C), symbol="kernel", shape=alike)
    monkeypatch.setenv("CC", "there-is-no-such-compiler --flag")
    refused("its C file needs a C compiler, and there-is-no-such-compiler isn't found: install one or set CC")
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(tmp_path))
    message = "there is no C compiler for aarch64 here: neither aarch64-linux-gnu-gcc nor clang is found"
    with pytest.raises(mi.OperatorError, match=message):
        mi.build(MODEL, tmp_path / "m.mi", threads=1, cpus=["aarch64"])


def test_a_compiler_that_can_not_be_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = written(tmp_path, "broken-cc", "no program")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(broken))
    mi.operator("my.domain", "Op", kernel=written(tmp_path, "op.c", C), symbol="kernel", shape=alike)
    refused(r"the C compiler \S+broken-cc can't be run: Exec format error; set CC")


def test_the_compiler_is_that_of_cc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = tmp_path / "called"
    script = written(tmp_path, "my-cc", f'#!/bin/sh\necho "$@" >> {called}\nexec cc "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", f"{script} -DOWN")
    mi.operator("my.domain", "Op", kernel=written(tmp_path, "op.c", C), symbol="kernel", shape=alike, flags=["-O3"])
    mi.compile(MODEL, threads=1)
    assert all(flag in called.read_text() for flag in ("-DOWN", "-O3", "-march=native"))


def test_a_gpu_refuses_kernels_by_name(tmp_path: Path) -> None:
    mi.operator("my.domain", "Op", kernel=written(tmp_path, "op.c", C), symbol="kernel", shape=alike)
    message = r"Op_0 .*: the kernel of operator my\.domain\.Op is compiled for CPUs, and the device is cuda"
    with pytest.raises(mi.UnsupportedError, match=message):
        mi.compile(MODEL, device="cuda-emulated")


def test_a_node_is_held_to_the_rule(tmp_path: Path) -> None:
    mi.operator("my.domain", "Op", kernel=written(tmp_path, "op.c", C), symbol="kernel", shape=alike, inplace=[(0, 3)])
    text = "g (float[4, 6] x) => (float[4, 6] y) { %s }"
    for body, message in (
        ("y = my.domain.Op (x, x)", r"Op_0 \(Op\): 2 inputs, but the operator has 1"),
        ("y, z = my.domain.Op (x)", r"Op_0 \(Op\): 2 outputs, but the operator has 1"),
        ("y = my.domain.Op <a = 1> (x)", r"Op_0 \(Op\): the operator has no attribute a; its attributes: none"),
        ("y = my.domain.Op (x)", r"Op_0 \(Op\): inplace names result 3, and the operator has 1"),
    ):
        with pytest.raises(mi.InvalidModelError, match=message):
            mi.import_onnx(model_with(text % body))


def test_elements_below_a_byte_are_refused(tmp_path: Path) -> None:
    mi.operator("my.domain", "Op", kernel=written(tmp_path, "op.c", C), symbol="kernel", shape=alike)
    model = model_with("g (float[4] x) => (y) { a = Cast <to = 22> (x) y = my.domain.Op (a) }", opset=21)
    with pytest.raises(mi.UnsupportedError, match=r"Op_1 \(Op\): input 0 is i4, which kernels don't take: cast it"):
        mi.compile(model, threads=1)


def text_attribute(x: mi.TensorType, *, words: list[str]) -> mi.TensorType:
    """A rule with an attribute that no kernel takes."""
    return x


def none_attribute(x: mi.TensorType, *, size: int | None = None) -> mi.TensorType:
    """A rule with an attribute that may be None."""
    return x


DECLARATIONS: dict[str, tuple[Callable[[str], object], str]] = {
    "no file": (
        lambda c: mi.operator("d", "Op", kernel="no.c", shape=alike),
        r"operator d\.Op: there is no file '\S+no\.c'",
    ),
    "suffix": (
        lambda c: mi.operator("d", "Op", kernel="op.cpp", shape=alike),
        r"kernel is op\.cpp; expected a \.c or \.ll",
    ),
    "kernel": (
        lambda c: mi.operator("d", "Op", kernel=[1], shape=alike),
        r"kernel is \[1\]; expected a \.c or \.ll file",
    ),
    "null": (lambda c: mi.operator("d", "Op", kernel=0, shape=alike), "kernel is 0; expected a .c or .ll file, or a"),
    "since": (lambda c: mi.operator("d", "Op", since=0), "since is 0; it must be a version, 1 or more"),
    "since's type": (lambda c: mi.operator("d", "Op", since="1"), "since is '1'; it must be a version"),  # pyright: ignore
    "name": (lambda c: mi.operator("d", ""), "operator d.: it has no name"),
    "domain": (lambda c: mi.operator(1, "Op"), "domain is 1"),  # pyright: ignore
    "useless": (lambda c: mi.operator("d", "Op", scratch=64), "scratch does nothing without a kernel"),  # pyright: ignore
    "no function": (lambda c: mi.operator("d", "Op")(3), "3 is no function"),  # pyright: ignore
    "scratch": (
        lambda c: mi.operator("d", "Op", kernel=c, shape=alike, scratch=-1),
        "scratch is -1; it must be a number",
    ),
    "inplace": (
        lambda c: mi.operator("d", "Op", kernel=c, shape=alike, inplace=[0]),  # pyright: ignore
        "inplace is .*; it must be a list",
    ),
    "inplace's sign": (
        lambda c: mi.operator("d", "Op", kernel=c, shape=alike, inplace=[(0, -1)]),
        "inplace has a negative",
    ),
    "texts": (
        lambda c: mi.operator("d", "Op", kernel=c, shape=text_attribute),
        "attribute words is a list of strings or an",
    ),
    "none": (
        lambda c: mi.operator("d", "Op", kernel=c, shape=none_attribute),
        "attribute size may be None, which no kernel",
    ),
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_a_wrong_declaration_is_refused_at_once(name: str, tmp_path: Path) -> None:
    declare, message = DECLARATIONS[name]
    with pytest.raises(mi.OperatorError, match=message):
        declare(str(written(tmp_path, "op.c", C)))


def test_two_operators_of_one_name_are_refused() -> None:
    mi.operator("my.domain", "Op")(alike)
    mi.operator("my.domain", "Op")(alike)
    mi.operator("my.domain", "Op", since=2)(text_attribute)
    with pytest.raises(mi.OperatorError, match=rf"my\.domain\.Op since 1 is registered twice: at {HERE[:-2]} and at "):
        mi.operator("my.domain", "Op")(none_attribute)


def test_an_operator_is_forgotten() -> None:
    mi.operator("my.domain", "Op")(alike).unregister()
    with pytest.raises(mi.UnsupportedError, match=r"operators that are not supported: my\.domain\.Op \(Op_0\)"):
        mi.import_onnx(MODEL)


def test_the_header_of_a_composition_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mi.OperatorError, match="is composed: it has no kernel, and no header"):
        _ = mi.operator("my.domain", "Op")(alike).header
    made = mi.operator("my.domain", "Op2", kernel=written(tmp_path, "op.c", C), shape=text_free)
    assert "  double ratio;\n  const int64_t *sizes;\n  int64_t sizes_count;\n} Op2Attributes;" in made.header
    assert "void text_free(const void *const *inputs" in made.header
    assert made(mi.TensorType(np.float32, (3,)), sizes=[1]).rank == 1


def text_free(x: mi.TensorType, *, ratio: float = 1, sizes: list[int]) -> mi.TensorType:
    """A rule with attributes of two kinds."""
    return x
