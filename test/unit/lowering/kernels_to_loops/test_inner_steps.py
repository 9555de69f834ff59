"""Register tiles go on by other inner steps than a multiply-add: wider sums, several elements at once, integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from kernel_runs import kernel_of
from llvm_jit import Code
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerType, MemRefType, ModuleOp
from xdsl.ir import Attribute, SSAValue

from mini_infer.dialects.extensions.memref import PrefetchOp
from mini_infer.dialects.graph.ops.elementwise import AddOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.lowering.kernel_code.arithmetic import Arithmetic, convert
from mini_infer.lowering.kernel_code.loop_builder import Index, LoopBuilder, define_function
from mini_infer.lowering.kernels_to_loops.kernel_instance import CommonFunctions, KernelInstance
from mini_infer.lowering.kernels_to_loops.tiles.fused_ops import FusedOps
from mini_infer.lowering.kernels_to_loops.tiles.microkernel import Strip, Tile, call_tiles
from mini_infer.lowering.kernels_to_loops.tiles.tile_results import MemoryRows, TileOperand

f32, f64, i8, i32 = Float32Type(), Float64Type(), IntegerType(8), IntegerType(32)
ROWS, LANES, TILES, DEPTH, PREFETCH = 3, 8, 2, 24, 4


@dataclass(frozen=True)
class Products:
    """`depth` products at once, of operands that are converted to the sums' type.

    A row of the panel has the elements of a step side by side, column by column.
    """

    operand: Attribute
    sums: Attribute
    depth: int

    def column(self, b: LoopBuilder, panel: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        return convert(b, b.vload(panel, at, lanes * self.depth), self.operand, self.sums)

    def row(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        elements = convert(b, b.vload(a, at, self.depth), self.operand, self.sums)
        return b.shuffle(elements, elements, [*range(self.depth)] * lanes)

    def part(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], count: int) -> SSAValue:
        raise AssertionError("all sums here are of whole steps")

    def padding(self, b: LoopBuilder, value: int) -> SSAValue:
        raise AssertionError("nothing here is padded")

    def accumulate(self, b: LoopBuilder, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        products = Arithmetic(b, column.type).mul(row, column)
        m = Arithmetic(b, total.type)
        for each in range(self.depth):
            total = m.add(total, b.shuffle(products, products, range(each, LANES * self.depth, self.depth)))
        return total


WIDE, PAIRS, BYTES = Products(f32, f64, 1), Products(f32, f32, 2), Products(i8, i32, 4)


def product(step: Products, *, inline: bool, valid: int, chains: int, taps: int) -> ModuleOp:
    """@product(a, panel, residual, bias, out, depth): two tiles of relu(a x panel + bias + residual)."""
    kernel = kernel_of("map", lambda w: w(ReluOp(w(AddOp(w[0], w[1])))), [np.zeros((ROWS, LANES), np.float32)] * 2)
    root, residual = kernel.arguments
    first, last = list(kernel.body.block.ops)[:2]
    epilogue = FusedOps(root, last.results[0], (first, last), (residual,), inline)
    buffers = [MemRefType(each, [1 << 12]) for each in (step.operand, step.operand, f32, f32, f32)]
    function, b = define_function("product", [*buffers, IndexType()])
    del function.properties["sym_visibility"]
    *arguments, depth = function.body.block.args
    a, panel, beside, bias, out = (b.place(each, 0) for each in arguments)
    common = CommonFunctions()
    tile = Tile(
        step=step,
        rows=ROWS,
        lanes=LANES,
        valid=valid,
        taps=((0, ROWS),) * taps,
        result=f32,
        operands=(TileOperand(f32, in_place=False, by_row=True, by_column=True),),
        has_bias=True,
        chains=chains,
        prefetch=PREFETCH,
    )
    strip = Strip(
        tiles=TILES,
        depth=depth,
        a=MemoryRows(a, b.mul(depth, taps)),
        panel=panel,
        panel_row=LANES,
        out=MemoryRows(out, LANES),
        operands=[MemoryRows(beside, LANES)],
        bias=bias,
        a_tap=depth,
    )
    call_tiles(cast(KernelInstance, SimpleNamespace(b=b, common=common)), tile, epilogue, strip)
    b.ret()
    return ModuleOp([*common.functions, function])


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("chains", "taps", "valid"), [(1, 2, LANES), (4, 1, 5)])
@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("step", [WIDE, PAIRS, BYTES], ids=["f64 sums", "pairs", "bytes"])
def test_tiles_go_on_by_any_step(step: Products, inline: bool, valid: int, chains: int, taps: int) -> None:
    random = np.random.default_rng(1)
    depth = DEPTH + step.depth  # no multiple of what all chains take
    shape, whole = (TILES * ROWS, LANES), depth * taps
    if step is BYTES:
        a, w = (random.integers(-128, 128, sizes).astype(np.int8) for sizes in ((shape[0], whole), (whole, LANES)))
    else:
        a, w = (random.standard_normal(sizes).astype(np.float32) for sizes in ((shape[0], whole), (whole, LANES)))
    residual, bias = random.standard_normal(shape).astype(np.float32), random.integers(-9, 9, LANES).astype(np.float32)
    if step is WIDE:
        a[:, 0], a[:, -1], w[0], w[-1] = 4096, -4096, 4096, 4096  # f32 forgets what it adds to them
    panel = np.ascontiguousarray(w.reshape(-1, step.depth, LANES).transpose(0, 2, 1))
    out = np.full(shape, 7, np.float32)
    code = Code(str(product(step, inline=inline, valid=valid, chains=chains, taps=taps)))
    code("product", a, panel, residual, bias, out, depth)
    sums = (a.astype(np.float64) @ w.astype(np.float64) + bias).astype(np.float32)
    expected = np.maximum(sums + residual, 0)
    np.testing.assert_allclose(out[:, :valid], expected[:, :valid], rtol=0, atol=1e-5 if step is PAIRS else 0)
    assert (out[:, valid:] == 7).all()
    assert expected.any()


@pytest.mark.parametrize("step", [WIDE, PAIRS, BYTES], ids=["f64 sums", "pairs", "bytes"])
def test_all_that_a_step_reads_of_a_panel_is_asked_for(step: Products) -> None:
    """Of the panel that comes next, a whole step's elements and not just one for each column; and of the epilogue's
    operand a row's, which lie in one cache line."""
    module = product(step, inline=True, valid=LANES, chains=1, taps=1)
    asked = [op.locality_hint.value.data for op in module.walk() if isinstance(op, PrefetchOp)]
    assert sorted(asked) == [2] * (LANES * step.depth // PREFETCH) + [3]


def test_tiles_of_few_rows_ask_for_no_operand() -> None:
    module = product(WIDE, inline=True, valid=LANES, chains=2, taps=1)
    asked = [op.locality_hint.value.data for op in module.walk() if isinstance(op, PrefetchOp)]
    assert set(asked) == {2}


@pytest.mark.parametrize(("step", "inline", "waits"), [(WIDE, False, 1), (WIDE, True, 0), (PAIRS, False, 0)])
def test_sums_of_another_type_wait_beside_the_result(step: Products, inline: bool, waits: int) -> None:
    module = product(step, inline=inline, valid=LANES, chains=1, taps=1)
    waiting = [op.results[0].type for op in module.walk() if op.name == "memref.alloca"]
    assert waiting == [MemRefType(f64, [ROWS, LANES])] * waits
