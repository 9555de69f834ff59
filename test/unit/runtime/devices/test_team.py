"""The threads that help with inferences: who does what, who waits for whom, and what is left of them after fork."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from engine_cases import MODELS, engine, inputs
from everything_shared import everything_shared
from llvm_jit import llvm_ir

import mini_infer
from mini_infer.lowering.loops_to_llvm.runtime_ir import runtime_ir
from mini_infer.runtime.device import Code
from mini_infer.runtime.native.cpu_targets import host_target
from mini_infer.runtime.native.llvmlite_calls import compile_to_object
from mini_infer.runtime.native.loaded_code import loaded
from mini_infer.runtime.native.team import Team, team

TEST = Path(__file__).parents[3]
ROUNDS = 300
# In every round each share adds up what all shares wrote in the round before.
MAIN = f"""
func.func private @share_stage_0(memref<2xi64>, index, index)
func.func private @share_stage_1(memref<2xi64>, index, index)
func.func @main(%a: memref<64xi64>, %b: memref<64xi64>, %n: memref<2xindex>, %team: memref<2xi64>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rounds = arith.constant {ROUNDS} : index
  %shares = memref.load %n[%c0] : memref<2xindex>
  %seats = memref.load %n[%c1] : memref<2xindex>
  scf.for %round = %c0 to %rounds step %c1 {{
    func.call @share_stage_0(%team, %shares, %seats) : (memref<2xi64>, index, index) -> ()
    func.call @share_stage_1(%team, %shares, %seats) : (memref<2xi64>, index, index) -> ()
  }}
  func.return
}}
func.func @stage_0(%a: memref<64xi64>, %b: memref<64xi64>, %share: index, %shares: index, %seat: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %sum = scf.for %i = %c0 to %shares step %c1 iter_args(%s = %zero) -> (i64) {{
    %v = memref.load %a[%i] : memref<64xi64>
    %t = arith.addi %s, %v : i64
    scf.yield %t : i64
  }}
  memref.store %sum, %b[%share] : memref<64xi64>
  func.return
}}
func.func @stage_1(%a: memref<64xi64>, %b: memref<64xi64>, %share: index, %shares: index, %seat: index) {{
  %one = arith.constant 1 : i64
  %modulus = arith.constant 1000003 : i64
  %mine = memref.load %b[%share] : memref<64xi64>
  %next = arith.addi %mine, %one : i64
  %rest = arith.remui %next, %modulus : i64
  memref.store %rest, %a[%share] : memref<64xi64>
  func.return
}}
"""
WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)
SHARE = ctypes.CFUNCTYPE(None, WORK, ctypes.c_void_p, *[ctypes.c_int64] * 2)


@cache
def code() -> Code:
    runtime = runtime_ir(3, {"stage_0": (2, 0), "stage_1": (2, 0)})
    return loaded([compile_to_object(llvm_ir(MAIN), host_target().machine, link=[runtime])])


def rounds(share: int, shares: int, seats: int = 2) -> np.ndarray:
    """What the shares have after all rounds, done by the function at `share`, by so many threads at most."""
    arrays = [np.zeros(64, np.int64), np.zeros(64, np.int64), np.array([shares, seats], np.int64)]
    arrays[0][:shares] = 1
    pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code().address("mini_infer_run"))
    entry(ctypes.addressof(pointers), share)
    return arrays[0]


def expected(shares: int) -> list[int]:
    value = 1
    for _ in range(ROUNDS):
        value = (shares * value + 1) % 1000003
    return [value] * shares + [0] * (64 - shares)


def helped(threads: int) -> Team:
    """The team of this process, with so many threads at least."""
    found = team()
    found.grow(threads)
    return found


@pytest.mark.parametrize("shares", [1, 2, 3, 8, 61])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("seats", [1, 2, 3, 7])
def test_each_share_is_done_once_and_sees_all_of_the_stage_before(shares: int, threads: int, seats: int) -> None:
    own = Team()
    own.grow(threads)
    assert rounds(own.share, shares, seats).tolist() == expected(shares)


def test_who_takes_part_has_a_seat_of_his_own() -> None:
    own = helped(4)
    for seats in (1, 2, 3, 4):
        there, done = [0] * seats, list[int]()

        def work(_: int, share: int, shares: int, seat: int, there: list[int] = there, done: list[int] = done) -> None:
            assert shares == 40
            there[seat] += 1
            assert there[seat] == 1
            time.sleep(0.001)  # others have their turn
            there[seat] -= 1
            done.append(share)

        SHARE(own.share)(WORK(work), None, 40, seats)
        assert sorted(done) == list(range(40))
        assert there == [0] * seats


def test_shares_of_who_is_held_up_are_done_by_others() -> None:
    """The caller has the first half of them, but is as slow as it takes for the helper to do all others."""
    done = list[tuple[int, int]]()
    all_others = threading.Event()

    def work(_: int, share: int, __: int, seat: int) -> None:
        if seat == 0:
            assert all_others.wait(60)
        done.append((share, seat))
        if len(done) >= 7:
            all_others.set()

    SHARE(helped(2).share)(WORK(work), None, 8, 2)
    assert sorted(share for share, _ in done) == list(range(8))
    assert sum(seat == 0 for _, seat in done) <= 1


def test_helpers_that_sleep_are_woken() -> None:
    own = helped(3)
    for _ in range(3):
        time.sleep(0.05)
        assert rounds(own.share, 3).tolist() == expected(3)


@pytest.mark.parametrize("threads, shares", [(2, 2), (8, 40)])
def test_inferences_at_the_same_time_do_not_disturb_each_other(threads: int, shares: int) -> None:
    """Also where there are more threads than cores."""
    own = helped(threads)

    def work(args: int, share: int, shares_now: int, _: int) -> None:
        counts = ctypes.cast(args, ctypes.POINTER(ctypes.c_int64))
        counts[share] += shares // shares_now

    def calls(_: int) -> list[int]:
        counts = (ctypes.c_int64 * shares)()
        for _ in range(100):
            SHARE(own.share)(WORK(work), ctypes.addressof(counts), shares, threads)
        return [sum(counts)]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(calls, range(8))) == [[100 * shares]] * 8


def test_who_has_begun_is_waited_for() -> None:
    begun, log = threading.Event(), list[str]()

    def work(_: int, share: int, shares: int, __: int) -> None:
        assert shares == 2
        if share == 0:  # the caller tries this one first, and leaves the other to the helper
            assert begun.wait(60)
        else:
            begun.set()
            time.sleep(0.2)  # the caller has fallen asleep
            log.append("late")

    SHARE(helped(2).share)(WORK(work), None, 2, 2)
    assert log == ["late"]


def test_who_finds_the_team_at_work_does_his_alone() -> None:
    own, log = helped(2), list[tuple[int, int]]()
    function = SHARE(own.share)

    def inner(_: int, share: int, shares: int, __: int) -> None:
        log.append((share, shares))

    def outer(_: int, share: int, __: int, ___: int) -> None:
        if share == 0:
            function(WORK(inner), None, 2, 2)

    function(WORK(outer), None, 2, 2)
    assert log == [(0, 1)]


def test_a_thread_that_cannot_be_started_is_told_of_and_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Team()

    class Refusing:
        def pthread_create(self, *_: object) -> int:
            return errno.EAGAIN

    monkeypatch.setattr(own, "_process", Refusing())
    with pytest.warns(UserWarning, match=r"thread 2 can't be started: .+; others do its work"):
        own.grow(2)
    assert rounds(own.share, 2).tolist() == expected(2)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks the system for its threads")
def test_a_team_grows_by_what_it_lacks() -> None:
    own, before = Team(), len(list(Path("/proc/self/task").iterdir()))
    for threads, there in ((3, 3), (2, 3), (4, 4), (4, 4)):
        own.grow(threads)
        assert own.threads == there
        assert len(list(Path("/proc/self/task").iterdir())) - before == there - 1


@pytest.mark.thinned(5)
@pytest.mark.parametrize("there", [1, 2, 3])
@pytest.mark.parametrize("name", ["perceptron", "lookup"])
def test_fewer_threads_than_planned_change_no_bit(name: str, there: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the system lets no more be started: the plan is for four, and those who are there do it all."""
    own = Team()
    own.grow(there)
    own.threads = 4

    def team() -> Team:
        return own

    def cores(_: int) -> set[int]:
        return set(range(4))

    monkeypatch.setattr("mini_infer.runtime.native.team.team", team)
    monkeypatch.setattr(os, "sched_getaffinity", cores)
    with everything_shared():
        run = mini_infer.compile(MODELS[name](), threads=4)
    assert run.plan.threads == 4
    for seed in range(20):
        given = inputs(name, seed)
        found, wanted = run(given), engine(name)(given)
        assert list(found) == list(wanted)
        assert all(found[each].tobytes() == wanted[each].tobytes() for each in wanted)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks the system for its threads")
def test_signals_are_left_to_others() -> None:
    helped(2)
    blocked: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread of another test that has just ended
            lines = (task / "status").read_text().splitlines()
            blocked += [int(line.split()[1], 16) for line in lines if line.startswith("SigBlk")]
    assert any(mask >> (signal.SIGINT - 1) & 1 for mask in blocked)
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())


def run_script(text: str) -> str:
    """The output of a script in a process of its own, which must end in time."""
    paths = os.pathsep.join([str(TEST), str(Path(mini_infer.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-W", "ignore", "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


PARENT = """
import os, threading
import numpy as np
from engine_cases import engine, inputs
import mini_infer.runtime.config as config
os.sched_getaffinity = lambda _: {0, 1}
run, x = engine("perceptron", threads=2), inputs("perceptron")["x"]
assert run.plan.threads == 2
y = run(x)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_child_runs_its_parents_engine_and_its_own() -> None:
    child = """
from mini_infer.runtime.native.team import team
stop = threading.Event()
def others():
    while not stop.is_set():
        run(x)
thread = threading.Thread(target=others)
thread.start()
children = []
for _ in range(4):
    pid = os.fork()
    if not pid:
        assert team().threads == 1
        same = np.array_equal(run(x), y)
        assert team().threads == 2
        own = engine("lookup", threads=2)
        own(inputs("lookup"))
        os._exit(0 if same else 1)
    children.append(pid)
statuses = [os.waitpid(pid, 0)[1] for pid in children]
stop.set()
thread.join()
print(statuses, np.array_equal(run(x), y))
"""
    assert run_script(PARENT + child) == "[0, 0, 0, 0] True\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_child_is_not_held_up_by_who_grew_the_team_meanwhile() -> None:
    child = """
from mini_infer.runtime.native.team import team
with team()._lock:
    pid = os.fork()
    if not pid:
        os._exit(0 if np.array_equal(run(x), y) else 1)
print(os.waitpid(pid, 0)[1])
"""
    assert run_script(PARENT + child) == "0\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_pool_of_forked_processes_runs_an_engine() -> None:
    pool = """
import multiprocessing
def work(_):
    return np.array_equal(run(x), y)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, range(6)))
"""
    assert run_script(PARENT + pool) == f"{[True] * 6}\n"
