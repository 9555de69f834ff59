"""Runs in the background: handles, coroutines, and whose threads they are; contexts that are in use meanwhile."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from endless_models import FOR_EVER, MODELS, end_threads, endless, rounds
from engine_cases import engine, inputs, lookup
from text_models import model_of

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

NAME = "a loop of so many rounds"
OUTPUT = "perceptron/gemm_4"


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    for name in MODELS:
        end_threads(endless(name))
    before = set(threading.enumerate())
    yield
    for name in MODELS:
        end_threads(endless(name))
    gc.collect()
    for thread in set(threading.enumerate()) - before:
        thread.join(60)  # those of what was freed may be about to end
        assert not thread.is_alive()


class Bound:
    """A context of a model that runs for `count` rounds on bound buffers."""

    def __init__(self, count: int = FOR_EVER) -> None:
        self.context = endless(NAME).plan.create_execution_context()
        self.count, self.y = np.array(count), np.zeros((8, 16), np.float32)
        self.context.bind_input("n", self.count)
        self.context.bind_input("x", rounds(0)["x"])
        self.context.bind_output("y", self.y)


def after(count: int) -> Array:
    return endless(NAME)(rounds(count))["y"]


def fresh() -> mi.Engine:
    """An engine for one test, that may be closed."""
    return mi.compile(model_of(MODELS[NAME]), threads=1)


def test_a_run_is_enqueued() -> None:
    bound = Bound(3)
    for _ in range(3):
        bound.y[...] = 0
        handle = bound.context.enqueue(time_limit=60)
        assert handle.result(60) is None and handle.done() and handle.exception() is None and not handle.cancelled()
        np.testing.assert_array_equal(bound.y, after(3))
    bound.context.close()


def test_an_enqueued_run_is_waited_for_and_stopped() -> None:
    bound = Bound()
    handle = bound.context.enqueue()
    assert not handle.wait(0.01) and repr(handle) == "RunHandle(running)"
    with pytest.raises(TimeoutError) as found:
        handle.result(0.01)
    assert not isinstance(found.value, mi.MiniInferError) and not handle.done()
    assert handle.cancel() and handle.wait()
    with pytest.raises(mi.RunCancelledError):
        handle.result()
    limited = bound.context.enqueue(time_limit=0.02)
    with pytest.raises(mi.TimeLimitError):
        limited.result()
    assert not limited.cancelled() and repr(limited) == "RunHandle(TimeLimitError)"
    bound.count[...] = 2
    bound.context.enqueue().result()
    np.testing.assert_array_equal(bound.y, after(2))


def test_errors_before_a_run_are_raised_at_once() -> None:
    context = engine("perceptron").plan.create_execution_context()
    for _ in range(2):
        with pytest.raises(mi.InvalidInputError, match=r"^nothing is bound to 'x'"):
            context.enqueue()
    np.testing.assert_array_equal(
        context.run(inputs("perceptron"))[OUTPUT], engine("perceptron")(**inputs("perceptron"))
    )


def test_errors_of_a_run_are_raised_by_its_handle() -> None:
    model = engine("lookup")
    context, given = model.plan.create_execution_context(), inputs("lookup")
    given["ids"] = np.array([0, 1, 99, 2, 3])
    for name, array in given.items():
        context.bind_input(name, array)
    for spec in model.plan.outputs:
        context.bind_output(spec.name, np.empty(spec.shape, spec.dtype))
    for handle in (context.enqueue(), model.submit(given)):
        with pytest.raises(mi.InvalidInputError, match="index 99 is outside of a dimension of 8 elements"):
            handle.result()
    end_threads(model)


USES: dict[str, Callable[[Bound], object]] = {
    "execute": lambda bound: bound.context.execute(),
    "enqueue": lambda bound: bound.context.enqueue(),
    "run": lambda bound: bound.context.run(rounds(1)),
    "run_tensors": lambda bound: bound.context.run_tensors(rounds(1)),
    "bind_input": lambda bound: bound.context.bind_input("x", rounds(0)["x"]),
    "bind_output": lambda bound: bound.context.bind_output("y", bound.y),
    "use": lambda bound: bound.context.use(bound.context.plan),
    "close": lambda bound: bound.context.close(),
}


@pytest.mark.parametrize("use", USES)
def test_a_context_is_busy_until_its_run_is_over(use: str) -> None:
    bound = Bound()
    handle = bound.context.enqueue()
    with pytest.raises(mi.BusyError, match=r"^the context runs in another thread"):
        USES[use](bound)
    assert isinstance(mi.BusyError(), mi.InvalidInputError) and not handle.done()
    handle.cancel()
    handle.wait()
    bound.count[...] = 1
    USES[use](bound)


def test_shapes_are_not_set_during_a_run() -> None:
    text = MODELS[NAME].replace("float[8,16] x", "float[N,16] x").replace("float[8,16]", "float[N,16]")
    model = mi.compile(model_of(text.replace("perm = [1, 0]", "perm = [0, 1]")), dims={}, threads=1, **PROFILE)
    context = model.plan.create_execution_context()
    context.set_shapes({"n": (), "x": (4, 16)})
    context.bind_input("n", np.array(FOR_EVER))
    context.bind_input("x", np.ones((4, 16), np.float32))
    context.bind_output("y", np.empty((4, 16), np.float32))
    handle = context.enqueue()
    for again in ((5, 16), (4, 16)):
        with pytest.raises(mi.BusyError):
            context.set_shapes({"n": (), "x": again})
    handle.cancel()
    handle.wait()
    context.set_shapes({"n": (), "x": (5, 16)})


PROFILE: dict[str, Any] = {"profile": mi.OptimizationProfile(dims={"N": (1, 4, 8)})}


def test_threads_that_race_for_a_context_run_it_one_at_a_time() -> None:
    """Of threads that start at once each has the right result, or is told that the context is busy."""
    model = engine("perceptron", threads=1)
    context = model.plan.create_execution_context()
    given = [inputs("perceptron", seed) for seed in range(4)]
    expected = [model(each)[OUTPUT] for each in given]
    inside, most, busy = [0], [0], [0] * 4
    session = cast("Any", context)._session
    run = session.run_taken

    def counted(*buffers: Any) -> Any:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        try:
            return run(*buffers)
        finally:
            inside[0] -= 1

    session.run_taken = counted
    barrier = threading.Barrier(4)

    def work(number: int) -> int:
        done = 0
        for _ in range(300):
            barrier.wait()
            try:
                found = context.run(given[number])[OUTPUT]
            except mi.BusyError:
                busy[number] += 1
            else:
                np.testing.assert_array_equal(found, expected[number])
                done += 1
        return done

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(work, range(4)))
    assert sum(done) + sum(busy) == 1200 and sum(done) >= 300 and most[0] == 1


@pytest.mark.parametrize("timeout", ["1", True, float("nan"), float("inf"), 1e300, [1]])
def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:
    handle = endless(NAME).submit(rounds(1))
    for wait in (handle.wait, handle.result, handle.exception):
        with pytest.raises(mi.InvalidInputError, match=r"^timeout is .*; it must be a number of seconds, or None"):
            wait(timeout)
    assert handle.wait(60) and handle.wait(-1)


def test_handles_are_futures() -> None:
    model = endless(NAME)
    quick, slow = model.submit(rounds(1)), endless("a loop until something holds").submit(rounds(FOR_EVER))
    called: list[Any] = []
    slow.add_done_callback(called.append)
    done, pending = wait_for([quick, slow], return_when=FIRST_COMPLETED, timeout=60)
    assert done == {quick} and pending == {slow} and not called
    slow.cancel()
    slow.wait()
    wait_for([slow], timeout=60)
    assert isinstance(slow.exception(), mi.RunCancelledError)


def test_what_waits_for_a_thread_is_cancelled_and_expires_at_once() -> None:
    model = endless(NAME)
    running = [model.submit(rounds(FOR_EVER)) for _ in range(64)]  # more than there are threads
    waiting, limited = model.submit(rounds(1)), model.submit(rounds(1), time_limit=0.01)
    with pytest.raises(mi.TimeLimitError, match=r"^the run was not over within its time limit of 0\.01 s"):
        limited.result()
    assert waiting.cancel() and waiting.done()
    with pytest.raises(mi.RunCancelledError, match=r"^the run was cancelled before it started"):
        waiting.result()
    for each in running:
        each.cancel()
    wait_for(running, timeout=60)
    assert all(each.cancelled() for each in running)


def test_an_engine_runs_beside_an_event_loop() -> None:
    async def runs() -> list[Any]:
        model, ticks = endless(NAME), 0
        slow = asyncio.create_task(model.run_async(rounds(FOR_EVER)))
        while ticks < 5:
            await asyncio.sleep(0.001)
            ticks += 1
        assert not slow.done()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        with pytest.raises(mi.TimeLimitError):
            await model.run_async(rounds(FOR_EVER), time_limit=0.02)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await model.run_async(**cast("Any", rounds(FOR_EVER)))
        return list(await asyncio.gather(*(model.run_async(rounds(count), time_limit=60) for count in range(8))))

    for count, found in enumerate(asyncio.run(runs())):
        np.testing.assert_array_equal(found["y"], after(count))


def test_a_call_in_a_coroutine_is_as_any() -> None:
    """Arrays by position, by keyword, or in a mapping; and the same errors."""
    given = inputs("lookup")
    model = mi.compile(lookup(), threads=1)
    expected = model(given)
    runs = (model.run_async(given), model.run_async(**cast("Any", given)), model.run_async(*given.values()))

    async def all_of(*awaited: Any) -> list[Any]:
        return list(await asyncio.gather(*awaited, return_exceptions=True))

    by_name, *others = asyncio.run(all_of(*runs))
    assert by_name.keys() == expected.keys() and all(isinstance(each, tuple) for each in others)
    for found in (by_name.values(), *others):
        for one, other in zip(found, expected.values(), strict=True):
            np.testing.assert_array_equal(one, other)
    errors = asyncio.run(all_of(model.run_async(1), model.run_async(given, time_limit=0), model.run_async(a=1)))
    assert [type(each) for each in errors] == [mi.InvalidInputError] * 3
    wrong = given["ids"], given["ids"].astype(np.float32)
    with pytest.raises(mi.InvalidInputError, match=r"^input 'scale' has shape"):
        model.run(*wrong)
    handle = model.submit(*wrong)
    with pytest.raises(mi.InvalidInputError, match=r"^input 'scale' has shape"):
        handle.result()
    model.close()


def test_closing_waits_for_what_was_submitted() -> None:
    model = fresh()
    handles = [model.submit(rounds(count)) for count in range(20)]
    model.close()
    expected = [after(count) for count in range(20)]
    for handle, array in zip(handles, expected, strict=True):
        assert handle.done()
        np.testing.assert_array_equal(handle.result()["y"], array)
    for call in (model.submit, model.run, model.batched):
        with pytest.raises(mi.InvalidInputError, match=r"^the engine is closed"):
            call()
    model.close()


def test_an_engine_may_be_closed_by_one_of_its_threads() -> None:
    model, closed = fresh(), threading.Event()

    def close(_: Any) -> None:
        model.close()
        closed.set()

    model.submit(rounds(1)).add_done_callback(close)
    assert closed.wait(60)
    assert repr(model) == "Engine(closed)"


def test_threads_end_with_what_they_are_of() -> None:
    bound = Bound(1)
    bound.context.enqueue().result()
    assert any(thread.name.startswith("mini_infer") for thread in threading.enumerate())


PROGRAM = """
import sys
from endless_models import FOR_EVER, MODELS, rounds
from text_models import model_of
import mini_infer as mi

model = mi.compile(model_of(MODELS["a loop of so many rounds"]), threads=1)
run = model.submit(rounds(FOR_EVER if "cancel" in sys.argv else 100_000))
run.add_done_callback(lambda over: print("cancelled" if over.cancelled() else "done", flush=True))
try:
    if "raise" in sys.argv:
        raise KeyboardInterrupt
    sys.exit(3)
finally:
    if "cancel" in sys.argv:
        run.cancel()
"""


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("words", "told"),
    [((), "done"), (("raise",), "done"), (("cancel",), "cancelled"), (("cancel", "raise"), "cancelled")],
)
def test_the_interpreter_waits_for_what_was_not_cancelled(words: tuple[str, ...], told: str) -> None:
    tests = str(Path(__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, tests]), "MINI_INFER_CACHE": "off"}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, timeout=60, env=environment
    )
    assert ended.stdout == f"{told}\n"
    assert ended.returncode == (-2 if "raise" in words else 3), ended.stderr
