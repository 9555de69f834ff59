"""The small part of the machine code that isn't compiled from a model: its entry, the barrier, a clock.

`i32 @mini_infer_run(ptr %args, i32 %threads)` calls `main` once per thread: %args is an array of pointers in
the order of main's buffers; %sync (64 bytes for the barrier), the thread's number and the number of threads
come after them. With one thread it is a plain call, otherwise one OpenMP region, and the number of threads
is the one the region really has. Returns that number.

`void @mini_infer_barrier(ptr %sync, i64 %threads)` counts arrivals; the last one starts the next generation.
The others spin for a bounded time and then give the processor away until that happens: the machine may
have other work. `i64 @mini_infer_clock()` tells nanoseconds from any fixed moment.
"""

SPINS = 4000
"""Looks at the generation before giving the processor away: about 0.1 ms, longer than a balanced wait."""

_PAUSE = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
    "arm64": "call void @llvm.aarch64.hint(i32 1)",
}
_DECLARE_PAUSE = {
    "x86_64": "declare void @llvm.x86.sse2.pause()",
    "aarch64": "declare void @llvm.aarch64.hint(i32)",
    "arm64": "declare void @llvm.aarch64.hint(i32)",
}


def runtime_ir(pointers: int, *, openmp: bool, machine: str = "x86_64") -> str:
    """LLVM IR text of the runtime for a `main` with that many buffers before %sync.

    Without `openmp` every run is on one thread. `machine` is the architecture as in platform.machine().
    """
    parts = [_barrier(machine), _CLOCK, _call_main(pointers), _run(openmp=openmp)]
    return "\n".join([_REGION, *parts] if openmp else parts)


def _barrier(machine: str) -> str:
    """%sync holds the count of those who wait, and 4 bytes on, the generation.

    The call of sched_yield also keeps LLVM from concluding that only %sync is touched, and so from moving
    accesses of other memory past the barrier.
    """
    return f"""\
define void @mini_infer_barrier(ptr %sync, i64 %threads) nounwind noinline {{
  %alone = icmp ule i64 %threads, 1
  br i1 %alone, label %done, label %arrive
arrive:
  %turn = getelementptr inbounds i32, ptr %sync, i64 1
  %before = load atomic i32, ptr %turn acquire, align 4
  %earlier = atomicrmw add ptr %sync, i32 1 acq_rel, align 4
  %here = add i32 %earlier, 1
  %all = trunc i64 %threads to i32
  %last = icmp eq i32 %here, %all
  br i1 %last, label %open, label %spin
open:
  store atomic i32 0, ptr %sync monotonic, align 4
  %after = add i32 %before, 1
  store atomic i32 %after, ptr %turn release, align 4
  br label %done
spin:
  %count = phi i32 [ 0, %arrive ], [ %next, %wait ]
  %now = load atomic i32, ptr %turn acquire, align 4
  %moved = icmp ne i32 %now, %before
  br i1 %moved, label %done, label %patience
patience:
  %next = add i32 %count, 1
  %patient = icmp ult i32 %count, {SPINS}
  br i1 %patient, label %pause, label %yield
pause:
  {_PAUSE.get(machine, "")}
  br label %wait
yield:
  %ignored = call i32 @sched_yield()
  br label %wait
wait:
  br label %spin
done:
  ret void
}}
{_DECLARE_PAUSE.get(machine, "")}
declare i32 @sched_yield()
"""


_CLOCK = """\
define i64 @mini_infer_clock() nounwind noinline {
  %time = alloca { i64, i64 }
  %ignored = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest = getelementptr inbounds { i64, i64 }, ptr %time, i64 0, i32 1
  %nanoseconds = load i64, ptr %rest
  %scaled = mul i64 %seconds, 1000000000
  %total = add i64 %scaled, %nanoseconds
  ret i64 %total
}
declare i32 @clock_gettime(i32, ptr)
"""


def _call_main(pointers: int) -> str:
    loads = "\n".join(
        f"  %slot{i} = getelementptr inbounds ptr, ptr %args, i64 {i}\n  %p{i} = load ptr, ptr %slot{i}"
        for i in range(pointers)
    )
    arguments = "".join(f"ptr %p{i}, " for i in range(pointers))
    types = "ptr, " * pointers
    return f"""\
define internal void @mini_infer_call(ptr %args, ptr %sync, i64 %thread, i64 %threads) nounwind {{
{loads}
  call void @main({arguments}ptr %sync, i64 %thread, i64 %threads)
  ret void
}}
declare void @main({types}ptr, i64, i64)
"""


_REGION = """\
%region = type { ptr, ptr, i32 }
define internal void @mini_infer_region(ptr %region) nounwind {
  %args = load ptr, ptr %region
  %sync.slot = getelementptr inbounds %region, ptr %region, i64 0, i32 1
  %sync = load ptr, ptr %sync.slot
  %thread = call i32 @omp_get_thread_num()
  %threads = call i32 @omp_get_num_threads()
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %note, label %work
note:
  %team.slot = getelementptr inbounds %region, ptr %region, i64 0, i32 2
  store i32 %threads, ptr %team.slot
  br label %work
work:
  %thread.wide = zext i32 %thread to i64
  %threads.wide = zext i32 %threads to i64
  call void @mini_infer_call(ptr %args, ptr %sync, i64 %thread.wide, i64 %threads.wide)
  ret void
}
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()
declare void @GOMP_parallel(ptr, ptr, i32, i32)
"""


def _run(*, openmp: bool) -> str:
    choice = "icmp ule i32 %threads, 1" if openmp else "icmp eq i32 0, 0"
    many = """\
  %region = alloca %region
  store ptr %args, ptr %region
  %sync.slot = getelementptr inbounds %region, ptr %region, i64 0, i32 1
  store ptr %sync, ptr %sync.slot
  call void @GOMP_parallel(ptr @mini_infer_region, ptr %region, i32 %threads, i32 0)
  %team.slot = getelementptr inbounds %region, ptr %region, i64 0, i32 2
  %team = load i32, ptr %team.slot
  ret i32 %team"""
    return f"""\
define i32 @mini_infer_run(ptr %args, i32 %threads) nounwind {{
  %sync = alloca [16 x i32], align 64
  store [16 x i32] zeroinitializer, ptr %sync, align 64
  %single = {choice}
  br i1 %single, label %one, label %many
one:
  call void @mini_infer_call(ptr %args, ptr %sync, i64 0, i64 1)
  ret i32 1
many:
{many if openmp else "  unreachable"}
}}
"""
