"""The printed text on the CPU: threads that wait for each other, and what is found of kernels that do it wrong."""

from __future__ import annotations

import ctypes
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gpu_runs import NEEDS_COMPILER
from gpu_runs import run as interpret
from gpu_text import parse
from text_models import model_of

import mini_infer as mi
from mini_infer.dialects.errors import CompileError, ConfigError, KernelError
from mini_infer.dialects.gpu.kernels import FuncOp
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.gpu_to_cuda.device_program import Argument, Launch
from mini_infer.runtime.devices.emulated import compiled
from mini_infer.runtime.devices.emulated.compiled import Program, load

pytestmark = NEEDS_COMPILER

THREADS = 64
CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %w8 = arith.constant 8 : i32
  %w32 = arith.constant 32 : i32
  %o3 = arith.constant 3 : i32
  %i = gpu.thread_id x
  %block = gpu.block_id x
  %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
  %s = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to
    memref<4x64xf32, #gpu.address_space<workgroup>>
"""
S = "memref<4x64xf32, #gpu.address_space<workgroup>>"


def kernel(name: str, arguments: str, body: str) -> str:
    """A gpu.func on 64 threads."""
    more = ", nvgpu.cooperative" if "nvgpu.grid_barrier" in body else ""
    known = f"gpu.known_block_size = array<i32: {THREADS}, 1, 1>{more}"
    head = f"gpu.func @{name}({arguments}) kernel attributes {{{known}}}"
    return f"{head} {{ {CONSTANTS} {body} gpu.return }}"


def reversal(barrier: str) -> str:
    """Every block turns its row around, by way of shared memory."""
    return f"""
      %x = memref.load %in[%block, %i] : memref<4x64xf32>
      memref.store %x, %s[%c0, %i] : {S}
      {barrier}
      %other = arith.subi %c63, %i : index
      %y = memref.load %s[%c0, %other] : {S}
      memref.store %y, %out[%block, %i] : memref<4x64xf32>"""


def pipeline(groups: int) -> str:
    """out = the sum of 8 rows, which are copied two steps ahead into 4 places."""
    copy = f"nvgpu.device_async_copy %in[{{row}}, %i], %s[{{place}}, %i], 1 : memref<8x64xf32> to {S}"
    return f"""
      %zero = arith.constant 0.0 : f32
      {copy.format(row="%c0", place="%c0")}
      nvgpu.device_async_create_group
      {copy.format(row="%c1", place="%c1")}
      nvgpu.device_async_create_group
      %sum = scf.for %k = %c0 to %c8 step %c1 iter_args(%total = %zero) -> (f32) {{
        %next = arith.addi %k, %c2 : index
        %more = arith.cmpi slt, %next, %c8 : index
        scf.if %more {{
          %to = arith.remui %next, %c4 : index
          {copy.format(row="%next", place="%to")}
        }}
        nvgpu.device_async_create_group
        nvgpu.device_async_wait {groups}
        gpu.barrier
        %at = arith.remui %k, %c4 : index
        %other = arith.subi %c63, %i : index
        %x = memref.load %s[%at, %other] : {S}
        %t = arith.addf %total, %x : f32
        scf.yield %t : f32
      }}
      memref.store %sum, %out[%i] : memref<64xf32>"""


def shuffles() -> str:
    """A row for each mode and width: values, and whether they are valid."""
    lines: list[str] = []
    for row, (mode, width) in enumerate((m, w) for m in ("xor", "up", "down", "idx") for w in ("%w8", "%w32")):
        lines.append(f"""
          %r{row}, %v{row} = gpu.shuffle {mode} %x, %o3, {width} : f32
          %n{row} = arith.constant {row} : index
          memref.store %r{row}, %out[%n{row}, %i] : memref<8x64xf32>
          memref.store %v{row}, %valid[%n{row}, %i] : memref<8x64xi1>""")
    return "%x = memref.load %in[%i] : memref<64xf32>" + "".join(lines)


NUMPY = {"i8": np.int8, "ui8": np.uint8, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}


def product(element: str, right: str = "") -> str:
    """c = a b + c by the first warp, its fragments read one by one as the operation says where they lie."""
    word = 4 // np.dtype(NUMPY[element]).itemsize
    k, counts, right = 8 * word, (4 * word, 2 * word), right or element
    sums = "i32" if word == 4 else "f32"
    lines = [
        "%g = arith.divui %i, %c4 : index",
        "%t = arith.remui %i, %c4 : index",
        "%t2 = arith.muli %t, %c2 : index",
        f"%word = arith.constant {word} : index",
        "%tw = arith.muli %t, %word : index",
    ]

    def place(name: str, row: tuple[str, int], column: tuple[str, int]) -> str:
        for axis, (base, offset) in (("r", row), ("c", column)):
            lines.append(f"%{name}{axis}o = arith.constant {offset} : index")
            lines.append(f"%{name}{axis} = arith.addi {base}, %{name}{axis}o : index")
        return f"%{name}r, %{name}c"

    def fragment(name: str, buffer: str, count: int, places: list[str], type: str) -> None:
        for each in range(count):
            lines.append(f"%{name}{each} = memref.load %{buffer}[{places[each]}] : {type}")
        element = type.rpartition("x")[2].rstrip(">")
        vector = f"vector<{count}x{element}>"
        zero = "0.0" if "f" in element else "0"
        lines.append(f"%{name}v0 = arith.constant dense<{zero}> : {vector}")
        for each in range(count):
            given = f"%{name}{each}, %{name}v{each} [{each}]"
            lines.append(f"%{name}v{each + 1} = vector.insert {given} : {element} into {vector}")

    numbers = [divmod(n, word) for n in range(4 * word)]
    a = [place(f"pa{i}_{j}", ("%g", 8 * (i % 2)), ("%tw", j + 4 * word * (i // 2))) for i, j in numbers]
    b = [place(f"pb{i}_{j}", ("%tw", j + 4 * word * i), ("%g", 0)) for i, j in numbers[: 2 * word]]
    c = [place(f"pc{i}", ("%g", 8 * (i // 2)), ("%t2", i % 2)) for i in range(4)]
    fragment("a", "a", counts[0], a, f"memref<16x{k}x{element}>")
    fragment("b", "b", counts[1], b, f"memref<{k}x8x{right}>")
    fragment("e", "c", 4, c, f"memref<16x8x{sums}>")
    types = f"(vector<{counts[0]}x{element}>, vector<{counts[1]}x{right}>, vector<4x{sums}>) -> vector<4x{sums}>"
    lines.append(f"%d = nvgpu.mma.sync(%av{counts[0]}, %bv{counts[1]}, %ev4) : {types}")
    for i in range(4):
        lines.append(f"%d{i} = vector.extract %d[{i}] : {sums} from vector<4x{sums}>")
        lines.append(f"memref.store %d{i}, %c[{c[i]}] : memref<16x8x{sums}>")
    return "\n".join(lines)


MATRICES = [("i8", 4, False), ("f16", 4, True), ("bf16", 2, False), ("f16", 1, True), ("f32", 4, False)]


def matrices(element: str, tiles: int, transpose: bool) -> tuple[str, str]:
    """A warp stores 32 rows of 16 bytes, from the last to the first, and loads `tiles` matrices of them."""
    per_row = 16 // np.dtype(NUMPY[element]).itemsize
    tile, part = (
        f"memref<32x{per_row}x{element}, #gpu.address_space<workgroup>>",
        f"vector<{tiles * per_row // 4}x{element}>",
    )
    given, got = f"memref<32x{per_row}x{element}>", f"memref<32x{tiles * per_row // 4}x{element}>"
    how = f"{{numTiles = {tiles} : i32, transpose = {str(transpose).lower()}}}"
    body = f"""
      %t = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to {tile}
      %row = vector.load %in[%i, %c0] : {given}, vector<{per_row}x{element}>
      %c31 = arith.constant 31 : index
      %other = arith.subi %c31, %i : index
      vector.store %row, %t[%other, %c0] : {tile}, vector<{per_row}x{element}>
      gpu.barrier
      %part = nvgpu.ldmatrix %t[%other, %c0] {how} : {tile} -> {part}
      vector.store %part, %out[%i, %c0] : {got}, {part}"""
    return f"%in: {given}, %out: {got}", body


ROWS = "%in: memref<4x64xf32>, %out: memref<4x64xf32>"
GRID = "nvgpu.grid_barrier %n : memref<1xi32>"


def relay(barrier: str) -> str:
    """Three times, each block takes the row of the block behind it, and all write their rows anew, in another place."""
    return f"""
      %x = memref.load %in[%block, %i] : memref<4x64xf32>
      memref.store %x, %rows[%c0, %block, %i] : memref<2x4x64xf32>
      {barrier}
      %next = arith.addi %block, %c1 : index
      %behind = arith.remui %next, %c4 : index
      scf.for %k = %c0 to %c3 step %c1 {{
        %from = arith.remui %k, %c2 : index
        %to = arith.subi %c1, %from : index
        %v = memref.load %rows[%from, %behind, %i] : memref<2x4x64xf32>
        memref.store %v, %rows[%to, %block, %i] : memref<2x4x64xf32>
        {barrier}
      }}
      %y = memref.load %rows[%c1, %block, %i] : memref<2x4x64xf32>
      memref.store %y, %out[%block, %i] : memref<4x64xf32>"""


RELAY = "%in: memref<4x64xf32>, %rows: memref<2x4x64xf32>, %n: memref<1xi32>, %out: memref<4x64xf32>"
COOPERATIVE = {
    "relayed": (RELAY, relay(GRID)),
    "not_relayed": (RELAY, f"{GRID} {relay('gpu.barrier')}"),
    "missed": (RELAY, f"%some = arith.cmpi ult, %block, %c3 : index\nscf.if %some {{ {GRID} }}"),
}
HALF = "%low = arith.cmpi slt, %i, %c16 : index\n"
KERNELS = {
    "reversed": (ROWS, reversal("gpu.barrier")),
    "no_barrier": (ROWS, reversal("")),
    "late_barrier": (ROWS, HALF + reversal("scf.if %low { gpu.barrier }")),
    "two_barriers": (ROWS, HALF + reversal("scf.if %low { gpu.barrier } else { gpu.barrier }")),
    "piped": ("%in: memref<8x64xf32>, %out: memref<64xf32>", pipeline(2)),
    "piped_too_early": ("%in: memref<8x64xf32>, %out: memref<64xf32>", pipeline(3)),
    "shuffled": ("%in: memref<64xf32>, %out: memref<8x64xf32>, %valid: memref<8x64xi1>", shuffles()),
    "half_a_warp": (
        ROWS,
        HALF + "scf.if %low { %x = memref.load %in[%c0, %i] : memref<4x64xf32>\n"
        "%r, %v = gpu.shuffle xor %x, %o3, %w32 : f32\nmemref.store %r, %out[%c0, %i] : memref<4x64xf32> }",
    ),
    "mixed_warp": (
        ROWS,
        HALF + "%x = memref.load %in[%c0, %i] : memref<4x64xf32>\n%z = scf.if %low -> (f32) {"
        "%r, %v = gpu.shuffle xor %x, %o3, %w32 : f32\nscf.yield %r : f32 } else {"
        "%r, %v = gpu.shuffle up %x, %o3, %w32 : f32\nscf.yield %r : f32 }"
        "memref.store %z, %out[%c0, %i] : memref<4x64xf32>",
    ),
    "unaligned": (
        "%in: memref<64xf32>, %out: memref<64xf32>",
        "%x = vector.load %in[%c1] : memref<64xf32>, vector<4xf32>\n"
        "vector.store %x, %out[%c0] : memref<64xf32>, vector<4xf32>",
    ),
    "padded": (
        "%in: memref<64xf32>, %out: memref<64xf32>, %count: memref<1xi32>",
        f"""%n32 = memref.load %count[%c0] : memref<1xi32>
        %n = arith.index_cast %n32 : i32 to index
        %first = arith.cmpi eq, %i, %c0 : index
        scf.if %first {{
          nvgpu.device_async_copy %in[%c0], %s[%c0, %c0], 4, %n : memref<64xf32> to {S}
          nvgpu.device_async_create_group
          nvgpu.device_async_wait 0
          %x = vector.load %s[%c0, %c0] : {S}, vector<4xf32>
          vector.store %x, %out[%c0] : memref<64xf32>, vector<4xf32>
        }}""",
    ),
    "product_f32": ("%a: memref<16x8xf32>, %b: memref<8x8xf32>, %c: memref<16x8xf32>", product("f32")),
    "product_f16": ("%a: memref<16x16xf16>, %b: memref<16x8xf16>, %c: memref<16x8xf32>", product("f16")),
    **{
        f"product_{a}_{b}": (f"%a: memref<16x32x{a}>, %b: memref<32x8x{b}>, %c: memref<16x8xi32>", product(a, b))
        for a in ("i8", "ui8")
        for b in ("i8", "ui8")
    },
    "product_bf16": ("%a: memref<16x16xbf16>, %b: memref<16x8xbf16>, %c: memref<16x8xf32>", product("bf16")),
    **{f"matrices_{'_'.join(map(str, each))}": matrices(*each) for each in MATRICES},
}


def function_of(name: str) -> FuncOp:
    """One of the kernels, for the interpreter."""
    module = parse(f"gpu.module @kernels {{ {kernel(name, *KERNELS[name])} }}")
    return next(op for op in module.walk() if isinstance(op, FuncOp))


@pytest.fixture(scope="module")
def program() -> Program:
    bodies = [kernel(name, *parts) for name, parts in (KERNELS | COOPERATIVE).items()]
    return load(cuda_text(parse(f"gpu.module @kernels {{ {''.join(bodies)} }}")))


def run(
    program: Program,
    name: str,
    *arrays: np.ndarray,
    seed: int = 0,
    blocks: int = 1,
    threads: int = THREADS,
    shared: int = 1024,
    cooperative: bool = False,
) -> None:
    """Launches a kernel on arrays."""
    arguments = tuple(Argument(root, 0) for root in range(len(arrays)))
    launch = Launch(name, (blocks, 1, 1), (threads, 1, 1), shared, arguments, ("/node",), cooperative=cooperative)
    program.run(launch, [each.ctypes.data for each in arrays], seed)


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Random rows, and room for results."""
    return np.random.default_rng(0).random((4, 64), np.float32), np.zeros((4, 64), np.float32)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("seed", range(4))
def test_threads_hand_each_other_values(program: Program, seed: int) -> None:
    given, got = rows()
    run(program, "reversed", given, got, seed=seed, blocks=4)
    np.testing.assert_array_equal(got, given[:, ::-1])


def test_a_missing_barrier_shows(program: Program) -> None:
    given, got = rows()
    run(program, "no_barrier", given, got, blocks=4)
    assert np.isnan(got).any()


def test_a_barrier_that_not_all_reach_is_told(program: Program) -> None:
    expected = r"^/node \(late_barrier\): threads wait for ever: 16 at the barrier .*\(\d+\), 0 for .*, 48 have ended"
    for seed in range(3):
        with pytest.raises(KernelError, match=expected):
            run(program, "late_barrier", *rows(), seed=seed)


def test_two_barriers_are_not_one(program: Program) -> None:
    with pytest.raises(KernelError, match=r"threads wait at different barriers: 63 at "):
        run(program, "two_barriers", *rows())


def relayed(program: Program, name: str, seed: int = 0, counter: int = 0, cooperative: bool = True) -> bool:
    """Whether rows have gone three blocks on."""
    given, got = rows()
    places, count = np.zeros((2, 4, 64), np.float32), np.full(1, counter, np.int32)
    run(program, name, given, places, count, got, seed=seed, blocks=4, cooperative=cooperative)
    return np.array_equal(got, np.roll(given, -3, axis=0))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("seed", range(4))
def test_blocks_hand_each_other_values(program: Program, seed: int) -> None:
    assert relayed(program, "relayed", seed) and relayed(program, "relayed", seed, counter=-(2**31))


def test_a_missing_barrier_of_the_grid_shows(program: Program) -> None:
    assert not all(relayed(program, "not_relayed", seed) for seed in range(4))


def test_a_barrier_of_the_grid_that_is_no_meeting_of_all_is_told(program: Program) -> None:
    stuck = "threads wait for ever: 192 at a barrier of their grid, 0 for others, 64 have ended"
    with pytest.raises(KernelError, match=stuck):
        relayed(program, "missed")
    with pytest.raises(KernelError, match="the counter of the grid's barrier was not set to 0 before the launch"):
        relayed(program, "relayed", counter=1)
    with pytest.raises(KernelError, match="a barrier of the grid in a launch that is not cooperative"):
        relayed(program, "relayed", cooperative=False)


@pytest.mark.parametrize("seed", range(4))
def test_copies_are_there_after_the_wait(program: Program, seed: int) -> None:
    given, got = np.random.default_rng(0).random((8, 64), np.float32), np.zeros(64, np.float32)
    run(program, "piped", given, got, seed=seed)
    np.testing.assert_allclose(got, given[:, ::-1].sum(0), rtol=1e-6)


def test_a_wait_for_too_few_copies_shows(program: Program) -> None:
    given, got = np.random.default_rng(0).random((8, 64), np.float32), np.zeros(64, np.float32)
    run(program, "piped_too_early", given, got)
    assert not np.allclose(got, given[:, ::-1].sum(0))


@pytest.mark.parametrize("count", range(5))
def test_a_copy_may_be_filled_up_with_zeros(program: Program, count: int) -> None:
    given, got = np.ones(64, np.float32), np.full(64, 7, np.float32)
    run(program, "padded", given, got, np.array([count], np.int32))
    np.testing.assert_array_equal(got[:5], [*([1] * count), *([0] * (4 - count)), 7])


def test_a_copy_of_more_than_there_are_is_told(program: Program) -> None:
    given, got = np.ones(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(KernelError, match="an asynchronous copy of 16 bytes, of which 20 are to be read"):
        run(program, "padded", given, got, np.array([5], np.int32))


def test_shuffles(program: Program) -> None:
    given = np.arange(64, dtype=np.float32)
    got, valid = np.zeros((8, 64), np.float32), np.zeros((8, 64), np.bool_)
    run(program, "shuffled", given, got, valid, seed=5)
    lane = np.arange(64)
    for row, (mode, width) in enumerate((mode, width) for mode in ("xor", "up", "down", "idx") for width in (8, 32)):
        group = lane // width * width
        wanted = {"xor": lane ^ 3, "up": lane - 3, "down": lane + 3, "idx": group + 3}[mode]
        inside = (wanted >= group) & (wanted < group + width)
        np.testing.assert_array_equal(valid[row], inside, err_msg=mode)
        np.testing.assert_array_equal(got[row], np.where(inside, wanted, lane), err_msg=mode)


def test_a_warp_that_is_not_complete_is_told(program: Program) -> None:
    with pytest.raises(
        KernelError, match=r"threads wait for ever: 16 for other lanes of their warp \(shuffles by xor\)"
    ):
        run(program, "half_a_warp", *rows())


def test_a_warp_that_does_different_things_is_told(program: Program) -> None:
    with pytest.raises(
        KernelError, match="lanes of a warp do different things: one shuffles by xor, another shuffles up"
    ):
        run(program, "mixed_warp", *rows())


@pytest.mark.parametrize(("element", "tiles", "transpose"), MATRICES)
def test_matrices_are_spread_over_the_lanes(program: Program, element: str, tiles: int, transpose: bool) -> None:
    """Lane (g, t) has elements t, t + 1, ... of row g of each matrix, or of column g."""
    dtype = np.dtype(NUMPY[element])
    per_row, per_lane = 16 // dtype.itemsize, 4 // dtype.itemsize
    given = np.arange(32 * per_row).reshape(32, per_row).astype(np.int8).astype(dtype)
    of_matrices = given.reshape(4, 8, per_row)[:tiles]
    lines = of_matrices.swapaxes(1, 2) if transpose else of_matrices
    expected = lines.reshape(tiles, 32, per_lane).swapaxes(0, 1).reshape(32, tiles * per_lane)
    name = f"matrices_{element}_{tiles}_{transpose}"
    got, interpreted = (np.zeros(expected.shape, dtype) for _ in range(2))
    run(program, name, given, got, threads=32, seed=3)
    np.testing.assert_array_equal(got, expected)
    function = next(
        op for op in parse(f"gpu.module @m {{ {kernel(name, *KERNELS[name])} }}").walk() if isinstance(op, FuncOp)
    )
    interpret(function, [given, interpreted], threads=32, shared=1024)
    np.testing.assert_array_equal(interpreted, expected)


@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_products_of_a_warp(program: Program, element: str, dtype: type[np.generic]) -> None:
    k = 8 if element == "f32" else 16
    random = np.random.default_rng(0)
    a, b = (random.integers(-8, 8, shape).astype(dtype) for shape in ((16, k), (k, 8)))
    c = random.integers(-8, 8, (16, 8)).astype(np.float32)
    expected = a.astype(np.float32) @ b.astype(np.float32) + c
    run(program, f"product_{element}", a, b, c, threads=32, seed=3)
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("left", ["i8", "ui8"])
@pytest.mark.parametrize("right", ["i8", "ui8"])
def test_products_of_bytes_wrap_around(program: Program, left: str, right: str) -> None:
    random = np.random.default_rng(0)
    a = random.integers(0, 256, (16, 32)).astype(np.uint8).view(NUMPY[left])
    b = random.integers(0, 256, (32, 8)).astype(np.uint8).view(NUMPY[right])
    c = np.repeat(np.array([2**31 - 1, -(2**31)], np.int32), 64).reshape(16, 8)
    expected = (a.astype(np.int64) @ b.astype(np.int64) + c).astype(np.int32)
    name, interpreted = f"product_{left}_{right}", c.copy()
    run(program, name, a, b, c, threads=32, seed=3)
    np.testing.assert_array_equal(c, expected)
    interpret(function_of(name), [a, b, interpreted], threads=32, shared=1024)
    np.testing.assert_array_equal(interpreted, expected)


def test_a_product_takes_the_first_bits_of_f32(program: Program) -> None:
    a, b, c = np.zeros((16, 8), np.float32), np.eye(8, dtype=np.float32), np.zeros((16, 8), np.float32)
    a[0, 0], a[1, 1] = 1 + 2.0**-10, 1 + 2.0**-11
    run(program, "product_f32", a, b, c, threads=32)
    assert c[0, 0] == np.float32(1 + 2.0**-10) and c[1, 1] == 1


def test_sums_of_a_product_are_rounded_toward_zero(program: Program) -> None:
    a, b = np.zeros((16, 8), np.float32), np.zeros((8, 8), np.float32)
    a[:8, 0], a[8:, 0], b[0, :] = 1.5 * 2.0**-24, -1.5 * 2.0**-24, 1  # of 2^-23 between 1 and the next number
    c = np.repeat(np.array([1, -1], np.float32), 8)[:, np.newaxis].repeat(8, 1)
    expected = c.copy()
    run(program, "product_f32", a, b, c, threads=32)
    np.testing.assert_array_equal(c, expected)


def test_writing_behind_shared_memory_is_told(program: Program) -> None:
    with pytest.raises(KernelError, match="writes behind the 128 bytes of shared memory that its launch asks for"):
        run(program, "reversed", *rows(), shared=128)


def test_an_access_to_a_vector_must_be_aligned(program: Program) -> None:
    with pytest.raises(KernelError, match="an access to a vector of 16 bytes at an address that is no multiple of 16"):
        run(program, "unaligned", *(each.ravel()[:64] for each in rows()))


def test_launches_that_no_gpu_takes_are_refused(program: Program) -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"shared": 2**18}, "262144 bytes of shared memory; a block has 232448 at most"),
        ({"threads": 65}, "blocks of 65 threads; the kernel is made for at most 64"),
        ({"threads": 0}, "blocks of 0 threads"),
    )
    for options, message in cases:
        with pytest.raises(KernelError, match=message):
            run(program, "reversed", *rows(), **options)
    with pytest.raises(KernelError, match="1 arguments; the kernel takes 2"):
        run(program, "reversed", rows()[0])
    with pytest.raises(KernelError, match="there is no kernel of that name"):
        run(program, "other", *rows())


def test_a_grid_without_blocks_does_nothing(program: Program) -> None:
    given, got = rows()
    run(program, "reversed", given, got, blocks=0)
    assert not got.any()


def test_several_threads_launch_at_once(program: Program) -> None:
    def once(seed: int) -> bool:
        given, got = rows()
        run(program, "reversed", given, got, seed=seed, blocks=4)
        return np.array_equal(got, given[:, ::-1])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(once, range(40)))


def test_threads_on_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "OPTIONS", (*compiled.OPTIONS, "-DEMULATED_BY_UCONTEXT"))
    text = f"gpu.module @kernels {{ {kernel('reversed', *KERNELS['reversed'])} }}"
    given, got = rows()
    run(load(cuda_text(parse(text))), "reversed", given, got, seed=1, blocks=4)
    np.testing.assert_array_equal(got, given[:, ::-1])


def test_what_the_compiler_refuses_is_told() -> None:
    with pytest.raises(CompileError, match=r"\+\+: .*error"):
        load('extern "C" __global__ void f() {\n  wrong;\n}\n')


def test_unsigned_bytes_of_an_array_are_no_type() -> None:
    """`(float(u8(x[i])) - 1.0f) * 1.0f` may begin like a cast of `* 1.0f`."""
    zero, scale = "zero = Constant <value = uint8 {1}> ()", "scale = Constant <value = float {1}> ()"
    node = "wide = DequantizeLinear(x, scale, zero)  y = Add(wide, b)"
    model = model_of(f"g (uint8[3,5] x, float[3,1] b) => (float[3,5] y) {{ {zero}  {scale}  {node} }}")
    x, b = np.arange(200, 215, dtype=np.uint8).reshape(3, 5), np.ones((3, 1), np.float32)
    engine = mi.compile(model, device="cuda-emulated", emulator="compiled")
    np.testing.assert_array_equal(engine({"x": x, "b": b})["y"], x.astype(np.float32))


def test_a_compiler_that_is_missing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "COMPILERS", ())
    with pytest.raises(ConfigError, match="no C\\+\\+ compiler to emulate a GPU with"):
        load("")


def test_a_process_holds_many_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are models: none takes memory that a process has little of."""
    kept, loaded = tmp_path / "kept.so", ctypes.CDLL

    def keep(path: str) -> ctypes.CDLL:
        shutil.copy(path, kept)
        return loaded(path)

    monkeypatch.setattr(compiled.ctypes, "CDLL", keep)
    load(cuda_text(parse(f"gpu.module @kernels {{ {kernel('nothing', '', '')} }}")))
    for number in range(100):
        loaded(str(shutil.copy(kept, tmp_path / f"{number}.so")))
