"""CPUs to compile for: what is known of them, what code for them may call, and the same results on each."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from llvm_jit import Code, assembly, llvm_ir
from models.build import mlp

from mini_infer.dialects.errors import CompileError, ConfigError
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.runtime.compile import module_to_plan as build
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native import machine_code
from mini_infer.runtime.native.call_checks import undefined_symbols
from mini_infer.runtime.native.cpu_targets import cpu_target, host_target, target_attribute
from mini_infer.runtime.native.llvmlite_calls import Machine, compile_to_object
from mini_infer.tools.mini_opt.command import main as mini_opt

BASE = "x86_64-linux-gnu:x86-64"  # no fma, no f16, no rounding to whole numbers
ALL = {"fma", "half", "round", "pmaddubsw", "pmaddwd"}
ARM = {"fma", "half", "round", "sdot"}
CPUS = {
    BASE: (128, 16, {"pmaddwd"}),
    "x86_64-linux-gnu:x86-64-v2": (128, 16, {"round", "pmaddubsw", "pmaddwd"}),
    "x86_64-linux-gnu:sandybridge": (128, 16, {"round", "pmaddubsw", "pmaddwd"}),
    "x86_64-linux-gnu:x86-64-v3": (256, 16, ALL),
    "x86_64-linux-gnu:x86-64-v4": (512, 32, ALL),
    "x86_64-linux-gnu:znver5": (512, 32, ALL | {"vdpbf16ps", "vpdpbusd"}),
    "x86_64-linux-gnu:sapphirerapids": (512, 32, ALL | {"tdpbf16ps", "tdpbusd", "vdpbf16ps", "vpdpbusd"}),
    "x86_64-linux-gnu:alderlake": (256, 16, ALL | {"vpdpbusd"}),
    "aarch64-linux-gnu:neoverse-n1": (128, 32, ARM),
    "aarch64-linux-gnu:neoverse-v1": (128, 32, ARM | {"bfdot", "usdot"}),
    "aarch64-linux-gnu:cortex-a72": (128, 32, ARM - {"sdot"}),
    "arm64-apple-darwin:apple-m1": (128, 32, ARM),
}


@pytest.mark.parametrize("name", CPUS)
def test_what_llvm_says_of_a_cpu(name: str) -> None:
    cpu = cpu_target(name)
    assert (cpu.vector_bits, cpu.registers, cpu.features) == CPUS[name]


def test_the_host() -> None:
    host = host_target()
    assert host.name == host.machine.cpu
    assert cpu_target("") is cpu_target(host.name) is host
    assert 65536 <= host.l2_bytes <= 1 << 28


@pytest.mark.parametrize("name", ["no-such-cpu", "x86_64-linux-gnu:neoverse-n1", "aarch64-linux-gnu:znver5"])
def test_a_cpu_that_llvm_does_not_know(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="LLVM knows no CPU"):
        cpu_target(name)
    assert capfd.readouterr() == ("", "")


def test_an_architecture_that_llvm_does_not_have() -> None:
    with pytest.raises(ConfigError, match="No available targets"):
        cpu_target("pdp11-dec:pdp11")


def test_cpus_of_32_bits_do_not_end_the_process() -> None:
    assert cpu_target("x86_64-linux-gnu:i386").vector_bits == 128


NARROW = """
func.func @f(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<8xf32>, vector<4xf32>
  %w = vector.fma %v, %v, %v : vector<4xf32>
  vector.store %w, %x[%c0] : memref<8xf32>, vector<4xf32>
  func.return
}"""


@pytest.mark.parametrize(
    ("cpu", "bits", "gflops"),
    [
        ("x86_64-linux-gnu:znver5", None, 256),
        ("x86_64-linux-gnu:znver4", None, 128),  # two units of 256 bits
        ("x86_64-linux-gnu:znver4", 256, 128),
        ("x86_64-linux-gnu:emeraldrapids", None, 256),
        ("x86_64-linux-gnu:tigerlake", None, 128),
        ("x86_64-linux-gnu:znver3", None, 128),
        ("x86_64-linux-gnu:znver1", None, 64),
        ("x86_64-linux-gnu:x86-64-v2", None, 64),
        ("aarch64-linux-gnu:neoverse-n1", None, 64),
    ],
)
def test_the_speed_is_that_of_the_units_and_not_of_the_registers(cpu: str, bits: int | None, gflops: int) -> None:
    assert target_attribute(EngineConfig(threads=1, vector_bits=bits), cpu).gflops.data == gflops


def test_narrow_vectors_keep_the_instructions_of_the_cpu() -> None:
    for cpu in ("x86_64-linux-gnu:x86-64-v3", "x86_64-linux-gnu:x86-64-v4"):
        text = assembly(NARROW, cpu, 128)
        assert "vfmadd" in text and "ymm" not in text and "fmaf" not in text
    assert cpu_target("x86_64-linux-gnu:x86-64-v4").narrowed(256).registers == 16


HELPER = """
declare float @llvm.fma.f32(float, float, float)
declare float @cosf(float)
define float @f(float %a) {
  %r = call float @llvm.fma.f32(float %a, float %a, float %a)
  %s = call float @cosf(float %r)
  ret float %s
}"""


@pytest.mark.parametrize("triple", ["x86_64-linux-gnu", "x86_64-apple-darwin"])
def test_code_that_calls_a_helper_is_refused(triple: str) -> None:
    assert undefined_symbols(compile_to_object(HELPER, Machine(triple, "x86-64-v3"))) == {"cosf"}
    with pytest.raises(CompileError, match=r"code for x86-64-v2 calls fmaf, which a machine need not have"):
        compile_to_object(HELPER, Machine(triple, "x86-64-v2"))


def test_calls_of_an_object_in_another_format_are_not_taken_for_none() -> None:
    with pytest.raises(CompileError, match="code is made for CPUs with 64 bits"):
        undefined_symbols(b"MZ" + bytes(100))


# the same on every CPU


def program(body: str, source: str, target: str, lanes: int) -> str:
    vector = lanes > 1
    kind = "vector" if vector else "memref"
    tail = {each: f", vector<{lanes}x{each}>" if vector else "" for each in (source, target)}
    shaped = {each: f"vector<{lanes}x{each}>" if vector else each for each in (source, target)}
    return f"""
    func.func @f(%x: memref<?x{source}, strided<[1]>>, %y: memref<?x{target}, strided<[1]>>, %n: index) {{
      %c0 = arith.constant 0 : index
      %step = arith.constant {lanes} : index
      scf.for %i = %c0 to %n step %step {{
        %v = {kind}.load %x[%i] : memref<?x{source}, strided<[1]>>{tail[source]}
        {body.replace("$S", shaped[source]).replace("$T", shaped[target])}
        {kind}.store %r, %y[%i] : memref<?x{target}, strided<[1]>>{tail[target]}
      }}
      func.return
    }}"""


def apply(body: str, source: str, target: str, values: Any, result: Any, lanes: int, cpu: str) -> Any:
    out = np.zeros(values.size, result)
    Code(program(body, source, target, lanes), cpu)("f", np.ascontiguousarray(values), out, values.size)
    return out


def edges(dtype: Any) -> np.ndarray:
    """Numbers of every size, halves and their neighbours, and those that are none."""
    random = np.random.default_rng(3)
    info = np.finfo(dtype)
    halves = (np.arange(-40, 40) / 2).astype(dtype)
    large = (2.0 ** np.arange(info.nmant - 2, info.nmant + 2)).astype(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal], dtype)
    points = np.concatenate([halves, large, large + dtype(0.5), special])
    with np.errstate(over="ignore"):
        near = np.concatenate([np.nextafter(points, dtype(np.inf)), np.nextafter(points, dtype(-np.inf))])
    with np.errstate(over="ignore"):
        spread = (random.standard_normal(400) * 10.0 ** random.uniform(-6, 12, 400)).astype(dtype)
    values = np.concatenate([points, -points, near, spread])
    return values[: values.size // 8 * 8]


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_rounding_without_an_instruction(element: str, lanes: int) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}[element]
    values = edges(dtype)
    with np.errstate(invalid="ignore"):
        away = np.trunc(values) + np.where(np.abs(values - np.trunc(values)) >= 0.5, np.sign(values), 0)
    roundings: dict[str, Callable[[], Any]] = {
        "floor": lambda: np.floor(values),
        "ceil": lambda: np.ceil(values),
        "trunc": lambda: np.trunc(values),
        "roundeven": lambda: np.round(values),
        "round": lambda: away,
    }
    with np.errstate(invalid="ignore"):
        for name, expected in roundings.items():
            got = apply(f"%r = math.{name} %v : $S", element, element, values, dtype, lanes, BASE)
            np.testing.assert_array_equal(got, expected(), err_msg=name)
            if name != "round":
                np.testing.assert_array_equal(np.signbit(got), np.signbit(expected()), err_msg=name)


@pytest.mark.parametrize("cpu", ["", BASE])
@pytest.mark.parametrize("lanes", [1, 8])
def test_f16_to_f32_exactly(lanes: int, cpu: str) -> None:
    """All 65536 of them."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    got = apply("%r = arith.extf %v : $S to $T", "f16", "f32", halves, np.float32, lanes, cpu)
    np.testing.assert_array_equal(got, halves.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(halves))


@pytest.mark.parametrize("cpu", ["", BASE])
@pytest.mark.parametrize("lanes", [1, 8])
def test_f32_to_f16_as_numpy_does(lanes: int, cpu: str) -> None:
    """Every f16, every midpoint between two, the neighbours of both, and numbers beyond."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    beyond = np.array([65520, 65536, 1e30, np.inf, np.nan], np.float32)
    points = np.concatenate([halves, (halves[1:] + halves[:-1]) / 2, beyond])
    values = np.concatenate([points, np.nextafter(points, np.float32(np.inf)), np.nextafter(points, np.float32(0))])
    values = np.concatenate([values, -values])
    values = values[: values.size // 8 * 8].astype(np.float32)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    got = apply("%r = arith.truncf %v : $S to $T", "f32", "f16", values, np.float16, lanes, cpu)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("cpu", ["", BASE])
def test_a_product_and_a_sum_that_cancel_are_exact(cpu: str) -> None:
    """fma(a, b, -(a * b)) is what the product lost."""
    random = np.random.default_rng(5)
    a = random.uniform(-4, 4, 64)
    body = """
        %p = arith.mulf %v, %v : $S
        %m = arith.negf %p : $S
        %r = math.fma %v, %v, %m : $S"""
    exact = [float(Fraction(x) * Fraction(x) - Fraction(x * x)) for x in a.tolist()]
    np.testing.assert_array_equal(apply(body, "f64", "f64", a, np.float64, 8, cpu), exact)


def test_llvm_is_asked_for_no_float_of_16_bits() -> None:
    text = program("%w = arith.addf %v, %v : $S\n%r = arith.negf %w : $S", "bf16", "bf16", 8)
    assert "bfloat" not in llvm_ir(text)


def test_assembly_is_of_the_code_that_runs(tmp_path: Path) -> None:
    """mini-opt assembles for the same CPU and features as the engine, for there is one place that says them."""
    ctx = MiniContext()
    module = import_onnx(mlp(), ctx=ctx)
    with patch.object(machine_code, "part_of", wraps=machine_code.part_of) as compiled:
        build.build_plan(module, ctx, EngineConfig(threads=1, vector_bits=128))
    path = tmp_path / "llvm.mlir"
    path.write_text(str(module), encoding="utf-8")
    with patch("mini_infer.runtime.native.llvmlite_calls.emit_assembly", return_value="") as assembled:
        assert mini_opt([str(path), "-t", "asm"]) == 0
    assert assembled.call_args[0] == compiled.call_args[0]
    assert compiled.call_args[0][1].features.startswith(host_target().machine.features)


@pytest.mark.parametrize("bits", [128, 256, None])
def test_code_has_vectors_of_the_width_asked_for(bits: int | None) -> None:
    cpu = "x86_64-linux-gnu:x86-64-v4"
    asked, wanted = target_attribute(EngineConfig(vector_bits=bits), cpu), cpu_target(cpu).narrowed(bits or 512)
    assert asked.vector_bits.data == wanted.vector_bits == (bits or 512)
    assert asked.registers.data == wanted.registers
