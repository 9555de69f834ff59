"""The threads of a process that help with inferences: the machine code that has a stage done in shares.

`void @mini_infer_share(ptr %work, ptr %args, i64 %shares, i64 %seats)` returns when work(args, i, shares, seat) was
called once for every i below %shares. The caller and at most %seats - 1 helpers, those that come in time, do them. A
helper that sleeps, or that gets no processor because others have it, costs nothing: its shares are done by whoever is
there. Only a share that somebody has begun is waited for. One caller at a time has help; another one that comes
meanwhile does its stage alone.

`void @mini_infer_worker(ptr %number)` is a helper's life; it never returns.

Who takes part has a seat for the time of the stage, a number below %seats that nobody else has: what a share writes
for itself alone is by seat. The caller's is 0, a helper tries that of its own number first. To each seat belongs a run
of shares that follow each other, which is done first, in order, so that with everybody there the same thread has the
same shares in each stage, and its data in its caches; then what is left of the others'.

Who waits looks for a bounded time whether it may go on, offers its processor to others between looks, and then sleeps
on a condition variable until it is woken: the machine may have other work. All state is in @mini_infer_team; zeros are
a team without helpers, but for the three variables of POSIX threads.

A stage has a number, its turn. It stands in the word of each run, beside the next share and the last, and in each seat
that is free. Taking a share or a seat is one compare-and-swap, so a helper that comes late to one turn can't take
anything of the next, and what it read of the stage before was of use to nobody. Whoever has taken a share of a turn
keeps the turn from ending, and with it the caller's memory.
"""

from ...dialects.threads import MOST_THREADS
from .runtime_ir import CLOCK

SPINS = 200
"""Looks, with a pause after each, before a thread that waits offers its processor to others between looks: 4 to 10 us.
Where a scheduler has two threads of a team on one core, as it may beside another program, who only looks keeps from
working whom it waits for. Beside a busy process on one of two cores (Zen 5), 2 threads took ResNet-50 1.34 times as
long as 1 thread without offers, 1.00 times with them; BERT 1.20 and 0.98.
"""

PATIENCE = 500_000
"""Nanoseconds of offers before it sleeps: longer than what lies between the stages of an inference, or than one
thread's share takes longer than another's. An offer that nobody takes costs less than a microsecond."""

# Where things are in the team's state, in bytes. What different threads write is on different cache lines.
_BUSY = 0
_TURN, _WORK, _ARGS, _SHARES, _SLEEPERS, _SEATS = 64, 72, 80, 88, 96, 104
_DONE, _WAITING = 128, 132
MUTEX, CALLED, FINISHED = 192, 320, 448  # a mutex and two condition variables: 64 bytes at most on known systems
_RUNS = 576  # of each seat the word of its run, and its own: a cache line
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
    """Text of the function that lets a little time pass after look number `count`; false: it is time to sleep."""
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
    """Text that goes on from the block `after` once a word is in that relation to a value; %found is the word then.

    Who sleeps is counted in `sleepers`, for whoever changes the word to see, and `woken_by` is what it sleeps on.
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

# A run after the other from that of the own seat on, around. The number of seats may be another turn's until a share is
# taken: then it is of no use, and does no harm.
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
