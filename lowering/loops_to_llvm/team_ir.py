"""The threads of a process that help with inferences: the machine code that has a stage done in shares.

`void @mini_infer_share(ptr %work, ptr %args, i64 %shares)` returns when work(args, i, shares) was called once for every
i below %shares. The caller takes share after share, and so do those helpers that come in time. A helper that sleeps, or
that gets no processor because others have it, costs nothing: its share is done by whoever is there. Only a share that
somebody has begun is waited for. One caller at a time has help; another one that comes meanwhile does its stage alone.

`void @mini_infer_worker(ptr %first)` is a helper's life; it never returns. %first is the share that it tries first, so
that with everybody there the same thread has the same share in each stage, and its data in its caches.

Who waits looks for a bounded time whether it may go on, and then sleeps on a condition variable until it is woken: the
machine may have other work. All state is in @mini_infer_team; zeros are a team without helpers, but for the three
variables of POSIX threads.

A stage has a number, its turn. Share i may be taken while slot i holds the turn; taking it is one compare-and-swap, so
a helper that comes late to one turn can't take a share of the next, and what it read of the stage before was of use to
nobody. Whoever has taken a share of a turn keeps the turn from ending, and with it the caller's memory.
"""

from ...dialects.targets import MOST_THREADS

SPINS = 20_000
"""Looks before sleeping: 0.4 to 1 ms, as long as a pause takes; longer than what lies between the stages of an
inference, or than one thread's share takes longer than another's. With 4,000 looks ResNet-50 on 2 threads of an AVX2
machine took 1.13 times as long; 100,000 gained nothing more, and the processor may have other work.
"""

# Where things are in the team's state, in bytes. What different threads write is on different cache lines.
_BUSY = 0
_TURN, _WORK, _ARGS, _SHARES, _SLEEPERS = 64, 72, 80, 88, 96
_DONE, _WAITING = 128, 132
MUTEX, CALLED, FINISHED = 192, 320, 448  # a mutex and two condition variables: 64 bytes at most on known systems
_SLOTS = 576
TEAM_BYTES = _SLOTS + 4 * MOST_THREADS

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
    return "\n".join([_STATE, declared, _SHARE.replace("PAUSE", looked), _TAKE, _WORKER.replace("PAUSE", looked)])


def _wait(after: str, word: int, relation: str, value: str, sleepers: int, woken_by: int) -> str:
    """Text that goes on from the block `after` once a word is in that relation to a value; %found is the word then.

    Who sleeps is counted in `sleepers`, for whoever changes the word to see, and `woken_by` is what it sleeps on.
    """
    return f"""\
  br label %spin
spin:
  %count = phi i32 [ 0, %{after} ], [ %next, %pause ]
  %now = load atomic i32, {_at(word)} acquire, align 4
  %ready = icmp {relation} i32 %now, {value}
  br i1 %ready, label %go, label %patience
patience:
  %next = add i32 %count, 1
  %patient = icmp ult i32 %count, {SPINS}
  br i1 %patient, label %pause, label %sleep
pause:
  PAUSE
  br label %spin
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
define void @mini_infer_share(ptr %work, ptr %args, i64 %shares) nounwind {{
  %before = cmpxchg {_at(_BUSY)}, i32 0, i32 1 acquire monotonic
  %free = extractvalue {{ i32, i1 }} %before, 1
  br i1 %free, label %open, label %alone
alone:
  call void %work(ptr %args, i64 0, i64 1)
  ret void

open:
  store ptr %work, {_at(_WORK)}
  store ptr %args, {_at(_ARGS)}
  store atomic i64 %shares, {_at(_SHARES)} monotonic, align 8
  store atomic i32 0, {_at(_DONE)} monotonic, align 4
  %last = load atomic i32, {_at(_TURN)} monotonic, align 4
  %turn = add i32 %last, 1
  br label %offer
offer:
  %i = phi i64 [ 0, %open ], [ %following, %offer ]
  %slot = getelementptr i32, {_at(_SLOTS)}, i64 %i
  store atomic i32 %turn, ptr %slot release, align 4
  %following = add i64 %i, 1
  %more = icmp ult i64 %following, %shares
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
  %enough = icmp uge i64 %another, %shares
  br i1 %enough, label %woke, label %signal
woke:
  %ignored.unlock = call i32 @pthread_mutex_unlock({_at(MUTEX)})
  br label %take

take:
  call void @mini_infer_take(i32 %turn, i64 0)
  %all = trunc i64 %shares to i32
{_wait("take", _DONE, "eq", "%all", _WAITING, FINISHED)}
  store atomic i32 0, {_at(_BUSY)} release, align 4
  ret void
}}
"""

# Shares that are free are tried from %first on, around. The number of shares may be another turn's until one is taken.
_TAKE = f"""\
define internal void @mini_infer_take(i32 %turn, i64 %first) nounwind {{
  %used = xor i32 %turn, -2147483648
  %bound = load atomic i64, {_at(_SHARES)} monotonic, align 8
  br label %try
try:
  %tried = phi i64 [ 0, %0 ], [ %next, %on ]
  %left = icmp ult i64 %tried, %bound
  br i1 %left, label %look, label %out
look:
  %place = add i64 %first, %tried
  %i = urem i64 %place, %bound
  %slot = getelementptr i32, {_at(_SLOTS)}, i64 %i
  %held = load atomic i32, ptr %slot monotonic, align 4
  %free = icmp eq i32 %held, %turn
  br i1 %free, label %grab, label %on
grab:
  %swap = cmpxchg ptr %slot, i32 %turn, i32 %used acq_rel monotonic
  %mine = extractvalue {{ i32, i1 }} %swap, 1
  br i1 %mine, label %run, label %on
run:
  %work = load ptr, {_at(_WORK)}
  %args = load ptr, {_at(_ARGS)}
  %shares = load atomic i64, {_at(_SHARES)} monotonic, align 8
  call void %work(ptr %args, i64 %i, i64 %shares)
  %earlier = atomicrmw add {_at(_DONE)}, i32 1 seq_cst, align 4
  %finished = add i32 %earlier, 1
  %all = trunc i64 %shares to i32
  %complete = icmp eq i32 %finished, %all
  br i1 %complete, label %ended, label %on
ended:
  %waiting = load atomic i32, {_at(_WAITING)} seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %wake, label %out
wake:
  %ignored.lock = call i32 @pthread_mutex_lock({_at(MUTEX)})
  %ignored.signal = call i32 @pthread_cond_signal({_at(FINISHED)})
  %ignored.unlock = call i32 @pthread_mutex_unlock({_at(MUTEX)})
  br label %out
on:
  %next = add i64 %tried, 1
  br label %try
out:
  ret void
}}
"""

_WORKER = f"""\
define void @mini_infer_worker(ptr %first) nounwind {{
  %number = ptrtoint ptr %first to i64
  br label %idle
idle:
  %seen = phi i32 [ 0, %0 ], [ %found, %go ]
{_wait("idle", _TURN, "ne", "%seen", _SLEEPERS, CALLED)}
  call void @mini_infer_take(i32 %found, i64 %number)
  br label %idle
}}
"""
