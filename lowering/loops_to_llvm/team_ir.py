"""LLVM IR text of the process-wide thread team that runs a stage's shares.

`void @mini_infer_share(ptr %work, ptr %args, i64 %shares, i64 %seats)` returns when work(args, i, shares, seat) has
been called once for every i below %shares, by the caller and by at most %seats - 1 helper threads that arrive in time.
A helper that sleeps or is not scheduled costs nothing: the other threads do its shares. Only a share that has started
is waited for. One caller at a time has help; a concurrent caller does its stage alone.

`void @mini_infer_worker(ptr %number)` is the main loop of a helper thread; it never returns.

Each participant has a seat for the duration of the stage, a number below %seats that is its own: memory private to a
thread is indexed by seat. The caller's is 0; a helper tries that of its own number first. Each seat owns a run of
consecutive shares, which is done first and in order, so that with all threads present each has the same shares in every
stage, for cache locality; then it takes shares left in other seats' runs (work stealing).

A waiting thread spins for a bounded time, then yields its processor between checks, then sleeps on a condition
variable: the machine may have other work. All state is in @mini_infer_team; zeros are a team without helpers, except
for the three variables of POSIX threads.

A stage has a sequence number, its turn, which is part of the word of each run (with the next share and the last) and of
each free seat. A share or a seat is taken by one compare-and-swap, so a helper that is late for one turn can't take
anything of the next, and its stale reads are discarded. A thread that holds a share keeps the turn from ending, and
with it the caller's memory alive.
"""

from ...dialects.threads import MOST_THREADS
from .runtime_ir import CLOCK

SPINS = 200
"""Checks, each followed by a pause, before a waiting thread starts to yield its processor: 4 to 10 us.
Where a scheduler puts two threads of a team on one core, as it may beside another program, a spinning thread keeps the
one it waits for from working. Beside a busy process on one of two cores (Zen 5), 2 threads took ResNet-50 1.34 times as
long as 1 thread without yielding, 1.00 times with it; BERT 1.20 and 0.98.
"""

PATIENCE = 500_000
"""Nanoseconds of yielding before sleep: longer than the gap between stages of an inference, or the imbalance of shares.
A yield that nobody takes up costs less than a microsecond.
"""

# Offsets in bytes of the team's state. Words written by different threads are on different cache lines.
_BUSY = 0
_TURN, _WORK, _ARGS, _SHARES, _SLEEPERS, _SEATS = 64, 72, 80, 88, 96, 104
_DONE, _WAITING = 128, 132
MUTEX, CALLED, FINISHED = 192, 320, 448  # a mutex and two condition variables: 64 bytes at most on known systems
_RUNS = 576  # by seat, the word of its run and its own word: a cache line
TEAM_BYTES = _RUNS + 64 * MOST_THREADS

_PAUSES = {
    "x86_64": "llvm.x86.sse2.pause()",
    "aarch64": "llvm.aarch64.hint(i32 1)",
    "arm64": "llvm.aarch64.hint(i32 1)",
}


def _at(offset: int) -> str:
    return f"ptr getelementptr (i8, ptr @mini_infer_team, i64 {offset})"


def team_ir(architecture: str) -> str:
    """LLVM IR text of the team; the architecture is LLVM's name, such as x86_64 or aarch64."""
    pause = _PAUSES.get(architecture)
    declared = f"declare void @{pause.replace('i32 1', 'i32')}\n" if pause else ""
    looked = f"call void @{pause}" if pause else ""
    return "\n".join([_STATE, declared, CLOCK, _patience(looked), _SHARE, _TAKE, _WORKER])


def _patience(pause: str) -> str:
    """Text of a function that lets a little time pass after check number `count`; false: time to sleep."""
    return f"""\
define internal i1 @mini_infer_patience(i32 %count, ptr %since) nounwind {{
  %early = icmp ult i32 %count, {SPINS}
  br i1 %early, label %pause, label %late
pause:
  {pause}
  ret i1 true
late:
  %now = call i64 @mini_infer_clock()
  %first = icmp eq i32 %count, {SPINS}
  br i1 %first, label %start, label %offer
start:
  store i64 %now, ptr %since
  br label %offer
offer:
  %from = load i64, ptr %since
  %passed = sub i64 %now, %from
  %patient = icmp ult i64 %passed, {PATIENCE}
  br i1 %patient, label %yield, label %out
yield:
  %ignored = call i32 @sched_yield()
  ret i1 true
out:
  ret i1 false
}}
declare i32 @sched_yield()
"""


def _wait(after: str, word: int, relation: str, value: str, sleepers: int, woken_by: int) -> str:
    """Text that waits until a word is in that relation to a value, then continues after the block `after`.

    %found is the word. Sleepers are counted in `sleepers`, which the thread that changes the word reads; they sleep on
    `woken_by`.
    """
    return f"""\
  br label %spin
spin:
  %count = phi i32 [ 0, %{after} ], [ %next, %patience ]
  %now = load atomic i32, {_at(word)} acquire, align 4
  %ready = icmp {relation} i32 %now, {value}
  br i1 %ready, label %go, label %patience
patience:
  %next = add i32 %count, 1
  %patient = call i1 @mini_infer_patience(i32 %count, ptr %since)
  br i1 %patient, label %spin, label %sleep
sleep:
  %ignored.sleep = call i32 @pthread_mutex_lock({_at(MUTEX)})
  %ignored.more = atomicrmw add {_at(sleepers)}, i32 1 seq_cst, align 4
  br label %look
look:
  %later = load atomic i32, {_at(word)} seq_cst, align 4
  %ready.later = icmp {relation} i32 %later, {value}
  br i1 %ready.later, label %awake, label %doze
doze:
  %ignored.wait = call i32 @pthread_cond_wait({_at(woken_by)}, {_at(MUTEX)})
  br label %look
awake:
  %ignored.less = atomicrmw sub {_at(sleepers)}, i32 1 seq_cst, align 4
  %ignored.awake = call i32 @pthread_mutex_unlock({_at(MUTEX)})
  br label %go
go:
  %found = phi i32 [ %now, %spin ], [ %later, %awake ]"""


_STATE = f"""\
@mini_infer_team = global [{TEAM_BYTES} x i8] zeroinitializer, align 64
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
"""

_SHARE = f"""\
define void @mini_infer_share(ptr %work, ptr %args, i64 %shares, i64 %seats) nounwind {{
  %since = alloca i64
  %before = cmpxchg {_at(_BUSY)}, i32 0, i32 1 acquire monotonic
  %free = extractvalue {{ i32, i1 }} %before, 1
  br i1 %free, label %open, label %alone
alone:
  call void %work(ptr %args, i64 0, i64 1, i64 0)
  ret void

open:
  store ptr %work, {_at(_WORK)}
  store ptr %args, {_at(_ARGS)}
  store atomic i64 %shares, {_at(_SHARES)} monotonic, align 8
  store atomic i64 %seats, {_at(_SEATS)} monotonic, align 8
  store atomic i32 0, {_at(_DONE)} monotonic, align 4
  %last = load atomic i32, {_at(_TURN)} monotonic, align 4
  %turn = add i32 %last, 1
  %turn.wide = zext i32 %turn to i64
  %turn.high = shl i64 %turn.wide, 32
  br label %offer
offer:
  %i = phi i64 [ 0, %open ], [ %following, %offer ]
  %first = phi i64 [ 0, %open ], [ %end, %offer ]
  %following = add i64 %i, 1
  %scaled = mul i64 %following, %shares
  %end = udiv i64 %scaled, %seats
  %next.high = shl i64 %first, 16
  %bounds = or i64 %next.high, %end
  %word = or i64 %turn.high, %bounds
  %run = getelementptr [64 x i8], {_at(_RUNS)}, i64 %i
  store atomic i64 %word, ptr %run release, align 8
  %seat = getelementptr i8, ptr %run, i64 8
  store atomic i32 %turn, ptr %seat release, align 4
  %more = icmp ult i64 %following, %seats
  br i1 %more, label %offer, label %call
call:
  store atomic i32 %turn, {_at(_TURN)} seq_cst, align 4
  %sleepers = load atomic i32, {_at(_SLEEPERS)} seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %wake, label %take
wake:
  %ignored.lock = call i32 @pthread_mutex_lock({_at(MUTEX)})
  br label %signal
signal:
  %woken = phi i64 [ 1, %wake ], [ %another, %signal ]
  %ignored.signal = call i32 @pthread_cond_signal({_at(CALLED)})
  %another = add i64 %woken, 1
  %enough = icmp uge i64 %another, %seats
  br i1 %enough, label %woke, label %signal
woke:
  %ignored.unlock = call i32 @pthread_mutex_unlock({_at(MUTEX)})
  br label %take

take:
  call void @mini_infer_take(i32 %turn, i64 0, i64 %seats)
  %all = trunc i64 %shares to i32
{_wait("take", _DONE, "eq", "%all", _WAITING, FINISHED)}
  store atomic i32 0, {_at(_BUSY)} release, align 4
  ret void
}}
"""

# Visits the runs in order from the own seat's on, cyclically. The number of seats read may be another turn's until
# a share is taken: then no share is taken, which does no harm.
_TAKE = f"""\
define internal void @mini_infer_take(i32 %turn, i64 %seat, i64 %seats) nounwind {{
  br label %try
try:
  %tried = phi i64 [ 0, %0 ], [ %following, %on ]
  %did = phi i32 [ 0, %0 ], [ %did.here, %on ]
  %place = add i64 %seat, %tried
  %number = urem i64 %place, %seats
  %run = getelementptr [64 x i8], {_at(_RUNS)}, i64 %number
  br label %look
look:
  %did.here = phi i32 [ %did, %try ], [ %did.here, %grab ], [ %did.more, %work ]
  %word = load atomic i64, ptr %run monotonic, align 8
  %turn.wide = lshr i64 %word, 32
  %turn.now = trunc i64 %turn.wide to i32
  %same = icmp eq i32 %turn.now, %turn
  %next.wide = lshr i64 %word, 16
  %i = and i64 %next.wide, 65535
  %end = and i64 %word, 65535
  %left = icmp ult i64 %i, %end
  %some = and i1 %same, %left
  br i1 %some, label %grab, label %on
grab:
  %after = add i64 %word, 65536
  %swap = cmpxchg ptr %run, i64 %word, i64 %after acq_rel monotonic
  %mine = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %mine, label %work, label %look
work:
  %function = load ptr, {_at(_WORK)}
  %args = load ptr, {_at(_ARGS)}
  %shares = load atomic i64, {_at(_SHARES)} monotonic, align 8
  call void %function(ptr %args, i64 %i, i64 %shares, i64 %seat)
  %did.more = add i32 %did.here, 1
  br label %look
on:
  %following = add i64 %tried, 1
  %further = icmp ult i64 %following, %seats
  br i1 %further, label %try, label %tell
tell:
  %idle = icmp eq i32 %did.here, 0
  br i1 %idle, label %out, label %add
add:
  %all.wide = load atomic i64, {_at(_SHARES)} monotonic, align 8
  %all = trunc i64 %all.wide to i32
  %earlier = atomicrmw add {_at(_DONE)}, i32 %did.here seq_cst, align 4
  %finished = add i32 %earlier, %did.here
  %complete = icmp eq i32 %finished, %all
  br i1 %complete, label %ended, label %out
ended:
  %waiting = load atomic i32, {_at(_WAITING)} seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %wake, label %out
wake:
  %ignored.lock = call i32 @pthread_mutex_lock({_at(MUTEX)})
  %ignored.signal = call i32 @pthread_cond_signal({_at(FINISHED)})
  %ignored.unlock = call i32 @pthread_mutex_unlock({_at(MUTEX)})
  br label %out
out:
  ret void
}}
"""

_WORKER = f"""\
define void @mini_infer_worker(ptr %number) nounwind {{
  %since = alloca i64
  %own = ptrtoint ptr %number to i64
  %before = sub i64 %own, 1
  br label %idle
idle:
  %seen = phi i32 [ 0, %0 ], [ %found, %sit ], [ %found, %stand ], [ %found, %go ]
{_wait("idle", _TURN, "ne", "%seen", _SLEEPERS, CALLED)}
  %seats = load atomic i64, {_at(_SEATS)} monotonic, align 8
  %others = sub i64 %seats, 1
  %used = xor i32 %found, -2147483648
  %any = icmp ugt i64 %seats, 1
  br i1 %any, label %try, label %idle
try:
  %tried = phi i64 [ 0, %go ], [ %following, %stand ]
  %place = add i64 %before, %tried
  %around = urem i64 %place, %others
  %seat = add i64 %around, 1
  %run = getelementptr [64 x i8], {_at(_RUNS)}, i64 %seat
  %chair = getelementptr i8, ptr %run, i64 8
  %swap = cmpxchg ptr %chair, i32 %found, i32 %used acq_rel monotonic
  %mine = extractvalue {{ i32, i1 }} %swap, 1
  br i1 %mine, label %sit, label %stand
stand:
  %following = add i64 %tried, 1
  %further = icmp ult i64 %following, %others
  br i1 %further, label %try, label %idle
sit:
  call void @mini_infer_take(i32 %found, i64 %seat, i64 %seats)
  br label %idle
}}
"""
