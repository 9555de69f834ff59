"""Do the shares of a stage hang on each other? Is anything touched beside inputs, outputs and the arena?

What threads would do is done through a callback: the shares of each stage in order, in reverse, shuffled, or all at
once. Where a barrier is missing, or two shares write the same bytes, some order gives another result. All memory lies
between untouchable pages and is full of NaN before the run.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, cast

import numpy as np
import pytest
from everything_shared import everything_shared
from fuzz.at_shapes import is_invalid_somewhere
from fuzz.growth import Case
from fuzz.judge import Results, Verdict, same_bits
from graph_runs import guarded

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime import config
from mini_infer.runtime.memory.kv_cache_memory import beginning
from mini_infer.runtime.plan import InferencePlan

THREADS, STEPS = 4, 3
WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)  # team, share, shares, seat
SHARE = ctypes.CFUNCTYPE(None, WORK, ctypes.c_void_p, *[ctypes.c_int64] * 2)  # work, team, shares, seats

Order = Callable[[Callable[[int, int], None], int, int], None]
"""Calls the first argument with every share of so many and a seat of so many, which no other share has meanwhile."""


def _in_order(work: Callable[[int, int], None], shares: int, seats: int) -> None:
    for share in range(shares):
        work(share, share % seats)


def _reversed(work: Callable[[int, int], None], shares: int, seats: int) -> None:
    for share in reversed(range(shares)):
        work(share, 0)


def _shuffled(work: Callable[[int, int], None], shares: int, seats: int) -> None:
    for share in random.Random(shares).sample(range(shares), shares):
        work(share, seats - 1 - share % seats)


def _at_once(work: Callable[[int, int], None], shares: int, seats: int) -> None:
    left: SimpleQueue[int] = SimpleQueue()
    for share in range(shares):
        left.put(share)

    def seat(number: int) -> None:
        with suppress(Empty):
            while True:
                work(left.get_nowait(), number)

    with ThreadPoolExecutor(seats) as pool:
        list(pool.map(seat, range(min(seats, shares))))


ORDERS: Mapping[str, Order] = {
    "in order": _in_order,
    "reversed": _reversed,
    "shuffled": _shuffled,
    "at once": _at_once,
}


def judged_by_shares(case: Case) -> Verdict:
    """Runs a graph with its shares in every order, at each of its shapes, step by step where it has caches."""
    options: dict[str, Any] = {"compile_threads": 1}
    if case.ranges:
        options["profile"] = mi.OptimizationProfile(dims=case.ranges)
    wrong: list[str] = []
    try:
        alone = mi.compile(case.model, threads=1, **options)
        with everything_shared(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(config, "_cores", lambda: THREADS)
            engine = mi.compile(case.model, threads=THREADS, caches=case.caches, **options)
            for inputs in _calls(case, alone):
                shapes = {name: array.shape for name, array in inputs.items()}
                try:
                    wanted = cast("Results", alone(dict(inputs)))
                except mi.InvalidInputError:  # an index that doesn't go with these sizes
                    continue
                plan = engine.plan_for(shapes)
                for number, label in enumerate(ORDERS):
                    found = run_in_order(plan, inputs, ORDERS[label], front=number % 2 == 1)
                    names = [name for name in wanted if not same_bits(wanted[name], found[name])]
                    wrong += [f"shares {label}: {[*shapes.values()]}: {name}: other bits" for name in names]
    except mi.UnsupportedError as error:
        return Verdict(tuple(wrong), refused=str(error))
    except mi.InvalidModelError as error:
        if is_invalid_somewhere(case):
            return Verdict(tuple(wrong), refused=f"{error}: invalid")
        return Verdict((*wrong, f"shares: {error}"))
    except Exception as error:  # whatever it is, a valid graph has found it
        return Verdict((*wrong, f"shares: {type(error).__name__}: {error}"))
    return Verdict(tuple(wrong))


def _calls(case: Case, alone: mi.Engine) -> Iterator[Mapping[str, Array]]:
    """The inputs, those of other shapes, and where there are caches those of the next steps."""
    yield case.inputs
    yield from case.others
    given = case.inputs
    for _ in range(STEPS if case.caches else 0):
        found = cast("Results", alone(dict(given)))
        given = {**given, **{past: found[present] for past, present in case.caches.items()}}
        spans = (case.ranges.get(f"{past}_{axis}") for past in case.caches for axis in range(given[past].ndim))
        sizes = [size for past in case.caches for size in given[past].shape]
        same = [size for past in case.caches for size in case.inputs[past].shape]
        limits = [span[2] if span else size for span, size in zip(spans, same, strict=True)]
        if any(size > limit for size, limit in zip(sizes, limits, strict=True)):
            return
        yield given


def run_in_order(plan: InferencePlan, inputs: Mapping[str, Array], order: Order, *, front: bool = False) -> Results:
    """One run on guarded memory, its shares done as `order` says. With `front`, memory begins where a page ends."""
    context = plan.create_execution_context(guarded(plan.arena_bytes, plan.alignment, front=front))
    rooms: dict[str, Array] = {}
    for number, spec in enumerate(plan.inputs):
        cache = plan.cached.get(number)
        whole = _memory(spec.shape if cache is None else cache.room.shape, spec.dtype, front)
        beginning(whole, spec.shape)[...] = inputs[spec.name]
        context.bind_input(spec.name, whole)
        rooms[spec.name] = whole
    cached = {cache.output: plan.inputs[cache.input].name for cache in plan.caches}
    outputs: dict[str, Array] = {}
    for number, spec in enumerate(plan.outputs):
        if number in cached:
            outputs[spec.name] = rooms[cached[number]]
        else:
            outputs[spec.name] = _memory(spec.shape, spec.dtype, front)
            context.bind_output(spec.name, outputs[spec.name])
    failed: list[BaseException] = []

    def share(work: Callable[[Any, int, int, int], None], team: int, shares: int, seats: int) -> None:
        try:
            order(lambda number, seat: work(team, number, shares, seat), shares, seats)
        except BaseException as error:  # ctypes would print it and go on
            failed.append(error)

    callback, session = SHARE(share), cast("Any", context)._session
    if plan.threads > 1:
        session._helpers, session._share = None, ctypes.cast(callback, ctypes.c_void_p).value
    context.execute()
    if failed:
        raise failed[0]
    return {name: beginning(array, context.output_shape(name)).copy() for name, array in outputs.items()}


def _memory(shape: Sequence[int], dtype: Any, front: bool) -> Array:
    itemsize = np.dtype(dtype).itemsize
    return guarded(int(np.prod(shape)) * itemsize, itemsize, front=front).view(dtype).reshape(shape)
