"""Boxes of tensors (TMA): both emulations copy what the operation says, and find what is done wrong; so is the text."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from gpu_runs import NEEDS_COMPILER
from gpu_text import parse
from unit.lowering.kernels_to_gpu.test_gpu_warpgroups import disassembler

from mini_infer.dialects.errors import KernelError
from mini_infer.dialects.gpu.kernels import FuncOp
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.gpu_to_cuda.device_program import Argument, Launch
from mini_infer.lowering.gpu_to_cuda.launch_list import launch_list
from mini_infer.runtime.devices.cuda.nvrtc import nvrtc
from mini_infer.runtime.devices.emulated.checked_memory import GlobalRange
from mini_infer.runtime.devices.emulated.compiled import load
from mini_infer.runtime.devices.emulated.gpu_interpreter import Kernel

DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
SWIZZLES = {"none": 0, "swizzle_32b": 32, "swizzle_64b": 64, "swizzle_128b": 128}
GROUP = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>"
BLOCKS = 3


@dataclass(frozen=True)
class Case:
    """Boxes of part of a tensor, from a corner on; the blocks' lie `step` apart along the first dimension."""

    element: str
    swizzle: str
    tensor: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    box: tuple[int, ...]
    corner: tuple[int, ...]
    step: int

    @property
    def elements(self) -> int:
        """Of the argument."""
        return self.offset + sum((size - 1) * step for size, step in zip(self.tensor, self.strides, strict=True)) + 1

    def operand(self) -> Array:
        return np.random.default_rng(0).integers(1, 99, self.elements).astype(DTYPES[self.element])

    def expected(self, x: Array) -> Array:
        """Each block's box, as it lies in shared memory."""
        itemsize = x.itemsize
        whole = np.lib.stride_tricks.as_strided(
            x[self.offset :], self.tensor, [each * itemsize for each in self.strides], writeable=False
        )
        found: list[Array] = []
        for block in range(BLOCKS):
            corner = (self.corner[0] + block * self.step, *self.corner[1:])
            made = np.zeros(self.box, x.dtype)
            for at in product(*map(range, self.box)):
                place = tuple(a + b for a, b in zip(corner, at, strict=True))
                if all(0 <= a < b for a, b in zip(place, self.tensor, strict=True)):
                    made[at] = whole[place]
            found.append(moved(made.reshape(-1), SWIZZLES[self.swizzle]))
        return np.stack(found)


def moved(box: Array, line: int) -> Array:
    """As the PTX manual's pictures show it: bits 4 and on of an address, exclusive or with bits 7 and on."""
    made, bits = np.zeros_like(box), {0: 0, 32: 1, 64: 3, 128: 7}[line]
    for number in range(box.size):
        at = number * box.itemsize
        made[(at ^ (at >> 7 & bits) << 4) // box.itemsize] = box[number]
    return made


def indices(numbers: Sequence[int]) -> str:
    return ", ".join(f"%n{number}" if number >= 0 else f"%m{-number}" for number in numbers)


def text(case: Case) -> str:
    count, rank = prod(case.box), len(case.box)
    box = f"memref<{'x'.join(map(str, case.box))}x{case.element}, #gpu.address_space<workgroup>>"
    kind = (
        f"!nvgpu.tensormap.descriptor<tensor = {box}, swizzle = {case.swizzle}, l2promo = none, oob = zero, "
        "interleave = none>"
    )
    source, sizes = f"memref<{case.elements}x{case.element}>", "x".join(map(str, case.tensor))
    layout = f"strided<[{', '.join(map(str, case.strides))}], offset: {case.offset}>"
    view = f"memref<{sizes}x{case.element}, {layout}>"
    nbytes = count * np.dtype(DTYPES[case.element]).itemsize
    numbers = sorted({*case.corner, 0, 1, 2, 32, 1000, count, nbytes, case.step})
    constants = "\n".join(f"%{indices([each])[1:]} = arith.constant {each} : index" for each in numbers)
    corner = ", ".join(["%first", *(indices([each]) for each in case.corner[1:])])
    memory = "memref<?xi8, #gpu.address_space<workgroup>>"
    return f"""
func.func @main(%x: {source}, %y: memref<{BLOCKS}x{count}x{case.element}>) {{
  %c1 = arith.constant 1 : index
  %blocks = arith.constant {BLOCKS} : index
  %threads = arith.constant 32 : index
  %bytes = arith.constant {nbytes} : i32
  gpu.launch_func @kernels::@tested blocks in (%blocks, %c1, %c1) threads in (%threads, %c1, %c1)
    dynamic_shared_memory_size %bytes args(%x : {source}, %y : memref<{BLOCKS}x{count}x{case.element}>)
  func.return
}}
gpu.module @kernels {{
  gpu.func @tested(%x: {source}, %y: memref<{BLOCKS}x{count}x{case.element}>) kernel
      attributes {{gpu.known_block_size = array<i32: 32, 1, 1>}} {{
    {constants}
    %false = arith.constant false
    %tid = gpu.thread_id x
    %bid = gpu.block_id x
    %view = memref.reinterpret_cast %x to offset: [{case.offset}], sizes: [{", ".join(map(str, case.tensor))}],
      strides: [{", ".join(map(str, case.strides))}] : {source} to {view}
    %map = nvgpu.tma.create.descriptor %view : {view} -> {kind}
    %shared = gpu.dynamic_shared_memory : {memory}
    %tile = memref.view %shared[%n0][] : {memory} to {box}
    %line = memref.view %shared[%n0][] : {memory} to memref<{count}x{case.element}, #gpu.address_space<workgroup>>
    %b = nvgpu.mbarrier.create -> {GROUP}
    %is_first = arith.cmpi eq, %tid, %n0 : index
    scf.if %is_first {{
      nvgpu.mbarrier.init %b[%n0], %n1 : {GROUP}
      nvgpu.mbarrier.fence
    }}
    gpu.barrier
    scf.if %is_first {{
      nvgpu.mbarrier.arrive.expect_tx %b[%n0], %n{nbytes} : {GROUP}
      %moved = arith.muli %bid, {indices([case.step])} : index
      %first = arith.addi %moved, {indices([case.corner[0]])} : index
      nvgpu.tma.async.load %map[{corner}], %b[%n0] to %tile[{indices([0] * rank)}] : {kind}, {GROUP} -> {box}
    }}
    nvgpu.mbarrier.try_wait.parity %b[%n0], %false, %n1000 : {GROUP}
    scf.for %i = %tid to %n{count} step %n32 {{
      %e = memref.load %line[%i] : memref<{count}x{case.element}, #gpu.address_space<workgroup>>
      memref.store %e, %y[%bid, %i] : memref<{BLOCKS}x{count}x{case.element}>
    }}
    gpu.return
  }}
}}"""


def interpreted(text: str, x: Array, y: Array) -> None:
    module = parse(text)
    (function,) = [op for op in module.walk() if isinstance(op, FuncOp)]
    (launch,) = launch_list(module)
    written = np.zeros(y.nbytes, np.uint8)
    places = [GlobalRange(x.view(np.uint8)), GlobalRange(y.reshape(-1).view(np.uint8), 0, written)]
    Kernel(function).run(launch.grid, launch.block, launch.shared, places)


def compiled(text: str, x: Array, y: Array) -> None:
    module = parse(text)
    program, (launch,) = load(cuda_text(module)), launch_list(module)
    for seed in range(3):
        program.run(launch, [x.ctypes.data, y.ctypes.data], seed)


BY_TEXT = pytest.param(compiled, marks=NEEDS_COMPILER)
CASES = [
    Case("f32", "swizzle_128b", (50, 40), (64, 1), 16, (16, 32), (-3, 16), 22),  # rows and columns are missing
    Case("f32", "swizzle_64b", (50, 40), (40, 1), 0, (24, 16), (40, -8), 1),
    Case("f32", "swizzle_32b", (50, 40), (40, 1), 8, (32, 8), (0, 0), 9),
    Case("f16", "swizzle_128b", (20, 3, 72), (216, 72, 1), 8, (4, 3, 64), (0, -1, 40), 8),
    Case("bf16", "swizzle_64b", (64, 64), (64, 1), 0, (8, 24), (0, 8), 8),  # lines that are shorter than the swizzle
    Case("f32", "none", (100,), (1,), 4, (44,), (-4,), 40),
    Case("f32", "none", (2, 3, 4, 5, 8), (480, 160, 40, 8, 1), 0, (2, 2, 3, 2, 8), (0, 2, -1, 4, 0), 1),
]


@pytest.mark.parametrize("run", [interpreted, BY_TEXT])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.element}-{case.swizzle}-{len(case.box)}")
def test_boxes(case: Case, run: Callable[..., None]) -> None:
    x = case.operand()
    y = np.full((BLOCKS, prod(case.box)), np.nan, x.dtype)
    run(text(case), x, y)
    np.testing.assert_array_equal(y, case.expected(x))


WAIT = f"nvgpu.mbarrier.try_wait.parity %b[%n0], %false, %n1000 : {GROUP}\n"
FENCE = "nvgpu.mbarrier.fence\n"
TOO_LONG = "threads wait for ever: 32 for a phase of a barrier"
FAULTS: dict[str, tuple[str, str, str, str]] = {
    "nobody waits": (WAIT, "", "still being copied", "in flight"),
    "too few bytes": ("expect_tx %b[%n0], %n2048", "expect_tx %b[%n0], %n1000", "2048 of 1000 bytes", TOO_LONG),
    "elements outside of the tensor don't count": (
        "expect_tx %b[%n0], %n2048",
        "expect_tx %b[%n0], %n32",
        "2048 of 32 bytes",
        TOO_LONG,
    ),
    "no fence": (FENCE, "", "not fenced since", "not fenced since"),
    "every thread copies": ("scf.if %is_first", "scf.if %true", "several threads of a block", "arrival"),
    "an address that is no multiple of eight lines": (
        "%tile = memref.view %shared[%n0]",
        "%tile = memref.view %shared[%n32]",
        "byte 32 is no multiple of 1024",
        "no multiple of 1024",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("run", [interpreted, BY_TEXT])
def test_faults_are_found(name: str, run: Callable[..., None]) -> None:
    part, instead, *messages = FAULTS[name]
    case, good = CASES[0], text(CASES[0])
    assert part in good
    x = case.operand()
    bad = good.replace(part, instead).replace("%false =", "%true = arith.constant true\n%false =")
    bad = bad.replace("%bytes = arith.constant 2048", "%bytes = arith.constant 3072")
    with pytest.raises(KernelError, match=messages[run is not interpreted]):
        run(bad, x, np.zeros((BLOCKS, prod(case.box)), x.dtype))


def test_bytes_that_nobody_wrote_are_not_copied() -> None:
    case = CASES[0]
    x, y = case.operand(), np.zeros((BLOCKS, prod(case.box)), np.float32)
    (function,) = [op for op in parse(text(case)).walk() if isinstance(op, FuncOp)]
    written = np.ones(x.nbytes, np.uint8)
    written[4 * (16 + 64 * 10 + 20)] = 0
    places = [GlobalRange(x.view(np.uint8), 0, written), GlobalRange(y.reshape(-1).view(np.uint8))]
    with pytest.raises(KernelError, match="uninitialised; block"):
        Kernel(function).run((BLOCKS, 1, 1), (32, 1, 1), 2048, places)


def test_a_launch_tells_of_its_maps() -> None:
    (launch,) = launch_list(parse(text(CASES[0])))
    (map,) = launch.maps
    assert (map.argument, map.offset, map.element) == (0, 64, "f32")
    assert (map.sizes, map.strides, map.box, map.swizzle) == ((50, 40), (256,), (16, 32), 128)
    assert launch.arguments == (Argument(0, 0), Argument(1, 0)) and isinstance(launch, Launch)


@pytest.mark.parametrize("case", [CASES[0], CASES[3], CASES[6]], ids=["2d", "3d", "5d"])
def test_machine_code_copies_boxes(case: Case, tmp_path: Path) -> None:
    code, _ = nvrtc().compile(cuda_text(parse(text(case))), "sm_90a")
    if tool := disassembler():
        (tmp_path / "cubin").write_bytes(code)
        sass = subprocess.run([tool, tmp_path / "cubin"], capture_output=True, text=True, check=True).stdout
        assert f"UTMALDG.{len(case.box)}D" in sass
