"""Kernels as GPUs run them, in the interpreter: threads that part, warps, tiles in shared memory, copies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gpu_runs import kernel_function, run
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, FunctionType, MemRefType, UnitAttr, VectorType, bf16, f16, f32
from xdsl.dialects.builtin import ModuleOp as BuiltinModuleOp
from xdsl.dialects.vector import ExtractOp, InsertOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from mini_infer.dialects.errors import KernelError
from mini_infer.dialects.gpu.kernels import FuncOp, ModuleOp, ReturnOp
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.kernel_code.loop_builder import Index
from mini_infer.lowering.kernels_to_gpu.thread_builder import ThreadBuilder
from mini_infer.runtime.devices.emulated.checked_memory import GlobalRange
from mini_infer.runtime.devices.emulated.gpu_interpreter import Kernel

RANDOM = np.random.default_rng(0)


def written(arguments: list[Attribute], write: Any) -> FuncOp:
    """A kernel that `write(builder, arguments)` writes."""
    block = Block(arg_types=arguments)
    builder = ThreadBuilder(block)
    write(builder, *block.args)
    block.add_op(ReturnOp())
    function = FuncOp("tested", FunctionType.from_lists(arguments, []), Region(block), kernel=True)
    module = BuiltinModuleOp([ModuleOp("kernels", Region(Block([function])))])
    module.verify()
    return function


def test_threads_part_and_meet_again() -> None:
    """Nested branches and loops whose trips differ; each thread goes its own way."""
    body = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c1000 = arith.constant 1000 : i32
    %one = arith.constant 1 : i32
    %t = arith.index_cast %tid : index to i32
    %sum = scf.for %i = %c0 to %tid step %c1 iter_args(%a = %one) -> (i32) {
      %rest = arith.remui %i, %c3 : index
      %third = arith.cmpi eq, %rest, %c0 : index
      %next = scf.if %third -> (i32) {
        %odd = arith.remui %tid, %c2 : index
        %is = arith.cmpi eq, %odd, %c0 : index
        %in = scf.if %is -> (i32) {
          %k = arith.index_cast %i : index to i32
          %x = arith.addi %a, %k : i32
          scf.yield %x : i32
        } else {
          %x = arith.subi %a, %one : i32
          scf.yield %x : i32
        }
        scf.yield %in : i32
      } else {
        scf.yield %a : i32
      }
      scf.yield %next : i32
    }
    %steps, %last = scf.while (%n = %one, %v = %t) : (i32, i32) -> (i32, i32) {
      %more = arith.cmpi slt, %v, %c1000 : i32
      scf.condition(%more) %n, %v : i32, i32
    } do {
    ^bb0(%n: i32, %v: i32):
      %m = arith.addi %n, %one : i32
      %w = arith.muli %v, %n : i32
      %u = arith.addi %w, %one : i32
      scf.yield %m, %u : i32, i32
    }
    %r = arith.addi %sum, %last : i32
    memref.store %r, %y[%bid, %tid] : memref<3x96xi32>
    memref.store %steps, %z[%bid, %tid] : memref<3x96xi32>
    """
    y, z = np.zeros((3, 96), np.int32), np.zeros((3, 96), np.int32)
    run(kernel_function("%y: memref<3x96xi32>, %z: memref<3x96xi32>", body), [y, z], threads=96, blocks=3)

    def expected(thread: int) -> tuple[int, int]:
        total = 1
        for i in range(thread):
            if i % 3 == 0:
                total = total + i if thread % 2 == 0 else total - 1
        steps, value = 1, thread
        while value < 1000:
            steps, value = steps + 1, value * steps + 1
        return total + value, steps

    results = np.array([expected(thread) for thread in range(96)]).T
    np.testing.assert_array_equal(y, np.broadcast_to(results[0], y.shape))
    np.testing.assert_array_equal(z, np.broadcast_to(results[1], z.shape))


@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("mode", ["xor", "up", "down", "idx"])
def test_shuffles(mode: str, width: int) -> None:
    body = f"""
    %off = arith.constant 5 : i32
    %width = arith.constant {width} : i32
    %v = memref.load %x[%bid, %tid] : memref<2x64xf32>
    %r, %ok = gpu.shuffle {mode} %v, %off, %width : f32
    memref.store %r, %y[%bid, %tid] : memref<2x64xf32>
    memref.store %ok, %z[%bid, %tid] : memref<2x64xi1>
    """
    x = RANDOM.standard_normal((2, 64)).astype(np.float32)
    y, z = np.zeros_like(x), np.zeros((2, 64), np.bool_)
    arguments = "%x: memref<2x64xf32>, %y: memref<2x64xf32>, %z: memref<2x64xi1>"
    run(kernel_function(arguments, body), [x, y, z], threads=64, blocks=2)
    for lane in range(64):
        group = lane // width * width
        wanted = {"xor": lane ^ 5, "up": lane - 5, "down": lane + 5, "idx": group + 5}[mode]
        valid = group <= wanted < group + width
        assert (z[:, lane] == valid).all()
        np.testing.assert_array_equal(y[:, lane], x[:, wanted if valid else lane])


def test_a_row_is_summed_by_warps() -> None:
    """Lanes by shuffles, warps through shared memory; all threads get the sum of their block's row."""

    def write(b: ThreadBuilder, x: SSAValue, y: SSAValue) -> None:
        thread, block = b.thread_id(), b.block_id()
        partial = b.shared(f32, [8])
        value = b.load(x, [block, thread])
        for offset in (16, 8, 4, 2, 1):
            value = b.make(arith.AddfOp, value, b.from_lane(value, offset))
        first = b.compare("eq", b.rem(thread, 32), 0)
        b.when(first, lambda: b.store(value, partial, [b.div(thread, 32)]))
        b.barrier()
        total: SSAValue = b.load(partial, [0])
        for warp in range(1, 8):
            total = b.make(arith.AddfOp, total, b.load(partial, [warp]))
        b.store(total, y, [block, thread])

    x = RANDOM.standard_normal((40, 256)).astype(np.float32)
    y = np.zeros_like(x)
    type = MemRefType(f32, [40, 256])
    run(written([type, type], write), [x, y], threads=256, blocks=40, shared=32)
    np.testing.assert_allclose(y, np.broadcast_to(x.sum(1, dtype=np.float64)[:, None], y.shape), atol=1e-4)


def tiled_product(barriers: tuple[bool, bool] = (True, True), size: int = 64, tile: int = 32) -> FuncOp:
    """c = a b by blocks of tile x tile results: 4x4 in each thread's registers, vectors of four from shared memory."""
    vector = VectorType(f32, [4])

    def write(b: ThreadBuilder, a: SSAValue, x: SSAValue, c: SSAValue) -> None:
        thread = b.thread_id()
        row, column = b.mul(b.block_id(1), tile), b.mul(b.block_id(0), tile)
        ty, tx = b.mul(b.div(thread, tile // 4), 4), b.mul(b.rem(thread, tile // 4), 4)
        left, right = b.shared(f32, [tile, tile]), b.shared(f32, [tile, tile])
        sums = b.private(vector, [4])
        b.unrolled(4, lambda i: b.store(b.constant(0.0, vector), sums, [i]))

        def block(k: Index) -> None:
            def fill(i: Index) -> None:
                at = b.add(ty, i)
                b.vstore(b.vload(a, [b.add(row, at), b.add(k, tx)], 4), left, [at, tx])
                b.vstore(b.vload(x, [b.add(k, at), b.add(column, tx)], 4), right, [at, tx])

            b.unrolled(4, fill)
            if barriers[0]:
                b.barrier()

            def depth(d: Index, _: Any) -> None:
                vector_of_right = b.vload(right, [d, tx], 4)

                def line(i: Index) -> None:
                    scalar = b.splat(b.load(left, [b.add(ty, i), d]), 4)
                    b.store(b.fma(scalar, vector_of_right, b.load(sums, [i])), sums, [i])

                b.unrolled(4, line)

            b.loop(0, tile, depth)
            if barriers[1]:
                b.barrier()

        b.loop(0, size, lambda k, _: block(k), step=tile)
        b.unrolled(4, lambda i: b.vstore(b.load(sums, [i]), c, [b.add(row, b.add(ty, i)), b.add(column, tx)]))

    type = MemRefType(f32, [size, size])
    return written([type, type, type], write)


def product_run(function: FuncOp, size: int = 64, checked: bool = True) -> tuple[Array, Array]:
    a, x = (RANDOM.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    c = np.zeros_like(a)
    kernel = Kernel(function)
    places = [array.reshape(-1).view(np.uint8) for array in (a, x, c)]
    kernel.run((size // 32, size // 32, 1), (64, 1, 1), 8192, [GlobalRange(place) for place in places], checked=checked)
    return c, a.astype(np.float64) @ x.astype(np.float64)


@pytest.mark.parametrize("checked", [True, False])
def test_a_product_in_tiles(checked: bool) -> None:
    c, expected = product_run(tiled_product(), checked=checked)
    np.testing.assert_allclose(c, expected, atol=2e-5)


@pytest.mark.parametrize("barriers", [(False, True), (True, False)])
def test_a_product_needs_both_barriers(barriers: tuple[bool, bool]) -> None:
    with pytest.raises(KernelError, match="with no barrier between"):
        product_run(tiled_product(barriers))


def staged_product(wait: int = 1, barrier: bool = True, kind: Attribute = f32, stages: int = 3) -> FuncOp:
    """c = a b of 32x32x96 by one warp: mma.sync on tiles that asynchronous copies bring, `stages` of them under way."""
    depth = 8 if isinstance(kind, Float32Type) else 16
    steps, per_copy = 96 // depth, 4 if isinstance(kind, Float32Type) else 8

    def write(b: ThreadBuilder, a: SSAValue, x: SSAValue, c: SSAValue) -> None:
        lane = b.thread_id()
        g, t = b.div(lane, 4), b.rem(lane, 4)
        left, right = b.shared(kind, [stages, 16, depth]), b.shared(kind, [stages, depth, 8])
        sums = b.private(VectorType(f32, [4]), [1])
        b.store(b.constant(0.0, VectorType(f32, [4])), sums, [0])
        row, column = b.mul(b.block_id(1), 16), b.mul(b.block_id(0), 8)

        def fetch(step: Index) -> None:
            stage, k = b.rem(step, stages), b.mul(step, depth)
            across = depth // per_copy  # copies of a row of a
            at, part = b.div(lane, across), b.mul(b.rem(lane, across), per_copy)
            b.copy_async(a, [b.add(row, at), b.add(k, part)], left, [stage, at, part], per_copy)
            across = 8 // per_copy
            at, part = b.div(lane, across), b.mul(b.rem(lane, across), per_copy)
            inside = b.compare("ult", lane, depth * across)
            b.when(
                inside,
                lambda: b.copy_async(x, [b.add(k, at), b.add(column, part)], right, [stage, at, part], per_copy),
            )

        for step in range(stages - 1):
            fetch(step)
            b.close_group()

        def run_step(step: Index) -> None:
            b.wait_groups(wait)
            if barrier:
                b.barrier()
            stage = b.rem(step, stages)
            later = b.add(step, stages - 1)
            b.when(b.compare("ult", later, steps), lambda: fetch(later))
            b.close_group()
            b.store(b.mma(*fragments(stage), b.load(sums, [0])), sums, [0])

        def fragments(stage: Index) -> tuple[SSAValue, SSAValue]:
            if isinstance(kind, Float32Type):
                parts = (
                    [b.load(left, [stage, b.add(g, 8 * (i % 2)), b.add(t, 4 * (i // 2))]) for i in range(4)],
                    [b.load(right, [stage, b.add(t, 4 * i), g]) for i in range(2)],
                )
            else:
                pair = b.mul(t, 2)
                parts = (
                    [
                        b.load(left, [stage, b.add(g, 8 * (i % 2)), b.add(pair, j + 8 * (i // 2))])
                        for i in range(4)
                        for j in range(2)
                    ],
                    [b.load(right, [stage, b.add(pair, j + 8 * i), g]) for i in range(2) for j in range(2)],
                )
            return gathered(b, parts[0]), gathered(b, parts[1])

        b.loop(0, steps, lambda step, _: run_step(step))
        result = b.load(sums, [0])
        for i in range(4):
            value = b.insert(extract(result, i))
            b.store(value, c, [b.add(row, b.add(g, 8 * (i // 2))), b.add(column, b.add(b.mul(t, 2), i % 2))])

    types = [MemRefType(kind, [32, 96]), MemRefType(kind, [96, 32]), MemRefType(f32, [32, 32])]
    return written(list(types), write)


def extract(vector: SSAValue, lane: int) -> Operation:
    return ExtractOp(vector, [lane], f32)


def gathered(b: ThreadBuilder, values: list[SSAValue]) -> SSAValue:
    """A vector of scalars."""
    vector = b.splat(values[0], len(values))
    for lane, value in enumerate(values[1:], 1):
        vector = b.insert(InsertOp(value, vector, [lane]))
    return vector


def staged_run(function: FuncOp, dtype: Any = np.float32) -> tuple[Array, Array]:
    a, x = (RANDOM.standard_normal(shape).astype(dtype) for shape in ((32, 96), (96, 32)))
    c = np.zeros((32, 32), np.float32)
    places = [GlobalRange(array.reshape(-1).view(np.uint8)) for array in (a, x, c)]
    Kernel(function).run((4, 2, 1), (32, 1, 1), 8192, places)
    return c, a.astype(np.float64) @ x.astype(np.float64)


@pytest.mark.parametrize(("kind", "dtype"), [(f32, np.float32), (f16, np.float16), (bf16, ml_dtypes.bfloat16)])
def test_a_product_on_tensor_units_in_three_stages(kind: Attribute, dtype: Any) -> None:
    c, expected = staged_run(staged_product(kind=kind), dtype)
    np.testing.assert_allclose(c, expected, atol=3e-2 if dtype == np.float32 else 1e-4)


@pytest.mark.parametrize(("wait", "barrier", "message"), [(2, True, "still being copied"), (1, False, "no barrier")])
def test_stages_need_their_wait_and_barrier(wait: int, barrier: bool, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        staged_run(staged_product(wait, barrier))


def test_tf32_rounds_ties_away_from_zero() -> None:
    bits = np.array([0x3F800FFF, 0x3F801000, 0xBF801000, 0x3F801001, 0x7F7FFFFF, 0x7F800000, 0xFF800000], np.uint32)
    x = np.concatenate([bits.view(np.float32), [np.nan]]).astype(np.float32)
    y = np.zeros_like(x)
    body = """%v = memref.load %x[%tid] : memref<8xf32>
    %r = nvgpu.round_to_tf32 %v : f32
    memref.store %r, %y[%tid] : memref<8xf32>"""
    run(kernel_function("%x: memref<8xf32>, %y: memref<8xf32>", body), [x, y], threads=8)
    expected = np.array([0x3F800000, 0x3F802000, 0xBF802000, 0x3F802000, 0x7F800000, 0x7F800000, 0xFF800000], np.uint32)
    np.testing.assert_array_equal(y[:7].view(np.uint32), expected)
    assert np.isnan(y[7])


def test_copies_fill_up_with_zeros() -> None:
    """Of four elements as many as are valid; past the end of the buffer nothing is read."""
    shared = "#gpu.address_space<workgroup>>"
    body = f"""
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c30 = arith.constant 30 : index
    %bytes = gpu.dynamic_shared_memory : memref<?xi8, {shared}
    %s = memref.view %bytes[%c0][] : memref<?xi8, {shared} to memref<64xf32, {shared}
    %at = arith.muli %tid, %c4 : index
    %left = arith.subi %c30, %at : index
    %some = arith.maxsi %left, %c0 : index
    %valid = arith.minsi %some, %c4 : index
    nvgpu.device_async_copy %x[%at], %s[%at], 4, %valid : memref<30xf32> to memref<64xf32, {shared}
    nvgpu.device_async_create_group
    nvgpu.device_async_wait 0
    %v = vector.load %s[%at] : memref<64xf32, {shared}, vector<4xf32>
    vector.store %v, %y[%at] : memref<64xf32>, vector<4xf32>
    """
    x, y = np.arange(1, 31, dtype=np.float32), np.full(64, 9, np.float32)
    run(kernel_function("%x: memref<30xf32>, %y: memref<64xf32>", body), [x, y], threads=16, shared=256)
    np.testing.assert_array_equal(y, np.concatenate([x, np.zeros(34, np.float32)]))


def test_an_unrolled_loop_is_a_loop() -> None:
    function = tiled_product()
    assert any("unroll" in op.attributes and isinstance(op.attributes["unroll"], UnitAttr) for op in function.walk())
