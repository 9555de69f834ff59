"""LLVM IR text of the model-independent entry point, the stage dispatchers, the stop word's test, advice and the clock.

`void @mini_infer_run(ptr %args, ptr %share)` calls `main`. %args is an array of pointers in the order of main's
buffers. %share is the function of team_ir.py that distributes a stage over threads; null is always allowed and means
that the caller does all work itself. It is an argument because threads belong to the process, not to a model: a model's
code calls nothing outside but the clock and memory functions.

For each stage, `void @share_stage_0(ptr %team, i64 %shares, i64 %seats)` runs `@stage_0` in that many shares on at most
that many threads; %team are the two pointers above. %share is called with `@call_stage_0`, whose address identifies the
stage. A stage that depends on the turns of loops gets their numbers behind these, and `@call_stage_0` behind %args.

`i1 @mini_infer_stopped(ptr %word)` tells whether the run is to stop: its word is 0 for a run without a limit, or the
time of the clock at which it stops. Another thread may write it meanwhile; 1 stops a run at once.

`void @mini_infer_release_weights(ptr %weights, i64 %start, i64 %end)` unmaps the pages of a range of weights, which are
mapped from a file, from this process; `@mini_infer_map_weights` maps all of them, and waits for those that must be
read from the disk. It is advice to Linux: where it isn't taken, pages are mapped when they are read.

`i64 @mini_infer_clock()` returns nanoseconds since any fixed moment, as Python's `time.monotonic_ns`;
`@mini_infer_note_call` notes a kernel call in the buffer of call_times.py.
"""

from collections.abc import Mapping

from ...passes.memory.advise_weights import MAP, RELEASE
from ..call_times import note_ir


def runtime_ir(
    pointers: int,
    stages: Mapping[str, tuple[int, int]] | None = None,
    *,
    profiled: bool = False,
    stops: bool = False,
    advises: bool = False,
) -> str:
    """LLVM IR text of the runtime for a `main` with `pointers` buffers; each stage has numbers of buffers and of turns.

    The clock is included for code that is `profiled`, which notes its calls, and with the stop word's test for code
    that `stops`; advice on pages of weights for code that `advises`.
    """
    parts = [_run(pointers), *(_stage(name, *counts) for name, counts in (stages or {}).items())]
    clock, notes = [CLOCK] * (profiled or stops), [note_ir()] * profiled
    return "\n".join([*clock, *notes, *[_STOPPED] * stops, *[_ADVICE] * advises, *parts])


CLOCK = """\
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

_STOPPED = """\
define i1 @mini_infer_stopped(ptr %word) nounwind alwaysinline {
  %until = load atomic i64, ptr %word monotonic, align 8
  %limited = icmp ne i64 %until, 0
  br i1 %limited, label %look, label %on, !prof !{!"branch_weights", i32 1, i32 100000}
look:
  %now = call i64 @mini_infer_clock()
  %over = icmp uge i64 %now, %until
  ret i1 %over
on:
  ret i1 false
}
"""

# Linux's MADV_DONTNEED, and MADV_POPULATE_READ, which is there from 5.14 on.
_ADVICE = (
    "\n".join(
        f"""\
define void @{name}(ptr %weights, i64 %start, i64 %end) nounwind {{
  %first = getelementptr i8, ptr %weights, i64 %start
  %nbytes = sub i64 %end, %start
  %ignored = call i32 @madvise(ptr %first, i64 %nbytes, i32 {advice})
  ret void
}}"""
        for name, advice in ((RELEASE, 4), (MAP, 22))
    )
    + """
declare i32 @madvise(ptr, i64, i32)
"""
)


def _loads(count: int) -> str:
    """Text that loads %p0, %p1, ... from %args."""
    return "\n".join(
        f"  %slot{i} = getelementptr inbounds ptr, ptr %args, i64 {i}\n  %p{i} = load ptr, ptr %slot{i}"
        for i in range(count)
    )


def _passed(count: int) -> str:
    return "".join(f"ptr %p{i}, " for i in range(count))


def _run(pointers: int) -> str:
    return f"""\
define void @mini_infer_run(ptr %args, ptr %share) nounwind {{
  %team = alloca {{ ptr, ptr }}
  store ptr %args, ptr %team
  %second = getelementptr inbounds {{ ptr, ptr }}, ptr %team, i64 0, i32 1
  store ptr %share, ptr %second
{_loads(pointers)}
  call void @main({_passed(pointers)}ptr %team)
  ret void
}}
declare void @main({"ptr, " * pointers}ptr)
"""


def _stage(name: str, pointers: int, turns: int) -> str:
    given = "".join(f", i64 %turn{i}" for i in range(turns))
    passed = "".join(f"i64 %turn{i}, " for i in range(turns))
    loaded = "\n".join(
        f"  %place{i} = getelementptr inbounds i64, ptr %args, i64 {pointers + i}\n  %turn{i} = load i64, ptr %place{i}"
        for i in range(turns)
    )
    return f"""\
define void @share_{name}(ptr %team, i64 %shares, i64 %seats{given}) nounwind {{
{_arguments_with_turns(pointers, turns) if turns else "  %args = load ptr, ptr %team"}
  %second = getelementptr inbounds {{ ptr, ptr }}, ptr %team, i64 0, i32 1
  %share = load ptr, ptr %second
  %alone = icmp eq ptr %share, null
  br i1 %alone, label %one, label %many
one:
  call void @call_{name}(ptr %args, i64 0, i64 1, i64 0)
  ret void
many:
  call void %share(ptr @call_{name}, ptr %args, i64 %shares, i64 %seats)
  ret void
}}
define void @call_{name}(ptr %args, i64 %share, i64 %shares, i64 %seat) nounwind {{
{_loads(pointers)}
{loaded}
  call void @{name}({_passed(pointers)}{passed}i64 %share, i64 %shares, i64 %seat)
  ret void
}}
declare void @{name}({"ptr, " * pointers}{"i64, " * turns}i64, i64, i64)
"""


def _arguments_with_turns(pointers: int, turns: int) -> str:
    """Text of a stage's arguments in an array of its own: the buffers, and the numbers of turns behind them."""
    copied = "\n".join(
        f"  %from{i} = getelementptr inbounds i64, ptr %given, i64 {i}\n  %copy{i} = load i64, ptr %from{i}\n"
        f"  %to{i} = getelementptr inbounds i64, ptr %args, i64 {i}\n  store i64 %copy{i}, ptr %to{i}"
        for i in range(pointers)
    )
    stored = "\n".join(
        f"  %place{i} = getelementptr inbounds i64, ptr %args, i64 {pointers + i}\n  store i64 %turn{i}, ptr %place{i}"
        for i in range(turns)
    )
    return f"""\
  %args = alloca [{pointers + turns} x i64]
  %given = load ptr, ptr %team
{copied}
{stored}"""
