"""The entry of compiled models: one thread or many, the barrier, the clock; and loading object code."""

import ctypes
import platform

import numpy as np
import pytest
from llvm_jit import Code, assembly, llvm_ir

from mini_infer.dialects.errors import CompileError
from mini_infer.lowering.loops_to_llvm.runtime_ir import runtime_ir
from mini_infer.runtime.cpu import (
    LoadedCode,
    compile_to_object,
    load_object,
    load_openmp,
    optimize_ir,
)
from mini_infer.runtime.targets import host_target

ROUNDS = 200
# In every round each thread adds up what all threads wrote in the round before.
MAIN = f"""
func.func private @mini_infer_barrier(memref<16xi32>, index)
func.func private @mini_infer_clock() -> i64
func.func @main(%a: memref<64xi64>, %b: memref<64xi64>, %times: memref<2xi64>, %sync: memref<16xi32>,
                %thread: index, %threads: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %rounds = arith.constant {ROUNDS} : index
  %start = func.call @mini_infer_clock() : () -> i64
  memref.store %start, %times[%c0] : memref<2xi64>
  memref.store %one, %a[%thread] : memref<64xi64>
  func.call @mini_infer_barrier(%sync, %threads) : (memref<16xi32>, index) -> ()
  scf.for %round = %c0 to %rounds step %c1 {{
    %sum = scf.for %i = %c0 to %threads step %c1 iter_args(%s = %zero) -> (i64) {{
      %v = memref.load %a[%i] : memref<64xi64>
      %t = arith.addi %s, %v : i64
      scf.yield %t : i64
    }}
    memref.store %sum, %b[%thread] : memref<64xi64>
    func.call @mini_infer_barrier(%sync, %threads) : (memref<16xi32>, index) -> ()
    %mine = memref.load %b[%thread] : memref<64xi64>
    %next = arith.addi %mine, %one : i64
    %modulus = arith.constant 1000003 : i64
    %rest = arith.remui %next, %modulus : i64
    memref.store %rest, %a[%thread] : memref<64xi64>
    func.call @mini_infer_barrier(%sync, %threads) : (memref<16xi32>, index) -> ()
  }}
  %end = func.call @mini_infer_clock() : () -> i64
  memref.store %end, %times[%c1] : memref<2xi64>
  func.return
}}
"""


def run(code: LoadedCode, threads: int) -> tuple[int, np.ndarray, np.ndarray]:
    """The number of threads that ran, %a and %times."""
    arrays = [np.zeros(64, np.int64), np.zeros(64, np.int64), np.zeros(2, np.int64)]
    pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)(code.address("mini_infer_run"))
    return entry(ctypes.addressof(pointers), threads), arrays[0], arrays[2]


def expected(threads: int) -> int:
    value = 1
    for _ in range(ROUNDS):
        value = (threads * value + 1) % 1000003
    return value


def build(*, openmp: bool) -> LoadedCode:
    runtime = runtime_ir(3, openmp=openmp, machine=platform.machine())
    return load_object(compile_to_object(llvm_ir(MAIN), host_target().machine, link=[runtime]))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_threads_see_what_others_wrote_before_the_barrier(threads: int) -> None:
    if not load_openmp():
        pytest.skip("there is no OpenMP library here")
    ran, values, times = run(build(openmp=True), threads)
    assert 1 <= ran <= threads
    np.testing.assert_array_equal(values[:ran], expected(ran))
    assert not values[ran:].any()
    assert 0 < times[1] - times[0] < 60_000_000_000


def test_without_openmp_there_is_one_thread() -> None:
    ran, values, _ = run(build(openmp=False), 4)
    assert ran == 1
    assert values[0] == expected(1)


def test_object_code_for_another_cpu_runs_here() -> None:
    text = """
    func.func @f(%x: memref<64xf32>) {
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] : memref<64xf32>, vector<64xf32>
      %w = vector.fma %v, %v, %v : vector<64xf32>
      vector.store %w, %x[%c0] : memref<64xf32>, vector<64xf32>
      func.return
    }"""
    for cpu, bits in (("x86-64-v2", 128), ("x86-64-v3", 256)):
        x = np.arange(64, dtype=np.float32)
        Code(text, cpu, bits)("f", x)
        np.testing.assert_array_equal(x, np.arange(64.0) * np.arange(64) + np.arange(64))
        assert "zmm" not in assembly(text, cpu, bits)


def test_errors_of_compiling_and_loading() -> None:
    machine = host_target().machine
    with pytest.raises(CompileError, match="LLVM refuses the IR"):
        compile_to_object("define void @f( {", machine)
    with pytest.raises(CompileError, match="LLVM refuses the IR"):
        optimize_ir("define i32 @f() {\n ret void\n}", machine)
    code = load_object(compile_to_object("define void @f() {\n ret void\n}", machine))
    with pytest.raises(CompileError, match="function 'g' can't be linked"):
        code.address("g")
