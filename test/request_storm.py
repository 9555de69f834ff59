"""Requests of many threads to a queue, some of them cancelled and some with too little time.

    PYTHONPATH=.:test .venv/bin/python -m request_storm --requests 1000 --threads 8 --seed 1

Each answer must be right, or the error that was asked for. It prints how they ended, and the queue's latencies, and
fails if a thread is left.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from models.build import ModelBuilder
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

WRONG_TYPE, OUT_OF_RANGE, CANCELLED, LIMITED = "wrong type", "out of range", "cancelled", "limited"
KINDS = ("plain", "plain", "plain", "generous", CANCELLED, CANCELLED, LIMITED, LIMITED, WRONG_TYPE, OUT_OF_RANGE)


def model() -> ModelProto:
    """x[n, 20], ids[n] -> y[n, 5]: rows of a table by ids, added to x, through a perceptron."""
    b = ModelBuilder("rows")
    x, ids = b.input("x", ["n", 20]), b.input("ids", ["n"], np.int64)
    y = b.node("Add", x, b.node("Gather", b.weight(8, 20), ids))
    y = b.node("Relu", b.node("MatMul", y, b.weight(20, 40)))
    y = b.node("Relu", b.node("MatMul", y, b.weight(40, 40)))
    return b.model([b.node("MatMul", y, b.weight(40, 5))])


class Storm:
    """Requests to a queue of one engine, with what is right for each."""

    def __init__(self, engine: mi.Engine, queue: mi.BatchingQueue, seed: int) -> None:
        self._engine, self._queue, self._seed = engine, queue, seed
        self.ended: Counter[str] = Counter()
        self._lock = threading.Lock()

    def request(self, number: int) -> None:
        """One request of a random kind. Raises AssertionError for an answer that is wrong."""
        chance = random.Random(self._seed * 1_000_003 + number)
        kind = chance.choice(KINDS)
        rows = chance.randint(1, 3)
        x = np.random.default_rng(number).standard_normal((rows, 20)).astype(np.float32)
        ids = np.array([chance.randint(0, 7) for _ in range(rows)])
        ended = self._ended(kind, x, ids, chance)
        with self._lock:
            self.ended[f"{kind}: {ended}"] += 1

    def _ended(self, kind: str, x: Array, ids: Array, chance: random.Random) -> str:
        if kind == WRONG_TYPE:
            try:
                self._queue.submit(x.astype(np.float64), ids)
            except mi.InvalidInputError:
                return "refused"
            raise AssertionError("a request of a wrong type was taken")
        limit = {"generous": 120.0, LIMITED: chance.uniform(1e-6, 0.01)}.get(kind)
        if kind == OUT_OF_RANGE:
            ids[-1] = 99
        handle = self._queue.submit(x, ids, time_limit=limit)
        if kind == CANCELLED:
            time.sleep(chance.uniform(0, 0.001))
            handle.cancel()
        try:
            found = handle.result(120)
        except mi.RunCancelledError:
            assert kind == CANCELLED, f"a {kind} request was cancelled"
            return "cancelled"
        except mi.TimeLimitError:
            assert kind == LIMITED, f"a {kind} request expired"
            return "expired"
        except mi.InvalidInputError as error:
            assert kind == OUT_OF_RANGE and "index 99 is outside of a dimension of 8" in str(error), f"{kind}: {error}"
            return "failed"
        assert kind != OUT_OF_RANGE, "an index that is out of range was not told"
        # Rows of other batches are made by other code, and may differ in rounding.
        np.testing.assert_allclose(found, self._engine(x, ids), rtol=1e-5, atol=1e-6)
        return "right"


def storm(requests: int, threads: int, seed: int) -> tuple[Counter[str], mi.QueueStatistics]:
    """How the requests ended, and what the queue tells of them. Raises AssertionError if anything is wrong."""
    profile = mi.OptimizationProfile(dims={"n": (1, 4, 16)})
    engine = mi.compile(model(), threads=2, profile=profile)
    engine(np.zeros((1, 20), np.float32), np.zeros(1, np.int64))
    before, tasks = set(threading.enumerate()), _tasks()
    queue = engine.batched(max_batch=8, max_wait_ms=1)
    made = Storm(engine, queue, seed)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(made.request, range(requests)))
    statistics = queue.statistics
    queue.close()
    engine.close()
    assert set(threading.enumerate()) == before, "a thread of Python's is left"
    until = time.monotonic() + 30  # the system takes a moment to end a thread that Python has joined
    while not _tasks() <= tasks:
        assert time.monotonic() < until, "a thread of the system's is left"
        time.sleep(0.01)
    assert made.ended.total() == requests
    counts = statistics.answered, statistics.cancelled, statistics.expired, statistics.failed
    for count, how in zip(counts, ("right", "cancelled", "expired", "failed"), strict=True):
        assert count == sum(each for name, each in made.ended.items() if name.endswith(how))
    return made.ended, statistics


def _tasks() -> set[str]:
    """The threads of this process; none on systems without /proc."""
    folder = Path("/proc/self/task")
    return set(os.listdir(folder)) if folder.is_dir() else set()


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("requests", 1000), ("threads", 8), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    ended, statistics = storm(given.requests, given.threads, given.seed)
    for how, count in sorted(ended.items()):
        print(f"{how:24}{count:6}")
    print(statistics)
    print(f"p50 {statistics.p50_ms:.2f} ms, p99 {statistics.p99_ms:.2f} ms", file=sys.stderr)


if __name__ == "__main__":
    main()
