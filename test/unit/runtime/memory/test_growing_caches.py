"""Caches grow where they are: addresses are reserved for all tokens, and a page takes memory once one lies in it."""

from __future__ import annotations

import ctypes
import gc
import mmap
import re
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.limits import memory_bytes
from mini_infer.runtime.memory import allocators, kv_cache_memory
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine
from mini_infer.tools.demos.llama import LlamaSizes, llama, past_names, present_names
from mini_infer.tools.demos.quantised_llama import BlockWeights, quantised_llama

SIZES = LlamaSizes(vocabulary=50, hidden=64, inner=40, layers=2, heads=4, key_heads=2, capacity=32768)
CACHES = dict(zip(past_names(SIZES.layers), present_names(SIZES.layers), strict=True))
PASTS = past_names(SIZES.layers)
ROW = SIZES.key_heads * SIZES.size * 4  # bytes of a token in a cache
Feed = Callable[[int, int], dict[str, Array]]


def by_attention(tokens: int, past: int) -> dict[str, Array]:
    """The inputs besides caches of so many tokens behind others."""
    numbers = np.arange(past, past + tokens, dtype=np.int64)[None]
    return {"input_ids": numbers % SIZES.vocabulary, "position_ids": numbers}


def by_mask(tokens: int, past: int) -> dict[str, Array]:
    ids = np.arange(past, past + tokens, dtype=np.int64)[None] % SIZES.vocabulary
    return {"input_ids": ids, "attention_mask": np.ones((1, past + tokens), np.int64)}


@cache
def attention_engine(most: int = SIZES.capacity - 64) -> DynamicEngine:
    dims = {"batch": (1, 1, 1), "sequence": (1, 1, 64), "past": (0, 64, most)}
    profile = mi.OptimizationProfile(dims=dims)
    return cast("DynamicEngine", mi.compile(llama("attention", SIZES), 1, profile=profile, caches=CACHES))


@cache
def builder_engine() -> DynamicEngine:
    dims = {"batch_size": (1, 1, 1), "sequence_length": (1, 1, 64)}
    dims |= {"past_sequence_length": (0, 64, SIZES.capacity - 1), "total_sequence_length": (1, 65, SIZES.capacity)}
    model = quantised_llama(SIZES, BlockWeights(accuracy_level=1))
    profile = mi.OptimizationProfile(dims=dims)
    return cast("DynamicEngine", mi.compile(model, threads=1, profile=profile, caches=CACHES))


def empty() -> dict[str, Array]:
    return dict.fromkeys(PASTS, np.zeros((1, SIZES.key_heads, 0, SIZES.size), np.float32))


def resident(memory: Array) -> int:
    """The bytes of the pages of an array's memory that are resident."""
    page = mmap.PAGESIZE
    start = memory.ctypes.data // page * page
    pages = -(-(memory.ctypes.data + memory.nbytes - start) // page)
    told = (ctypes.c_ubyte * pages)()
    if ctypes.CDLL(None).mincore(ctypes.c_void_p(start), ctypes.c_size_t(pages * page), told):
        pytest.skip("the system doesn't tell which pages are resident")
    return sum(each & 1 for each in told) * page


def anonymous_bytes() -> int:
    """The bytes of resident memory of this process that no file has."""
    gc.collect()
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024


def most_resident(tokens: int) -> int:
    """A bound of what so many tokens take in a cache: whole pages for each head, at both ends."""
    whole = -(-tokens * SIZES.size * 4 // mmap.PAGESIZE) + 1
    return SIZES.key_heads * whole * mmap.PAGESIZE


@pytest.mark.skipif(sys.platform != "linux", reason="pages are told of otherwise")
@pytest.mark.parametrize(("make", "feed"), [(attention_engine, by_attention), (builder_engine, by_mask)])
def test_tokens_take_pages_and_nothing_moves(
    make: Callable[[], DynamicEngine], feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[kv_cache_memory.CacheBuffer] = []
    plain = kv_cache_memory.CacheBuffer.__init__

    def noted(buffer: kv_cache_memory.CacheBuffer, cache: Any) -> None:
        plain(buffer, cache)
        made.append(buffer)

    monkeypatch.setattr(kv_cache_memory.CacheBuffer, "__init__", noted)
    engine = make()
    given: Mapping[str, Array] = empty()
    addresses: set[tuple[int, ...]] = set()
    for past, tokens in ((0, 60), *((past, 1) for past in range(60, 100))):
        out = engine({**feed(tokens, past), **given})
        given = {name: out[CACHES[name]] for name in PASTS}
        addresses.add(tuple(each.ctypes.data for each in given.values()))
    assert len(made) == len(PASTS) and len(addresses) == 1
    for buffer in made:
        assert buffer.array().nbytes == SIZES.capacity * ROW
        assert 100 * ROW <= resident(buffer.array()) <= most_resident(100)


def test_what_a_step_writes_does_not_grow_with_the_past() -> None:
    """But scratch, and masks of a row for each token."""
    for engine, feed in ((attention_engine(), by_attention), (builder_engine(), by_mask)):
        written: list[int] = []
        for past in (100, 20_000):
            shapes = dict.fromkeys(PASTS, (1, SIZES.key_heads, past, SIZES.size))
            shapes |= {name: each.shape for name, each in feed(1, past).items()}
            tensors = engine.plan_for(shapes).memory.tensors
            made = [each for each in tensors if each.kernel and each.role != "scratch" and each.dtype == "float32"]
            written.append(sum(each.bytes for each in made if not each.inplace and each.shape[-1] != past + 1))
        assert written[0] == written[1]


def test_reserved_addresses_take_memory_once_used() -> None:
    """They may be more than the machine has memory."""
    with suppress(OSError), open("/proc/sys/vm/overcommit_memory") as policy:
        if policy.read().strip() == "2":
            pytest.skip("no more may be reserved than there is")
    nbytes = 4 * memory_bytes() // 4096 * 4096
    storage = mi.Storage(nbytes, alignment=64, allocator="reserved")
    assert storage.address % 64 == 0 and storage.capacity == nbytes
    storage.data[[0, nbytes // 2, nbytes - 1]] = 7
    part = storage.data[: 1 << 22]
    assert resident(part) == mmap.PAGESIZE
    assert not part[1:].any() and storage.data[nbytes // 2] == 7


@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="no huge pages here")
def test_long_runs_have_huge_pages_behind_as_much_as_one() -> None:
    huge, run = allocators.HUGE_PAGE, 5 * allocators.HUGE_PAGE + 4096
    memory = allocators.reserved_pages(3 * run, 64, run)
    for start in range(0, 3 * run, run):
        memory[start : start + huge] = 1  # none of them in huge pages
    assert resident(memory) <= 3 * (huge + 2 * mmap.PAGESIZE)
    memory[:] = 2
    assert resident(memory) <= memory.nbytes + 2 * mmap.PAGESIZE and (memory == 2).all()
    flags = {line.split(":")[1].strip() for line in mappings_of(memory) if line.startswith("VmFlags")}
    assert any(" hg" in each for each in flags) and any(" nh" in each for each in flags)


def mappings_of(memory: Array) -> list[str]:
    """What the kernel tells of the mappings in which an array lies."""
    low, high, inside, found = memory.ctypes.data, memory.ctypes.data + memory.nbytes, False, list[str]()
    with open("/proc/self/smaps") as lines:
        for line in lines:
            if span := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
                inside = int(span[1], 16) < high and low < int(span[2], 16)
            if inside:
                found.append(line)
    return found


def test_a_bound_cache_may_lie_in_reserved_addresses() -> None:
    engine = attention_engine()
    context = engine.create_context()
    rooms = {name: engine.plan.room(name) for name in PASTS}
    bound = {name: mi.Tensor.empty(room.shape, room.dtype, allocator="reserved") for name, room in rooms.items()}
    logits = np.zeros((1, 1, SIZES.vocabulary), np.float32)
    given, wanted = empty(), None
    for past in range(8):
        fed = by_attention(1, past)
        shapes = {name: each.shape for name, each in fed.items()}
        context.set_shapes(shapes | dict.fromkeys(PASTS, (1, SIZES.key_heads, past, SIZES.size)))
        for name, value in {**fed, **(bound if past == 0 else {})}.items():
            context.bind_input(name, value)
        context.bind_output("logits", logits)
        context.execute()
        out = engine({**fed, **given})
        given, wanted = {name: out[CACHES[name]] for name in PASTS}, out["logits"]
    np.testing.assert_array_equal(logits, wanted)
    for name, value in given.items():
        np.testing.assert_array_equal(bound[name].numpy()[:, :, :8], value)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is told of otherwise")
def test_ten_thousand_tokens_take_the_memory_of_their_caches() -> None:
    """And a step allocates no array."""
    last, warm = 10_000, 1_000
    context = attention_engine(last).create_context()
    rooms = {name: mi.Tensor.empty(context.plan.room(name).shape, np.float32, allocator="reserved") for name in PASTS}
    logits = np.zeros((1, 1, SIZES.vocabulary), np.float32)
    anonymous, before = dict[int, int](), 0
    for past in range(last + 1):
        fed = by_attention(1, past)
        shapes = {name: each.shape for name, each in fed.items()}
        context.set_shapes(shapes | dict.fromkeys(PASTS, (1, SIZES.key_heads, past, SIZES.size)))
        for name, value in {**fed, **(rooms if past == 0 else {})}.items():
            context.bind_input(name, value)
        context.bind_output("logits", logits)
        if past == last:
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
        context.execute()
        if past == last:
            taken = tracemalloc.get_traced_memory()[1] - before
            tracemalloc.stop()
            assert taken < 4096, "a few objects of Python"
        if past in (warm, last):
            anonymous[past] = anonymous_bytes()
    grown = anonymous[last] - anonymous[warm]
    assert grown <= (last - warm) * ROW * len(PASTS) + 2**19
    assert np.isfinite(logits).all()
