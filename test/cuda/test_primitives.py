"""What operations, threads, copies and tensor units do on a GPU is what the emulation, and the references, say."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import gpu_kernel_runs
import ml_dtypes
import numpy as np
import pytest
from gpu_text import parse
from unit.lowering.kernels_to_gpu import test_cuda_arith as arithmetic
from unit.lowering.kernels_to_gpu import test_gpu_attention_warpgroups as attention
from unit.runtime.devices import test_emulated_tensor_maps as tensor_maps
from unit.runtime.devices import test_emulated_text as threads
from unit.runtime.devices import test_emulated_warpgroups as warpgroups
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute

from mini_infer.dialects.gpu.kernels import FuncOp
from mini_infer.dialects.graph.values import numpy_dtype
from mini_infer.lowering.gpu_to_cuda.device_program import Launch
from mini_infer.passes.kernels.schedules.cuda.wgmma import ARCHITECTURE
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.device import device_named
from mini_infer.runtime.devices.cuda.cuda_device import CudaCode
from mini_infer.runtime.devices.cuda.cupy_calls import Stream, faults
from mini_infer.runtime.devices.cuda.driver_calls import encoded

CONFIG = EngineConfig(device="cuda", cache_kernels=False)
BROKEN = ("no_barrier", "late_barrier", "two_barriers", "piped_too_early", "half_a_warp", "mixed_warp", "unaligned")


class GpuProgram:
    """Kernels of a module on the GPU, called as those of the emulation are: on memory of the host."""

    def __init__(self, module: ModuleOp) -> None:
        self._device: Any = device_named("cuda")
        module.attributes["kernel.target"] = self._device.target(CONFIG)
        self._code = self._device.load(self._device.objects(module, CONFIG))
        functions = [op for op in module.walk() if isinstance(op, FuncOp)]
        self._sizes = {op.sym_name.data: [_nbytes(each.type) for each in op.body.block.args] for op in functions}

    def run(self, launch: Launch, addresses: Sequence[int], seed: int = 0) -> None:
        """Copies the kernel's arrays there, and back when it is done. Scratch that it doesn't use may follow them."""
        assert isinstance(self._code, CudaCode)
        gpu, sizes = self._device.gpu, self._sizes[launch.kernel]
        here = [np.ctypeslib.as_array(_bytes_at(each, size)) for each, size in zip(addresses, sizes, strict=False)]
        there = [self._device.allocate(size, 256) for size in sizes]
        stream, function = Stream(gpu), self._code.function(launch.kernel)
        with gpu.active(), faults(launch.kernel):
            for memory, data in zip(there, here, strict=True):
                stream.send(data, memory.address)
            maps = [encoded(each, there[each.argument].address + each.offset) for each in launch.maps]
            stream.launch(function, launch, [memory.address for memory in there], maps)
            for memory, data in zip(there, here, strict=True):
                stream.fetch(memory.address, data)
            stream.wait()


def _as_it_is(module: ModuleOp) -> ModuleOp:
    return module


def _bytes_at(address: int, size: int) -> Any:
    from ctypes import c_uint8

    return (c_uint8 * size).from_address(address)


def _nbytes(type: Attribute) -> int:
    memref = cast("MemRefType[Attribute]", type)
    return prod(memref.get_shape()) * numpy_dtype(memref.element_type).itemsize


@pytest.fixture(scope="module")
def program() -> Any:
    working = {name: parts for name, parts in threads.KERNELS.items() if name not in BROKEN}
    working["relayed"] = threads.COOPERATIVE["relayed"]
    bodies = [threads.kernel(name, *parts) for name, parts in working.items()]
    return GpuProgram(parse(f"gpu.module @kernels {{ {''.join(bodies)} }}"))


@pytest.fixture(autouse=True)
def on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulation's tests load programs for the GPU."""
    for tests in (arithmetic, tensor_maps, threads, warpgroups, gpu_kernel_runs):
        monkeypatch.setattr(tests, "cuda_text", _as_it_is)
        monkeypatch.setattr(tests, "load", GpuProgram)


@pytest.mark.parametrize("lanes", [1, arithmetic.LANES])
def test_operations_give_what_llvm_gives(lanes: int) -> None:
    arithmetic.test_operations_give_what_llvm_gives(lanes, "all")


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_functions_of_the_maths_library(type: str) -> None:
    arithmetic.test_functions_of_the_maths_library(type)


def test_threads_hand_each_other_values(program: Any) -> None:
    threads.test_threads_hand_each_other_values(program, 0)


def test_blocks_of_a_cooperative_launch_hand_each_other_values(program: Any) -> None:
    threads.test_blocks_hand_each_other_values(program, 0)


def test_shuffles(program: Any) -> None:
    threads.test_shuffles(program)


def test_copies_are_there_after_the_wait(program: Any) -> None:
    threads.test_copies_are_there_after_the_wait(program, 0)


@pytest.mark.parametrize("count", range(5))
def test_a_copy_may_be_filled_up_with_zeros(program: Any, count: int) -> None:
    threads.test_a_copy_may_be_filled_up_with_zeros(program, count)


@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_products_of_a_warp(program: Any, element: str, dtype: Any) -> None:
    """The layout of fragments, which nothing but hardware can confirm."""
    threads.test_products_of_a_warp(program, element, dtype)


@pytest.mark.parametrize(("element", "tiles", "transpose"), threads.MATRICES)
def test_matrices_are_spread_over_the_lanes(program: Any, element: str, tiles: int, transpose: bool) -> None:
    threads.test_matrices_are_spread_over_the_lanes(program, element, tiles, transpose)


@pytest.mark.parametrize(("left", "right"), [("i8", "i8"), ("i8", "ui8"), ("ui8", "i8"), ("ui8", "ui8")])
def test_products_of_bytes_wrap_around(program: Any, left: str, right: str) -> None:
    threads.test_products_of_bytes_wrap_around(program, left, right)


def test_sums_of_a_product_are_rounded_toward_zero(program: Any) -> None:
    threads.test_sums_of_a_product_are_rounded_toward_zero(program)


def test_a_product_takes_the_first_bits_of_f32(program: Any) -> None:
    threads.test_a_product_takes_the_first_bits_of_f32(program)


@pytest.mark.parametrize("element", warpgroups.DTYPES)
def test_products_of_a_warpgroup(element: str) -> None:
    """Layouts of fragments and of matrices in shared memory, and bulk copies: as above."""
    _need_warpgroups()
    warpgroups.test_products_of_a_warpgroup(element, warpgroups.compiled)


@pytest.mark.parametrize("case", tensor_maps.CASES)
def test_boxes_of_tensors(case: tensor_maps.Case) -> None:
    """The driver's maps, swizzles, and zeros outside of a tensor."""
    _need_warpgroups()
    tensor_maps.test_boxes(case, tensor_maps.compiled)


def test_products_see_what_is_stored_behind_a_fence_and_a_barrier() -> None:
    _need_warpgroups()
    warpgroups.test_products_see_what_is_stored_behind_a_fence_and_a_barrier(warpgroups.compiled)


@pytest.mark.parametrize("number", range(3))
def test_attention_by_warpgroups(number: int) -> None:
    _need_warpgroups()
    attention.test_the_text_does_the_same(number)


def _need_warpgroups() -> None:
    device: Any = device_named("cuda")
    if device.target(CONFIG).architecture.data != ARCHITECTURE:
        pytest.skip(f"what it tries is made for {ARCHITECTURE}")
