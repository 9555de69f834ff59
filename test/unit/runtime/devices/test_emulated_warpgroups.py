"""Bulk copies and products by warpgroups: both emulations do what they mean, and find what is done wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np
import pytest
from gpu_runs import NEEDS_COMPILER
from gpu_text import parse

from mini_infer.dialects.errors import KernelError
from mini_infer.dialects.gpu.kernels import FuncOp
from mini_infer.dialects.graph.packing.core_matrices import CoreMatrixPacking
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.gpu_to_cuda.launch_list import Argument, Launch
from mini_infer.runtime.devices.emulated.checked_memory import GlobalRange
from mini_infer.runtime.devices.emulated.compiled import load
from mini_infer.runtime.devices.emulated.gpu_interpreter import Kernel

ROWS, COLUMNS, TILES, STAGES = 64, 8, 5, 3
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
GROUP = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>"
SHARED = "memref<3x2x8x4xf32, #gpu.address_space<workgroup>>"
SUMS = "memref<1x4xf32, #gpu.address_space<private>>"
INIT = f"""scf.for %n = %c0 to %c3 step %c1 {{
    nvgpu.mbarrier.init %b[%n], %c1 : {GROUP}
  }}
"""
FENCE = "nvgpu.mbarrier.fence\n"
MEET = "gpu.barrier // initialised\n"
EXPECT = f"nvgpu.mbarrier.arrive.expect_tx %b[%into], %bytes : {GROUP}\n"
WAIT = f"nvgpu.mbarrier.try_wait.parity %b[%stage], %odd, %ticks : {GROUP}\n"
ORDER = "gpu.barrier // all have read\n"
BEFORE = "nvgpu.warpgroup.fence\n"
COMMIT = "nvgpu.warpgroup.commit\n"
DONE = "nvgpu.warpgroup.wait 0\n"
FIRST = "scf.if %first {"


def product(element: str) -> str:
    """c = a b by one warpgroup, in tiles of the depth, each copied while the one before is multiplied."""
    held, depth = (4, 8) if element == "f32" else (8, 16)
    shared = f"memref<3x2x8x{held}x{element}, #gpu.address_space<workgroup>>"
    whole, elements = f"memref<{TILES * COLUMNS * depth}x{element}>", COLUMNS * depth
    lines: list[str] = []
    for number in range(held):  # as the operation says where they lie
        pair, low = divmod(number, held // 4)
        row, at = 8 * (pair % 2), (4 if element == "f32" else 8) * (pair // 2) + low
        lines.append(f"""%ro{number} = arith.constant {row} : index
          %co{number} = arith.constant {at} : index
          %r{number} = arith.addi %top, %ro{number} : index
          %k{number} = arith.addi %place, %co{number} : index
          %d{number} = arith.addi %start, %k{number} : index
          %x{number} = memref.load %a[%r{number}, %d{number}] : memref<64x{TILES * depth}x{element}>
          %v{number + 1} = vector.insert %x{number}, %v{number} [{number}] : {element} into vector<{held}x{element}>""")
    stores: list[str] = []
    for number in range(4):
        stores.append(f"""%so{number} = arith.constant {8 * (number // 2)} : index
          %sr{number} = arith.addi %top, %so{number} : index
          %sl{number} = arith.constant {number % 2} : index
          %sc{number} = arith.addi %t2, %sl{number} : index
          %i{number} = arith.constant {number} : index
          %s{number} = memref.load %sums[%c0, %i{number}] : {SUMS}
          memref.store %s{number}, %c[%sr{number}, %sc{number}] : memref<64x8xf32>""")
    copy = f"""{FIRST}
        {EXPECT}
        %from = arith.muli %tile, %elements : index
        nvgpu.bulk_async_copy %w[%from], %s[%into, %c0, %c0, %c0], %b[%into], {elements} : {whole} to {shared}, {GROUP}
      }}"""
    arguments = f"%a: memref<64x{TILES * depth}x{element}>, %w: {whole}, %c: memref<64x8xf32>"
    zeros = "\n".join(
        f"%z{i} = arith.constant {i} : index\nmemref.store %zero, %sums[%c0, %z{i}] : {SUMS}" for i in range(4)
    )
    return f"""gpu.module @kernels {{
  gpu.func @tested({arguments}) kernel attributes {{gpu.known_block_size = array<i32: 128, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %tiles = arith.constant {TILES} : index
    %depth = arith.constant {depth} : index
    %elements = arith.constant {elements} : index
    %bytes = arith.constant 256 : index
    %ticks = arith.constant 1000 : index
    %zero = arith.constant 0.0 : f32
    %v0 = arith.constant dense<0.0> : vector<{held}x{element}>
    %tid = gpu.thread_id x
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %s = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to {shared}
    %sums = memref.alloca() : {SUMS}
    {zeros}
    %first = arith.cmpi eq, %tid, %c0 : index
    %warp = arith.divui %tid, %c32 : index
    %lane = arith.remui %tid, %c32 : index
    %g = arith.divui %lane, %c4 : index
    %t = arith.remui %lane, %c4 : index
    %t2 = arith.muli %t, %c2 : index
    %place = arith.addi {"%t, %c0" if element == "f32" else "%t2, %c0"} : index
    %warp_row = arith.muli %warp, %c16 : index
    %top = arith.addi %warp_row, %g : index
    %b = nvgpu.mbarrier.create -> {GROUP}
    {FIRST}
      {INIT}
      {FENCE}
    }}
    {MEET}
    scf.for %tile = %c0 to %c2 step %c1 {{
      %into = arith.remui %tile, %c3 : index
      {copy}
    }}
    scf.for %now = %c0 to %tiles step %c1 {{
      %stage = arith.remui %now, %c3 : index
      %round = arith.divui %now, %c3 : index
      %parity = arith.remui %round, %c2 : index
      %odd = arith.cmpi eq, %parity, %c1 : index
      {WAIT}
      {ORDER}
      %tile = arith.addi %now, %c2 : index
      %more = arith.cmpi slt, %tile, %tiles : index
      scf.if %more {{
        %into = arith.remui %tile, %c3 : index
        {copy}
      }}
      %start = arith.muli %now, %depth : index
      {"".join(lines)}
      {BEFORE}
      nvgpu.warpgroup.mma %v{held}, %s[%stage, %c0, %c0, %c0], %sums : vector<{held}x{element}>, {shared}, {SUMS}
      {COMMIT}
      {DONE}
    }}
    {"".join(stores)}
    gpu.return
  }}
}}"""


@cache
def operands(element: str) -> tuple[Array, Array, Array]:
    """Whole numbers, exact in every precision: a, b, and b packed."""
    depth, random = TILES * (8 if element == "f32" else 16), np.random.default_rng(0)
    a = random.integers(-8, 8, (ROWS, depth)).astype(DTYPES[element])
    b = random.integers(-8, 8, (depth, COLUMNS)).astype(np.float32)
    packing = CoreMatrixPacking(COLUMNS, depth, half=element == "f16", brain=element == "bf16")
    return a, b, packing.pack(b).reshape(-1)


def interpreted(text: str, *arrays: Array) -> None:
    (function,) = [op for op in parse(text).walk() if isinstance(op, FuncOp)]
    places = [GlobalRange(array.reshape(-1).view(np.uint8)) for array in arrays]
    Kernel(function).run((1, 1, 1), (128, 1, 1), 3 * 256, places)


def compiled(text: str, *arrays: Array, seeds: int = 3) -> None:
    program = load(cuda_text(parse(text)))
    launch = Launch("tested", (1, 1, 1), (128, 1, 1), 3 * 256, tuple(Argument(i, 0) for i in range(3)))
    for seed in range(seeds):
        arrays[2][...] = np.nan
        program.run(launch, [each.ctypes.data for each in arrays], seed)
        np.testing.assert_array_equal(arrays[2], arrays[0].astype(np.float32) @ operands(_element(arrays[0]))[1])


def _element(a: Array) -> str:
    return next(name for name, dtype in DTYPES.items() if a.dtype == dtype)


BY_TEXT = pytest.param(compiled, marks=NEEDS_COMPILER)


@pytest.mark.parametrize("run", [interpreted, BY_TEXT])
@pytest.mark.parametrize("element", DTYPES)
def test_products_of_a_warpgroup(element: str, run: Callable[..., None]) -> None:
    a, b, packed = operands(element)
    c = np.full((ROWS, COLUMNS), np.nan, np.float32)
    run(product(element), a, packed, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b)


@dataclass(frozen=True)
class Fault:
    """What is put in the place of a part of the text, and what each emulation finds: "" if only numbers are wrong."""

    part: str
    instead: str
    interpreter: str
    text: str = ""


TOO_LONG = "threads wait for ever: 128 for a phase of a barrier"
FAULTS = {
    "nobody waits for a copy": Fault(WAIT, "", "reads bytes of shared memory that are still being copied"),
    "a wait for the other phase": Fault("eq, %parity, %c1", "eq, %parity, %c0", "still being copied"),
    "a wait for another stage": Fault(
        WAIT, WAIT.replace("%stage", "%c2"), "never complete, with 0 of 1 arrivals and 0 of 0 bytes", TOO_LONG
    ),
    "too many bytes": Fault("%bytes = arith.constant 256", "%bytes = arith.constant 272", "256 of 272 bytes", TOO_LONG),
    "too few bytes": Fault("%bytes = arith.constant 256", "%bytes = arith.constant 240", "256 of 240 bytes", TOO_LONG),
    "nobody arrives": Fault(EXPECT, "", "0 of 1 arrivals and 256 of 0 bytes", TOO_LONG),
    "barriers that are not initialised": Fault(INIT, "", "the barrier is not initialised", "is not initialised"),
    "barriers without a fence": Fault(FENCE, "", "initialised, but not fenced", "not fenced since it was initialised"),
    "barriers that others don't know yet": Fault(MEET, "", "initialised with no gpu.barrier since", ""),
    "a barrier for two arrivals": Fault(
        INIT, INIT.replace("%b[%n], %c1", "%b[%n], %c2"), "1 of 2 arrivals and 256 of 256 bytes", TOO_LONG
    ),
    "every thread copies": Fault("scf.if %first", "scf.if %true", "several threads of a block execute it", "arrival"),
    "a copy over what others still read": Fault(ORDER, "", "writes bytes that other threads may still access"),
    "nobody waits for a product": Fault(
        DONE, "", "writes bytes of shared memory that a product in flight may still read", "in flight"
    ),
    "a product without a fence": Fault(BEFORE, "", "no fence before the first product", "without a fence before"),
    "a product in no group": Fault(COMMIT, "", "that a product in flight may still read", "in flight"),
    "a wait for too few groups": Fault(DONE, "nvgpu.warpgroup.wait 1\n", "may still read", "in flight"),
    "sums that are read in flight": Fault(
        DONE,
        f"%early = memref.load %sums[%c0, %c0] : {SUMS}\nmemref.store %early, %c[%c0, %c0] : memref<64x8xf32>\n{DONE}",
        "element 0 of a private array is in flight",
        "no difference",
    ),
    "sums that are written in flight": Fault(
        DONE,
        f"memref.store %zero, %sums[%c0, %c0] : {SUMS}\n{DONE}",
        "its sums were written while it was in flight",
        "no difference",
    ),
    "a matrix that ordinary stores wrote": Fault(
        BEFORE,
        f"{FIRST} memref.store %zero, %s[%stage, %c0, %c0, %c0] : {SHARED} }}\ngpu.barrier\n{BEFORE}",
        "reads bytes of shared memory that ordinary stores wrote",
    ),
    "a matrix that ordinary stores wrote, with no barrier behind the fence": Fault(
        BEFORE,
        f"{FIRST} memref.store %zero, %s[%stage, %c0, %c0, %c0] : {SHARED}\nnvgpu.proxy_fence\n }}\n{BEFORE}",
        "reads bytes of shared memory that ordinary stores wrote",
        "no difference",
    ),
    "a matrix that ordinary stores wrote, behind the fence of another thread": Fault(
        BEFORE,
        f"{FIRST} memref.store %zero, %s[%stage, %c0, %c0, %c0] : {SHARED} }} else {{ nvgpu.proxy_fence }}\n"
        f"gpu.barrier\n{BEFORE}",
        "reads bytes of shared memory that ordinary stores wrote",
        "no difference",
    ),
    "a stage that is used too early": Fault(
        "%tile = arith.addi %now, %c2 : index\n      %more",
        "%tile = arith.addi %now, %c3 : index\n      %more",
        "still being copied",
        "wait for ever|arrival",
    ),
}


def faulty(fault: Fault) -> str:
    text = product("f32")
    assert fault.part in text
    head = "%true = arith.constant true\n"
    return text.replace(fault.part, fault.instead).replace("%tid =", f"{head}%tid =")


@pytest.mark.parametrize("name", FAULTS)
def test_the_interpreter_finds(name: str) -> None:
    a, _, packed = operands("f32")
    with pytest.raises(KernelError, match=FAULTS[name].interpreter):
        interpreted(faulty(FAULTS[name]), a, packed, np.zeros((ROWS, COLUMNS), np.float32))


@pytest.mark.parametrize("run", [interpreted, BY_TEXT])
def test_products_see_what_is_stored_behind_a_fence_and_a_barrier(run: Callable[..., None]) -> None:
    a, b, packed = operands("f32")
    a, c = a.copy(), np.full((ROWS, COLUMNS), np.nan, np.float32)
    a[:, ::8] = 0  # nothing is left of the numbers that are overwritten
    stored = f"{FIRST} memref.store %zero, %s[%stage, %c0, %c0, %c0] : {SHARED}\nnvgpu.proxy_fence }}\ngpu.barrier\n"
    run(product("f32").replace(BEFORE, stored + BEFORE), a, packed, c)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.slow
@NEEDS_COMPILER
@pytest.mark.parametrize("name", [name for name in FAULTS if FAULTS[name].text != "no difference"])
def test_the_compiled_text_tells(name: str) -> None:
    """By a message, or by wrong numbers for some order of its threads."""
    a, _, packed = operands("f32")
    kind = KernelError if FAULTS[name].text else (AssertionError, KernelError)
    with pytest.raises(kind, match=FAULTS[name].text or None):
        compiled(faulty(FAULTS[name]), a, packed, np.zeros((ROWS, COLUMNS), np.float32), seeds=8)
