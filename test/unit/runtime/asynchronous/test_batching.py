"""Requests that are joined to batches: whose result is whose, whose error, and what there is no queue for."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
import request_storm
from endless_models import FOR_EVER
from models.build import ModelBuilder
from text_models import model_of, numbers

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

LONG = 600_000.0  # milliseconds: what waits so long is never seen to run
NAMES = ("fixed", "ranges")


@cache
def engine(kind: str) -> mi.Engine:
    """x[n, 5], ids[n] -> rows of a table by ids, and the sums of x, for batches of 4, or of 1 to 6."""
    b = ModelBuilder("columns")
    rows: Any = 4 if kind == "fixed" else "n"
    x, ids = b.input("x", [rows, 5]), b.input("ids", [rows], np.int64)
    model = b.model([b.node("Gather", b.weight(8, 3), ids), b.node("ReduceSum", x, b.ints(1), keepdims=0)])
    options: Any = {} if kind == "fixed" else {"profile": mi.OptimizationProfile(dims={"n": (1, 4, 6)})}
    return mi.compile(model, threads=1, **options)


def request(seed: int, rows: int = 1) -> tuple[Array, Array]:
    return numbers(rows, 5, seed=seed), np.random.default_rng(seed).integers(0, 8, rows)


def expected(*arrays: Array) -> list[Array]:
    """What the model of one row gives for each."""
    x, ids = arrays
    padded = np.zeros((4, 5), np.float32), np.zeros(4, np.int64)
    padded[0][: len(x)], padded[1][: len(x)] = x, ids
    return [array[: len(x)] for array in engine("fixed")(*padded)]


def assert_is_right(found: Any, *arrays: Array) -> None:
    for one, other in zip(found, expected(*arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("kind", NAMES)
def test_requests_are_joined(kind: str) -> None:
    """As long as it waits for others, a batch runs as soon as it is full, and what is left when the queue closes."""
    with engine(kind).batched(max_batch=4, max_wait_ms=LONG) as queue:
        given = [request(seed, rows) for seed, rows in enumerate((1, 2, 1, 3, 1, 2))]
        handles = [queue.submit(*each) for each in given]
        for each, handle in zip(given[:5], handles, strict=False):
            assert_is_right(handle.result(60), *each)
        assert not handles[5].wait(0.01)
        assert repr(queue) == "BatchingQueue(up to 4 rows, 1 requests wait)"
    assert_is_right(handles[5].result(0), *given[5])
    told = queue.statistics
    assert (told.requests, told.answered, told.batches, told.mean_batch) == (6, 6, 3, 10 / 3)
    assert 0 < told.p50_ms <= told.p99_ms
    assert repr(queue) == "BatchingQueue(closed)"


@pytest.mark.parametrize("kind", NAMES)
def test_results_are_as_those_of_a_call(kind: str) -> None:
    """By name for a mapping, also of requests that were joined with others; and independent of each other."""
    x, ids = request(1)
    with engine(kind).batched(max_batch=4, max_wait_ms=LONG) as queue:
        calls = [
            queue.submit({"x": x, "ids": ids}),
            queue.submit(x, ids),
            queue.submit(x, ids=ids),
            queue.submit(x.tolist(), [int(ids[0])]),
        ]
        by_name, *others = [call.result(60) for call in calls]
    assert list(by_name) == list(engine(kind).output_names)
    for found in (tuple(by_name.values()), *others):
        assert isinstance(found, tuple)
        assert_is_right(found, x, ids)
    others[0][0][...] = 0
    assert_is_right(others[1], x, ids)
    assert others[0][0].base is None


def test_a_queue_takes_as_many_rows_as_the_engine() -> None:
    assert [engine(kind).batched(max_batch=100).max_batch for kind in NAMES] == [4, 6]
    assert engine("ranges").batched(max_batch=2).max_batch == 2


def test_one_request_at_a_time_is_a_call() -> None:
    with engine("ranges").batched(max_wait_ms=0) as queue:
        for seed in range(5):
            assert_is_right(queue(*request(seed)), *request(seed))
        assert queue.statistics.mean_batch == 1


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((numbers(1, 6), np.zeros(1, np.int64)), r"input 'x' has shape \[1, 6\] instead of|dimension 1 is 6"),
        ((numbers(1, 5), np.zeros(1, np.int32)), r"input 'ids' has type int32 instead of int64"),
        ((numbers(1, 5), np.zeros(2, np.int64)), r"inputs have different numbers of rows: \[1, 2\]"),
        ((numbers(5), np.zeros(5, np.int64)), r"input 'x' has shape \[5\] instead of"),
        ((np.float32(1), np.int64(1)), r"input 'x' has shape \[\] instead of"),
        ((numbers(0, 5), np.zeros(0, np.int64)), r"a request has 0 rows; it may have 1 to 4"),
        ((numbers(5, 5), np.zeros(5, np.int64)), r"a request has 5 rows; it may have 1 to 4"),
        ((numbers(1, 5),), r"input 'ids' is missing"),
    ],
)
def test_a_wrong_request_is_refused_by_itself(kind: str, arrays: Any, message: str) -> None:
    with engine(kind).batched(max_batch=4, max_wait_ms=LONG) as queue:
        before = queue.submit(*request(1))
        with pytest.raises(mi.InvalidInputError, match=f"^({message})|{message}"):
            queue.submit(*arrays)
        after = queue.submit(*request(2, 3))
        assert_is_right(before.result(60), *request(1))
        assert_is_right(after.result(60), *request(2, 3))
    assert queue.statistics.requests == 2


@pytest.mark.parametrize("kind", NAMES)
def test_an_error_of_a_run_is_that_of_its_request(kind: str) -> None:
    x, ids = request(7)
    with engine(kind).batched(max_batch=4, max_wait_ms=LONG) as queue:
        handles = [queue.submit(x, ids + wrong) for wrong in (0, 100, 0, 200)]
        for handle, index in ((handles[1], ids[0] + 100), (handles[3], ids[0] + 200)):
            with pytest.raises(mi.InvalidInputError, match=f"index {index} is outside of a dimension of 8 elements"):
                handle.result(60)
        for handle in (handles[0], handles[2]):
            assert_is_right(handle.result(60), x, ids)
    told = queue.statistics
    assert (told.answered, told.failed, told.batches) == (2, 2, 5)


def test_what_waits_is_cancelled_and_expires() -> None:
    with engine("fixed").batched(max_wait_ms=LONG) as queue:
        handles = [queue.submit(*request(seed)) for seed in range(2)]
        limited = queue.submit(*request(2), time_limit=1e-9)
        assert handles[0].cancel() and handles[0].cancelled() and not handles[0].cancel()
        with pytest.raises(mi.RunCancelledError):
            handles[0].result()
        with pytest.raises(mi.TimeLimitError, match=r"^the run was not over within its time limit of 1e-09 s"):
            limited.result()
    assert_is_right(handles[1].result(0), *request(1))
    told = queue.statistics
    assert (told.answered, told.cancelled, told.expired, told.mean_batch) == (1, 1, 1, 1)


def test_a_request_with_little_time_has_its_batch_run() -> None:
    """At half of its time limit, whatever the queue would wait for; the requests before it go along."""
    with engine("fixed").batched(max_wait_ms=LONG) as queue:
        first, second = queue.submit(*request(1)), queue.submit(*request(2), time_limit=0.2)
        assert_is_right(second.result(), *request(2))
        assert_is_right(first.result(60), *request(1))


@cache
def endless() -> mi.Engine:
    """x[n, 8], n[n] -> x after as many rounds as the largest of n."""
    text = """
    g (int64[R] n, float[R,8] x) => (float[R,8] y) {
      most = ReduceMax <keepdims = 0> (n)
      y = Loop (most, , x) <
        body = b (int64 i, bool on, float[R,8] before) => (bool go, float[R,8] after) {
          go = Identity(on)
          after = Softmax <axis = 1> (before)
        }
      >
    }"""
    return mi.compile(model_of(text), threads=1, profile=mi.OptimizationProfile(dims={"R": (1, 2, 4)}))


def rows(*counts: int) -> tuple[Array, Array]:
    return np.array(counts), np.ones((len(counts), 8), np.float32)


def test_a_run_ends_once_nobody_waits_for_it() -> None:
    """One of three is answered by the error of the two others' cancellation, when its own time is up."""
    with endless().batched(max_batch=3, max_wait_ms=LONG) as queue:
        first, second = queue.submit(*rows(FOR_EVER)), queue.submit(*rows(1))
        third = queue.submit(*rows(1), time_limit=0.05)
        with pytest.raises(mi.TimeLimitError):
            third.result()
        assert not first.wait(0.01)
        assert first.cancel() and first.done() and not second.done()
        assert second.cancel()
        assert queue.submit(*rows(1, 1, 1)).result(60).shape == (3, 8)


def test_a_run_ends_with_the_last_time_limit() -> None:
    with endless().batched(max_batch=2, max_wait_ms=LONG) as queue:
        handles = [queue.submit(*rows(FOR_EVER), time_limit=limit) for limit in (0.02, 0.04)]
        for handle in handles:
            with pytest.raises(mi.TimeLimitError):
                handle.result()
        queue.submit(*rows(1, 1)).result(60)
    assert queue.statistics.expired == 2


def test_requests_of_one_shape_are_joined() -> None:
    text = "g (float[N,T] x) => (float[N,T] y) { y = Softmax <axis = 1> (x) }"
    profile = mi.OptimizationProfile(dims={"N": (1, 2, 4), "T": (1, 4, 8)})
    model = mi.compile(model_of(text), threads=1, profile=profile)
    with model.batched(max_batch=2, max_wait_ms=LONG) as queue:
        given = [numbers(1, width, seed=width) for width in (3, 5, 3, 5)]
        handles = [queue.submit(x) for x in given]
        for x, handle in zip(given, handles, strict=True):
            np.testing.assert_allclose(handle.result(60), model(x), rtol=1e-6)
        with pytest.raises(mi.InvalidInputError, match=r"^input 'x': dimension 1 is 9, but must be from 1 to 8"):
            queue.submit(numbers(1, 9))
    assert queue.statistics.batches == 2


def test_an_event_loop_has_its_requests_joined() -> None:
    async def all_of(queue: mi.BatchingQueue) -> list[Any]:
        return list(await asyncio.gather(*(queue.run_async(*request(seed), time_limit=60) for seed in range(12))))

    with engine("ranges").batched(max_batch=6, max_wait_ms=LONG) as queue:
        for seed, found in enumerate(asyncio.run(all_of(queue))):
            assert_is_right(found, *request(seed))
        assert queue.statistics.mean_batch == 6


def test_a_request_of_an_event_loop_is_cancelled_with_its_task() -> None:
    async def lost_and_late(queue: mi.BatchingQueue) -> None:
        lost = asyncio.create_task(queue.run_async(*request(1)))
        while not queue.statistics.requests:
            await asyncio.sleep(0.001)
        lost.cancel()
        with pytest.raises(asyncio.CancelledError):
            await lost
        with pytest.raises(mi.TimeLimitError):
            await queue.run_async(*request(2), time_limit=1e-9)
        with pytest.raises(mi.InvalidInputError):
            await queue.run_async(1, 2)

    with engine("ranges").batched(max_wait_ms=LONG) as queue:
        asyncio.run(lost_and_late(queue))
        told = queue.statistics
    assert (told.requests, told.cancelled, told.expired) == (2, 1, 1)


def test_several_batches_run_at_the_same_time() -> None:
    """While one runs for ever, others go on."""
    with endless().batched(max_batch=1, max_wait_ms=LONG, workers=2) as queue:
        slow = queue.submit(*rows(FOR_EVER))
        for _ in range(10):
            assert queue(*rows(2)).shape == (1, 8)
        assert not slow.done()
        slow.cancel()


def test_a_closed_queue_takes_nothing() -> None:
    model = mi.compile(model_of("g (float[4,3] x) => (float[4,3] y) { y = Relu (x) }"), threads=1)
    queue, other = model.batched(max_wait_ms=LONG), model.batched(max_wait_ms=LONG)
    waiting = other.submit(numbers(1, 3))
    queue.close()
    queue.close()
    with pytest.raises(mi.InvalidInputError, match=r"^the queue is closed"):
        queue.submit(numbers(1, 3))
    model.close()
    assert waiting.result(0).shape == (1, 3)
    with pytest.raises(mi.InvalidInputError, match=r"^the (queue|engine) is closed"):
        other.submit(numbers(1, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_batch": 0}, "max_batch is 0; it must be an integer of at least 1"),
        ({"max_batch": 1.5}, "max_batch is 1.5"),
        ({"workers": 0}, "workers is 0"),
        ({"max_wait_ms": -1}, "max_wait_ms is -1; it must be a number of milliseconds below 3600000"),
        ({"max_wait_ms": float("nan")}, "max_wait_ms is nan"),
        ({"max_wait_ms": "1"}, "max_wait_ms is '1'"),
        ({"max_wait_ms": True}, "max_wait_ms is True"),
    ],
)
def test_options_of_a_queue_are_checked(options: Any, message: str) -> None:
    with pytest.raises(mi.ConfigError, match=f"^{message}"):
        engine("fixed").batched(**options)


def test_what_has_no_rows_has_no_queue() -> None:
    sums = "g (float[4,3] x) => (float[3] y) { a = Constant <value_ints = [0]> () y = ReduceSum <keepdims = 0> (x, a) }"
    with pytest.raises(
        mi.UnsupportedError, match=r"^output y: float32\[3\] has not a row for each of the 4 that go in"
    ):
        mi.compile(model_of(sums), threads=1).batched()
    scalar = "g (float[4,3] x, float z) => (float[4,3] y) { y = Add (x, z) }"
    with pytest.raises(mi.ConfigError, match=r"^inputs need one number of rows, their first axis: x: .*, z: "):
        mi.compile(model_of(scalar), threads=1).batched()
    cached = "g (float[1,3] x, float[1,2] past) => (float[1,5] now) { now = Concat <axis = 1> (past, x) }"
    with pytest.raises(mi.UnsupportedError, match=r"^a model with caches has a state for each caller"):
        mi.compile(model_of(cached), threads=1, caches={"past": "now"}).batched()


def test_a_storm_of_requests() -> None:
    ended, statistics = request_storm.storm(requests=150, threads=6, seed=5)
    assert {name.partition(":")[0] for name in ended} == set(request_storm.KINDS)
    assert statistics.mean_batch > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_long_storm_of_requests(seed: int) -> None:
    request_storm.storm(requests=1000, threads=8, seed=seed)


def test_threads_may_share_a_queue() -> None:
    with engine("ranges").batched(max_wait_ms=1, workers=2) as queue, ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(queue, *request(seed)) for seed in range(60)]
        for seed, future in enumerate(futures):
            assert_is_right(future.result(), *request(seed))
