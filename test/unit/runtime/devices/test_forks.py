"""A child of a fork goes on, whatever other threads of its parent were doing then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
ROOT = Path(__file__).parents[4]

# `child` tells how a forked process ended: with 0 where `work` gives True, by the alarm (14) where it waits for ever.
PROGRAM = """
import os, signal, threading
import numpy as np
import mini_infer as mi
from models.small import mlp

def child(work):
    pid = os.fork()
    if not pid:
        signal.alarm(60)
        os._exit(0 if work() else 1)
    return os.waitpid(pid, 0)[1]

reached, go_on = threading.Event(), threading.Event()
def hold_up():
    reached.set()
    go_on.wait()
"""
COMPILING = """
engine = mi.compile(mlp(batch="n"), threads=2, enable_dynamic_shapes=True, compile_threads=1)
build = engine._build
def held_up(best):
    if not go_on.is_set() and threading.current_thread() is thread:
        hold_up()
    return build(best)
engine._build = held_up
x = np.ones((3, 20), np.float32)
results = []
thread = threading.Thread(target=lambda: results.append(engine(x)))
thread.start()
reached.wait()
print(child(lambda: engine(x).shape == (3, 5)))
go_on.set()
thread.join()
print(results[0].shape)
"""
IN_LLVM = """
from llvmlite.binding import ffi
mi.compile(mlp(), threads=1, compile_threads=1)
def inside():
    with ffi.lib._lock:
        hold_up()
thread = threading.Thread(target=inside)
thread.start()
reached.wait()
threading.Timer(0.2, go_on.set).start()
print(child(lambda: mi.compile(mlp(), threads=1, compile_threads=1)(np.ones((2, 20), np.float32)).shape == (2, 5)))
"""
HELD_BY_WHO_FORKS = """
from mini_infer.runtime.forks import ForkSafeLock
lock = ForkSafeLock()
with lock:
    status = child(lambda: True)
with lock:
    print(status)
"""

IN_THE_BACKGROUND = """
from concurrent.futures import wait
from endless_models import FOR_EVER, endless, rounds
engine = endless("a loop of so many rounds")
context = engine.plan.create_execution_context()
count, y = np.array(FOR_EVER), np.zeros((8, 16), np.float32)
context.bind_input("n", count)
context.bind_input("x", rounds(0)["x"])
context.bind_output("y", y)
expected = engine(rounds(2))["y"]
enqueued, submitted = context.enqueue(time_limit=3600), engine.submit(rounds(FOR_EVER))
thread = threading.Thread(target=lambda: wait([enqueued]))
thread.start()
while not (enqueued.running() and submitted.running()):
    pass
def work():
    for handle in (enqueued, submitted):
        try:
            handle.result(30)
        except mi.RunCancelledError as error:
            assert "forked" in str(error)
    count[...] = 2
    context.enqueue().result(30)
    assert (y == expected).all()
    assert (context.run(rounds(2))["y"] == expected).all()
    return (engine.submit(rounds(2)).result(30)["y"] == expected).all()
print(child(work))
print(enqueued.done(), submitted.done())
for handle in (enqueued, submitted):
    handle.cancel()
    handle.wait()
context.close()
engine.close()
thread.join()
"""
IN_A_QUEUE = """
from models.small import mlp
engine = mi.compile(mlp(batch="n"), threads=1, profile=mi.OptimizationProfile(dims={"n": (1, 4, 8)}))
x = np.ones((1, 20), np.float32)
queue = engine.batched(max_wait_ms=600_000)
waiting = queue.submit(x)
def work():
    try:
        waiting.result(30)
    except mi.RunCancelledError:
        handles = [queue.submit(x) for _ in range(8)]
        return all(handle.result(30).shape == (1, 5) for handle in handles)
print(child(work))
print(waiting.done())
engine.close()
print(waiting.result(0).shape)
"""
IN_PARTS_OF_OTHER_LIBRARIES = """
from mini_infer.runtime.dynamo.aten_graph import AtenGraph
from mini_infer.runtime.dynamo.graph_code import GraphCode
from mini_infer.runtime.onnxruntime_api.trace_file import TraceFile
graph = GraphCode(AtenGraph(model=b""), mi.EngineConfig(), False, print, print)
trace = TraceFile("trace")
def inside():
    with graph._lock, trace._lock:
        hold_up()
thread = threading.Thread(target=inside)
thread.start()
reached.wait()
def work():
    trace.add_session_event("load", 0)
    with graph._lock:
        return True
print(child(work))
go_on.set()
"""


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (COMPILING, ["0", "(3,", "5)"]),
        (IN_LLVM, ["0"]),
        (HELD_BY_WHO_FORKS, ["0"]),
        (IN_THE_BACKGROUND, ["0", "False", "False"]),
        (IN_A_QUEUE, ["0", "False", "(1,", "5)"]),
        (IN_PARTS_OF_OTHER_LIBRARIES, ["0"]),
    ],
    ids=[
        "another thread compiles",
        "another thread is inside of LLVM",
        "the thread itself holds a lock",
        "runs in the background",
        "requests in a queue",
        "parts that speak to other libraries",
    ],
)
def test_a_child_is_not_held_up(program: str, printed: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "test")])}
    command = [sys.executable, "-c", PROGRAM + program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert (done.stdout.split(), done.returncode) == (printed, 0), done.stderr
