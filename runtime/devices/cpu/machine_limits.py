"""Measures this machine's limits: f32 multiply-adds per second, and memory bandwidth beyond the caches.

Both are measured by our own code, with as many threads as an inference has: enough independent sums in registers to
hide the latency of an instruction, and sums over more memory than the caches hold. Results are not kept: a shared
machine is a different one an hour later, and plans use the target's expected numbers (dialects/kernel/targets.py), so
that they are reproducible.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from threading import Barrier
from typing import Literal

import numpy as np

from ...limits import memory_bytes
from ...machine_facts import cache_bytes
from ...native.cpu_targets import CpuTarget, host_target
from ...native.llvmlite_calls import compile_to_object
from ...native.loaded_code import loaded

SUMS = {16: 12, 32: 24}
"""Independent sums by number of registers: two registers are left for their factors, and some spare."""
STREAMS = 8
"""Registers that are read in a step."""
LEAST_BYTES, MOST_BYTES = 64 << 20, 1 << 30
"""Limits, in bytes, of the memory that is read: `CACHES` times the last-level cache, within these."""
CACHES = 16
"""A cache may keep as much of the memory from one reading to the next: of four times a Zen 5's 32 MB, reads reached
50 GB/s, of eight times and more 42."""
_CPUINFO = Path("/proc/cpuinfo")
_TITLES = re.compile(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class MachineLimits:
    """The limits of a number of threads together: f32 additions and multiplications, and bytes read, per nanosecond."""

    threads: int
    gflops: float
    gbytes: float

    def seconds(self, flops: float, nbytes: float) -> float:
        """A lower bound of the time for that much work: the maximum of compute time and memory time (roofline)."""
        return max(flops / self.gflops, nbytes / self.gbytes) * 1e-9

    def limiting(self, flops: float, nbytes: float) -> Literal["compute", "memory"]:
        """Which of the two that bound is."""
        return "compute" if flops / self.gflops > nbytes / self.gbytes else "memory"

    def best(self, other: MachineLimits | None) -> MachineLimits:
        """The componentwise maximum of two measurements."""
        if other is None:
            return self
        return MachineLimits(self.threads, max(self.gflops, other.gflops), max(self.gbytes, other.gbytes))


class LimitProbe:
    """The code and memory for measuring limits.

    Run by `threads` threads of this process, wherever it may run: pin it to measure certain cores.
    """

    def __init__(self, threads: int, nbytes: int | None = None) -> None:
        self.threads = threads
        cpu = host_target()
        self._lanes, self._sums = cpu.vector_bits // 32, SUMS[min(32, max(16, cpu.registers))]
        self._code = loaded([compile_to_object(probe_ir(cpu), cpu.machine)])
        self._multiply = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(self._code.address("probe_multiply"))
        self._read = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)(self._code.address("probe_read"))
        step = STREAMS * self._lanes * 4
        share = (nbytes or _beyond_caches()) // threads // step * step
        # Ones: unwritten memory is a single page of zeros, mapped repeatedly.
        self._memory = [np.ones(share + 64, np.uint8) for _ in range(threads)]
        self._share = share

    def measure(self, seconds: float = 0.1) -> MachineLimits:
        """The best of several trials, which take about `seconds` together."""
        return MachineLimits(self.threads, self._gflops(seconds / 2), self._gbytes(seconds / 2))

    def read_all(self) -> None:
        """Reads the memory once on the caller's thread, which evicts the caches."""
        for index in range(self.threads):
            self._read_share(index)

    def _gflops(self, seconds: float) -> float:
        steps, trials = 20_000, 4
        taken = self._together(lambda _: self._run_sums(steps))
        steps = max(steps, ceil(steps * seconds / trials / taken))
        best = min(self._together(lambda _: self._run_sums(steps)) for _ in range(trials))
        return 2 * self._sums * self._lanes * steps * self.threads / best * 1e-9

    def _gbytes(self, seconds: float) -> float:
        first = self._together(self._read_share)
        trials = max(2, min(20, round(seconds / first)))
        best = min(first, *(self._together(self._read_share) for _ in range(trials)))
        return self._share * self.threads / best * 1e-9

    def _run_sums(self, steps: int) -> None:
        kept = np.ones(self._sums * self._lanes + 16, np.float32)
        self._multiply(steps, kept.ctypes.data + -kept.ctypes.data % 64)

    def _read_share(self, index: int) -> None:
        start = self._memory[index].ctypes.data
        self._read(start + -start % 64, self._share)

    def _together(self, work: Callable[[int], None]) -> float:
        """Seconds from the common start of all threads to the end of the last."""
        if self.threads == 1:
            start = time.perf_counter()
            work(0)
            return time.perf_counter() - start
        gate = Barrier(self.threads)

        def one(index: int) -> tuple[float, float]:
            gate.wait()
            start = time.perf_counter()
            work(index)
            return start, time.perf_counter()

        with ThreadPoolExecutor(self.threads) as pool:
            spans: Sequence[tuple[float, float]] = list(pool.map(one, range(self.threads)))
        return max(end for _, end in spans) - min(start for start, _ in spans)


def probe_ir(cpu: CpuTarget) -> str:
    """LLVM IR of `probe_multiply(steps, sums)` and `probe_read(memory, bytes)`, in the widest vectors of a CPU."""
    lanes, sums = cpu.vector_bits // 32, SUMS[min(32, max(16, cpu.registers))]
    floats, ints = f"<{lanes} x float>", f"<{lanes} x i32>"
    fused = "fma" in cpu.features
    half, one = (_repeated(text, lanes) for text in ("float 5.0e-01", "float 1.0e+00"))
    multiply = [
        "define void @probe_multiply(i64 %steps, ptr %out) nounwind {",
        *(f"  %p{i} = getelementptr {floats}, ptr %out, i64 {i}" for i in range(sums)),
        *(f"  %s{i} = load {floats}, ptr %p{i}, align 64" for i in range(sums)),
        f"  %factor = load {floats}, ptr %out, align 64",
        "  br label %loop\nloop:",
        "  %n = phi i64 [ 0, %0 ], [ %m, %loop ]",
        *(f"  %x{i} = phi {floats} [ %s{i}, %0 ], [ %y{i}, %loop ]" for i in range(sums)),
    ]
    for i in range(sums):
        if fused:  # unknown to LLVM, which would fold a constant product
            factors = f"{floats} %factor, {floats} {half}, {floats} %x{i}"
            multiply.append(f"  %y{i} = call {floats} @llvm.fma.v{lanes}f32({factors})")
        else:  # converges to 2
            multiply.append(f"  %t{i} = fmul {floats} %x{i}, {half}\n  %y{i} = fadd {floats} %t{i}, {one}")
    multiply += [
        "  %m = add i64 %n, 1\n  %more = icmp ult i64 %m, %steps\n  br i1 %more, label %loop, label %done\ndone:",
        *(f"  store {floats} %y{i}, ptr %p{i}, align 64" for i in range(sums)),
        "  ret void\n}",
    ]
    width = lanes * 4
    read = [
        "define i32 @probe_read(ptr %memory, i64 %bytes) nounwind {\n  br label %loop\nloop:",
        "  %at = phi i64 [ 0, %0 ], [ %next, %loop ]",
        *(f"  %x{i} = phi {ints} [ zeroinitializer, %0 ], [ %y{i}, %loop ]" for i in range(STREAMS)),
        "  %here = getelementptr i8, ptr %memory, i64 %at",
    ]
    for i in range(STREAMS):
        read.append(f"  %p{i} = getelementptr i8, ptr %here, i64 {i * width}")
        read.append(f"  %v{i} = load {ints}, ptr %p{i}, align {width}\n  %y{i} = add {ints} %x{i}, %v{i}")
    read += [
        f"  %next = add i64 %at, {STREAMS * width}",
        "  %more = icmp ult i64 %next, %bytes\n  br i1 %more, label %loop, label %done\ndone:",
        f"  %z1 = add {ints} %y0, %y1",
        *(f"  %z{i} = add {ints} %z{i - 1}, %y{i}" for i in range(2, STREAMS)),
        f"  %sum = call i32 @llvm.vector.reduce.add.v{lanes}i32({ints} %z{STREAMS - 1})",
        "  ret i32 %sum\n}",
    ]
    return "\n".join([*multiply, *read, ""])


def cpu_title() -> str:
    """This machine's CPU, by its maker's name and by LLVM's."""
    try:
        found = _TITLES.search(_CPUINFO.read_text())
    except OSError:
        found = None
    title = found[1].strip() if found else platform.processor() or platform.machine()
    return f"{title} ({host_target().name})"


def pinned_cores(threads: int) -> tuple[int, ...]:
    """Cores for `threads` threads, out of this process's affinity; () if the system has no affinity."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    return tuple(sorted(os.sched_getaffinity(0))[:threads])


def _repeated(element: str, lanes: int) -> str:
    return f"<{', '.join([element] * lanes)}>"


def _beyond_caches() -> int:
    """A number of bytes much larger than the caches that the machine can spare."""
    wanted = CACHES * max((cache_bytes(level) for level in (2, 3)), default=0)
    return min(max(wanted, LEAST_BYTES), MOST_BYTES, memory_bytes() // 8)
