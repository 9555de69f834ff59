"""Allocators by name, external memory within bounds, and deleters that are called once, by the last user."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from engine_cases import engine, inputs
from models.build import ModelBuilder

import mini_infer as mi
from mini_infer.runtime.device import Array, MemoryPart
from mini_infer.runtime.devices.emulated.emulated_device import EmulatedMemory
from mini_infer.runtime.memory import allocators
from mini_infer.runtime.memory.host_memory import aligned_bytes

EMULATED = "cuda-emulated"


class Pool:
    """An allocator that counts: memory full of ones, given out and given back."""

    def __init__(self) -> None:
        self.out: list[int] = []
        self.back: list[int] = []

    def allocate(self, nbytes: int, alignment: int) -> Array:
        memory = aligned_bytes(nbytes + 100, alignment)
        memory[:] = 1
        self.out.append(id(memory))
        return memory

    def deallocate(self, memory: Array) -> None:
        self.back.append(id(memory))


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocators, "_ALLOCATORS", {"hugepages": allocators.Allocator(allocators.huge_pages)})


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    mi.register_allocator("pool", made.allocate, made.deallocate)
    yield made
    gc.collect()
    assert made.back == made.out


def test_a_storage_is_made_by_a_registered_allocator(pool: Pool) -> None:
    storage = mi.Storage(1000, alignment=64, allocator="pool")
    assert (storage.capacity, storage.owned, storage.address % 64) == (1024, True, 0)
    assert not storage.data.any(), "memory is zeroed, whatever the allocator left there"
    assert not pool.back
    del storage
    assert len(pool.back) == 1


def test_memory_goes_back_when_its_last_user_is_gone(pool: Pool) -> None:
    tensor = mi.Tensor.empty([4], np.float32, allocator="pool")
    other, array = tensor.view([2, 2]), tensor.numpy()
    tensor.storage.reset()
    del tensor, other
    assert not pool.back
    array[:] = 3
    part = array[1:3]
    del array
    assert part.sum() == 6 and not pool.back
    del part
    assert len(pool.back) == 1


def test_resize_keeps_alignment_and_allocator(pool: Pool) -> None:
    tensor = mi.Tensor.empty([4], np.float32, alignment=4096, allocator="pool")
    tensor.resize([4000])
    assert (tensor.storage.alignment, tensor.storage.address % 4096, len(pool.out)) == (4096, 0, 2)
    assert len(pool.back) == 1 and not tensor.numpy().any()
    small = mi.Tensor(mi.Storage(8, alignment=8), [2], np.float32)
    small.resize([3])
    assert (small.storage.alignment, small.storage.capacity) == (8, 16)


def test_arenas_are_made_by_an_allocator(pool: Pool) -> None:
    model, plan = engine("perceptron"), engine("perceptron").plan
    given = inputs("perceptron")
    expected = model(given)
    with plan.create_context(allocator="pool") as context:
        assert context.arena.capacity == plan.arena_bytes > 0 and len(pool.out) == 1
        (output,) = context.run(given).values()
        np.testing.assert_array_equal(output, *expected.values())
        assert not pool.back
    assert len(pool.back) == 1
    del context
    context = model.create_context(allocator="pool")
    kept = context.arena
    context.close()
    assert len(pool.back) == 1, "the arena has a user yet"
    del kept
    assert len(pool.back) == 2
    with pytest.raises(mi.ConfigError, match=r"^allocator 'pool' does nothing with an arena that is given"):
        plan.create_execution_context(np.zeros(1 << 16, np.uint8), allocator="pool")


def raising(error: Exception) -> Callable[[int, int], object]:
    def allocate(nbytes: int, alignment: int) -> object:
        raise error

    return allocate


def frozen(nbytes: int, alignment: int) -> Array:
    memory = aligned_bytes(nbytes, alignment)
    memory.flags.writeable = False
    return memory


def too_small(nbytes: int, alignment: int) -> Array:
    return aligned_bytes(nbytes - 1, alignment)


def misaligned(nbytes: int, alignment: int) -> Array:
    return aligned_bytes(nbytes + 1, alignment)[1:]


def no_array(nbytes: int, alignment: int) -> bytearray:
    return bytearray(nbytes + alignment)


def with_gaps(nbytes: int, alignment: int) -> Array:
    return np.zeros((nbytes + alignment, 2))[:, 1]


@pytest.mark.parametrize(
    ("allocate", "kind", "message"),
    [
        (too_small, mi.ConfigError, "returned 255 bytes instead of 256"),
        (misaligned, mi.ConfigError, r"returned memory at 0x\w+01, not aligned to 256 bytes"),
        (frozen, mi.ConfigError, "returned read-only memory"),
        (no_array, mi.ConfigError, "returned no memory for 'cpu': expected a numpy array"),
        (with_gaps, mi.ConfigError, "no memory for 'cpu': borrowed memory must be"),
        (raising(KeyError("slot")), mi.ConfigError, "raised KeyError: 'slot'"),
        (lambda: None, mi.ConfigError, "raised TypeError"),
        (raising(MemoryError()), mi.OutOfMemoryError, "there is no memory for a storage of 256 bytes"),
    ],
    ids=["small", "misaligned", "read-only", "bytearray", "gaps", "raises", "signature", "full"],
)
def test_what_an_allocator_may_not_do(allocate: Any, kind: type[Exception], message: str) -> None:
    mi.register_allocator("bad", allocate)
    with pytest.raises(kind, match=message):
        mi.Storage(200, allocator="bad")


def test_memory_that_is_refused_goes_back() -> None:
    back: list[int] = []
    mi.register_allocator("bad", too_small, lambda memory: back.append(len(memory)))
    with pytest.raises(mi.ConfigError, match="returned 255 bytes"):
        mi.Storage(256, allocator="bad")
    gc.collect()
    assert back == [255]


def test_a_name_is_of_the_last_allocator_and_memory_of_its_own() -> None:
    back: list[str] = []
    mi.register_allocator("one", aligned_bytes, lambda _: back.append("old"))
    storage = mi.Storage(8, allocator="one")
    mi.register_allocator("one", aligned_bytes, lambda _: back.append("new"))
    newer = mi.Storage(8, allocator="one")
    del storage
    assert back == ["old"]
    del newer
    assert back == ["old", "new"]


def test_allocators_are_of_a_device() -> None:
    mi.register_allocator("there", EmulatedMemory, device=EMULATED)
    storage = mi.Storage(100, EMULATED, allocator="there")
    storage.copy_in(np.arange(100, dtype=np.uint8))
    assert storage.capacity == 256 and storage.copy_out(99, 1)[0] == 99 and storage.address % 256 == 0
    with pytest.raises(mi.ConfigError, match=r"^allocator 'there' is for the device 'cuda-emulated', not for 'cpu'"):
        mi.Storage(8, allocator="there")
    with pytest.raises(mi.ConfigError, match=r"no allocator 'their' \(did you mean there\?\); there are 'hugepages', "):
        mi.Storage(8, allocator="their")
    with pytest.raises(mi.ConfigError, match=r"^device 'tpu' is not supported"):
        mi.register_allocator("x", aligned_bytes, device="tpu")


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="no huge pages here")
def test_huge_pages() -> None:
    storage = mi.Storage(5_000_000, alignment=64, allocator="hugepages")
    assert storage.address % allocators.HUGE_PAGE == 0 and not storage.data.any()
    with open("/proc/self/smaps") as maps:
        found = maps.read().partition(f"{storage.address - storage.address % 4096:x}-")
    if found[1]:  # it begins a mapping of its own
        assert " hg" in found[2].partition("VmFlags:")[2].partition("\n")[0]
    wide = mi.Storage(10, alignment=1 << 22, allocator="hugepages")
    assert wide.address % (1 << 22) == 0
    with engine("perceptron").create_context(allocator="hugepages") as context:
        given = inputs("perceptron")
        (output,) = context.run(given).values()
        np.testing.assert_array_equal(output, engine("perceptron")(*given.values()))


def test_a_system_without_huge_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    with pytest.raises(mi.ConfigError, match=r"^allocator 'hugepages' needs Linux's huge pages"):
        mi.Storage(8, allocator="hugepages")


class Deletions(list[object]):
    """What a deleter was given."""

    def __call__(self, memory: object) -> None:
        self.append(memory)


def test_a_deleter_is_called_once_by_the_last_user() -> None:
    gone, buffer = Deletions(), np.arange(64, dtype=np.uint8)
    storage = mi.Storage.borrow(buffer, deleter=gone)
    first, second = mi.Tensor(storage, [4], np.float32), mi.Tensor(storage, [4], np.float32, offset=32)
    exported = np.from_dlpack(second)
    storage.reset()
    del storage, first
    assert not gone
    del second
    assert not gone and exported.tobytes() == buffer[32:48].tobytes()
    del exported
    gc.collect()
    assert len(gone) == 1 and gone[0] is buffer


def test_external_memory_is_replaced_and_bounded() -> None:
    gone, buffer = Deletions(), np.arange(64, dtype=np.uint8)
    storage = mi.Storage(1000)
    tensor = mi.Tensor(storage, [8], np.uint8)
    storage.set_external(buffer, capacity=24, offset=16, deleter=gone)
    assert (storage.capacity, storage.size, storage.owned) == (24, 24, False)
    assert storage.address == buffer.ctypes.data + 16
    np.testing.assert_array_equal(tensor.numpy(), buffer[16:24])
    with pytest.raises(mi.InvalidInputError, match="reaches from 0 to 25, but the storage has 24 bytes"):
        mi.Tensor(storage, [25], np.uint8)
    storage.set_external(buffer, offset=60)
    assert storage.capacity == 4 and gone == [buffer]
    with pytest.raises(mi.InvalidInputError, match="to 8, but the storage has 4 bytes"):
        tensor.numpy()
    storage.set_external(buffer, offset=64)
    assert storage.empty


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"capacity": 65}, "65 bytes at byte 0: the memory has 64 bytes"),
        ({"capacity": 24, "offset": 41}, "24 bytes at byte 41: the memory has 64 bytes"),
        ({"offset": 65}, "0 bytes at byte 65: the memory has 64 bytes"),
        ({"capacity": -1}, "capacity is -1; it must be an integer of at least 0"),
        ({"offset": -1}, "offset is -1; it must be an integer of at least 0"),
    ],
)
@pytest.mark.parametrize("device", ["cpu", EMULATED])
def test_external_memory_stays_inside_of_what_is_given(given: dict[str, int], message: str, device: str) -> None:
    storage, gone = mi.Storage(8, device), Deletions()
    before = storage.address
    memory = np.zeros(64, np.uint8) if device == "cpu" else EmulatedMemory(64, 64)
    with pytest.raises(mi.InvalidInputError, match=f"^{message}"):
        storage.set_external(memory, **given, deleter=gone)
    del memory
    gc.collect()
    assert (storage.address, gone) == (before, []), "memory that is refused stays the caller's"


def test_parts_of_a_devices_memory() -> None:
    gone, whole = Deletions(), mi.Storage(256, EMULATED)
    whole.copy_in(np.arange(256, dtype=np.uint8))
    part = mi.Storage.borrow(whole, EMULATED, capacity=16, offset=32, deleter=gone)
    assert isinstance(part.memory, MemoryPart) and part.address == whole.address + 32 and part.writable
    np.testing.assert_array_equal(part.copy_out(4), np.arange(36, 48))
    part.zero()
    part.copy_in(np.full(2, 7, np.uint8), 14)
    assert whole.copy_out(30, 20).tolist() == [30, 31, *[0] * 14, 7, 7, 48, 49]
    tensor = mi.Tensor(part, [4], np.float32)
    assert tensor.to("cpu").numpy().view(np.uint8)[-1] == 7
    with pytest.raises(mi.InvalidInputError, match=r"^the memory is on 'cuda-emulated' instead of 'cpu'"):
        mi.Storage.borrow(whole)
    del part
    assert not gone
    del tensor
    assert gone == [whole]


def test_a_tensor_is_bound_within_a_capacity() -> None:
    gone, buffer = Deletions(), np.arange(16, dtype=np.float32)
    tensor = mi.Tensor.empty([4], np.float32)
    with pytest.raises(mi.InvalidInputError, match="from 36 to 52, but the storage has 48 bytes"):
        tensor.bind_external(buffer, 36, capacity=48, deleter=gone)
    assert not gone and not tensor.numpy().any()
    tensor.bind_external(buffer, 32, capacity=48, deleter=gone)
    assert tensor.numpy().tolist() == [8, 9, 10, 11] and tensor.capacity == 16
    shared = mi.Storage.borrow(buffer)
    tensor.bind_external(shared, 4, capacity=32)
    assert tensor.storage is not shared and tensor.storage.overlaps(shared) and tensor.capacity == 28
    assert len(gone) == 1 and gone[0] is buffer


def test_an_arena_of_the_caller_goes_back_to_it() -> None:
    gone, plan = Deletions(), engine("perceptron").plan
    memory = aligned_bytes(plan.arena_bytes, plan.alignment)
    context = plan.create_context(mi.Storage.borrow(memory, deleter=gone))
    context.run(inputs("perceptron"))
    assert not gone
    context.close()
    gc.collect()
    assert len(gone) == 1


def test_plans_and_engines_make_and_run_contexts() -> None:
    model = engine("perceptron")
    plan, given = model.plan, inputs("perceptron")
    output = np.zeros(plan.outputs[0].shape, np.float32)
    for made in (plan.create_context(), model.create_context(), model.create_execution_context()):
        assert made.plan is plan
        made.bind_input(plan.input_names[0], *given.values())
        made.bind_output(plan.output_names[0], output)
        output[:] = 0
        plan.execute(made)
        np.testing.assert_array_equal(output, model(*given.values()))
    with pytest.raises(mi.InvalidInputError, match=r"^the context is for another plan"):
        engine("lookup").plan.execute(plan.create_context())
    assert (plan.config, plan.memory.arena_bytes) == (model.config, plan.arena_bytes)
    assert (plan.input_names, plan.output_names) == (model.input_names, model.output_names)


def test_an_arena_that_grows_is_made_by_the_same_allocator(pool: Pool) -> None:
    b = ModelBuilder("rows")
    x = b.node("Softmax", b.node("MatMul", b.input("x", ["n", 8]), b.weight(8, 32)), axis=0)
    made = b.model([b.node("MatMul", x, b.weight(32, 4))])
    model = mi.compile(made, 1, enable_dynamic_shapes=True)
    context = model.plan_for({"x": (2, 8)}).create_context(allocator="pool")
    small = context.arena.capacity
    context.set_shapes({"x": (64, 8)})
    assert context.arena.capacity > small and (len(pool.out), len(pool.back)) == (2, 1)
    given = np.ones((64, 8), np.float32)
    (output,) = context.run({"x": given}).values()
    np.testing.assert_array_equal(output, model(given))
    context.close()


def test_engines_of_ranges_make_contexts_for_all_of_them(pool: Pool) -> None:
    b = ModelBuilder("rows")
    x = b.node("Softmax", b.node("MatMul", b.input("x", ["n", 8]), b.weight(8, 32)))
    made = b.model([b.node("MatMul", x, b.weight(32, 4))])
    model = mi.compile(made, 1, profile=mi.OptimizationProfile(dims={"n": (2, 4, 16)}))
    with model.create_context(allocator="pool") as context:
        for count in (16, 3):
            context.set_shapes({"x": (count, 8)})
            given = np.ones((count, 8), np.float32)
            (output,) = context.run({"x": given}).values()
            np.testing.assert_array_equal(output, model(given))
        assert len(pool.out) == 1, "the arena has room for all of the profile"
