"""Runs that end before they are through: cancelled, or over their time limit. Those here would never end otherwise."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import pytest
from endless_models import FOR_EVER, MODELS, end_threads, endless, rounds
from engine_cases import engine, inputs

import mini_infer as mi
from mini_infer.runtime.asynchronous.cancellation import RunControl

SHORT = 0.02  # seconds
everywhere = pytest.mark.parametrize("threads", [1, 2])
each_loop = pytest.mark.parametrize("name", MODELS)


@everywhere
@each_loop
def test_a_run_ends_when_its_time_is_up(name: str, threads: int) -> None:
    """From within a loop, also where several threads do its calls; the next run is as ever."""
    model = endless(name, threads)
    assert model.plan.threads == threads
    expected = model(rounds(3))
    context = model.plan.create_execution_context()
    for run in (model.run, context.run):
        with pytest.raises(mi.TimeLimitError, match=r"^the run took longer than its time limit of 0\.02 s"):
            run(rounds(FOR_EVER), time_limit=SHORT)
        for limit in (None, 3600, 1e12):
            np.testing.assert_array_equal(run(rounds(3), time_limit=limit)["y"], expected["y"])
    np.testing.assert_array_equal(model(rounds(3))["y"], expected["y"])


@everywhere
@each_loop
def test_a_run_is_cancelled(name: str, threads: int) -> None:
    model = endless(name, threads)
    expected = model(rounds(3))
    handle = model.submit(rounds(FOR_EVER))
    assert not handle.wait(SHORT) and not handle.done() and handle.running()
    assert handle.cancel()
    with pytest.raises(mi.RunCancelledError, match=r"^the run was cancelled"):
        handle.result()
    assert handle.done() and handle.cancelled() and not handle.cancel()
    np.testing.assert_array_equal(model.submit(rounds(3)).result()["y"], expected["y"])
    end_threads(model)


def test_bound_buffers_have_a_time_limit() -> None:
    context = endless("a loop of so many rounds").plan.create_execution_context()
    count, y = np.array(FOR_EVER), np.zeros((8, 16), np.float32)
    context.bind_input("n", count)
    context.bind_input("x", rounds(0)["x"])
    context.bind_output("y", y)
    with pytest.raises(mi.TimeLimitError):
        context.execute(time_limit=SHORT)
    count[...] = 3
    context.execute(time_limit=3600)
    np.testing.assert_array_equal(y, endless("a loop of so many rounds")(rounds(3))["y"])


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), True, "1", [1]])
def test_a_time_limit_is_a_number_of_seconds(limit: Any) -> None:
    context = engine("perceptron").plan.create_execution_context()
    calls = (engine("perceptron").run, engine("perceptron").submit, context.run, context.run_tensors)
    for call in calls:
        with pytest.raises(mi.InvalidInputError, match=r"^time_limit is .*; it must be a number of seconds"):
            call(inputs("perceptron"), time_limit=limit)


def test_a_time_limit_that_is_over_starts_nothing() -> None:
    context = endless("a loop of so many rounds").plan.create_execution_context()
    with pytest.raises(mi.TimeLimitError, match=r"its time limit of 1e-09 s") as found:
        context.run(rounds(FOR_EVER), time_limit=1e-9)
    assert isinstance(found.value, TimeoutError) and isinstance(found.value, mi.MiniInferError)


def test_without_points_of_cancellation_the_error_comes_in_the_end() -> None:
    model = mi.compile(endless_text(), threads=1, enable_cancellation=False)
    assert not model.plan.cancellable and endless("a loop of so many rounds").plan.cancellable
    with pytest.raises(mi.TimeLimitError):
        model.run(rounds(1), time_limit=1e-9)
    context, control = model.plan.create_execution_context(), RunControl()
    session = cast("Any", context)._session
    run = session.run

    def cancelled(*given: Any) -> Any:
        control.cancel()
        return run(*given)

    session.run = cancelled
    with pytest.raises(mi.RunCancelledError):
        context.run_ordered([*rounds(5).values()], control)


def endless_text() -> Any:
    from text_models import model_of

    return model_of(MODELS["a loop of so many rounds"])


def test_a_late_cancellation_reaches_no_later_run() -> None:
    """A control has a word of its own, whatever runs next."""
    context = endless("a loop of so many rounds").plan.create_execution_context()
    control = RunControl()
    first = context.run_ordered([*rounds(2).values()], control)
    control.cancel()
    np.testing.assert_array_equal(context.run_ordered([*rounds(2).values()])[0], first[0])
    with pytest.raises(mi.RunCancelledError):
        context.run_ordered([*rounds(2).values()], control)


@pytest.mark.parametrize("emulator", ["interpreter", "compiled"])
def test_an_emulated_gpu_ends_between_launches(emulator: str) -> None:
    model = mi.compile(endless_chain(), device="cuda-emulated", emulator=emulator)
    context, control = model.plan.create_execution_context(), RunControl()
    assert len(model.plan.launches) > 1
    launched: list[str] = []
    code = cast("Any", model.plan.code)
    if emulator == "interpreter":
        whole = code._kernels
        code._kernels = {name: _Noting(kernel.run, name, launched, control) for name, kernel in whole.items()}
    else:
        program = code._program
        code._program = _Noting(program.run, "", launched, control)
    with pytest.raises(mi.RunCancelledError):
        context.run_ordered([np.ones((4, 8), np.float32)], control)
    assert len(launched) == 1


class _Noting:
    """A kernel, or a program of kernels, whose first run cancels."""

    def __init__(self, run: Any, name: str, launched: list[str], control: RunControl) -> None:
        self._run, self._name, self._launched, self._control = run, name, launched, control

    def run(self, *given: Any, **named: Any) -> None:
        self._launched.append(self._name)
        self._control.cancel()
        self._run(*given, **named)


def endless_chain() -> Any:
    from models.build import ModelBuilder

    b = ModelBuilder("chain")
    x = b.node("Softmax", b.input("x", [4, 8]), axis=1)
    return b.model([b.node("Softmax", b.node("MatMul", x, b.weight(8, 8)), axis=0)])


def test_runs_of_many_threads_end_each_by_itself() -> None:
    """Half of the runs of an engine are cancelled, while the others go on undisturbed."""
    model = endless("a loop of so many rounds", 2)
    expected = {count: model(rounds(count))["y"] for count in (1, 2, 5)}
    barrier = threading.Barrier(6)

    def work(number: int) -> None:
        barrier.wait()
        for count in (1, 2, 5) * 4:
            if number % 2:
                np.testing.assert_array_equal(model.run(rounds(count), time_limit=60)["y"], expected[count])
            else:
                with pytest.raises(mi.TimeLimitError):
                    model.run(rounds(FOR_EVER), time_limit=0.005)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
