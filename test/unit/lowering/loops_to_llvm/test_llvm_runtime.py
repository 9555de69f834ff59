"""The entry of compiled models, their stages, the clock; and loading object code."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from llvm_jit import Code, assembly, llvm_ir

from mini_infer.dialects.errors import CompileError
from mini_infer.lowering.loops_to_llvm.runtime_ir import runtime_ir
from mini_infer.runtime.native.cpu_targets import host_target
from mini_infer.runtime.native.llvmlite_calls import compile_to_object, optimize_ir
from mini_infer.runtime.native.loaded_code import loaded

# The first stage counts calls and notes the number of shares; main itself notes the time around it.
MAIN = """
func.func private @share_stage_0(memref<2xi64>, index, index)
func.func private @mini_infer_clock() -> i64
func.func @main(%a: memref<64xi64>, %times: memref<2xi64>, %team: memref<2xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %five = arith.constant 5 : index
  %start = func.call @mini_infer_clock() : () -> i64
  memref.store %start, %times[%c0] : memref<2xi64>
  func.call @share_stage_0(%team, %five, %c1) : (memref<2xi64>, index, index) -> ()
  %end = func.call @mini_infer_clock() : () -> i64
  memref.store %end, %times[%c1] : memref<2xi64>
  func.return
}
func.func @stage_0(%a: memref<64xi64>, %share: index, %shares: index, %seat: index) {
  %n = arith.index_cast %shares : index to i64
  %before = memref.load %a[%share] : memref<64xi64>
  %after = arith.addi %before, %n : i64
  memref.store %after, %a[%share] : memref<64xi64>
  func.return
}
"""
SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def run(share: object) -> tuple[list[int], int]:
    """What the shares of the stage wrote, and the nanoseconds that main took; `share` has the stage done."""
    runtime = runtime_ir(2, {"stage_0": (1, 0)}, profiled=True)
    code = loaded([compile_to_object(llvm_ir(MAIN), host_target().machine, link=[runtime])])
    counts, times = np.zeros(64, np.int64), np.zeros(2, np.int64)
    pointers = (ctypes.c_void_p * 2)(counts.ctypes.data, times.ctypes.data)
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("mini_infer_run"))
    entry(ctypes.addressof(pointers), share)
    return counts[counts != 0].tolist(), int(times[1] - times[0])


def test_a_stage_is_done_by_whom_the_entry_is_given() -> None:
    def in_turn(work: int, args: int, shares: int, seats: int) -> None:
        assert seats == 1
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)(work)
        for share in range(shares):
            function(args, share, shares, 0)

    counts, nanoseconds = run(ctypes.cast(SHARE(in_turn), ctypes.c_void_p))
    assert counts == [5] * 5
    assert 0 < nanoseconds < 60_000_000_000


def test_without_help_a_stage_is_one_share() -> None:
    assert run(None)[0] == [1]


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
    code = loaded([compile_to_object("define void @f() {\n ret void\n}", machine)])
    with pytest.raises(CompileError, match="function 'g' can't be linked"):
        code.address("g")
    with pytest.raises(CompileError, match="object code can't be loaded"):
        loaded([b"no object"]).address("f")


FAR_APART = """
import ctypes, sys
from mini_infer.runtime.native.llvmlite_calls import LoadedCode, Machine, compile_to_object
from mini_infer.runtime.native.loaded_code import loaded
TEXT = '''
@table = internal constant {[10000000 x float], float} {[10000000 x float] zeroinitializer, float 7.0}
define float @f(i64 %i) {
  %p = getelementptr float, ptr @table, i64 %i
  %v = load float, ptr %p
  ret float %v
}'''
data = [compile_to_object(TEXT, Machine())]
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mmap(None, 3 << 30, 0, 0x4022, -1, 0)  # addresses alone: small blocks still fit above, 40 MB only below
for load in (loaded, LoadedCode.load):
    code = load(data)
    print(ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)(code.address("f"))(10000000))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="addresses are reserved as Linux does it")
def test_code_and_its_constants_lie_together_however_full_the_addresses_are() -> None:
    """RuntimeDyld aborts the process where small blocks are found more than 2 GiB from large ones."""
    run = subprocess.run([sys.executable, "-c", FAR_APART], capture_output=True, text=True, timeout=120)
    assert (run.stdout.split(), run.returncode) == (["7.0", "7.0"], 0), run.stderr
