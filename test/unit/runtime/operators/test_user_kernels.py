"""Users' operators with a kernel: what they compute, where they are planned, and in which files they end."""

# Functions written in place, as users write them, have parameters of unknown types.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
import sys
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from c_programs import c_program
from everything_shared import everything_shared
from onnx import ModelProto
from text_models import numbers
from user_operators import SCALED_ADD, model_with, own_registry, written
from xdsl.parser import Parser

import mini_infer as mi
from mini_infer import ops
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.operators.operator_registry import OPERATORS
from mini_infer.lowering.module_text import module_context
from mini_infer.runtime.native.c_compiler import source_files
from mini_infer.tools.mini_opt.command import main

ROOT = Path(__file__).resolve().parents[4]
A, B = numbers(4, 6), numbers(4, 6, seed=1)
TEXT = """g (float[N, 6] a, float[N, 6] b) => (float[N, 6] y) {
    r = Relu (a) s = my.domain.ScaledAdd <scale = 0.5> (r, b) y = Neg (s) }"""
PROTOTYPE = """
#include "mini_infer_operator.h"
void kernel(const void *const *inputs, void *const *outputs, void *scratch, const int64_t *const *sizes,
            const {name}Attributes *attributes, int64_t thread, int64_t threads) {{
{body}
}}
"""


@pytest.fixture(autouse=True)
def _own_registry() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    with own_registry():
        yield


def scaled_add_of(folder: Path, **options: Any) -> mi.UserOperator:
    """The operator of SCALED_ADD."""
    source = written(folder, "scaled_add.c", SCALED_ADD)

    @mi.operator("my.domain", "ScaledAdd", kernel=source, scratch=lambda a, b, scale: a.nbytes, **options)
    def scaled_add(a: mi.TensorType, b: mi.TensorType, *, scale: float = 1.0) -> mi.TensorType:
        return a

    return scaled_add


def reference(a: Array, b: Array) -> Array:
    """What a model of TEXT computes."""
    return -(np.maximum(a, 0) + np.float32(0.5) * np.exp(b))


def kernel_of(folder: Path, name: str, body: str, **options: Any) -> Any:
    """A decorator for the rule of an operator whose kernel has that body."""
    source = written(folder, f"{name}.c", PROTOTYPE.format(name=name, body=body))
    return mi.operator("my.domain", name, kernel=source, symbol="kernel", **options)


def test_a_kernel_is_called_on_planned_buffers_at_any_shape(tmp_path: Path) -> None:
    scaled_add_of(tmp_path)
    fixed = mi.compile(model_with(TEXT), threads=1, dims={"N": 4})
    np.testing.assert_allclose(fixed(A, B), reference(A, B), rtol=1e-6)
    assert [call.kernel for call in fixed.plan.calls] == ["relu_0", "ScaledAdd_0", "neg_0"]
    scratch = [each for each in fixed.plan.memory.tensors if each.role == "scratch"]
    assert [(each.bytes, each.kernel) for each in scratch] == [(128, "ScaledAdd_0")]  # 4 x 6 floats, in whole lines
    ranged = mi.compile(model_with(TEXT), threads=1, profile=mi.OptimizationProfile(dims={"N": (1, 4, 32)}))
    for rows in (1, 4, 31):
        a, b = numbers(rows, 6), numbers(rows, 6, seed=1)
        np.testing.assert_allclose(ranged(a, b), reference(a, b), rtol=1e-6)


def test_the_reference_interpreter_calls_it_too(tmp_path: Path) -> None:
    scaled_add_of(tmp_path)
    ctx = MiniContext()
    module = mi.import_onnx(model_with(TEXT), dims={"N": 4}, ctx=ctx)
    np.testing.assert_allclose(interpret(module, {"a": A, "b": B}, ctx.blobs)["y"], reference(A, B), rtol=1e-6)


def test_a_composition_calls_it(tmp_path: Path) -> None:
    scaled_add = scaled_add_of(tmp_path)
    mi.operator("my.domain", "Outer")(lambda x: scaled_add(x * 2, x, scale=3) + ops.relu(x))  # pyright: ignore
    engine = mi.compile(model_with("g (float[4, 6] x) => (float[4, 6] y) { y = my.domain.Outer (x) }"), threads=1)
    np.testing.assert_allclose(engine(A), 2 * A + 3 * np.exp(A) + np.maximum(A, 0), rtol=1e-5)


def test_an_input_is_overwritten_where_that_is_allowed(tmp_path: Path) -> None:
    body = "float *y = outputs[0]; const float *x = inputs[0]; for (int i = 0; i < 24; i++) y[i] = x[i] + 1;"
    model = model_with("g (float[4, 6] x) => (float[4, 6] z) { r = Relu (x) y = my.domain.Next (r) z = Neg (y) }")
    bytes_of: dict[bool, int] = {}
    for inplace in (False, True):
        with own_registry():
            kernel_of(tmp_path, "Next", body, inplace=[(0, 0)] if inplace else [])(lambda x: x)
            engine = mi.compile(model, threads=1)
            np.testing.assert_array_equal(engine(A), -(np.maximum(A, 0) + 1))
            bytes_of[inplace] = engine.plan.memory.arena_bytes
            again = model_with(
                "g (float[4, 6] x) => (float[4, 6] z) { r = Relu (x) y = my.domain.Next (r) z = Add (y, r) }"
            )
            r = np.maximum(A, 0)
            np.testing.assert_array_equal(mi.compile(again, threads=1)(A), (r + 1) + r)
    assert bytes_of[True] < bytes_of[False]


def test_threads_divide_the_work_with_scratch_of_their_own(tmp_path: Path) -> None:
    body = """
    int64_t rows = sizes[0][0], first = thread * rows / threads, end = (thread + 1) * rows / threads;
    float *row = scratch;
    for (int64_t i = first; i < end; i++) {
      for (int64_t j = 0; j < 6; j++) row[j] = ((const float *)inputs[0])[6 * i + j];
      for (int64_t j = 0; j < 6; j++) ((float *)outputs[0])[6 * i + j] = row[5 - j] + thread;
    }"""
    kernel_of(tmp_path, "Rows", body, threads=True, scratch=lambda x: 4 * x.shape[1])(lambda x: x)
    model = model_with("g (float[4, 6] x) => (float[4, 6] y) { y = my.domain.Rows (x) }")
    np.testing.assert_array_equal(mi.compile(model, threads=1)(A), A[:, ::-1])
    with everything_shared():
        found = mi.compile(model, threads=2)(A) - A[:, ::-1]
    shares = np.unique(np.round(found, 3))
    assert len(shares) > 1 and set(shares) <= set(range(16))


def test_a_kernel_that_does_not_divide_its_work_is_called_once(tmp_path: Path) -> None:
    scaled_add_of(tmp_path, cost=lambda a, b, scale: 1e9)
    with everything_shared():
        engine = mi.compile(model_with(TEXT), threads=2, dims={"N": 4})
    assert engine.plan.threads == 2
    for _ in range(20):
        np.testing.assert_allclose(engine(A, B), reference(A, B), rtol=1e-6)


def test_the_cost_tells_how_many_threads_a_model_gets(tmp_path: Path) -> None:
    for flops, threads in ((1, 1), (1e9, 2)):
        with own_registry():
            scaled_add_of(tmp_path, cost=flops)
            assert mi.compile(model_with(TEXT), threads=2, dims={"N": 4}).plan.threads == threads


def test_a_cost_holds_code_to_no_shape(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mini_infer")
    scaled_add_of(tmp_path, cost=lambda a, b, scale: 2.5 * a.size if a.shape[0] > 3 else 1)
    engine = mi.compile(model_with(TEXT), threads=1, profile=mi.OptimizationProfile(dims={"N": (1, 4, 32)}))
    for rows in (1, 4, 31):
        a, b = numbers(rows, 6), numbers(rows, 6, seed=1)
        np.testing.assert_allclose(engine(a, b), reference(a, b), rtol=1e-6)
    assert caplog.text.count("compiled in") == 1


def test_absent_inputs_attributes_of_every_kind_and_results_that_nobody_reads(tmp_path: Path) -> None:
    body = """
    double *y = outputs[0];
    *(float *)outputs[1] = 7;
    y[0] = inputs[1] == 0 ? -1 : *(const float *)inputs[1];
    y[1] = *(const int64_t *)inputs[2];
    y[2] = MINI_INFER_RANK(sizes[0]) * 100 + sizes[0][0] * 10 + sizes[0][1];
    y[3] = attributes->number; y[4] = attributes->ratio; y[5] = attributes->on; y[6] = attributes->word_length;
    y[7] = attributes->word[1]; y[8] = attributes->several_count; y[9] = attributes->several[1];
    y[10] = attributes->floats_count; y[11] = attributes->floats[2];
    y[12] = MINI_INFER_RANK(sizes[3]) * 10 + sizes[3][0]; y[13] = attributes->last;"""

    kernel_of(tmp_path, "Every", body)(_every)
    given = '<number = 3, word = "abc", several = [5, 6, 7]>'
    text = f"g (bool[2, 3] x, int64[1] z) => (double[14] y) {{ y, w = my.domain.Every {given} (x, , z) }}"
    model = model_with(text)
    arrays = np.zeros((2, 3), np.bool_), np.array([9])
    expected = [-1, 9, 223, 3, 0.25, 1, 3, ord("b"), 3, 6, 3, 3.5, 10 + 14, -4]
    np.testing.assert_array_equal(mi.compile(model, threads=1)(*arrays), expected)
    ctx = MiniContext()
    module = mi.import_onnx(model, ctx=ctx)
    found = interpret(module, {"x": arrays[0], "z": arrays[1]}, ctx.blobs)["y"]
    np.testing.assert_array_equal(found, expected)


# Its arguments are those of the node.
def _every(
    x: mi.TensorType,
    y: mi.TensorType | None = None,
    z: mi.TensorType | None = None,
    *,
    number: int,
    ratio: float = 0.25,
    on: bool = True,
    word: str = "",
    several: list[int],
    floats: tuple[float, ...] = (1, 2, 3.5),
    last: int = -4,
) -> tuple[mi.TensorType, mi.TensorType]:
    return mi.TensorType("float64", (14,)), mi.TensorType(np.float32, ())


def test_the_same_value_twice_and_two_calls_of_one_kernel(tmp_path: Path) -> None:
    scaled_add_of(tmp_path, inplace=[(0, 0)])
    text = """g (float[4, 6] x) => (float[4, 6] y) {
        r = Relu (x) a = my.domain.ScaledAdd (r, r) b = my.domain.ScaledAdd <scale = 2.0> (a, x)
        c = my.domain.ScaledAdd (b, x) y = Neg (c) }"""
    r = np.maximum(A, 0)
    wanted = -(r + np.exp(r) + 3 * np.exp(A))
    np.testing.assert_allclose(mi.compile(model_with(text), threads=1)(A), wanted, rtol=1e-5)


LLVM_IR = """
define void @doubled(ptr %inputs, ptr %outputs, ptr %scratch, ptr %sizes, ptr %attributes, i64 %t, i64 %n) {
  %x = load ptr, ptr %inputs
  %y = load ptr, ptr %outputs
  %v = load <4 x float>, ptr %x, align 4
  %w = fadd <4 x float> %v, %v
  store <4 x float> %w, ptr %y, align 4
  ret void
}
"""
DOUBLED = "g (float[4] x) => (float[4] y) { y = my.domain.Doubled (x) }"


def doubled(x: mi.TensorType) -> mi.TensorType:
    """The rule of an operator with a result like its input."""
    return x


def test_llvm_ir_is_compiled_for_any_cpu(tmp_path: Path) -> None:
    mi.operator("my.domain", "Doubled", kernel=written(tmp_path, "doubled.ll", LLVM_IR), shape=doubled)
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(mi.compile(model_with(DOUBLED), threads=1)(x), 2 * x)
    mi.build(model_with(DOUBLED), tmp_path / "m.mi", threads=1, cpus=["x86-64-v2", "aarch64", "native"])
    np.testing.assert_array_equal(mi.load(tmp_path / "m.mi")(x), 2 * x)


FUNCTION = ctypes.CFUNCTYPE(
    None,
    *[ctypes.POINTER(ctypes.c_void_p)] * 2,
    *[ctypes.c_void_p] * 3,
    *[ctypes.c_int64] * 2,
)


@FUNCTION
def doubling(inputs: Any, outputs: Any, scratch: Any, sizes: Any, attributes: Any, thread: int, threads: int) -> None:
    """A kernel of Python, by its address."""
    x = (ctypes.c_float * 4).from_address(inputs[0])
    (ctypes.c_float * 4).from_address(outputs[0])[:] = [2 * each for each in x]


class Compiled:
    """What has an address, as a compiled function of Numba does."""

    address = ctypes.cast(doubling, ctypes.c_void_p).value


@pytest.mark.parametrize("kernel", [doubling, Compiled(), Compiled.address], ids=["ctypes", "address", "number"])
def test_a_function_pointer_is_called_and_never_kept(
    kernel: Any, tmp_path: Path, with_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mi.operator("my.domain", "Doubled", kernel=kernel, shape=doubled)
    x = np.arange(4, dtype=np.float32)
    caplog.set_level(logging.INFO, "mini_infer")
    for _ in range(2):
        np.testing.assert_array_equal(mi.compile(model_with(DOUBLED), threads=1)(x), 2 * x)
    assert "found compiled" not in caplog.text
    message = r"operator my\.domain\.Doubled: its kernel is a function pointer of this process, which "
    with pytest.raises(mi.OperatorError, match=message + "a file of a compiled model can't hold: give a .c or .ll"):
        mi.build(model_with(DOUBLED), tmp_path / "m.mi", threads=1, cpus=["native"])
    with pytest.raises(mi.OperatorError, match=message + "C code can't hold"):
        mi.emit_c(model_with(DOUBLED), tmp_path / "c", threads=1, name="m")


def found_again(model: ModelProto, caplog: pytest.LogCaptureFixture) -> bool:
    """Whether a compile of the model found what another had kept."""
    caplog.clear()
    mi.compile(model, threads=1, dims={"N": 4})
    return "found compiled" in caplog.text


def test_files_that_include_each_other_are_found_once(tmp_path: Path) -> None:
    source = written(tmp_path, "kernel.c", '#include "more/one.h"\n#include "stdint.h"\n')
    (tmp_path / "more").mkdir()
    for name, other in (("one", "two"), ("two", "one")):
        written(tmp_path, f"more/{name}.h", f'#pragma once\n#include "../more/{other}.h"\n')
    assert sorted(each.name for each in source_files(source)) == ["kernel.c", "one.h", "two.h"]


def test_the_cache_knows_kernels_by_their_content(
    tmp_path: Path, with_cache: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "mini_infer")
    included = written(tmp_path, "more.h", "#define MORE 1\n")
    source = written(tmp_path, "scaled_add.c", SCALED_ADD)

    def register() -> None:
        mi.operator("my.domain", "ScaledAdd", kernel=source, scratch=256, shape=scaled_add, depends=["notes.txt"])

    written(tmp_path, "notes.txt", "")
    monkeypatch.chdir(tmp_path)
    source.write_text(f'#include "more.h"\n{SCALED_ADD}')
    register()
    model = model_with(TEXT)
    assert [found_again(model, caplog) for _ in range(2)] == [False, True]
    register()
    assert found_again(model, caplog)
    source.write_text(f'#include "more.h"\n{SCALED_ADD}\n/* changed */')
    assert [found_again(model, caplog) for _ in range(2)] == [False, True]
    included.write_text("#define MORE 2\n")
    assert [found_again(model, caplog) for _ in range(2)] == [False, True]
    written(tmp_path, "notes.txt", "changed")
    assert [found_again(model, caplog) for _ in range(2)] == [False, True]
    with own_registry():
        mi.operator("my.domain", "ScaledAdd", kernel=source, scratch=256, shape=scaled_add, inplace=[(0, 0)])
        assert not found_again(model, caplog)


def scaled_add(a: mi.TensorType, b: mi.TensorType, *, scale: float = 1.0) -> mi.TensorType:
    """The rule of ScaledAdd."""
    return a


def test_compositions_are_known_by_the_files_of_their_functions(
    tmp_path: Path, with_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mini_infer")
    model = model_with("g (float[N] x) => (float[N] y) { y = my.domain.Next (x) }")
    module = tmp_path / "next_operator.py"
    text = "\n@mini_infer.operator('my.domain', 'Next')\ndef following(x):\n    return x + added\n"
    for added, hits in ((1, [False, True]), (2, [False, True]), (1, [True, True])):
        module.write_text(f"import mini_infer\n\nadded = {added}\n{text}")
        names: dict[str, Any] = {"__name__": "next_operator"}
        exec(compile(module.read_text(), str(module), "exec"), names)
        assert [found_again(model, caplog) for _ in range(2)] == hits
        np.testing.assert_array_equal(mi.compile(model, threads=1, dims={"N": 4})(np.zeros(4, np.float32)), added)


def test_values_from_around_a_function_are_part_of_it(with_cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mini_infer")

    def register(added: Any) -> None:
        mi.operator("my.domain", "Variable")(lambda x: x + added)
        mi.operator("my.domain", "Default")(lambda x, *, more=added: x + more)

        def listed(x: mi.GraphValue, *, more: list[int] = [added]) -> mi.GraphValue:  # noqa: B006
            return x + more[0]

        mi.operator("my.domain", "Listed")(listed)

    for name in ("Variable", "Default", "Listed"):
        model = model_with(f"g (float[N] x) => (float[N] y) {{ y = my.domain.{name} (x) }}")
        for added, hits in ((1, [False, True]), (2, [False, True]), (1, [True, True])):
            register(added)
            assert [found_again(model, caplog) for _ in range(2)] == hits
            np.testing.assert_array_equal(mi.compile(model, threads=1, dims={"N": 4})(np.zeros(4, np.float32)), added)


@pytest.mark.parametrize("scratch", [partial(lambda n, a, b, scale: n, 256), mock.Mock(return_value=256)])
def test_a_function_with_a_state_is_not_cached(
    scratch: Any, tmp_path: Path, with_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mini_infer")
    source = written(tmp_path, "scaled_add.c", SCALED_ADD)
    mi.operator("my.domain", "ScaledAdd", kernel=source, scratch=scratch, shape=scaled_add)
    assert [found_again(model_with(TEXT), caplog) for _ in range(2)] == [False, False]


def test_a_function_that_was_typed_in_is_not_cached(with_cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mini_infer")
    exec("import mini_infer as mi\nmi.operator('my.domain', 'Next')(lambda x: x)", {})
    model = model_with("g (float[N] x) => (float[N] y) { y = my.domain.Next (x) }")
    assert [found_again(model, caplog) for _ in range(2)] == [False, False]


def test_a_file_holds_the_kernel_for_each_cpu(tmp_path: Path) -> None:
    scaled_add_of(tmp_path)
    model, names = model_with(TEXT), ["x86-64-v2", "x86-64-v3"]
    options: dict[str, Any] = {"threads": 1, "cpus": names}
    mi.build(model, tmp_path / "fixed.mi", dims={"N": 4}, **options)
    mi.build(model, tmp_path / "ranged.mi", profile=mi.OptimizationProfile(dims={"N": (1, 4, 8)}), **options)
    np.savez(tmp_path / "given.npz", a=A, b=B)
    code = """
import numpy as np, mini_infer as mi
a, b = np.load("given.npz").values()
np.testing.assert_array_equal(mi.load("fixed.mi")(a, b), mi.load("ranged.mi")(a, b))
np.save("found.npy", mi.load("fixed.mi")(a, b))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CC": "there-is-no-compiler"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    np.testing.assert_allclose(np.load(tmp_path / "found.npy"), reference(A, B), rtol=1e-6)


def test_a_c_program_is_linked_with_the_kernel(tmp_path: Path) -> None:
    scaled_add_of(tmp_path)
    program = c_program(model_with(TEXT), tmp_path / "c", dims={"N": 4})
    found = program({"a": A, "b": B})["y"]
    np.testing.assert_allclose(found, reference(A, B), rtol=1e-6)
    assert program.interface.kernels == ("m_operator_my_domain_ScaledAdd_1.o",)


def test_a_module_at_every_level_goes_on_where_the_operator_is_registered(tmp_path: Path) -> None:
    scaled_add_of(tmp_path)
    (tmp_path / "m.onnx").write_bytes(model_with(TEXT).SerializeToString())
    for level in ("kernels", "loops"):
        file = tmp_path / f"{level}.mlir"
        command = ["m.onnx", "--range", "N=1,4,8", "--to", level, "-o", str(file)]
        _mini_opt(tmp_path, command)
        np.testing.assert_allclose(mi.compile(file, threads=1)(A, B), reference(A, B), rtol=1e-6)
        with own_registry():
            OPERATORS._operators.pop(("my.domain", "ScaledAdd"))  # pyright: ignore[reportPrivateUsage]
            message = r"the kernel of operator my\.domain\.ScaledAdd \(since 1\) is not registered: import the module"
            with pytest.raises(mi.OperatorError, match=message):
                mi.compile(file, threads=1)


def _mini_opt(folder: Path, arguments: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        try:
            assert not main(arguments)
        except SystemExit as end:
            assert not end.code


def test_the_ir_reads_back(tmp_path: Path) -> None:
    scaled_add_of(tmp_path, inplace=[(0, 0)], threads=True, cost=100)
    module = mi.import_onnx(model_with(TEXT), dims={"N": 4})
    text = str(module)
    assert 'operator = "ScaledAdd", since = 1 : i64, arguments = {scale = 5.000000e-01 : f64}' in text
    assert str(Parser(module_context(), text).parse_module()) == text
