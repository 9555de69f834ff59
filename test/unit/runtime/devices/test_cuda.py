"""What is asked of CuPy, in which order and with what, by a stand-in that notes it; the kernels are Python's here."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_cupy import FakeCupy, array_at, fake, text_as_cubin
from gpu_runs import NEEDS_COMPILER
from models.build import SMALL_MODELS, ModelBuilder, wide_lstm
from models.judging import Judge

import mini_infer as mi
from mini_infer.passes.pass_counts import PassStatistics
from mini_infer.runtime.compute_device import compute_device
from mini_infer.runtime.device import Array
from mini_infer.runtime.devices.cuda import cuda_device
from mini_infer.runtime.devices.cuda import cupy_calls as cuda
from mini_infer.runtime.devices.cuda.cuda_session import CudaSession
from mini_infer.runtime.memory import allocators

assert fake  # the fixture
TABLE, IDS = np.arange(30, dtype=np.float32).reshape(5, 6), np.array([1, 4, 0])
EXPECTED = 2 * TABLE[IDS].T
OUTPUT = "lookup/transpose_2"
COMPILED = cuda_device.Cuda.objects  # before the stand-in takes its place


def lookup() -> Any:
    """Rows of what was doubled, as columns: two intermediates in the arena, and indices that are checked."""
    b = ModelBuilder("lookup")
    x, ids = b.input("x", [5, 6]), b.input("ids", [3], np.int64)
    rows = b.node("Gather", b.node("Add", x, x), ids, axis=0)
    return b.model([b.node("Transpose", rows, perm=[1, 0])])


def double(x: int, y: int) -> None:
    array_at(y, [5, 6], np.float32)[...] = 2 * array_at(x, [5, 6], np.float32)


def transpose(x: int, y: int) -> None:
    array_at(y, [6, 3], np.float32)[...] = array_at(x, [3, 6], np.float32).T


def check(ids: int, status: int) -> None:
    for each in array_at(ids, [3], np.int64):
        if each > 4:
            array_at(status, [1], np.int64)[0] = each


def gather(table: int, ids: int, y: int) -> None:
    found = array_at(table, [5, 6], np.float32)[np.minimum(array_at(ids, [3], np.int64), 4)]
    array_at(y, [3, 6], np.float32)[...] = found


KERNELS = {"add_0": double, "gather_0_check_indices": check, "gather_0": gather, "transpose_0": transpose}


@pytest.fixture
def plan(fake: FakeCupy) -> mi.InferencePlan:
    fake.kernels |= KERNELS
    return mi.compile(lookup(), device="cuda", enable_graph_optimization=False).plan


def run(context: mi.ExecutionContext, ids: Array = IDS) -> Array:
    return context.run({"x": TABLE, "ids": ids})[OUTPUT]


def test_first_eagerly_then_captured_then_replayed(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    context = plan.create_execution_context()
    np.testing.assert_array_equal(run(context), EXPECTED)
    names = fake.names()
    assert names.count("launch") == 4 == len(plan.launches)
    first = names.index("launch")
    assert names[first : first + 8] == ["launch", "synchronize"] * 4  # a fault comes out behind its launch
    for expected in (
        # Waits for the caller's stream; copies in, a cleared status, the launches and copies out are one graph.
        "wait_event begin_capture memcpyAsync memcpyAsync memsetAsync launch launch launch launch memcpyAsync "
        "memcpyAsync end_capture graph.launch synchronize",
        "wait_event graph.launch synchronize",
        "wait_event graph.launch synchronize",
    ):
        fake.calls.clear()
        np.testing.assert_array_equal(run(context), EXPECTED)
        assert " ".join(fake.names()) == expected


def test_launches_get_addresses_in_one_arena(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    sizes = [size for (size,) in fake.of("alloc")]
    assert sizes == [plan.weights.nbytes]  # with the plan, once
    assert repr(plan).endswith("on cuda)")
    context = plan.create_execution_context()
    assert [size for (size,) in fake.of("alloc")][1:] == [plan.arena_bytes, 8]
    x, ids = (mi.Tensor.from_array(each).to("cuda") for each in (TABLE, IDS))
    y = mi.Tensor.empty([6, 3], np.float32, device="cuda")
    for name, tensor in (("x", x), ("ids", ids)):
        context.bind_input(name, tensor)
    context.bind_output(OUTPUT, y)
    fake.calls.clear()
    context.execute()
    arena, session = context.arena.address, fake.of("launch")[0][-1]
    launched = fake.of("launch")
    status = launched[1][3][-1]
    assert launched == [
        ("add_0", (1, 1, 1), (64, 1, 1), [x.storage.address, arena], 0, session),
        ("gather_0_check_indices", (1, 1, 1), (128, 1, 1), [ids.storage.address, status], 0, session),
        ("gather_0", (1, 1, 1), (64, 1, 1), [arena, ids.storage.address, arena + 256], 0, session),
        ("transpose_0", (1, 1, 1), (64, 1, 1), [arena + 256, y.storage.address], 0, session),
    ]
    assert [name for name in fake.names() if name == "memcpyAsync"] == ["memcpyAsync"]  # the status
    assert fake.of("wait_event")[0] == (session, 0)
    np.testing.assert_array_equal(y.to("cpu").numpy(), EXPECTED)


def test_other_addresses_are_captured_anew(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    context = plan.create_execution_context()
    context.bind_input("ids", mi.Tensor.from_array(IDS).to("cuda"))
    outputs = [mi.Tensor.empty([6, 3], np.float32, device="cuda") for _ in range(2)]
    for factor in range(1, 4):
        for output in outputs:
            context.bind_input("x", (x := mi.Tensor.from_array(factor * TABLE).to("cuda")))
            context.bind_output(OUTPUT, output)
            for _ in range(2):
                context.execute()
            np.testing.assert_array_equal(output.to("cpu").numpy(), factor * EXPECTED)
            del x
    assert fake.names().count("begin_capture") >= 2
    assert fake.names().count("begin_capture") == fake.names().count("end_capture")


def itself(stream: Any) -> Any:
    return stream


def its_number(stream: Any) -> Any:
    return stream.ptr


class TorchStream:
    """PyTorch's, without `__cuda_stream__`."""

    def __init__(self, stream: Any) -> None:
        self.cuda_stream = stream.ptr


def bound(fake: FakeCupy, plan: mi.InferencePlan) -> tuple[mi.ExecutionContext, Any, Any]:
    """A context whose buffers are bound, with x and y."""
    context = plan.create_execution_context()
    x, ids, y = fake.array(TABLE), fake.array(IDS), fake.array(np.zeros((6, 3), np.float32))
    context.bind_input("x", x)
    context.bind_input("ids", ids)
    context.bind_output(OUTPUT, y)
    context.execute()
    return context, x, y


@pytest.mark.parametrize("given", [itself, its_number, TorchStream])
def test_a_run_is_ordered_in_the_callers_stream(fake: FakeCupy, plan: mi.InferencePlan, given: Any) -> None:
    """What the stream writes before is read, and what it reads later is written; nothing waits on the host."""
    context, x, y = bound(fake, plan)
    stream, seen = fake.caller_stream(), list[Array]()
    for factor in (2, 3, 5):
        stream.put(lambda factor=factor: array_at(x.data.ptr, [5, 6], np.float32).__setitem__(..., factor * TABLE))
        fake.calls.clear()
        handle = context.enqueue(stream=given(stream))
        stream.put(lambda: seen.append(y.seen().copy()))
        assert handle.result(60) is None
        context.execute(stream=given(stream))
        stream.synchronize()
        for array in (y.seen(), seen.pop()):
            np.testing.assert_array_equal(array, factor * EXPECTED)
        own = fake.of("graph.launch")[0][0]
        assert fake.of("wait_event")[:2] == [(own, stream.ptr), (stream.ptr, own)]


def test_a_run_of_the_callers_stream_is_completed(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    """Though it is cancelled or too late: the GPU works on it, and the context is not free before."""
    context, _, y = bound(fake, plan)
    for limit in (None, 1e-6):
        array_at(y.data.ptr, [6, 3], np.float32)[...] = 0
        stream, gate = fake.caller_stream(), threading.Event()
        stream.put(partial(gate.wait, 60))
        handle = context.enqueue(stream=stream, time_limit=limit)
        handle.cancel()
        with pytest.raises(mi.BusyError):
            context.execute()
        gate.set()
        with pytest.raises((mi.RunCancelledError, mi.TimeLimitError)):
            handle.result(60)
        np.testing.assert_array_equal(y.seen(), EXPECTED)
    context.execute()


def test_contexts_overlap(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    """Each has enqueued its launches, on a stream of its own, before another is waited for."""
    contexts = [bound(fake, plan) for _ in range(2)]
    streams, gate = [fake.caller_stream() for _ in contexts], threading.Event()
    for stream in streams:
        stream.put(partial(gate.wait, 60))
    fake.calls.clear()
    handles = [context.enqueue(stream=stream) for (context, _, _), stream in zip(contexts, streams, strict=True)]
    assert len({stream for (stream,) in fake.of("graph.launch")}) == 2 and not any(each.done() for each in handles)
    gate.set()
    for handle, (_, _, y) in zip(handles, contexts, strict=True):
        handle.result(60)
        np.testing.assert_array_equal(y.seen(), EXPECTED)


def test_streams_that_are_captured_or_no_streams(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    context, _, _ = bound(fake, plan)
    stream = fake.caller_stream()
    stream.begin_capture()
    for run_it in (context.execute, context.enqueue):
        with pytest.raises(mi.InvalidInputError, match="the stream is being captured as a CUDA graph"):
            run_it(stream=stream)
    for wrong in ("0", True, -1, object()):
        with pytest.raises(
            mi.InvalidInputError, match=f"must be a CUDA stream or the integer .* {type(wrong).__name__}"
        ):
            context.execute(stream=wrong)
    context.execute()  # is free again
    for device in ("cpu", "cuda-emulated"):
        other = mi.compile(lookup(), device=device).plan
        tensors = [mi.Tensor.from_array(each).to(device) for each in (TABLE, IDS)]
        with pytest.raises(mi.InvalidInputError, match="streams are for NVIDIA GPUs"):
            other.create_context().run_tensors(dict(zip(other.input_names, tensors, strict=True)), stream=stream)


def test_fresh_tensors_are_copied_to_where_a_graph_is(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    """Though the caller keeps all results, so that each lies elsewhere, launches are not enqueued one by one."""
    context, kept, ids = plan.create_execution_context(), list[Any](), fake.array(IDS)
    for number in range(6):
        fake.calls.clear()
        kept.append(context.run_tensors({"x": fake.array((number + 1) * TABLE), "ids": ids})[OUTPUT])
        assert ("launch" in fake.names()) == (number < 3)  # eagerly, at other addresses, captured
        assert not fake.of("memsetAsync") or number < 3  # outputs are not cleared
    for number, tensor in enumerate(kept):
        np.testing.assert_array_equal(tensor.to("cpu").numpy(), (number + 1) * EXPECTED)


def test_graphs_that_were_not_used_for_long_are_given_up(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    context, x, _ = bound(fake, plan)
    others = [fake.array(TABLE) for _ in range(20)]
    for other in others:
        for array in (x, other):
            context.bind_input("x", array)
            for _ in range(2):
                context.execute()
    assert len({call[3][0] for call in fake.of("launch") if call[0] == "add_0"}) == 21
    assert len([call for call in fake.of("launch") if call[3][0] == x.data.ptr]) == 2  # eagerly, captured


def test_memory_of_a_pool_is_an_arena(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    """RMM's buffers have only `__cuda_array_interface__`."""
    below = fake.array(np.zeros(plan.arena_bytes, np.uint8))

    class DeviceBuffer:
        __cuda_array_interface__ = {
            "shape": (plan.arena_bytes,),
            "typestr": "|u1",
            "data": (below.data.ptr, False),
            "version": 3,
        }

    context = plan.create_execution_context(DeviceBuffer())
    assert context.arena.address == below.data.ptr and not context.arena.owned
    np.testing.assert_array_equal(run(context), EXPECTED)


def test_memory_of_other_libraries_is_bound_and_given_without_a_copy(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    context = plan.create_execution_context()
    x, ids, y = fake.array(TABLE), fake.array(IDS), fake.array(np.zeros((6, 3), np.float32))
    context.bind_input("x", x)
    context.bind_input("ids", ids)
    context.bind_output(OUTPUT, y)
    fake.calls.clear()
    context.execute()  # waits until the default stream has written the inputs
    np.testing.assert_array_equal(y.seen(), EXPECTED)
    assert {x.data.ptr, ids.data.ptr, y.data.ptr} <= {each for call in fake.of("launch") for each in call[3]}
    tensor = mi.Tensor.from_dlpack(y)
    assert (tensor.device, tensor.storage.address, tensor.__dlpack_device__()) == ("cuda", y.data.ptr, (2, 0))
    assert tensor.__dlpack__().data.ptr == y.data.ptr
    np.testing.assert_array_equal(context.run({"x": x, "ids": IDS})[OUTPUT], EXPECTED)
    assert context.run({"x": mi.Tensor.from_dlpack(x), "ids": ids})[OUTPUT].flags.writeable


def test_what_lies_there_stays_there(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    context, ids = plan.create_execution_context(), fake.array(IDS)
    for _ in range(3):
        x = fake.array(TABLE)
        fake.calls.clear()
        (y,) = context.run_tensors({"x": x, "ids": ids}).values()
        assert (y.device, y.shape) == ("cuda", (6, 3))
        to_host = [call[3] for call in fake.of("memcpyAsync") if call[3] != 3]
        assert to_host in ([], [2])  # the status, unless replayed
        np.testing.assert_array_equal(y.to("cpu").numpy(), EXPECTED)
    engine = mi.Engine(plan, plan.config, PassStatistics())
    for given in (fake.array(TABLE), mi.Tensor.from_array(TABLE).to("cuda")):
        y = engine(given, IDS)
        assert isinstance(y, mi.Tensor) and y.__dlpack_device__() == (2, 0)
        np.testing.assert_array_equal(y.to("cpu").numpy(), EXPECTED)
    assert isinstance(engine(TABLE, IDS), np.ndarray)
    gaps = fake.array(np.repeat(TABLE, 2, axis=1))
    gaps.shape, gaps.strides = (5, 6), (48, 8)
    np.testing.assert_array_equal(engine(gaps, IDS).to("cpu").numpy(), EXPECTED)
    with pytest.raises(mi.InvalidInputError, match=r"^input 'x' has shape \[6, 3\] instead of \[5, 6\]"):
        engine(y, IDS)


def test_strided_memory_keeps_its_strides(fake: FakeCupy) -> None:
    there = fake.array(TABLE)
    there.shape, there.strides = (6, 5), (4, 24)
    there.data, there.strides = there.data + 96, (4, -24)
    tensor = mi.Tensor.from_dlpack(there)
    np.testing.assert_array_equal(tensor.to("cpu").numpy(), TABLE[::-1].T)
    with pytest.raises(mi.InvalidInputError, match="must be contiguous"):
        mi.Storage.borrow(fake.array(TABLE[:, :3]).__class__([5, 3], "f4", memptr=there.data, strides=(24, 4)), "cuda")
    assert mi.Storage.borrow(fake.array(TABLE), "cuda").capacity == TABLE.nbytes


def test_a_deleter_waits_for_arrays_of_other_libraries(fake: FakeCupy) -> None:
    gone: list[object] = []
    there = fake.array(TABLE)
    storage = mi.Storage.borrow(there, "cuda", capacity=48, offset=24, deleter=gone.append)
    assert (storage.capacity, storage.address) == (48, there.data.ptr + 24)
    tensor = mi.Tensor(storage, [2, 6], np.float32)
    np.testing.assert_array_equal(tensor.to("cpu").numpy(), TABLE[1:3])
    exported = tensor.__dlpack__()
    tensor.storage.reset()
    del tensor, storage
    assert not gone and exported.data.ptr == there.data.ptr + 24
    del exported
    gc.collect()
    assert gone == [there]


def test_arenas_on_the_gpu_by_an_allocator(
    fake: FakeCupy, plan: mi.InferencePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocators, "_ALLOCATORS", {})
    gone: list[object] = []
    mi.register_allocator("gpu", lambda size, _: fake.array(np.ones(size, np.uint8)), gone.append, device="cuda")
    with plan.create_context(allocator="gpu") as context:
        assert not context.arena.copy_out().any() and context.arena.capacity == plan.arena_bytes > 0
        np.testing.assert_array_equal(context.run({"x": TABLE, "ids": IDS})[OUTPUT], EXPECTED)
        assert not gone
    del context
    gc.collect()
    assert len(gone) == 1


def test_memory_must_be_on_the_gpu_and_aligned(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    context = plan.create_execution_context()
    with pytest.raises(mi.InvalidInputError, match=r"'x' must be a tensor on 'cuda', got ndarray"):
        context.bind_input("x", TABLE)
    other = fake.array(TABLE)
    other.data.device_id = 1
    with pytest.raises(mi.InvalidInputError, match=r"'x' must be a tensor on 'cuda', got a tensor on 'cuda:1'"):
        context.bind_input("x", other)
    odd = fake.array(np.zeros(31, np.float32))
    odd.shape, odd.strides, odd.data = (5, 6), (24, 4), odd.data + 4
    with pytest.raises(mi.InvalidInputError, match=r"the memory for 'x' must be row-major .* aligned to 16 bytes"):
        context.bind_input("x", odd)


def test_wrong_indices_are_told(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    context = plan.create_execution_context()
    for _ in range(3):
        with pytest.raises(mi.InvalidInputError, match=r"gather_1 .*7"):
            run(context, np.array([1, 7, 0]))
        np.testing.assert_array_equal(run(context), EXPECTED)


def test_a_fault_names_the_kernel_and_its_nodes(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    def fail(*_: int) -> None:
        raise fake_error("cudaErrorIllegalAddress")

    fake_error = cuda.cupy().cuda.runtime.CUDARuntimeError
    fake.kernels["gather_0"] = fail
    with pytest.raises(mi.DeviceError, match=r"^gather_0 \(lookup/gather_1\): cudaErrorIllegalAddress$"):
        run(plan.create_execution_context())
    fake.refused = "add_0"
    with pytest.raises(mi.DeviceError, match=r"^add_0 \(lookup/add_0\): CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES$"):
        run(plan.create_execution_context())
    fake.refused, fake.kernels["gather_0"] = None, gather
    context = plan.create_execution_context()
    for _ in range(2):
        run(context)
    fake.kernels["gather_0"] = fail
    with pytest.raises(mi.DeviceError, match=r"^an inference failed: cudaErrorIllegalAddress$"):
        run(context)


def test_contexts_have_streams_and_arenas_of_their_own(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    def work(seed: int) -> bool:
        context = plan.create_execution_context()
        ids = np.random.default_rng(seed).integers(0, 5, 3)
        return all(np.array_equal(run(context, ids), 2 * TABLE[ids].T) for _ in range(5))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
    assert len({call[-1] for call in fake.of("launch")}) == 8
    assert all(non_blocking for (non_blocking,) in fake.of("Stream"))


def test_launches_are_timed(fake: FakeCupy) -> None:
    fake.kernels |= KERNELS
    options: dict[str, Any] = {"enable_graph_optimization": False, "enable_profiling": True}
    context = mi.compile(lookup(), device="cuda", **options).plan.create_execution_context()
    assert [each.nanoseconds for each in context.profile()] == [0] * 4
    for _ in range(2):
        np.testing.assert_array_equal(run(context), EXPECTED)
    assert [(each.kernel, each.node) for each in context.profile()] == [
        ("add_0", "lookup/add_0"),
        ("gather_0_check_indices", "lookup/gather_1"),
        ("gather_0", "lookup/gather_1"),
        ("transpose_0", OUTPUT),
    ]
    assert all(each.nanoseconds == 1_000_000 for each in context.profile())
    assert [each.begin for each in context.timeline()] == [0, 1_000_000, 2_000_000, 3_000_000]
    assert "begin_capture" not in fake.names()


def test_many_inferences_are_timed_as_one_graph(fake: FakeCupy, plan: mi.InferencePlan) -> None:
    y = mi.Tensor.empty([6, 3], np.float32, device="cuda")
    tensors = [*(mi.Tensor.from_array(each).to("cuda") for each in (TABLE, IDS)), y]
    arena = mi.Storage(plan.arena_bytes, "cuda", plan.alignment)
    session = plan.session(arena.memory)
    assert isinstance(session, CudaSession)
    for index, (spec, tensor) in enumerate(zip((*plan.inputs, *plan.outputs), tensors, strict=True)):
        session.bind(index, spec, tensor, written=tensor is y)
    fake.calls.clear()
    assert session.microseconds(3, 2) == [1000 / 3] * 2  # from one event to the next is a millisecond
    names = fake.names()
    assert names.count("launch") == 3 * len(plan.launches) and names.count("begin_capture") == 1
    assert names.count("graph.launch") == 1 + 2
    np.testing.assert_array_equal(y.to("cpu").numpy(), EXPECTED)


def test_more_shared_memory_is_asked_for(fake: FakeCupy) -> None:
    gpu = cuda.Gpu(0)
    fake.kernels["k"] = double
    function = gpu.function(gpu.load(b"cubin"), "k")
    gpu.allow_shared(function, 48 << 10)
    gpu.allow_shared(function, 100 << 10)
    assert fake.of("funcSetAttribute") == [(function.ptr, 8, 100 << 10)]


def test_blocks_that_run_at_the_same_time_are_launched_so(fake: FakeCupy) -> None:
    """The steps of a recurrent layer whose weights fit no block."""
    plan, inputs = mi.compile(wide_lstm(), device="cuda").plan, {"x": np.zeros((6, 2, 8), np.float32)}
    (name,) = [each.kernel for each in plan.launches if each.cooperative]
    fake.kernels |= {each.kernel: lambda *_: None for each in plan.launches}
    context = plan.create_execution_context()
    for _ in range(3):  # eagerly, captured, replayed
        context.run(inputs)
    assert fake.of("cooperative") == [(name,)] * 2
    fake.resident = 0
    with pytest.raises(mi.DeviceError, match=rf"{name} launches \d+ blocks that must run at the same time, .* holds 0"):
        plan.create_execution_context().run(inputs)


def test_what_cannot_be_loaded_or_allocated(fake: FakeCupy) -> None:
    gpu = cuda.Gpu(0)
    with pytest.raises(
        mi.CompileError, match=r"^the kernels can't be loaded: CUDA_ERROR_NO_BINARY_FOR_GPU .*CUDA 12\.8.*NVRTC"
    ):
        gpu.load(b"other")
    with pytest.raises(mi.CompileError, match=r"^kernel 'missing' is not there: CUDA_ERROR_NOT_FOUND"):
        gpu.function(gpu.load(b"cubin"), "missing")
    assert not mi.Tensor.empty([4], np.float32, device="cuda").to("cpu").numpy().any()
    assert mi.Storage.allocate(100, alignment=4096, device="cuda").alignment == 4096
    with pytest.raises(mi.OutOfMemoryError, match="there is no memory for a storage of"):
        mi.Storage.allocate(1 << 41, device="cuda")


def test_gpus_by_their_numbers(fake: FakeCupy) -> None:
    second = mi.Tensor.from_array(TABLE).to("cuda:1")
    assert second.device == "cuda:1" and second.to("cuda:0").device == "cuda"
    np.testing.assert_array_equal(second.to("cuda").to("cpu").numpy(), TABLE)
    assert second.__dlpack_device__() == (2, 1)
    for device_id, device in ((2, "cuda"), (0, "cuda:2")):
        with pytest.raises(mi.ConfigError, match=r"^there is no cuda device 2; there are 2, numbered from 0 on"):
            mi.compile(lookup(), device=device, device_id=device_id)


@pytest.mark.parametrize(("capability", "gpu"), [("90", "sm_90a"), ("86", "sm_80"), ("100", "sm_100a")])
def test_code_is_for_the_gpu_that_there_is(fake: FakeCupy, capability: str, gpu: str) -> None:
    fake.capability = capability
    target: Any = compute_device("cuda").target(mi.EngineConfig(device="cuda", precision="tf32"))
    assert (target.architecture.data, target.precision.data, target.multiprocessors.data) == (gpu, "tf32", 114)
    other: Any = compute_device("cuda").target(mi.EngineConfig(device="cuda", gpu="sm_80"))
    assert (other.architecture.data, other.multiprocessors.data) == ("sm_80", 108)


@pytest.mark.parametrize(("capability", "gpu"), [("90", "sm_80"), ("86", "sm_90a"), ("103", "sm_100a")])
def test_code_for_another_gpu_is_refused_before_it_is_made(fake: FakeCupy, capability: str, gpu: str) -> None:
    fake.capability = capability
    with pytest.raises(mi.ConfigError, match=rf"^code for {gpu} does not run on .* capability {capability}"):
        mi.compile(lookup(), device="cuda", gpu=gpu)
    assert not fake.of("Module.load") and cuda_device.runs_on("sm_80", "86") and not cuda_device.runs_on("sm_86", "80")


def test_there_is_no_code_for_some_gpus(fake: FakeCupy) -> None:
    fake.capability = "75"
    with pytest.raises(mi.ConfigError, match=r"^there is no code for a GPU of capability 75; there is for sm_80, "):
        mi.compile(lookup(), device="cuda")


def test_the_cubin_is_loaded(fake: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way down, but for the GPU; what the kernels do is told again."""
    monkeypatch.setattr(cuda_device.Cuda, "objects", COMPILED)
    fake.kernels |= KERNELS
    options: dict[str, Any] = {"cache_kernels": False, "enable_graph_optimization": False}
    plan = mi.compile(lookup(), device="cuda", **options).plan
    ((cubin,),) = fake.of("Module.load")
    assert cubin.startswith(b"\x7fELF") and all(each.kernel.encode() in cubin for each in plan.launches)
    np.testing.assert_array_equal(run(plan.create_execution_context()), EXPECTED)


@NEEDS_COMPILER
def test_a_whole_model(fake: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its kernels' own text, as C++: eagerly, captured and replayed, once on other inputs."""
    monkeypatch.setattr(cuda_device.Cuda, "objects", text_as_cubin)
    judge = Judge.of(SMALL_MODELS["mlp"]())
    context = mi.compile(judge.model, device="cuda", gpu="sm_90a").plan.create_execution_context()
    for number in range(4):
        given = {name: array * np.float32(number == 2) for name, array in judge.inputs.items()}
        outputs = context.run(given if number == 2 else judge.inputs)
        if number != 2:
            judge.check(outputs)


def test_a_model_without_kernels_loads_nothing(fake: FakeCupy) -> None:
    b = ModelBuilder("nothing")
    x = b.input("x", [0, 3])
    (output,) = mi.compile(b.model([b.node("Add", x, x)]), device="cuda")({"x": np.zeros((0, 3), "f4")}).values()
    assert output.shape == (0, 3) and not fake.of("Module.load")


WITHOUT = """
import sys
sys.modules["cupy"] = None
import mini_infer as mi
from models.build import SMALL_MODELS
model = SMALL_MODELS["mlp"]()
print(mi.plan_memory(model, device="cuda").arena_bytes > 0)
for use in (lambda: mi.compile(model, device="cuda"), lambda: mi.Tensor.empty([2], "f4", device="cuda")):
    try:
        use()
    except mi.ConfigError as error:
        print(error)
"""


def test_without_cupy_there_are_plans_and_one_clear_error() -> None:
    told = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, cwd="test")
    planned, *errors = told.stdout.splitlines()
    assert planned == "True" and len(errors) == 2
    assert all(error.startswith("the device 'cuda' needs CuPy") and "mini-infer[cuda13]" in error for error in errors)


def test_one_file_calls_cupy() -> None:
    root = Path(mi.__file__).parent
    files = [*root.glob("*.py"), *(file for part in root.iterdir() if part.is_dir() for file in part.rglob("*.py"))]
    callers = [file.name for file in files if re.search(r"import.*\bcupyx?\b|import_module\(.cupy", file.read_text())]
    assert {*callers} == {"cupy_calls.py"} and len(files) > 100


def test_cupy_has_what_is_called() -> None:
    """Names and parameters against CuPy's own, where it is installed; that needs no GPU."""
    cupy, cupyx = pytest.importorskip("cupy"), pytest.importorskip("cupyx")
    signatures = {
        "runtime.memcpyAsync": "(intptr_t dst, intptr_t src, size_t size, int kind, intptr_t stream)",
        "runtime.memsetAsync": "(intptr_t ptr, int value, size_t size, intptr_t stream)",
        "runtime.getDeviceCount": "()",
        "runtime.memGetInfo": "()",
        "driver.funcSetAttribute": "(intptr_t f, int attribute, int value)",
        "driver.occupancyMaxActiveBlocksPerMultiprocessor": "(intptr_t func, int blockSize, size_t dynamicSMemSize)",
        "function.Module.load": "(self, bytes cubin)",
        "function.Module.get_function": "(self, name)",
        "alloc": "(size)",
        "get_elapsed_time": "(start_event, end_event)",
        "Stream.begin_capture": "(self, mode=None)",
        "Stream.end_capture": "(self)",
        "Stream.wait_event": "(self, event)",
        "Stream.record": "(self, event=None)",
        "Stream.synchronize": "(self)",
        "Graph.launch": "(self, stream=None)",
        "get_current_stream": "(int device_id=-1)",
    }
    for path, expected in signatures.items():
        found: Any = cupy.cuda
        for name in path.split("."):
            found = getattr(found, name)
        assert expected in found.__doc__.splitlines()[0], path
    assert cupy.cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES == 8
    assert (cupy.cuda.runtime.memcpyHostToDevice, cupy.cuda.runtime.memcpyDeviceToHost) == (1, 2)
    assert issubclass(cupy.cuda.runtime.CUDARuntimeError, RuntimeError) and cupy.cuda.driver.CUDADriverError
    assert cupy.cuda.Stream and cupy.cuda.Event and cupy.cuda.Device and cupy.ndarray and cupyx.empty_pinned
    assert "(array, *, device=None, copy=None)" in cupy.from_dlpack.__doc__
